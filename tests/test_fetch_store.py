"""The store as the crawl sees it: what is known, promised, owed, and still to be asked."""

import asyncio
import sqlite3
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import durable
import pytest
from durable import NOON, DurableWorld, opened
from imagined import answered, origin
from records import record
from scarcity import room

from crawler.events import (
    Deferred,
    FetchRecord,
    Interrupted,
    Kind,
    OriginSettings,
    Skipped,
    Why,
)
from crawler.fetch import schema
from crawler.fetch.batch import Evidence
from crawler.fetch.errors import StateDamaged, StateUnusable
from crawler.fetch.journal import Journal
from crawler.fetch.store import Recalled, Store
from crawler.polite import pace, robots
from crawler.polite.frontier import (
    Claim,
    Fetched,
    FetchTask,
    Lesson,
    Page,
    Promise,
    Refresh,
    RobotsCopy,
)
from crawler.polite.pace import Pace
from crawler.settings import Follow, Origin, Politeness

HOME = "https://one.example/"
SCOPE = "one.example"
ONE = origin()


async def claimed(store: Store, started: float, due: float = inf, depth: int = 3) -> Sequence[str]:
    claim = Claim(origin="one", started=started, due=due, depth=depth, limit=64)
    return [page.url.removeprefix(HOME) for page in (await store.claim(claim)).pages]


def promise(id: str = "r-0-1", owed: Pace | None = None, **known: Any) -> Promise:
    task = FetchTask(id=id, origin="one", scope=SCOPE, url=HOME)
    return Promise(task=task, pace=pace.before(owed or Pace(), "one", id, NOON), **known)


def taught(due: float | None = NOON + 3_600.0, **known: Any) -> Lesson:
    return Lesson(fetched=Fetched(record=record(**{"at": NOON, **known})), due=due)


async def test_the_start_pages_are_known_once_an_origin_is_open(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        found = await store.open(origin(start=("/", "/a", "/a", "/é")), NOON)

        assert found.refresh == Refresh(started=NOON)
        assert found.copy is None
        assert await claimed(store, NOON) == ["", "a", "%C3%A9"]


async def test_a_page_that_is_no_start_page_any_more_counts_as_found_on_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        await store.open(origin(start=("/", "/old")), NOON)
        await store.open(origin(start=("/", "/new")), NOON)
        at_once = await claimed(store, NOON, depth=0)
    async with opened(tmp_path) as (store, _):
        await store.open(origin(start=("/old",)), NOON)

        assert at_once == ["", "new"]
        assert await claimed(store, NOON, depth=0) == ["old"]
        assert await claimed(store, NOON, depth=1) == ["old", "", "new"]


async def test_a_rebuilt_database_learns_the_start_pages_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "log")
    journal.append(record(at=NOON - 9.0, url=f"{HOME}old", status=404))
    journal.close()

    async with opened(tmp_path) as (store, _):
        assert store.rebuilt is not None
        await store.open(ONE, NOON)

        assert await claimed(store, NOON, depth=0) == [""]
        assert await claimed(store, NOON, depth=1) == ["", "old"]


@pytest.mark.parametrize(
    ("later", "finished", "resumed"),
    [
        pytest.param(3_600.0, False, True, id="cut off an hour ago"),
        pytest.param(90_000.0, False, False, id="cut off more than a day ago"),
        pytest.param(3_600.0, True, False, id="finished"),
        pytest.param(-1.0, False, False, id="begun in the future"),
    ],
)
async def test_a_refresh_that_was_cut_off_is_taken_up_again_for_a_day(
    tmp_path: Path, later: float, finished: bool, resumed: bool
) -> None:
    begun = Refresh(started=NOON, asked=7)
    async with opened(tmp_path) as (store, _):
        assert store.refresh("one") is None
        await store.open(ONE, NOON)
        await store.promise(promise(refresh=begun))
        store.finish("one", Refresh(started=NOON, asked=7, finished=finished))
        same_run = await store.open(ONE, NOON + later)
    async with opened(tmp_path) as (store, _):
        known = store.refresh("one")
        next_run = await store.open(ONE, NOON + later)

    expected = begun if resumed else Refresh(started=NOON + later)
    assert same_run.refresh == next_run.refresh == expected
    assert known == same_run.refresh


async def test_what_was_promised_counts_though_the_run_never_ended(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        await store.open(ONE, NOON)
        await store.promise(promise(refresh=Refresh(started=NOON, asked=3)))

    async with opened(tmp_path) as (store, _):
        assert (await store.open(ONE, NOON + 9.0)).refresh == Refresh(started=NOON, asked=3)


async def test_each_page_is_offered_once_in_a_refresh(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, journal):
        await store.open(origin(start=("/", "/a", "/b", "/c")), NOON)
        first = await claimed(store, NOON)
        for name, due in (("", NOON + 9.0), ("a", NOON + 7_200.0)):
            lesson = taught(due, at=NOON + 1.0, url=f"{HOME}{name}")
            journal.append(lesson.fetched.record)
            store.keep(lesson, Pace())
        store.postpone("one", f"{HOME}b", NOON + 100.0, NOON + 2.0)
        store.keep(taught(None, at=NOON + 3.0, url=f"{HOME}c", status=503), Pace())

        assert first == ["", "a", "b", "c"]
        assert await claimed(store, NOON) == ["c"]
        assert await claimed(store, NOON + 50.0, due=NOON + 50.0) == ["c", ""]
        assert await claimed(store, NOON + 50.0) == ["c", "", "b", "a"]


async def test_found_pages_come_after_the_start_pages_by_depth(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, journal):
        await store.open(ONE, NOON)
        pages = [Page(origin="one", url=f"{HOME}{n}", depth=n) for n in (3, 1, 2)]
        lesson = Lesson(fetched=Fetched(record=record(at=NOON)), found=tuple(pages))
        journal.append(lesson.fetched.record)
        store.keep(lesson, Pace())

        assert await claimed(store, NOON, depth=2) == ["", "1", "2"]


async def test_a_promise_is_on_disk_with_all_that_was_learned_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, journal):
        await store.open(ONE, NOON)
        lesson = taught(id="r-0-0", digest="5e" * 32)
        journal.append(lesson.fetched.record)
        store.keep(lesson, Pace(setbacks=2))
        await store.promise(promise(owed=Pace(setbacks=2)))

        other = sqlite3.connect(tmp_path / "state.db")
        assert other.execute("SELECT digest FROM pages").fetchall() == [("5e" * 32,)]
        ((kept, task),) = other.execute("SELECT pace, task FROM scopes").fetchall()
        assert b'"setbacks":2' in kept
        assert b'"pending":"r-0-1"' in kept
        assert b'"id":"r-0-1"' in task
        other.close()


async def test_a_scope_that_nobody_knows_is_owed_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        recalled = await store.recall(SCOPE, NOON)

        assert recalled == Recalled(Pace())


async def test_a_scopes_pace_outlives_the_run(tmp_path: Path) -> None:
    owed = Pace(not_before=NOON + 99.0, why=Why.RETRY_AFTER, setbacks=3)
    async with opened(tmp_path) as (store, journal):
        await store.promise(promise())
        lesson = taught()
        journal.append(lesson.fetched.record)
        store.keep(lesson, owed)
        at_once = await store.recall(SCOPE, NOON)

    async with opened(tmp_path) as (store, _):
        recalled = await store.recall(SCOPE, NOON)

        assert at_once.pace == recalled.pace == owed
        assert recalled.interrupted is None


async def test_an_interrupted_request_is_said_once_and_costs_a_full_delay(tmp_path: Path) -> None:
    settings = origin(politeness=Politeness(min_delay=30.0))
    async with opened(tmp_path) as (store, _):
        await store.open(settings, NOON)
        await store.promise(promise())

    async with opened(tmp_path) as (store, journal):
        recalled = await store.recall(SCOPE, NOON + 1_000.0)
        assert recalled.interrupted is not None
        journal.append(recalled.interrupted)
        again = await store.recall(SCOPE, NOON + 2_000.0)
    async with opened(tmp_path) as (store, _):
        next_run = await store.recall(SCOPE, NOON + 3_000.0)

    assert recalled.interrupted == Interrupted(
        at=NOON + 1_000.0, id="r-0-1", origin="one", scope=SCOPE, url=HOME
    )
    assert (recalled.pace.not_before, recalled.pace.why) == (NOON + 1_030.0, Why.INTERRUPTED)
    assert recalled.pace.regard("one").asked == 1
    assert again.pace == next_run.pace == recalled.pace
    assert again.interrupted is next_run.interrupted is None


async def test_an_interruption_that_was_said_before_a_second_crash_is_not_said_again(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (store, _):
        await store.promise(promise())
    journal = Journal(tmp_path / "log")
    said = Interrupted(at=NOON + 50.0, id="r-0-1", origin="one", scope=SCOPE, url=HOME)
    journal.append(said)
    journal.close()

    async with opened(tmp_path) as (store, _):
        recalled = await store.recall(SCOPE, NOON + 100.0)

        assert recalled.interrupted is None
        assert recalled.pace.not_before == NOON + 55.0
        assert recalled.pace.regard("one").asked == 1


async def test_a_record_that_was_written_but_never_learned_from_is_learned_from(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (store, journal):
        await store.open(ONE, NOON)
        await store.promise(promise())
        journal.append(record(at=NOON, status=503, labels=("sig1",)))  # and then a mistake of ours
        await store.promise(
            Promise(
                task=FetchTask(id="r-1-1", origin="two", scope="two.example", url="https://two/"),
                pace=Pace(pending="r-1-1"),
            )
        )
        recalled = await store.recall(SCOPE, NOON + 10.0)

        assert recalled.interrupted is None
        assert recalled.pace.setbacks == 1
        assert (await store.recall(SCOPE, NOON + 10.0)).pace == recalled.pace


async def test_after_a_loss_scopes_that_the_log_covers_go_on_and_others_wait_a_day(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / "log")
    journal.append(record(at=NOON - 50.0))
    journal.close()
    (tmp_path / "state.db").write_bytes(b"garbage" * 100)

    async with opened(tmp_path, now=NOON) as (store, _):
        covered = await store.recall(SCOPE, NOON + 1.0)
        other = await store.recall("two.example", NOON + 1.0)
        later = await store.recall("two.example", NOON + 86_401.0)
        await store.vouch("three.example")
        await store.vouch(SCOPE)
        vouched = await store.recall("three.example", NOON + 1.0)
        unchanged = await store.recall(SCOPE, NOON + 1.0)
    async with opened(tmp_path, now=NOON + 60.0) as (store, _):
        next_run = await store.recall("two.example", NOON + 61.0)
        still_vouched = await store.recall("three.example", NOON + 61.0)

    assert covered.pace.not_before == NOON - 50.0 + 0.5 + 5.0
    assert other.pace == next_run.pace == Pace(not_before=NOON + 86_400.0, why=Why.NOT_COVERED)
    assert later.pace == vouched.pace == still_vouched.pace == Pace()
    assert unchanged == covered


async def test_new_origins_of_a_whole_database_do_not_wait(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        await store.promise(promise())

    async with opened(tmp_path) as (store, _):
        assert (await store.recall("new.example", NOON)).pace == Pace()


async def test_time_goes_on_from_the_latest_moment_that_was_seen(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, journal):
        first = store.last_moment()
        journal.append(record(at=NOON + 500.0, elapsed=9.5))
        live = store.last_moment()

    async with opened(tmp_path) as (store, _):
        assert (first, live, store.last_moment()) == (0.0, NOON + 509.5, NOON + 509.5)


async def test_the_last_answer_shows_what_stands_in_front_of_an_origin(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, journal):
        unknown = store.evidence("one")
        for known in ({"server": "cloudflare", "fields": {"cf-ray": "8a"}}, {"status": None}):
            lesson = taught(**known)
            journal.append(lesson.fetched.record)
            store.keep(lesson, Pace())
        live = store.evidence("one")

    async with opened(tmp_path) as (store, _):
        assert unknown is None
        assert live == store.evidence("one") == Evidence("cloudflare", True)


def copy(**known: Any) -> RobotsCopy:
    filled = {"url": f"{HOME}robots.txt", "answer": robots.Answer.RULES, "status": 200}
    return RobotsCopy(**{**filled, "until": NOON + 9e4, **known})


async def copied(directory: Path, known: RobotsCopy, body: bytes | None) -> RobotsCopy | None:
    """What the next run knows of a robots.txt copy whose body is this."""
    async with opened(directory) as (store, journal):
        await store.open(ONE, NOON)
        if body is not None and known.digest is not None:
            store.robots.write(known.digest, body)
        fetched = Fetched(record=record(at=NOON, kind=Kind.ROBOTS, url=known.url))
        journal.append(fetched.record)
        store.keep(Lesson(fetched=fetched, copy=known), Pace())
    async with opened(directory) as (store, _):
        return (await store.open(ONE, NOON)).copy


@pytest.mark.parametrize("rules", [10, 3_000], ids=["a light one", "a heavy one"])
async def test_a_robots_copy_comes_back_with_its_rules(tmp_path: Path, rules: int) -> None:
    lines = "".join(f"Disallow: /private/{number}/\n" for number in range(rules))
    body = f"User-agent: *\nCrawl-delay: 7\n{lines}".encode()
    digest = durable.digest(body)

    found = await copied(tmp_path, copy(digest=digest, etag='"1"', good_at=NOON), body)

    assert found is not None
    assert found.rules is not None
    assert (found.etag, found.good_at, found.rules.crawl_delay) == ('"1"', NOON, 7.0)
    assert not found.rules.ruling(f"{HOME}private/9/x").allowed


async def test_a_missing_robots_txt_allows_everything_in_the_next_run_too(tmp_path: Path) -> None:
    found = await copied(tmp_path, copy(answer=robots.Answer.ALLOW_ALL, status=404), None)

    assert found is not None
    assert found.rules is not None
    assert found.rules.ruling(f"{HOME}x").allowed


@pytest.mark.parametrize("body", [None, b"cut short"], ids=["lost", "not what its name says"])
async def test_a_robots_copy_without_its_body_is_asked_for_anew(
    tmp_path: Path, body: bytes | None
) -> None:
    assert await copied(tmp_path, copy(digest="5e" * 32), body) is None


async def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    async with opened(tmp_path / "kept") as (store, journal):
        (tmp_path / "file").write_text("no directory")
        other = Store(
            tmp_path / "file" / "state",
            journal,
            product="ExampleBot",
            links=durable.no_links,
            whereabouts=lambda _: None,
            now=NOON,
        )
        with pytest.raises(StateUnusable, match="file/state: cannot be made"):
            await other.__aenter__()

        assert store.rebuilt is None


async def test_a_disk_that_fills_up_stops_promises_and_loses_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, journal):
        await store.open(ONE, NOON)
        await store.promise(promise())
        lesson = taught(status=503, labels=("sig1",))
        journal.append(lesson.fetched.record)
        store.keep(lesson, Pace(setbacks=1))
        with room((tmp_path / "state.db-wal").stat().st_size + 100), pytest.raises(StateUnusable):
            await store.promise(promise("r-0-2", Pace(setbacks=1)))

    async with opened(tmp_path) as (store, _):
        recalled = await store.recall(SCOPE, NOON)
        assert recalled.interrupted is None
        assert recalled.pace == Pace(setbacks=1)


async def test_damage_that_is_met_in_use_ends_the_run_and_the_next_one_rebuilds(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / "log")
    journal.append(record(at=NOON))
    journal.close()
    async with opened(tmp_path) as (store, _):
        await store.open(ONE, NOON)
        await claimed(store, NOON)
        other = schema.writing(tmp_path / "state.db")
        other.execute("UPDATE scopes SET pace = ?", (b"no pace",))
        other.close()
        with pytest.raises(StateDamaged) as caught:
            await store.recall(SCOPE, NOON)

    async with opened(tmp_path) as (store, _):
        assert caught.value.hint == "start again: it is rebuilt from the log"
        assert store.rebuilt is not None
        assert store.rebuilt.records == 1


async def test_twenty_promises_at_once_are_all_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        tasks = [FetchTask(id=f"r-{n}-1", origin="one", scope=f"s{n}", url=HOME) for n in range(20)]
        await asyncio.gather(
            *(store.promise(Promise(task=task, pace=Pace(pending=task.id))) for task in tasks)
        )

    async with opened(tmp_path) as (store, _):
        said = [(await store.recall(task.scope, NOON)).interrupted for task in tasks]
        assert [event.id for event in said if event is not None] == [task.id for task in tasks]


def site(store: Store, task: FetchTask) -> Fetched:
    """A home page with two links, one of them closed by robots.txt, one moved."""
    if task.kind is Kind.ROBOTS:
        return durable.robots_txt(store, task, "User-agent: *\nDisallow: /closed\n")
    if task.etag is not None:
        return answered(task, 304, unchanged=True, digest=task.digest)
    if task.url == f"{HOME}old":
        return answered(task, 301, location="/new")
    links = [f"{HOME}{name}" for name in ("closed", "old")]
    return durable.page(store, task, links if task.url == HOME else (), etag='"1"')


async def refreshed(directory: Path, run: str, now: float, settings: Origin) -> DurableWorld:
    async with opened(directory, settings, now=now) as (store, journal):
        world = DurableWorld(
            run, store, journal, {"one.example": lambda task: site(store, task)}, now=now
        )
        await durable.crawl(world, settings)
        return world


async def test_a_whole_refresh_and_the_next_one_an_hour_later(tmp_path: Path) -> None:
    settings = origin(follow=(Follow.LINKS,))
    first = await refreshed(tmp_path, "a", NOON, settings)
    at_once = await refreshed(tmp_path, "b", NOON + 60.0, settings)
    later = await refreshed(tmp_path, "c", NOON + 7_200.0, settings)

    names = [url.removeprefix(HOME) for url in first.urls()]
    assert names == ["robots.txt", "", "old", "new"]
    assert [event.url for event in first.of(Skipped)] == [f"{HOME}closed"]
    assert at_once.urls() == []
    assert [event.why for event in at_once.of(Deferred)] == [Why.FRESH]
    assert [url.removeprefix(HOME) for url in later.urls()] == ["", "old", "new"]
    assert [event.status for event in later.of(FetchRecord)] == [304, 301, 304]
    assert [type(event) for event in later.events] == [OriginSettings, *[FetchRecord] * 3]
