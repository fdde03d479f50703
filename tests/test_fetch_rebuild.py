"""kill -9 at any moment, a damaged database, a lost one: the log makes up for all of it."""

import gzip
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import durable
import mortal
import pytest
from durable import NOON
from imagined import origin
from records import record
from scarcity import room

from crawler.events import FetchRecord, Interrupted, Skipped, StateRebuilt, Why
from crawler.fetch import logbook, rebuild, schema
from crawler.fetch.bodies import Bodies
from crawler.fetch.errors import StateUnusable
from crawler.fetch.fold import Past
from crawler.fetch.journal import Journal, files
from crawler.fetch.logbook import Flaw, Unreadable
from crawler.fetch.view import View
from crawler.polite.frontier import FetchTask, Promise
from crawler.polite.pace import Pace

HOME = "https://one.example/"
ONE = origin()
DAY = 86400.0
Harm = Callable[[Path], object]


def select(directory: Path, query: str) -> list[tuple[Any, ...]]:
    database = sqlite3.connect(directory / "state.db")
    found = database.execute(query).fetchall()
    database.close()
    return found


def paces(directory: Path) -> dict[str, bytes]:
    return dict(select(directory, "SELECT scope, pace FROM scopes"))


def pages(directory: Path) -> dict[tuple[str, str], tuple[Any, ...]]:
    """What is kept of each page, but when it is due: a crawl says that a moment later."""
    query = (
        "SELECT name, key, url, depth, seen, status, etag, last_modified, digest, full_at "
        "FROM pages JOIN origins ON origins.id = pages.origin"
    )
    return {row[:2]: row[2:] for row in select(directory, query)}


async def settled(directory: Path) -> list[Interrupted]:
    """Start anew after a crash and say what was interrupted, as the next crawl would."""
    async with durable.opened(directory, *mortal.ORIGINS) as (store, journal):
        assert store.rebuilt is None
        world = durable.DurableWorld("next", store, journal, {})
        for scope in mortal.HOSTS:
            await world.recall(scope)
        return world.of(Interrupted)


async def from_the_log_alone(directory: Path, twin: Path) -> None:
    twin.mkdir()
    for name in ("log", "bodies", "robots"):
        shutil.copytree(directory / name, twin / name)
    async with durable.opened(twin, *mortal.ORIGINS) as (store, _):
        assert store.rebuilt is not None


def records(directory: Path) -> list[FetchRecord]:
    lines = list(logbook.read(files(directory / "log")))
    assert not [line for line in lines if isinstance(line, Unreadable) and line.flaw != Flaw.TORN]
    return [line for line in lines if isinstance(line, FetchRecord)]


def killed(directory: Path, run: str, after: float) -> None:
    command = [sys.executable, str(mortal.__file__), str(directory), run]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"alive\n"
        try:
            child.wait(after)
        except subprocess.TimeoutExpired:
            child.kill()


async def test_a_crawl_killed_a_dozen_times_forgets_nothing_and_counts_nothing_twice(
    tmp_path: Path,
) -> None:
    dice = random.Random(9)
    interrupted: set[str] = set()
    for number in range(12):
        killed(tmp_path / "state", f"run{number}", dice.uniform(0.01, 0.4))
        interrupted |= {event.id for event in await settled(tmp_path / "state")}
        asked = records(tmp_path / "state")

        assert select(tmp_path / "state", "PRAGMA integrity_check") == [("ok",)]
        assert len({item.id for item in asked}) == len(asked)
        assert not interrupted & {item.id for item in asked}
    await from_the_log_alone(tmp_path / "state", tmp_path / "twin")

    # folding the whole log anew leads to the same: each record was absorbed, and once
    assert paces(tmp_path / "state") == paces(tmp_path / "twin")
    assert pages(tmp_path / "state") == pages(tmp_path / "twin")
    assert interrupted
    assert len(asked) > 500


def past(directory: Path) -> Past:
    return Past(
        journal=Journal(directory / "log"),
        bodies=Bodies(directory / "bodies"),
        links=durable.no_links,
        whereabouts=lambda _: ("one", "one.example"),
    )


def logged(directory: Path, count: int) -> None:
    """A log of so many pages, none of them read."""
    journal = Journal(directory / "log")
    journal.append(durable.settings(ONE))
    for number in range(count):
        known = {"id": f"r-0-{number}", "at": NOON + number, "url": f"{HOME}{number}"}
        journal.append(record(**known, status=404))
    journal.close()


def test_a_long_log_is_absorbed_in_many_transactions(tmp_path: Path) -> None:
    logged(tmp_path, 5_001)

    told = rebuild.ready(tmp_path / "state.db", past(tmp_path), NOON)

    assert told == StateRebuilt(
        at=NOON + 5_000.5, kept="", records=5_001, problem="state.db is missing"
    )
    assert len(pages(tmp_path)) == 5_001


def test_a_first_start_is_no_loss(tmp_path: Path) -> None:
    told = rebuild.ready(tmp_path / "state.db", past(tmp_path), NOON)

    view = View(tmp_path / "state.db")
    assert told is None
    assert view.progress().rebuilt is None
    view.close()


def test_a_build_that_was_cut_off_is_begun_anew(tmp_path: Path) -> None:
    logged(tmp_path, 3)
    (tmp_path / "state.db.new").write_bytes(b"half")

    told = rebuild.ready(tmp_path / "state.db", past(tmp_path), NOON)

    assert told is not None
    assert told.records == 3
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["state.db"]


def test_a_start_that_was_cut_off_after_it_kept_a_database_aside_is_still_a_loss(
    tmp_path: Path,
) -> None:
    (tmp_path / "state.db").write_bytes(b"garbage" * 100)
    schema.keep_aside(tmp_path / "state.db", "20241004T110000Z")

    told = rebuild.ready(tmp_path / "state.db", past(tmp_path), NOON)

    view = View(tmp_path / "state.db")
    assert told == StateRebuilt(
        at=NOON,
        kept="state.db.damaged-20241004T110000Z",
        records=0,
        problem="state.db is missing",
    )
    assert view.progress().rebuilt == NOON
    view.close()


def test_lines_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    logged(tmp_path, 3)
    with files(tmp_path / "log")[0].open("ab") as file:
        file.write(b'{"event":"of-tomorrow"}\n{"event":"fetch","a')

    told = rebuild.ready(tmp_path / "state.db", past(tmp_path), NOON)

    assert told is not None
    assert told.problem == (
        "state.db is missing; 2 lines of the log cannot be read, so nothing is asked for a day"
    )


def _cut_short(path: Path) -> None:
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes())[:40])
    path.unlink()


GARBLED: dict[str, Harm] = {
    "garbled": lambda path: path.write_bytes(b"\xff" * 50 + b"\n" + b"{}\n"),
    "a torn line": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "compressed and cut short": _cut_short,
}


@pytest.mark.parametrize("harm", GARBLED.values(), ids=GARBLED)
async def test_a_log_that_cannot_be_read_is_no_first_start(tmp_path: Path, harm: Harm) -> None:
    logged(tmp_path, 3)
    harm(files(tmp_path / "log")[0])

    async with durable.opened(tmp_path, ONE, now=NOON + 60.0) as (store, _):
        told = store.rebuilt
        owed = (await store.recall("one.example", NOON + 60.0)).pace

    assert told is not None
    assert (told.records, told.kept) == (0, "")
    assert "of the log cannot be read, so nothing is asked for a day" in told.problem
    assert (owed.not_before, owed.why) == (NOON + 60.0 + DAY, Why.NOT_COVERED)


def tear(path: Path, number: int) -> None:
    """Cut one line of a file short, as a crash does."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number] = lines[number][:50] + b"\n"
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("torn", "later", "until"),
    [
        pytest.param(3, 60.0, NOON + 60.0 + DAY, id="the last line"),
        pytest.param(2, 60.0, NOON + 2.5 + DAY, id="one before it"),
        pytest.param(2, 2 * DAY, NOON + 2.5 + DAY, id="one of days ago"),
    ],
)
async def test_every_scope_waits_where_a_line_of_the_last_day_is_torn(
    tmp_path: Path, torn: int, later: float, until: float
) -> None:
    logged(tmp_path, 3)
    tear(files(tmp_path / "log")[0], torn)
    now = NOON + later

    async with durable.opened(tmp_path, ONE, now=now) as (store, _):
        told = store.rebuilt
        owed = (await store.recall("one.example", now)).pace

    assert told is not None
    assert told.records == 2
    assert ("nothing is asked for a day" in told.problem) is (until > now)
    assert (owed.not_before, owed.why) == (until, Why.NOT_COVERED)


async def test_a_crash_that_tore_a_line_lets_nobody_wait_while_there_is_a_database(
    tmp_path: Path,
) -> None:
    await lived(tmp_path, "a")
    before = paces(tmp_path)
    with files(tmp_path / "log")[0].open("ab") as file:
        file.write(b'{"event":"fetch","a')

    async with durable.opened(tmp_path, ONE, now=NOON + 60.0) as (store, _):
        assert store.rebuilt is None

    assert paces(tmp_path) == before


def test_a_database_that_cannot_be_put_in_its_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "state.db").mkdir()
    logged(tmp_path, 1)

    with pytest.raises(StateUnusable):
        rebuild.ready(tmp_path / "state.db", past(tmp_path), NOON)


async def test_a_database_that_was_set_back_catches_up_with_its_log(tmp_path: Path) -> None:
    directory = tmp_path / "state"
    await lived(directory, "a")
    backup = (directory / "state.db").read_bytes()
    await lived(directory, "b")
    latest = paces(directory), pages(directory)
    (directory / "state.db").write_bytes(backup)

    async with durable.opened(directory, ONE) as (store, _):
        assert store.rebuilt is None

    assert (paces(directory), pages(directory)) == latest


async def test_the_very_first_event_past_the_last_commit_is_absorbed(tmp_path: Path) -> None:
    await lived(tmp_path, "a")
    journal = Journal(tmp_path / "log")
    journal.append(Skipped(at=NOON + 99.0, run="a", origin="one", url=HOME, why=Why.ROBOTS))
    journal.close()

    async with durable.opened(tmp_path, ONE):
        pass

    assert pages(tmp_path)["one", HOME][2] == NOON + 99.0


async def lived(directory: Path, run: str) -> None:
    """Refresh an origin of three pages to the end."""
    async with durable.opened(directory, ONE) as (store, journal):

        def site(task: FetchTask) -> Any:
            if task.kind == "robots":
                return durable.robots_txt(store, task)
            return durable.page(store, task, etag=f'"{run}"')

        world = durable.DurableWorld(run, store, journal, {"one.example": site})
        if store.rebuilt is not None:
            world.log(store.rebuilt)
        await durable.crawl(world, ONE, everything=True)


HARM: dict[str, Harm] = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:20_000]),
    "garbage in its head": lambda path: path.write_bytes(b"garbage!" + path.read_bytes()[8:]),
    "garbage inside": lambda path: path.write_bytes(
        path.read_bytes()[:8_192] + b"\xff" * 8_192 + path.read_bytes()[16_384:]
    ),
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
async def test_a_lost_database_is_kept_aside_said_and_folded_from_the_log(
    tmp_path: Path, harm: Harm
) -> None:
    await lived(tmp_path, "a")
    before = paces(tmp_path), pages(tmp_path)
    harm(tmp_path / "state.db")
    harmed = (tmp_path / "state.db").read_bytes() if (tmp_path / "state.db").exists() else b""

    async with durable.opened(tmp_path, ONE, now=NOON + 60.0) as (store, _):
        told = store.rebuilt

    assert (paces(tmp_path), pages(tmp_path)) == before
    assert told is not None
    assert (told.at, told.records) == (NOON + 60.0, 2)
    if harmed:
        assert told.kept == "state.db.damaged-20241004T120100Z"
        assert (tmp_path / told.kept).read_bytes() == harmed


async def test_damage_that_only_shows_in_use_is_mended_in_the_same_start(tmp_path: Path) -> None:
    await lived(tmp_path, "a")
    before = paces(tmp_path)
    database = schema.writing(tmp_path / "state.db")
    database.execute("UPDATE scopes SET pace = ?, task = ?", (b"no pace", b"no task"))
    database.close()

    async with durable.opened(tmp_path, ONE) as (store, _):
        assert store.rebuilt is not None
        assert "one.example" in store.rebuilt.problem

    assert paces(tmp_path) == before


async def test_a_start_without_room_is_said_before_anything_leaves(tmp_path: Path) -> None:
    await lived(tmp_path, "a")

    with pytest.raises(StateUnusable, match=r"state\.db") as caught, room(20_000):
        async with durable.opened(tmp_path, ONE):
            pytest.fail("it began")

    assert "make room" in (caught.value.hint or "")
    await lived(tmp_path, "b")


async def test_promises_of_a_killed_crawl_are_looked_for_only_where_they_can_be(
    tmp_path: Path,
) -> None:
    task = FetchTask(id="x-0-1", origin="one", scope="one.example", url=HOME)
    async with durable.opened(tmp_path, ONE) as (store, journal):
        await store.promise(Promise(task=task, pace=Pace(pending=task.id)))
        journal.append(durable.settings(ONE))

    for _ in range(2):
        async with durable.opened(tmp_path, ONE) as (store, journal):
            view = View(tmp_path / "state.db")
            assert view.pending()["one.example"].position == journal.end
            view.close()
