"""Which signatures were seen already: a captured one opens the door once more otherwise.

Both memories are a `signing.verifier.Seen`: they look and write down in one step, and keep a
signature until it has expired. Only good signatures come here, so that nobody but signers can fill
them. What is kept of one are 16 bytes.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import Final

from crawler import diagnostics
from crawler.problems import Problem
from signing.verifier import ReplayKey

ENTRIES: Final = 1_000_000
_MINUTE: Final = 60  # seconds; what expires within the same one is forgotten together
_PATIENCE: Final = 0.9  # seconds that a request waits for those before it, and for other processes
_MARGIN: Final = 0.1  # seconds past that, for the thread to say so itself
_QUEUE: Final = 1024  # requests that wait
_SWEEP: Final = 60.0  # seconds between two looks at what has expired
_SWEPT: Final = 1000  # signatures that are forgotten at a time
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS seen (digest BLOB PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS seen_until ON seen (until);
"""
# One statement looks and writes down, so that of two workers exactly one is the first.
_MEET: Final = """
INSERT INTO seen VALUES (?, ?)
ON CONFLICT (digest) DO UPDATE SET until = excluded.until WHERE until <= ?
"""
_FORGET: Final = """
DELETE FROM seen WHERE digest IN (SELECT digest FROM seen WHERE until <= ? LIMIT ?)
"""


class ReplayUnavailable(Problem):
    """The memory cannot be asked: no signature can be let in that might be a replay."""


def digest(key: ReplayKey) -> bytes:
    """The 16 bytes that stand for a key. None of its parts can have a line's end in it."""
    return blake2b("\n".join(key).encode(), digest_size=16).digest()


class Memory:
    """Remembers in this process.

    Full, it forgets what would have been kept for longest: whoever wants to push others out needs
    many signatures that live long, and loses his own.
    """

    def __init__(self, entries: int = ENTRIES, now: Callable[[], float] = time.time) -> None:
        self._entries = entries
        self._now = now
        self._seen: set[bytes] = set()
        self._minutes: dict[int, list[bytes]] = {}
        self._swept = 0

    def __len__(self) -> int:
        return len(self._seen)

    def __call__(self, key: ReplayKey, until: int) -> bool:
        """Whether it was seen; it is from now on."""
        self._sweep()
        entry = digest(key)
        if entry in self._seen:
            return True
        if len(self._seen) >= self._entries:
            self._make_room()
        self._seen.add(entry)
        self._minutes.setdefault(until // _MINUTE, []).append(entry)
        return False

    def _sweep(self) -> None:
        minute = int(self._now()) // _MINUTE
        if minute == self._swept:
            return
        self._swept = minute
        for over in [one for one in self._minutes if one < minute]:
            self._seen.difference_update(self._minutes.pop(over))

    def _make_room(self) -> None:
        last = max(self._minutes)
        self._seen.discard(self._minutes[last].pop())
        if not self._minutes[last]:
            del self._minutes[last]


class Shared:
    """Remembers in a SQLite file, for all processes on this machine that name it.

    A power failure may cost it the last moments, a crash nothing. A thread of its own waits for the
    disk and for other processes, one request after the other. A file that somebody takes away is
    made anew.
    """

    def __init__(
        self, path: Path, now: Callable[[], float] = time.time, patience: float = _PATIENCE
    ) -> None:
        """Open or make the file. Raises ReplayUnavailable."""
        self._path = path
        self._now = now
        self._patience = patience
        self._swept = now()
        self._waiting = 0
        self._file: tuple[int, int] | None = None
        self._db = self._opened()
        self._thread = ThreadPoolExecutor(1, "replay")

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM seen").fetchone()[0])

    def __call__(self, key: ReplayKey, until: int) -> bool:
        """As `meet` for one; whoever asks so has to be the only one who does at that moment."""
        return self.meet([(key, until)], time.monotonic() + self._patience)[0]

    async def met(self, entries: list[tuple[ReplayKey, int]]) -> list[bool]:
        """As `meet`, while others go on. Raises ReplayUnavailable, after a second at the latest."""
        if self._waiting >= _QUEUE:
            raise self._unavailable(f"{_QUEUE} requests wait for it")
        deadline = time.monotonic() + self._patience
        self._waiting += 1
        asked = asyncio.get_running_loop().run_in_executor(
            self._thread, self.meet, entries, deadline
        )
        asked.add_done_callback(self._answered)
        await asyncio.wait({asked}, timeout=self._patience + _MARGIN)
        if not asked.done():  # a disk that hangs
            raise self._unavailable(f"no answer within {self._patience:g} s")
        if asked.cancelled():
            raise self._unavailable("it is being closed")
        return asked.result()

    def meet(self, entries: list[tuple[ReplayKey, int]], deadline: float) -> list[bool]:
        """Whether each was seen by any process; all are from now on, or none where this fails.

        Raises ReplayUnavailable, not long after `deadline` of the monotonic clock.
        """
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._unavailable(f"no answer within {self._patience:g} s")
        now = int(self._now())
        try:
            if self._found() != self._file:
                diagnostics.logger().warning(
                    "the memory of signatures was taken away, and is empty now", path=self._path
                )
                fresh = self._opened()  # where that fails, the one of before is asked again
                self._db.close()
                self._db = fresh
            self._db.execute(f"PRAGMA busy_timeout = {int(left * 1000)}")
            self._db.execute("BEGIN IMMEDIATE")
            again = [
                self._db.execute(_MEET, (digest(key), until, now)).rowcount == 0
                for key, until in entries
            ]
            if now >= self._swept + _SWEEP:
                # Some at a time: nobody is to wait for all that a minute has left behind.
                gone = self._db.execute(_FORGET, (now, _SWEPT)).rowcount
                self._swept = self._swept if gone == _SWEPT else now
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.rollback()
            raise self._unavailable(str(error)) from error
        return again

    def close(self) -> None:
        """Close the file, when whoever is being answered has his answer."""
        self._thread.shutdown(cancel_futures=True)
        self._db.close()

    def _answered(self, asked: "asyncio.Future[list[bool]]") -> None:
        self._waiting -= 1
        if not asked.cancelled():
            asked.exception()  # looked at: nobody may be left to hear of it

    def _opened(self) -> sqlite3.Connection:
        try:
            db = sqlite3.connect(
                self._path, timeout=self._patience, isolation_level=None, check_same_thread=False
            )
            try:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.executescript(_SCHEMA)
            except sqlite3.Error:
                db.close()
                raise
        except sqlite3.Error as error:
            raise self._unavailable(str(error)) from error
        self._file = self._found()
        return db

    def _found(self) -> tuple[int, int] | None:
        """Which file the path leads to now."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _unavailable(self, why: str) -> ReplayUnavailable:
        return ReplayUnavailable(
            f"{self._path}: the memory of signatures cannot be used: {why}",
            "see that nothing else locks it; or name another file by replay.path, in a folder that "
            "we may write in",
        )
