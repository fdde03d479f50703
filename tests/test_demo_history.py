"""What a log says became of an origin, and what is expected of it."""

from typing import Any

import pytest

from crawler.demo.expectations import BOTH, FIRST, TABLE
from crawler.demo.history import History, target_of
from crawler.events import (
    Deferred,
    Event,
    FetchRecord,
    Kind,
    Outcome,
    RobotsRead,
    Skipped,
    Why,
)
from crawler.polite.robots import Answer


def record(target: str, status: int | None = 200, **given: Any) -> FetchRecord:
    stated = {
        "at": 0.0,
        "id": target,
        "origin": "single",
        "scope": "single.localhost",
        "url": f"http://single.localhost:8001{target}",
        "kind": Kind.ROBOTS if target == "/robots.txt" else Kind.PAGE,
        "outcome": Outcome.ANSWERED,
        "status": status,
        "labels": FIRST,
    }
    return FetchRecord(**{**stated, **given})


def refusals_with_controls() -> list[Event]:
    found: list[Event] = []
    for target in ("/robots.txt", "/", "/page-1", "/page-2"):
        found.append(record(target, 401, id=f"{target} both", labels=BOTH))
        found.append(record(target, 200, id=f"{target} first", control_of=f"{target} both"))
    return found


def unmet(events: list[Event]) -> list[str]:
    history = History(events)
    return [one.what for one in TABLE if one.origin == "single" and not one.met(history)]


def test_refusals_whose_controls_were_let_in_are_as_expected() -> None:
    assert unmet(refusals_with_controls()) == []


@pytest.mark.parametrize(
    ("position", "instead"),
    [
        (2, record("/", 401, id="/ both")),
        (3, record("/", 401, control_of="/ both")),
        (3, record("/", 200, control_of="another")),
        (3, record("/", 200, control_of="/ both", labels=BOTH)),
    ],
    ids=["refused with one", "control refused", "control of another", "control with both"],
)
def test_a_refusal_without_a_good_control_is_not(position: int, instead: FetchRecord) -> None:
    events = refusals_with_controls()
    events[position] = instead

    assert "each refusal of two signatures is tried with sig1 alone, robots.txt first" in unmet(
        events
    )


def test_a_history_tells_pages_from_robots_txt_and_origins_apart() -> None:
    other = record("/", origin="other")
    robots, page, failed = record("/robots.txt"), record("/"), record("/two", 404)
    history = History([robots, page, failed, other])

    assert history.robots("single") == [robots]
    assert history.pages("single") == [page, failed]
    assert history.read("single") == {"/"}
    assert history.records("single", "/two") == [failed]


def test_a_history_tells_why_something_was_not_asked() -> None:
    skipped = Skipped(at=0.0, run="1", origin="single", url="http://x/", why=Why.ROBOTS)
    history = History(
        [
            skipped,
            Deferred(at=0.0, run="1", origin="single", why=Why.PAGE_LIMIT),
            RobotsRead(at=0.0, origin="single", url="http://x/", answer=Answer.RULES, until=1.0),
        ]
    )

    assert history.skipped("single", Why.ROBOTS) == [skipped]
    assert history.skipped("single", Why.ELSEWHERE) == []
    assert history.deferred("single", Why.PAGE_LIMIT)
    assert not history.deferred("other", Why.PAGE_LIMIT)
    assert history.judged("single", Answer.RULES)
    assert not history.judged("single", Answer.ALLOW_ALL)


@pytest.mark.parametrize(
    ("target", "expected"), [("/", "/"), ("/a?b=1", "/a?b=1")], ids=["path", "query"]
)
def test_a_records_target_is_path_and_query(target: str, expected: str) -> None:
    assert target_of(record(target)) == expected
