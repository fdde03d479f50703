"""What a refresh would ask is decided as in the crawl, and said for people."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from imagined import PRODUCT, origin
from msgspec.structs import replace

from crawler import plan
from crawler.events import Why, Without
from crawler.fetch.middleware import Foreseen
from crawler.plan import Asked, Known, Planned
from crawler.polite import robots
from crawler.polite.frontier import Opened, Page, Refresh, RobotsCopy, Supply
from crawler.polite.pace import Pace
from crawler.polite.regard import Regard
from crawler.settings import Politeness

NOW = 1_793_512_800.0  # 2026-11-01 06:00 UTC
HOUR, DAY = 3600.0, 86400.0
HOME = "https://one.example/"
ROBOTS = f"{HOME}robots.txt"
BOTH = ("sig1", "sig2")
FITS = Foreseen(labels=BOTH, without=None, size=4000)
TIGHT = Foreseen(labels=("sig1",), without=Without.BUDGET, size=800)
NO_ROOM = Foreseen(labels=(), without=Without.BUDGET, size=900)
REFUSED = f"refused by {ROBOTS} line 2"
GROUP = "(group `User-agent: *`, line 1)"
LATER = "not before 2026-11-01 07:00 UTC"
NOT_EVEN_FIRST = "not even sig1 fits into header_limit"
SPENT = "a refresh asks for 3 pages; the rest waits for the next one"


def copy_of(text: str = "", *, until: float = NOW + DAY, url: str = ROBOTS) -> RobotsCopy:
    rules = robots.parse(text.encode(), PRODUCT)
    return RobotsCopy(url=url, answer="rules", at=NOW - HOUR, until=until, rules=rules)


def known(
    *paths: str,
    copy: RobotsCopy | None = None,
    asked: int = 0,
    next_due: float | None = None,
    owed: Pace | None = None,
    known_pages: tuple[Page, ...] = (),
    resting: tuple[str, ...] = (),
    carried: Mapping[str, Foreseen] = MappingProxyType({}),
    **settings: Any,
) -> Known:
    """What is known of an origin with these pages due."""
    named = tuple(Page(origin="one", url=HOME + path) for path in paths)
    return Known(
        origin=origin(**settings),
        opened=Opened(refresh=Refresh(started=NOW - HOUR, asked=asked), copy=copy),
        supply=Supply(pages=(*named, *known_pages), next_due=next_due),
        owed=owed or Pace(),
        robots=ROBOTS,
        foresee=lambda task: carried.get(task.url.removeprefix(HOME), FITS),
        resting=tuple(Page(origin="one", url=HOME + path) for path in resting),
    )


def told(found: tuple[Planned, ...]) -> list[tuple[str, float | Why | None]]:
    """Each URL with the seconds until it is asked, or why it is not."""
    return [(one.url, one.why if one.at is None else one.at - NOW) for one in found]


FRESH_COPY = copy_of("User-agent: *\nDisallow: /private\n")

DECISIONS: dict[str, tuple[Known, list[tuple[str, float | Why | None]]]] = {
    "nothing is due": (known(copy=FRESH_COPY), [(HOME, Why.FRESH)]),
    "robots.txt refused all that was due": (
        known(copy=copy_of("User-agent: *\nDisallow: /\n"), resting=("", "a")),
        [(HOME, Why.ROBOTS), (f"{HOME}a", Why.ROBOTS)],
    ),
    "robots.txt refused some, and the rest is fresh": (
        known(copy=FRESH_COPY, resting=("private", "a")),
        [(HOME, Why.FRESH), (f"{HOME}private", Why.ROBOTS)],
    ),
    "robots.txt refused some, and one is due": (
        known("a", copy=FRESH_COPY, resting=("private", "b")),
        [(f"{HOME}a", 0.0), (f"{HOME}private", Why.ROBOTS)],
    ),
    "what refused it is too old": (
        known("a", copy=copy_of("User-agent: *\nDisallow: /b\n", until=NOW), resting=("b",)),
        [(ROBOTS, 0.0), (f"{HOME}a", 5.0)],
    ),
    "a frozen origin": (
        known(
            "",
            copy=FRESH_COPY,
            owed=Pace(
                regards={"https://one.example": Regard(closed=Why.FROZEN, closed_until=NOW + HOUR)}
            ),
        ),
        [(HOME, Why.FROZEN)],
    ),
    "the day's budget is spent": (
        known(
            "",
            copy=FRESH_COPY,
            owed=Pace(regards={"https://one.example": Regard(day=int(NOW // DAY), asked=1000)}),
        ),
        [(HOME, Why.DAILY_BUDGET)],
    ),
    "a wait too long for a run": (
        known("", copy=FRESH_COPY, owed=Pace(not_before=NOW + HOUR, why=Why.RETRY_AFTER)),
        [(HOME, Why.RETRY_AFTER)],
    ),
    "robots.txt is not known": (known("", "a"), [(ROBOTS, 0.0), (HOME, 5.0), (f"{HOME}a", 10.0)]),
    "its copy is old": (known("", copy=copy_of(until=NOW)), [(ROBOTS, 0.0), (HOME, 5.0)]),
    "its copy is of another host": (
        known("private", copy=copy_of("User-agent: *\nDisallow: /\n", url="https://old.example/")),
        [(ROBOTS, 0.0), (f"{HOME}private", 5.0)],
    ),
    "robots.txt allows some": (
        known("private", "a", "private/b", "c", copy=FRESH_COPY),
        [
            (f"{HOME}private", Why.ROBOTS),
            (f"{HOME}a", 0.0),
            (f"{HOME}private/b", Why.ROBOTS),
            (f"{HOME}c", 5.0),
        ],
    ),
    "robots.txt allows nothing": (
        known("", "a", copy=copy_of("User-agent: *\nDisallow: /\n")),
        [(HOME, Why.ROBOTS), (f"{HOME}a", Why.ROBOTS)],
    ),
    "robots.txt wants it slower": (
        known("", "a", copy=copy_of("User-agent: *\nCrawl-delay: 40\n")),
        [(HOME, 0.0), (f"{HOME}a", 40.0)],
    ),
    "robots.txt wants it too slow": (
        known("", copy=copy_of("User-agent: *\nCrawl-delay: 301\n")),
        [(HOME, Why.CRAWL_DELAY)],
    ),
    "the pace is owed a little": (
        known("", "a", copy=FRESH_COPY, owed=Pace(not_before=NOW + 3.0)),
        [(HOME, 3.0), (f"{HOME}a", 8.0)],
    ),
    "robots.txt is not known and its head has no room": (
        known("", "a", carried={"robots.txt": NO_ROOM}),
        [(ROBOTS, Why.ROBOTS_UNREACHABLE)],
    ),
    "robots.txt is known and its head has no room": (
        known("", copy=FRESH_COPY, carried={"robots.txt": NO_ROOM}),
        [(HOME, 0.0)],
    ),
    "a page's head has no room": (
        known("a", "b", copy=FRESH_COPY, carried={"a": NO_ROOM}),
        [(f"{HOME}a", Why.UNSENDABLE), (f"{HOME}b", 0.0)],
    ),
    "quiet hours end soon": (
        known("", copy=FRESH_COPY, politeness=Politeness(quiet="22:00-06:04")),
        [(HOME, 240.0)],
    ),
    "quiet hours end late": (
        known("", copy=FRESH_COPY, politeness=Politeness(quiet="22:00-08:00")),
        [(HOME, Why.QUIET_HOURS)],
    ),
    "more pages than a refresh asks for": (
        known("private", "a", "b", "c", "d", copy=FRESH_COPY, asked=1, pages=3),
        [
            (f"{HOME}private", Why.ROBOTS),
            (f"{HOME}a", 0.0),
            (f"{HOME}b", 5.0),
            (f"{HOME}c", Why.PAGE_LIMIT),
        ],
    ),
    "a refresh that has asked for all it may": (
        known("a", copy=FRESH_COPY, asked=3, pages=3),
        [(HOME, Why.PAGE_LIMIT)],
    ),
    "as many pages as a refresh asks for": (
        known("a", "b", copy=FRESH_COPY, pages=2),
        [(f"{HOME}a", 0.0), (f"{HOME}b", 5.0)],
    ),
    "a page of where the origin was before": (
        known(
            "a",
            copy=FRESH_COPY,
            known_pages=(Page(origin="one", url="https://old.example/a"),),
        ),
        [(f"{HOME}a", 0.0), ("https://old.example/a", Why.ELSEWHERE)],
    ),
}


@pytest.mark.parametrize(("before", "expected"), DECISIONS.values(), ids=DECISIONS)
def test_what_would_be_asked_where(
    before: Known, expected: list[tuple[str, float | Why | None]]
) -> None:
    found = plan.planned(before, NOW)

    assert told(found) == expected
    assert all(one.origin == "one" for one in found)
    assert all(one.labels == (BOTH if one.at is not None else ()) for one in found)


@pytest.mark.parametrize("everything_due", [("",), ()], ids=["due", "not due"])
def test_an_address_that_is_not_admitted_is_named_with_its_remedy(
    everything_due: tuple[str, ...],
) -> None:
    before = known(*everything_due, copy=FRESH_COPY, url="http://127.0.0.1:8080/")

    (found,) = plan.planned(before, NOW)

    assert (found.at, found.why) == (None, None)
    assert found.detail == "127.0.0.1 is loopback; allow_private = true admits it"
    (block,) = plan.listing((found,))
    assert block.lines == (f"not asked    http://127.0.0.1:8080/  {found.detail}",)


def test_what_is_not_asked_says_why_and_until_when() -> None:
    details = {
        case: [one.detail for one in plan.planned(before, NOW) if one.at is None][-1]
        for case, (before, expected) in DECISIONS.items()
        if any(isinstance(when, Why) for _, when in expected)
    }

    assert details == {
        "nothing is due": "no page is due",
        "robots.txt refused all that was due": f"{REFUSED} `Disallow: /` {GROUP}",
        "robots.txt refused some, and the rest is fresh": f"{REFUSED} `Disallow: /private` {GROUP}",
        "robots.txt refused some, and one is due": f"{REFUSED} `Disallow: /private` {GROUP}",
        "a frozen origin": "not now, not before 2026-11-01 07:00 UTC",
        "the day's budget is spent": "not now, not before 2026-11-02 00:00 UTC",
        "a wait too long for a run": "not now, not before 2026-11-01 07:00 UTC",
        "robots.txt allows some": f"{REFUSED} `Disallow: /private` {GROUP}",
        "robots.txt allows nothing": f"{REFUSED} `Disallow: /` {GROUP}",
        "robots.txt is not known and its head has no room": NOT_EVEN_FIRST,
        "a page's head has no room": NOT_EVEN_FIRST,
        "robots.txt wants it too slow": "robots.txt asks for 301 s between requests",
        "quiet hours end late": "not now, not before 2026-11-01 08:00 UTC",
        "more pages than a refresh asks for": SPENT,
        "a refresh that has asked for all it may": SPENT,
        "a page of where the origin was before": "one is now at https://one.example/",
    }


@pytest.mark.parametrize(
    ("page", "detail"),
    [
        ({}, ""),
        ({"etag": '"x"', "full_at": NOW - DAY}, "conditional"),
        ({"last_modified": "Sun, 01 Nov 2026 06:00:00 GMT", "full_at": NOW - DAY}, "conditional"),
        ({"etag": '"x"', "full_at": NOW - 30 * DAY}, ""),
        ({"full_at": NOW - DAY}, ""),
    ],
    ids=["never asked", "an ETag", "a date", "read in full long ago", "no validator"],
)
def test_a_page_is_asked_conditionally_as_in_the_crawl(page: dict[str, Any], detail: str) -> None:
    known_page = Page(origin="one", url=HOME, **page)

    (found,) = plan.planned(known(copy=FRESH_COPY, known_pages=(known_page,)), NOW)
    assert found.detail == detail


def test_a_head_that_has_room_for_sig1_alone_is_said_with_its_size() -> None:
    carried = {"robots.txt": TIGHT, "a": TIGHT}

    robots_txt, page, other = plan.planned(known("a", "b", carried=carried), NOW)

    assert [one.labels for one in (robots_txt, page, other)] == [("sig1",), ("sig1",), BOTH]
    assert page.detail == "sig2 does not fit into header_limit"
    assert robots_txt.detail.endswith("it decides the rest; sig2 does not fit into header_limit")
    assert (page.without, page.header_bytes) == (Without.BUDGET, 800)
    assert (other.detail, other.without, other.header_bytes) == ("", None, 4000)


def test_a_page_that_comes_due_later_is_said() -> None:
    (found,) = plan.planned(known(next_due=NOW + DAY), NOW)

    assert found.detail == "no page is due, not before 2026-11-02 06:00 UTC"


def test_people_read_it_by_origin_aligned_and_to_the_second() -> None:
    found = (
        *plan.planned(known("", "private", "a", copy=FRESH_COPY), NOW + 0.7),
        Planned(origin="two", url="https://two.example/", why=Why.NOT_DUE),
        Planned(
            origin="three",
            url=f"https://three.example/{'x' * 60}",
            at=NOW,
            labels=("sig1",),
            detail="conditional",
        ),
    )

    rule = found[1].detail
    assert [(block.title, *block.lines) for block in plan.listing(found)] == [
        (
            "one",
            "2026-11-01 06:00:00 UTC  sig1+sig2  https://one.example/",
            f"not asked                           https://one.example/private  robots: {rule}",
            "2026-11-01 06:00:05 UTC  sig1+sig2  https://one.example/a",
        ),
        ("two", "not asked                           https://two.example/  not-due"),
        (
            "three",
            f"2026-11-01 06:00:00 UTC  sig1       https://three.example/{'x' * 60}  conditional",
        ),
    ]


def test_of_nothing_nothing_is_listed() -> None:
    assert plan.listing(()) == ()


def asked(due: float) -> Asked:
    return Asked(at=NOW - DAY, due=due, status=200)


EXPLAINED: dict[str, tuple[Known, str, Asked | None, str, str]] = {
    "a page that is due": (
        known(copy=FRESH_COPY),
        "a",
        asked(NOW - HOUR),
        "yes, it may be asked",
        "page: asked 2026-10-31 06:00 UTC, answered 200; due since 2026-11-01 05:00 UTC",
    ),
    "a page never asked": (
        known(copy=FRESH_COPY),
        "a",
        Asked(at=None, due=None, status=None),
        "yes, it may be asked",
        "page: never asked, due now",
    ),
    "a page that got no answer": (
        known(copy=FRESH_COPY),
        "a",
        Asked(at=NOW - DAY, due=NOW, status=None),
        "yes, it may be asked",
        "page: no answer as of 2026-10-31 06:00 UTC; due since 2026-11-01 06:00 UTC",
    ),
    "a page that was put off": (
        known(copy=FRESH_COPY),
        "a",
        Asked(at=NOW - DAY, due=NOW + HOUR, status=None),
        "no: put off until 2026-11-01 07:00 UTC; --all asks all the same",
        "page: no answer as of 2026-10-31 06:00 UTC; put off until 2026-11-01 07:00 UTC",
    ),
    "a page that was put off because it is refused": (
        known(copy=FRESH_COPY),
        "private",
        Asked(at=NOW - DAY, due=NOW + HOUR, status=None),
        "no: robots.txt refuses it",
        "page: not asked; looked at again 2026-11-01 07:00 UTC",
    ),
    "a fresh page": (
        known(copy=FRESH_COPY),
        "a",
        asked(NOW + HOUR),
        "no: fresh until 2026-11-01 07:00 UTC; --all asks all the same",
        "page: asked 2026-10-31 06:00 UTC, answered 200; fresh until 2026-11-01 07:00 UTC",
    ),
    "a page that nothing names": (
        known(copy=FRESH_COPY),
        "a",
        None,
        "no: no refresh asks for it",
        "page: not known; no start list and no link names it, so no refresh asks for it",
    ),
    "a refused page": (
        known(copy=FRESH_COPY),
        "private",
        asked(NOW),
        "no: robots.txt refuses it",
        "(as of 2026-11-01 05:00 UTC)",
    ),
    "a page that was asked before robots.txt came to refuse it": (
        known(copy=FRESH_COPY),
        "private",
        asked(NOW + HOUR),
        "no: robots.txt refuses it",
        "page: not asked; looked at again 2026-11-01 07:00 UTC",
    ),
    "an address that is not admitted": (
        known(copy=FRESH_COPY, url="http://127.0.0.1/"),
        "a",
        asked(NOW + HOUR),
        "no: its address is not asked",
        "address: 127.0.0.1 is loopback; allow_private = true admits it",
    ),
    "no robots.txt yet": (
        known(),
        "a",
        asked(NOW),
        "yes, it may be asked",
        f"robots: {ROBOTS} is not known yet; it is asked first and decides",
    ),
    "an old robots.txt": (
        known(copy=copy_of(until=NOW)),
        "a",
        asked(NOW),
        "yes, it may be asked",
        "and that copy is too old: it is asked again first",
    ),
    "a Crawl-delay past the ceiling": (
        known(copy=copy_of("User-agent: *\nCrawl-delay: 301\n")),
        "a",
        asked(NOW),
        "no: robots.txt asks for 301 s between requests",
        "pace: a request may leave now",
    ),
    "a wait": (
        known(copy=FRESH_COPY, owed=Pace(not_before=NOW + 2.5)),
        "a",
        asked(NOW),
        "yes, it may be asked",
        "pace: in 2.5 s (delay)",
    ),
    "a parked origin": (
        known(
            copy=FRESH_COPY,
            owed=Pace(
                regards={
                    "https://one.example": Regard(
                        closed=Why.PARKED, closed_until=NOW + HOUR, detail="connect"
                    )
                }
            ),
        ),
        "a",
        asked(NOW),
        "no: parked until 2026-11-01 07:00 UTC",
        "pace: parked connect, not before 2026-11-01 07:00 UTC",
    ),
}


@pytest.mark.parametrize(
    ("turn", "path", "due", "verdict", "word"),
    [
        (NOW, "a", NOW, "yes, it may be asked", "every 6h; due now"),
        (
            NOW + HOUR,
            "a",
            NOW,
            f"no: its origin's turn is {LATER}; --all asks all the same",
            f"every 6h; {LATER}",
        ),
        (
            NOW + HOUR,
            "a",
            NOW + HOUR,
            f"no: its origin's turn is {LATER}; fresh until 2026-11-01 07:00 UTC; "
            "--all asks all the same",
            f"every 6h; {LATER}",
        ),
        (NOW + HOUR, "private", NOW, "no: robots.txt refuses it", f"every 6h; {LATER}"),
    ],
    ids=["it has come", "it lies ahead", "the page is fresh too", "it would not help"],
)
def test_a_url_is_explained_with_its_origins_turn(
    turn: float, path: str, due: float, verdict: str, word: str
) -> None:
    before = replace(known(copy=FRESH_COPY), rhythm="every 6h", turn=turn)

    found = plan.explained(before, HOME + path, asked(due), NOW)

    assert found.lines()[0] == f"{HOME}{path}: {verdict}"
    assert found.words["turn"] == word


@pytest.mark.parametrize(
    ("carried", "verdict", "signatures"),
    [
        ({"a": TIGHT}, "yes, it may be asked", "sig1; sig2 does not fit into header_limit"),
        ({"a": NO_ROOM}, f"no: {NOT_EVEN_FIRST}", f"none: {NOT_EVEN_FIRST}"),
        (
            {"robots.txt": NO_ROOM},
            f"no: robots.txt cannot be asked: {NOT_EVEN_FIRST}",
            "sig1 and sig2",
        ),
    ],
    ids=["sig1 alone", "nothing", "nothing for robots.txt"],
)
def test_a_url_is_explained_with_the_room_that_its_head_has(
    carried: Mapping[str, Foreseen], verdict: str, signatures: str
) -> None:
    page = Asked(at=NOW - DAY, due=NOW, status=200)

    first, *rest = plan.explained(known(carried=carried), f"{HOME}a", page, NOW).lines()

    assert first == f"{HOME}a: {verdict}"
    assert rest[-1] == f"signatures: {signatures}"


@pytest.mark.parametrize(
    ("before", "path", "page", "verdict", "word"), EXPLAINED.values(), ids=EXPLAINED
)
def test_a_url_is_explained(
    before: Known, path: str, page: Asked | None, verdict: str, word: str
) -> None:
    first, *rest = plan.explained(before, HOME + path, page, NOW).lines()

    assert first == f"{HOME}{path}: {verdict}"
    assert any(word in line for line in rest)
    assert rest[-1] == "signatures: sig1 and sig2"
