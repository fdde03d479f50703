"""The writer's thread: what shares a transaction, and what a disk that fails leaves."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from records import record

from crawler.fetch import schema
from crawler.fetch.batch import Batch, Origins
from crawler.fetch.errors import StateUnusable
from crawler.fetch.journal import Journal
from crawler.fetch.view import View
from crawler.fetch.writer import Writer, commit
from crawler.polite.frontier import FetchTask, Page, Promise
from crawler.polite.pace import Pace


@asynccontextmanager
async def writing(directory: Path) -> AsyncIterator[tuple[Writer, View, list[str]]]:
    """A writer, what a reader sees meanwhile, and the statements that SQLite was given."""
    path = directory / "state.db"
    schema.create(path)
    database = schema.writing(path)
    said: list[str] = []
    database.set_trace_callback(said.append)
    database.execute("PRAGMA busy_timeout = 0")
    journal, view = Journal(directory / "log"), View(path)
    journal.append(record(id="before"))
    writer = Writer(database, path, Origins({}), journal)
    try:
        yield writer, view, said
    finally:
        view.close()
        await writer.close()
        journal.close()


def promise(number: int, scope: str | None = None) -> Promise:
    task = FetchTask(id=f"r-{number}", origin="one", scope=scope or f"s{number}", url="https://x/")
    return Promise(task=task, pace=Pace(pending=task.id))


async def promised(writer: Writer, number: int) -> None:
    writer.batch.promise(promise(number), writer.batch.position)
    await writer.committed()


def commits(said: list[str]) -> int:
    return said.count("COMMIT")


async def test_what_is_committed_can_be_read_by_others(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, view, _):
        await promised(writer, 1)

        known = view.scope("s1")
        assert known is not None
        assert known[1] is not None
        assert (known[0].pending, known[1].task.id) == ("r-1", "r-1")


async def test_promises_that_wait_together_share_a_transaction(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, view, said):
        await asyncio.gather(*(promised(writer, number) for number in range(50)))

        assert commits(said) == 1
        assert len(view.pending()) == 50


async def test_what_comes_while_a_transaction_is_on_its_way_shares_the_next(
    tmp_path: Path,
) -> None:
    async with writing(tmp_path) as (writer, view, said):
        first = asyncio.create_task(promised(writer, 0))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.gather(first, *(promised(writer, number) for number in range(1, 50)))

        assert commits(said) == 2
        assert len(view.pending()) == 50


async def test_a_scopes_pace_is_written_once_a_transaction(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, view, said):
        for number in range(5):
            writer.batch.settle("s1", Pace(delay=float(number)))
        writer.batch.promise(promise(1), writer.batch.position)
        await writer.committed()

        assert sum("INTO scopes" in statement for statement in said) == 1
        assert view.pending().keys() == {"s1"}


async def test_pages_wait_until_they_can_be_read(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, view, _):
        idle = writer.pages_wait
        writer.batch.find([Page(origin="one", url="https://one.example/")])
        asked = writer.pages_wait
        going = asyncio.create_task(writer.committed())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        sent = writer.pages_wait
        await going

        assert (idle, asked, sent, writer.pages_wait) == (False, True, True, False)
        assert view.page("one", "https://one.example/") is not None


async def test_nothing_to_write_takes_no_transaction(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, _, said):
        await writer.committed()
        writer.soon()
        await asyncio.sleep(0)
        await writer.committed()

        assert commits(said) == 0


async def test_progress_is_the_end_of_the_log_when_the_batch_was_sent(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, view, _):
        await promised(writer, 1)

        progress = view.progress()
        assert progress.position.file == "events-1970-01-01.jsonl"
        assert (
            progress.position.offset == (tmp_path / "log" / progress.position.file).stat().st_size
        )
        assert progress.moment == record().at + record().elapsed


async def test_closing_writes_what_nobody_waited_for(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, _, _):
        writer.batch.settle("s1", Pace(delay=7.0))

    view = View(tmp_path / "state.db")
    assert view.scope("s1") == (Pace(delay=7.0), None)
    view.close()


async def test_a_waiter_that_is_cancelled_disturbs_nobody(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, view, _):
        impatient = asyncio.create_task(promised(writer, 1))
        patient = asyncio.create_task(promised(writer, 2))
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.wait({impatient, patient})

        assert impatient.cancelled()
        assert "s2" in view.pending()


async def test_what_could_not_be_written_is_written_later_but_no_promise_of_then(
    tmp_path: Path,
) -> None:
    async with writing(tmp_path) as (writer, view, _):
        other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
        writer.batch.settle("kept", Pace(delay=7.0))
        writer.batch.find([Page(origin="one", url="https://one.example/")])
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateUnusable, match="another program holds"):
            await promised(writer, 1)
        other.execute("ROLLBACK")
        other.close()

        await promised(writer, 2)
        assert view.pending().keys() == {"s2"}
        assert view.scope("kept") == (Pace(delay=7.0), None)
        assert view.page("one", "https://one.example/") is not None


async def test_our_own_mistake_reaches_whoever_waits(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, _, _):
        writer.batch.find([Page(origin="one", url="https://one.example/", depth=2**70)])
        with pytest.raises(OverflowError):
            await writer.committed()

        writer.batch = Batch(Origins({}))


def test_a_transaction_is_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    schema.create(path)
    database = schema.writing(path)
    batch = Batch(Origins({}))
    batch.find([Page(origin="one", url="https://one.example/")])
    batch.find([Page(origin="one", url="https://one.example/2", depth=2**70)])
    with pytest.raises(OverflowError):
        commit(database, batch)

    view = View(path)
    assert not database.in_transaction
    assert view.origins() == {}
    view.close()
    database.close()


def test_a_disk_that_is_full_leaves_nothing_half_written(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    schema.create(path)
    database = schema.writing(path)
    database.execute("PRAGMA max_page_count = 20")
    batch = Batch(Origins({}))
    batch.find(Page(origin="one", url=f"https://one.example/{number}") for number in range(9_999))
    with pytest.raises(StateUnusable, match="its disk is full"), schema.translated(path):
        commit(database, batch)

    view = View(path)
    assert view.origins() == {}
    view.close()
    database.close()
