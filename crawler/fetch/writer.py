"""The one thread that writes to the state database.

What waits while a transaction is on its way to the disk shares the next one: with twenty lanes a
promise costs about 50 microseconds of CPU, and the event loop never waits for a disk. (Committing
in the loop costs no less once promises share transactions, and stalls every lane for each fsync.)
"""

import asyncio
import sqlite3
import threading
from pathlib import Path
from queue import SimpleQueue

from crawler.fetch import schema
from crawler.fetch.batch import Batch, Origins
from crawler.fetch.journal import Journal

Waiting = list[asyncio.Future[None]]


class Writer:
    """Commits what is put into `batch`, in order, as soon as somebody waits for it.

    `database` belongs to its thread from here on. Made and used in one event loop.
    """

    def __init__(self, database: sqlite3.Connection, path: Path, origins: Origins, log: Journal):
        self.batch = Batch(origins)
        self._database = database
        self._path = path
        self._origins = origins
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._waiting: Waiting = []
        self._on_its_way: Batch | None = None
        self._due = False
        self._orders: SimpleQueue[tuple[Batch, Waiting] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="state", daemon=True)
        self._thread.start()

    @property
    def pages_wait(self) -> bool:
        """Whether something about pages is not on disk yet."""
        going = self._on_its_way
        return self.batch.concerns_pages or (going is not None and going.concerns_pages)

    async def committed(self) -> None:
        """Return once everything that was asked for until now is on disk.

        Raises StateUnusable where it cannot be written; it is tried again with what comes next,
        except for promises, which were not given then.
        """
        if self.batch.empty and self._on_its_way is None:
            return
        future = self._loop.create_future()
        self._waiting.append(future)
        self.soon()
        await future

    def soon(self) -> None:
        """Write at the end of this turn of the loop, with what others ask for until then."""
        if not self._due:
            self._due = True
            if self._on_its_way is None:
                self._loop.call_soon(self._send)

    async def close(self) -> None:
        """Write what is left and end the thread. Raises StateUnusable, the thread ended too."""
        try:
            await self.committed()
        finally:
            self._orders.put(None)
            self._thread.join()
            self._database.close()

    def _send(self) -> None:
        """Hand over what there is; the log contains it all, and nothing else that is not written.

        So a record and its lesson must come in one turn of the loop: first `append`, then `keep`.
        """
        self._due = False
        waiting, self._waiting = self._waiting, []
        if self.batch.empty:
            _tell(waiting, None)
            return
        batch, self.batch = self.batch, Batch(self._origins)
        batch.position, batch.moment = self._log.end, self._log.moment
        self._on_its_way = batch
        self._orders.put((batch, waiting))

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            batch, waiting = order
            error: Exception | None = None
            try:
                with schema.translated(self._path):
                    commit(self._database, batch)
            except Exception as caught:  # whatever it is, somebody waits for the answer
                error = caught
            self._loop.call_soon_threadsafe(self._done, batch, waiting, error)

    def _done(self, batch: Batch, waiting: Waiting, error: Exception | None) -> None:
        self._on_its_way = None
        if error is not None:
            self.batch.take_back(batch)
        _tell(waiting, error)
        if self._due:
            self._send()


def commit(database: sqlite3.Connection, batch: Batch) -> None:
    """Write a batch in one transaction, or nothing of it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        batch.write(database)
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:  # SQLite ends it by itself where its disk is full
            database.execute("ROLLBACK")
        raise


def _tell(waiting: Waiting, error: Exception | None) -> None:
    for future in waiting:
        if future.done():  # whoever waited was cancelled
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
