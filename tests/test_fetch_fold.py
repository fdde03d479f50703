"""What the log's events lead to is what the crawl itself knew when it wrote them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import durable
import pytest
from durable import NOON
from hypothesis import given
from hypothesis import strategies as st
from imagined import origin
from records import record

from crawler.events import (
    Event,
    FetchRecord,
    Interrupted,
    Kind,
    Outcome,
    Place,
    RobotsRead,
    Skipped,
    Stage,
    Why,
)
from crawler.fetch import schema
from crawler.fetch.batch import Batch, Evidence, Origins
from crawler.fetch.bodies import Bodies
from crawler.fetch.fold import Fold, Past
from crawler.fetch.journal import Journal
from crawler.fetch.view import Known, View
from crawler.fetch.writer import commit
from crawler.polite import pace
from crawler.polite.frontier import FetchTask, Page, Refresh
from crawler.polite.pace import Pace
from crawler.settings import Follow, Politeness

HOME = "https://one.example/"
MANNERS = Politeness(min_delay=7.0, freeze=(60.0, 600.0))
ONE = origin(follow=(Follow.LINKS,), depth=2, politeness=MANNERS)


class Reader:
    """A fold over an empty database, and what it has become."""

    def __init__(self, directory: Path) -> None:
        path = directory / "state.db"
        schema.create(path)
        self._database = schema.writing(path)
        self._log = Journal(directory / "log")
        self.bodies = Bodies(directory / "bodies")
        self.parsed: list[str] = []
        self.view = View(path)
        self._past = Past(
            journal=self._log,
            bodies=self.bodies,
            links=self._links,
            whereabouts=lambda url: {"one.example": ("one", "one.example")}.get(url.split("/")[2]),
        )
        self.fold = Fold(Batch(Origins({})), self.view, self._past)

    def _links(self, record: Any, body: bytes, origin: Any) -> tuple[str, ...]:
        self.parsed.append(record.url)
        return durable.written_links(record, body, origin)

    def absorb(self, *events: Event) -> None:
        for event in events:
            self.fold.absorb(event)
        commit(self._database, self.fold.batch)
        self.fold.batch = Batch(Origins(self.view.origins()))

    def begin_again(self) -> None:
        """Forget what was absorbed, but for the database."""
        self.fold = Fold(self.fold.batch, self.view, self._past)

    def pace(self) -> Pace:
        known = self.view.scope("one.example")
        assert known is not None
        assert known[1] is None
        return known[0]

    def page(self, url: str = HOME) -> Known | None:
        return self.view.page("one", url)

    def close(self) -> None:
        self._log.close()
        self.view.close()
        self._database.close()


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path)
    yield reader
    reader.close()


answers = st.fixed_dictionaries(
    {
        "status": st.sampled_from([200, 304, 403, 404, 429, 500, 503, None]),
        "stage": st.sampled_from([Stage.CONNECT, Stage.FIRST_BYTE, Stage.STALE_CONNECTION]),
        "elapsed": st.floats(0.0, 20.0),
        "retry_after": st.one_of(st.none(), st.floats(0.0, 1e6)),
        "kind": st.sampled_from(Kind),
        "labels": st.sampled_from([("sig1",), ("sig1", "sig2")]),
        "outcome": st.sampled_from([Outcome.ANSWERED, Outcome.CANCELLED, Outcome.NOT_SENT]),
    }
)


@given(st.lists(st.one_of(st.none(), answers), max_size=30))
def test_the_folded_pace_is_the_one_that_the_crawl_had(
    tmp_path_factory: pytest.TempPathFactory, story: list[dict[str, Any] | None]
) -> None:
    reader = Reader(tmp_path_factory.mktemp("state"))
    live, now, log = Pace(), NOON, list[Event]([durable.settings(ONE)])
    for number, answer in enumerate(story):
        id = f"r-0-{number}"
        live = pace.before(live, HOME.rstrip("/"), id, now)
        if answer is None:  # killed, and started anew a while later
            now += 100.0
            live = pace.resumed(live, HOME.rstrip("/"), now, MANNERS)
            log.append(Interrupted(at=now, id=id, origin="one", scope="one.example", url=HOME))
        else:
            stage = answer["stage"] if answer["status"] is None else None
            log.append(record(**{**answer, "stage": stage}, id=id, at=now))
            live = pace.after(live, log[-1], MANNERS)  # type: ignore[arg-type]
        now = max(now + 1.0, live.not_before)
    reader.absorb(*log)

    assert reader.fold.pace("one.example") == live
    if story:
        assert reader.pace() == live
    reader.close()


def test_an_answer_leaves_its_page_due_by_the_manners_of_its_time(reader: Reader) -> None:
    body = kept(reader)

    reader.absorb(durable.settings(ONE), record(at=NOON, etag='"1"', **body))

    assert reader.page() == Known(
        page=Page(origin="one", url=HOME, etag='"1"', **body, full_at=NOON + 0.5),
        due=NOON + 0.5 + MANNERS.min_interval,
        seen=NOON,
        status=200,
    )
    assert reader.view.evidence("one") == Evidence(None, False)


def test_a_page_that_was_to_be_asked_for_again_is_known_and_still_to_be_asked(
    reader: Reader,
) -> None:
    reader.absorb(durable.settings(ONE), record(at=NOON, status=503, depth=1))

    assert reader.page() == Known(
        page=Page(origin="one", url=HOME, depth=1), due=None, seen=None, status=None
    )


def kept(reader: Reader, *links: str) -> dict[str, Any]:
    """What a record says of a body that is kept."""
    fetched = durable.page(reader, FetchTask(id="r", origin="one", url=HOME), links)  # type: ignore[arg-type]
    return {"digest": fetched.record.digest, "place": fetched.record.place}


def test_links_are_read_again_from_the_body_that_was_kept(reader: Reader) -> None:
    body = kept(reader, f"{HOME}a", f"{HOME}b")

    reader.absorb(
        durable.settings(ONE),
        record(at=NOON, **body, depth=1),
        record(id="r-0-2", at=NOON + 9.0, **body, depth=1),
    )

    found = [reader.page(f"{HOME}{name}") for name in "ab"]
    assert [page.page.depth for page in found if page is not None] == [2, 2]
    assert reader.parsed == [HOME]


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        pytest.param(origin(depth=2), {}, id="an origin that follows nothing"),
        pytest.param(ONE, {"depth": 2}, id="a page as deep as we go"),
        pytest.param(ONE, {"digest": None}, id="no body"),
        pytest.param(ONE, {"status": 404}, id="an error's body"),
    ],
)
def test_no_links_are_found_where_the_crawl_found_none(
    reader: Reader, settings: Any, answer: dict[str, Any]
) -> None:
    known = {**kept(reader, f"{HOME}a"), "depth": 0, **answer}

    reader.absorb(durable.settings(settings), record(at=NOON, **known))

    assert reader.page(f"{HOME}a") is None


def test_a_page_whose_links_are_lost_with_its_body_is_read_in_full_the_next_time(
    reader: Reader,
) -> None:
    validators = {"etag": '"1"', "last_modified": "Fri, 04 Oct 2024 10:00:00 GMT"}
    gone = {"digest": "5e" * 32, "place": Place("000001", 0, 9)}
    lost = record(at=NOON, **gone, **validators)
    leaf = record(id="r-0-2", at=NOON, url=f"{HOME}leaf", digest="5e" * 32, depth=2, **validators)

    reader.absorb(durable.settings(ONE), lost, leaf)

    page, other = reader.page(), reader.page(f"{HOME}leaf")
    assert page is not None
    assert (page.page.etag, page.page.last_modified, page.page.place) == (None, None, None)
    assert page.due == NOON + 0.5 + max(MANNERS.min_interval, 0.1 * 7_200.0)
    assert other is not None
    assert other.page.etag == '"1"'


def test_where_a_redirect_leads_is_known(reader: Reader) -> None:
    reader.absorb(
        durable.settings(ONE),
        record(at=NOON, status=301, location="/moved", depth=1),
        record(id="r-0-2", at=NOON + 9.0, status=302, location="https://elsewhere.example/"),
    )

    moved = reader.page(f"{HOME}moved")
    assert moved is not None
    assert moved.page.depth == 1
    assert reader.view.origins().keys() == {"one"}


def robots_read(**known: Any) -> RobotsRead:
    filled: dict[str, Any] = {
        "at": NOON,
        "origin": "one",
        "url": f"{HOME}robots.txt",
        "answer": "rules",
        "status": 200,
        "digest": "ab" * 32,
        "until": NOON + 3_600.0,
    }
    return RobotsRead(**{**filled, **known})


def test_the_robots_copy_in_force_is_the_last_one_that_was_read(reader: Reader) -> None:
    reader.absorb(
        durable.settings(ONE),
        record(at=NOON, kind=Kind.ROBOTS, url=f"{HOME}robots.txt", digest="ab" * 32),
        robots_read(etag='"r"'),
    )

    copy = reader.view.copy(f"{HOME}robots.txt")
    assert copy is not None
    assert (copy.answer, copy.digest, copy.etag) == ("rules", "ab" * 32, '"r"')
    assert (copy.until, copy.good_at) == (NOON + 3_600.0, NOON)
    assert reader.page(f"{HOME}robots.txt") is None


@pytest.mark.parametrize("status", [None, 429, 503])
def test_a_last_good_copy_stays_as_good_as_it_was(reader: Reader, status: int | None) -> None:
    reader.absorb(robots_read(), robots_read(at=NOON + 9e3, status=status, until=NOON + 1e4))

    copy = reader.view.copy(f"{HOME}robots.txt")
    assert copy is not None
    assert (copy.until, copy.status, copy.good_at) == (NOON + 1e4, status, NOON)


def test_a_missing_robots_txt_is_no_good_copy(reader: Reader) -> None:
    reader.absorb(robots_read(answer="allow-all", status=404, digest=None))

    copy = reader.view.copy(f"{HOME}robots.txt")
    assert copy is not None
    assert copy.good_at is None


def skipped(why: Why = Why.ROBOTS) -> Skipped:
    return Skipped(at=NOON + 10.0, run="r", origin="one", url=f"{HOME}a", why=why)


def test_a_page_that_robots_refused_waits_for_the_next_copy(reader: Reader) -> None:
    reader.absorb(
        durable.settings(ONE),
        robots_read(),
        moved(),
        skipped(Why.REDIRECT_LIMIT),
    )
    before = reader.page(f"{HOME}a")
    reader.absorb(skipped())

    after = reader.page(f"{HOME}a")
    assert before is not None
    assert before.due is None
    assert after is not None
    assert (after.due, after.seen) == (NOON + 3_600.0, NOON + 10.0)


def test_an_origin_of_which_the_log_says_nothing_gets_the_defaults(reader: Reader) -> None:
    reader.absorb(record(at=NOON), skipped())

    assert reader.pace().not_before == NOON + 0.5 + Politeness().min_delay
    assert reader.page() is not None


def test_what_was_known_before_is_gone_on_with(reader: Reader) -> None:
    reader.fold.batch.begin(ONE, Refresh(started=NOON))
    reader.absorb(robots_read(), record(at=NOON, status=500, labels=("sig1",)), moved())
    reader.begin_again()

    reader.absorb(record(id="r-0-3", at=NOON + 99.0, status=503, labels=("sig1",)), skipped())

    page = reader.page(f"{HOME}a")
    assert reader.pace().regard(HOME.rstrip("/")).failures == 1
    assert page is not None
    assert page.due == NOON + 3_600.0


def moved() -> FetchRecord:
    return record(id="r-0-2", at=NOON + 50.0, status=301, location="/a")
