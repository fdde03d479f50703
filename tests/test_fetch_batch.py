"""What a batch changes in the state database."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from imagined import origin
from records import record

from crawler.events import Outcome
from crawler.fetch import schema
from crawler.fetch.batch import Batch, Evidence, Origins, Pending, evidence_of
from crawler.fetch.journal import Position
from crawler.fetch.view import Known, View
from crawler.fetch.writer import commit
from crawler.polite.frontier import (
    Fetched,
    FetchTask,
    Lesson,
    Page,
    Promise,
    Refresh,
    RobotsCopy,
)
from crawler.polite.pace import Pace
from crawler.polite.regard import Regard

HOME = "https://one.example/"
DIGEST = "5e" * 32


class Desk:
    """A database, a batch that is written to it when asked, and a view of it."""

    def __init__(self, directory: Path) -> None:
        path = directory / "state.db"
        schema.create(path)
        self._database = schema.writing(path)
        self._origins = Origins({})
        self.view = View(path)
        self.batch = Batch(self._origins)

    def write(self) -> None:
        commit(self._database, self.batch)
        self.batch = Batch(self._origins)

    def read(self, due: float | None = 9_000.0, number: int | None = None, **known: Any) -> None:
        """Keep what a record teaches."""
        lesson = Lesson(fetched=Fetched(record=record(**known)), due=due)
        self.batch.keep(lesson, Pace(), number)
        self.write()

    def page(self, url: str = HOME) -> Known:
        known = self.view.page("one", url)
        assert known is not None
        return known

    def number(self, url: str = HOME) -> int:
        ((number,),) = self._database.execute("SELECT id FROM pages WHERE key = ?", (url,))
        assert isinstance(number, int)
        return number

    def close(self) -> None:
        self.view.close()
        self._database.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.close()


FULL: dict[str, Any] = {
    "digest": DIGEST,
    "etag": '"1"',
    "last_modified": "Mon, 30 Nov 2026 12:00:00 GMT",
}


def test_a_page_that_was_read_leaves_its_validators_and_its_digest(desk: Desk) -> None:
    desk.read(**FULL)

    assert desk.page() == Known(
        page=Page(origin="one", url=HOME, full_at=1000.5, **FULL),
        due=9_000.0,
        seen=1000.0,
        status=200,
    )


@pytest.mark.parametrize("claimed", [True, False], ids=["claimed", "by its key"])
def test_a_later_reading_replaces_all_of_them(desk: Desk, claimed: bool) -> None:
    desk.read(**FULL)

    desk.read(at=2000.0, digest="ab" * 32, number=desk.number() if claimed else None)

    page = desk.page().page
    assert (page.etag, page.last_modified, page.digest) == (None, None, "ab" * 32)
    assert page.full_at == 2000.5


def test_a_304_confirms_what_is_there_and_replaces_what_it_names(desk: Desk) -> None:
    desk.read(**FULL)

    desk.read(at=2000.0, status=304, etag='"2"', digest=None)

    page = desk.page().page
    assert (page.etag, page.last_modified) == ('"2"', FULL["last_modified"])
    assert (page.digest, page.full_at) == (DIGEST, 1000.5)
    assert (desk.page().status, desk.page().seen) == (304, 2000.0)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"status": 404, "digest": "ab" * 32, "etag": '"x"'}, id="not found"),
        pytest.param({"status": 302, "etag": '"x"'}, id="moved"),
        pytest.param({"status": None, "outcome": Outcome.FAILED}, id="no answer"),
        pytest.param({"outcome": Outcome.TOO_BIG, "etag": '"x"'}, id="too big"),
        pytest.param({"outcome": Outcome.WRONG_TYPE, "etag": '"x"'}, id="wrong type"),
    ],
)
def test_an_answer_without_the_page_leaves_what_we_have_of_it(
    desk: Desk, answer: dict[str, Any]
) -> None:
    desk.read(**FULL)

    desk.read(at=2000.0, due=9_500.0, **answer)

    page = desk.page()
    assert (page.page.etag, page.page.digest, page.page.full_at) == ('"1"', DIGEST, 1000.5)
    assert (page.due, page.seen) == (9_500.0, 2000.0)


def test_an_answer_that_will_be_asked_for_again_changes_nothing_of_the_page(desk: Desk) -> None:
    desk.batch.find([Page(origin="one", url=HOME)])
    desk.read(due=None, status=503)

    assert desk.page() == Known(page=Page(origin="one", url=HOME), due=None, seen=None, status=None)


def test_a_found_page_is_one_page_at_its_least_depth_and_sent_as_it_was_first_found(
    desk: Desk,
) -> None:
    first, second = f"{HOME}?b=1&a=2", f"{HOME}?a=2&b=1"
    for url, depth in ((first, 3), (second, 2), (first, 5)):
        desk.batch.find([Page(origin="one", url=url, depth=depth)])
    desk.write()

    assert desk.page(first) == desk.page(second)
    assert (desk.page(first).page.url, desk.page(first).page.depth) == (first, 2)


def test_an_answer_to_a_page_that_nobody_knew_makes_it_known(desk: Desk) -> None:
    desk.read(url=f"{HOME}new", depth=2, status=404)

    assert desk.page(f"{HOME}new").page.depth == 2
    assert desk.page(f"{HOME}new").due == 9_000.0


@pytest.mark.parametrize("claimed", [True, False], ids=["claimed", "by its key"])
def test_a_postponed_page_has_been_considered(desk: Desk, claimed: bool) -> None:
    desk.batch.find([Page(origin="one", url=HOME)])
    desk.write()

    desk.batch.postpone("one", HOME, 5_000.0, 1_000.0, desk.number() if claimed else None)
    desk.write()

    assert (desk.page().due, desk.page().seen, desk.page().status) == (5_000.0, 1_000.0, None)


def test_start_pages_of_before_count_as_found_on_one(desk: Desk) -> None:
    desk.batch.find(
        Page(origin="one", url=f"{HOME}{name}", depth=depth)
        for name, depth in (("kept", 0), ("gone", 0), ("deep", 3))
    )
    desk.batch.demote("one", [f"{HOME}gone", f"{HOME}deep"])
    desk.batch.demote("one", [])
    desk.write()

    assert [desk.page(f"{HOME}{name}").page.depth for name in ("kept", "gone", "deep")] == [0, 1, 3]


def test_where_nobody_knows_them_all_but_the_start_pages_do(desk: Desk) -> None:
    desk.batch.find(
        Page(origin=name, url=f"{HOME}{path}")
        for name in ("one", "two")
        for path in ("start", "other")
    )
    desk.batch.demote_others("one", [f"{HOME}start"])
    desk.write()

    assert desk.page(f"{HOME}start").page.depth == 0
    assert desk.page(f"{HOME}other").page.depth == 1
    other = desk.view.page("two", f"{HOME}other")
    assert other is not None
    assert other.page.depth == 0


def test_settings_are_kept_without_the_cookie(desk: Desk, tmp_path: Path) -> None:
    known = origin(cookie="session=secret", depth=7)
    desk.batch.begin(known, Refresh(started=5.0, asked=2))
    desk.write()

    assert desk.view.settings("one") == origin(depth=7)
    assert desk.view.refresh("one") == Refresh(started=5.0, asked=2)
    assert all(b"secret" not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_refresh_counts_what_was_promised_in_it(desk: Desk) -> None:
    task = FetchTask(id="r-1", origin="one", scope="one.example", url=HOME)
    desk.batch.promise(
        Promise(task=task, pace=Pace(pending="r-1"), refresh=Refresh(started=5.0, asked=1)),
        Position("events-2026-11-30.jsonl", 77),
    )
    desk.write()

    assert desk.view.refresh("one") == Refresh(started=5.0, asked=1)
    assert desk.view.pending() == {
        "one.example": Pending(task, Position("events-2026-11-30.jsonl", 77))
    }


def test_a_record_settles_its_scopes_promise(desk: Desk) -> None:
    task = FetchTask(id="r-0-1", origin="one", scope="one.example", url=HOME)
    desk.batch.promise(Promise(task=task, pace=Pace(pending="r-0-1")), Position())
    desk.write()
    after = Pace(not_before=7.0, regards={"one": Regard(asked=3, day=20_000)})

    desk.batch.keep(Lesson(fetched=Fetched(record=record())), after, None)
    desk.write()

    assert desk.view.scope("one.example") == (after, None)
    assert desk.view.pending() == {}


def test_a_robots_copy_in_force_replaces_the_one_before(desk: Desk) -> None:
    url = f"{HOME}robots.txt"
    first = RobotsCopy(
        url=url,
        answer="rules",
        status=200,
        at=1.0,
        until=2.0,
        digest=DIGEST,
        etag='"r"',
        last_modified="x",
        good_at=1.5,
    )
    second = RobotsCopy(url=url, answer="allow-all", status=404, at=3.0, until=4.0)
    desk.batch.enforce(first)
    desk.write()
    kept = desk.view.copy(url)
    desk.batch.prolong(url, 9.0, 503)
    desk.write()
    prolonged = desk.view.copy(url)
    desk.batch.keep(Lesson(fetched=Fetched(record=record()), copy=second), Pace(), None)
    desk.write()

    assert kept == first
    assert prolonged is not None
    assert (prolonged.until, prolonged.status, prolonged.digest) == (9.0, 503, DIGEST)
    assert desk.view.copy(url) == second


def test_the_last_answers_evidence_is_kept(desk: Desk) -> None:
    shown = [
        evidence_of(record(server="cloudflare", fields={"cf-ray": "8a"})),
        evidence_of(record(server=None)),
        evidence_of(record(status=None)),
    ]
    for evidence in shown[:2]:
        assert evidence is not None
        desk.batch.note("one", evidence)
        desk.write()

    assert shown == [Evidence("cloudflare", True), Evidence(None, False), None]
    assert desk.view.evidence("one") == Evidence(None, False)
