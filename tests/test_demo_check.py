"""What the demo's check finds, and what it lets pass."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from crawler.demo import roster
from crawler.demo.check import TOLERANCE, check
from crawler.demo.finding import Finding, Reason
from crawler.demo.ledger import Head, Ledger
from crawler.demo.reply import Answer
from crawler.events import Event, FetchRecord, Internal, Kind, Outcome, Stage
from crawler.settings import Origin, Politeness, ProfileName, Second

AUTHORITY = "plain.localhost:8001"
BOTH = ("sig1", "sig2")
POLITENESS = Politeness(min_delay=1.0, delay_factor=2.0, max_delay=5.0)
ORIGIN = Origin(
    name="plain",
    url=f"http://{AUTHORITY}/",
    profile=ProfileName.AUTO,
    sig2=Second.WATCH,
    politeness=POLITENESS,
)
ROBOTS = Answer(body=b"User-agent: *\nDisallow: /closed\n", type="text/plain")
NAMES = {"plain"}


def head(target: str, **given: Any) -> Head:
    stated = {"method": "GET", "authority": AUTHORITY, "labels": BOTH, "verified": BOTH, "size": 99}
    return Head(**{**stated, "target": target, **given})


def record(target: str, **given: Any) -> FetchRecord:
    stated = {
        "at": 0.0,
        "id": "1",
        "origin": "plain",
        "scope": "plain.localhost",
        "url": f"http://{AUTHORITY}{target}",
        "kind": Kind.ROBOTS if target == "/robots.txt" else Kind.PAGE,
        "outcome": Outcome.ANSWERED,
        "status": 200,
        "labels": BOTH,
        "header_bytes": 99,
    }
    return FetchRecord(**{**stated, **given})


class Crawl:
    """One origin's ledger and the log beside it, kept in step unless a test says otherwise."""

    def __init__(self) -> None:
        self.ledger = Ledger("plain", AUTHORITY, "DemoBot")
        self.log: list[Event] = []
        self.now = 100.0
        self.visit("/robots.txt", reply=ROBOTS)

    def visit(
        self,
        target: str,
        *,
        after: float = 2.0,
        took: float = 0.1,
        reply: Answer | None = None,
        **given: Any,
    ) -> None:
        self.now += after
        number = self.ledger.arrive(head(target, **given), self.now)
        self.now += took
        answer = reply or Answer()
        self.ledger.reply(number, answer, self.now, 1_800_000_000.0)
        self.ledger.sent(number, self.now)
        self.ledger.close(number)
        self.log.append(record(target, status=answer.status))

    def findings(self, origin: Origin = ORIGIN) -> list[Finding]:
        """Without those about the other origins, which are not there."""
        return [
            one for one in of([self.ledger], [origin], self.log) if one.reason in _ABOUT_REQUESTS
        ]

    def reasons(self) -> list[Reason]:
        return [one.reason for one in self.findings()]


_ABOUT_REQUESTS = set(Reason) - {Reason.EXPECTATION}


def of(
    ledgers: Sequence[Ledger], origins: Sequence[Origin], events: Sequence[Event]
) -> tuple[Finding, ...]:
    """The table of expectations asks for origins that these tests have no use for."""
    others = [
        replace(ORIGIN, name=name, url=f"http://{name}.localhost/")
        for name in roster.NAMES
        if name not in NAMES
    ]
    return check(ledgers, [*origins, *others], events)


@pytest.fixture
def crawl() -> Crawl:
    return Crawl()


def test_a_crawl_that_kept_its_promises_is_fine(crawl: Crawl) -> None:
    crawl.visit("/")
    crawl.visit("/page", reply=Answer(status=404))

    assert crawl.findings() == []


@pytest.mark.parametrize(
    ("given", "reason", "detail"),
    [
        ({"labels": (), "verified": (), "fault": "none"}, Reason.UNSIGNED, "none"),
        ({"verified": (), "fault": "sig1: expired"}, Reason.BADLY_SIGNED, "sig1: expired"),
        ({"cookie": True}, Reason.COOKIE, "a cookie was sent back"),
        ({"authority": "bystander.localhost:8001"}, Reason.NOT_OURS, f"this is {AUTHORITY}"),
    ],
)
def test_a_request_that_should_not_have_come_is_found(
    crawl: Crawl, given: dict[str, Any], reason: Reason, detail: str
) -> None:
    crawl.visit("/", **given)
    found = crawl.findings()[0]

    assert (found.reason, found.detail) == (reason, detail)
    assert found.url == f"http://{given.get('authority', AUTHORITY)}/"


def test_a_configured_cookie_is_no_fault(crawl: Crawl) -> None:
    crawl.visit("/", cookie=True)

    assert crawl.findings(replace(ORIGIN, cookie="a=b")) == []


def test_a_path_that_robots_txt_closes_is_found(crawl: Crawl) -> None:
    crawl.visit("/closed/door")
    (found,) = crawl.findings()

    assert found.reason is Reason.AGAINST_ROBOTS
    assert "line 2" in found.detail


def test_a_page_before_robots_txt_is_found() -> None:
    book = Ledger("plain", AUTHORITY, "DemoBot")
    book.close(book.arrive(head("/"), 1.0))

    assert Reason.AGAINST_ROBOTS in {one.reason for one in of([book], [ORIGIN], [])}


def test_two_requests_at_once_are_found(crawl: Crawl) -> None:
    crawl.ledger.arrive(head("/"), 110.0)
    crawl.ledger.arrive(head("/page"), 111.5)
    crawl.log += [record("/", status=None), record("/page", status=None)]

    assert crawl.reasons() == [Reason.AT_ONCE]


@pytest.mark.parametrize(
    ("before", "owed"),
    [
        ({}, 1.0),
        ({"took": 1.5}, 3.0),
        ({"took": 4.0}, 5.0),
        ({"reply": Answer(status=429, fields=(("Retry-After", "4"),))}, 4.0),
        ({"reply": Answer(status=500)}, 1.0),
    ],
    ids=["smallest delay", "slow answer", "very slow answer", "Retry-After", "one failure"],
)
def test_a_request_is_too_early_by_more_than_the_clocks_may_differ(
    before: dict[str, Any], owed: float
) -> None:
    punctual, hasty = Crawl(), Crawl()
    for crawl, after in ((punctual, owed - TOLERANCE / 2), (hasty, owed - 2 * TOLERANCE)):
        crawl.visit("/", **before)
        crawl.visit("/page", after=after)

    assert punctual.reasons() == []
    assert hasty.reasons() == [Reason.TOO_EARLY]


def test_a_crawl_delay_is_owed_from_when_it_was_served() -> None:
    crawl = Crawl()
    calm = Answer(body=b"User-agent: *\nCrawl-delay: 3\n")
    crawl.visit("/robots.txt", after=1.0, reply=calm)
    crawl.visit("/", after=2.5)
    (found,) = crawl.findings()

    assert "instead of 3.000 s (Crawl-delay)" in found.detail


def test_back_off_doubles_up_to_the_largest_delay(crawl: Crawl) -> None:
    for after in (2.0, 1.0, 2.0, 4.0, 5.0):
        crawl.visit("/", after=after, reply=Answer(status=503))

    assert crawl.reasons() == []

    crawl.visit("/", after=4.9)

    assert crawl.reasons() == [Reason.TOO_EARLY]


def test_a_request_that_the_log_does_not_have_is_found(crawl: Crawl) -> None:
    crawl.visit("/")
    crawl.log.pop()
    (found,) = crawl.findings()

    assert found.reason is Reason.NOT_IN_LOG
    assert found.detail == "the server saw 2 requests, the log has 1"


def test_a_request_that_no_server_saw_is_found(crawl: Crawl) -> None:
    crawl.log.append(record("/"))
    (found,) = crawl.findings()

    assert found.reason is Reason.NOT_SEEN
    assert found.detail == "the log has 2 requests, the server saw 1"


@pytest.mark.parametrize(
    "given",
    [
        {"outcome": Outcome.NOT_SENT, "stage": Stage.HEADER_LIMIT},
        {"outcome": Outcome.FAILED, "stage": Stage.DNS},
        {"outcome": Outcome.FAILED, "stage": Stage.CONNECT},
        {"outcome": Outcome.FAILED, "stage": Stage.ADDRESS},
    ],
    ids=["not sent", "no name", "no connection", "refused address"],
)
def test_what_never_left_need_not_arrive(crawl: Crawl, given: dict[str, Any]) -> None:
    crawl.log.append(record("/", status=None, **given))

    assert crawl.findings() == []


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({"labels": ("sig1",)}, "labels: the server saw ('sig1', 'sig2'), the log has ('sig1',)"),
        ({"header_bytes": 100}, "header bytes: the server saw 99, the log has 100"),
        ({"status": 304}, "status: the server saw 200, the log has 304"),
        (
            {"url": f"http://{AUTHORITY}/other"},
            f"url: the server saw http://{AUTHORITY}/, the log has http://{AUTHORITY}/other",
        ),
    ],
    ids=["labels", "size", "status", "url"],
)
def test_a_log_that_says_another_thing_is_found(
    crawl: Crawl, given: dict[str, Any], detail: str
) -> None:
    crawl.visit("/")
    crawl.log[-1] = record("/", **given)
    (found,) = crawl.findings()

    assert (found.reason, found.detail) == (Reason.LOG_DIFFERS, detail)


def test_a_cancelled_request_may_have_been_answered(crawl: Crawl) -> None:
    crawl.visit("/")
    crawl.log[-1] = record("/", outcome=Outcome.CANCELLED, status=None)

    assert crawl.findings() == []


GIVEN_UP = {
    "outcome": Outcome.FAILED,
    "stage": Stage.DEADLINE,
    "status": None,
    "elapsed": POLITENESS.deadline,
}


def test_a_request_that_our_deadline_ended_may_have_been_answered(crawl: Crawl) -> None:
    crawl.visit("/")
    crawl.log[-1] = record("/", **GIVEN_UP)

    assert crawl.findings() == []


@pytest.mark.parametrize(
    "given",
    [
        {"elapsed": POLITENESS.deadline - 2 * TOLERANCE},
        {"stage": Stage.FIRST_BYTE},
        {"outcome": Outcome.ANSWERED, "stage": None},
        {"status": 204},
    ],
    ids=["before its time", "for another reason", "not at all", "with another answer"],
)
def test_a_request_that_no_deadline_ended_was_answered_as_the_server_says(
    crawl: Crawl, given: dict[str, Any]
) -> None:
    crawl.visit("/")
    crawl.log[-1] = record("/", **{**GIVEN_UP, **given})
    (found,) = crawl.findings()

    assert found.reason is Reason.LOG_DIFFERS
    assert found.detail.startswith("status: the server saw 200, the log has")


@pytest.mark.parametrize(
    ("seen", "unseen"),
    [
        (("/", "/two"), (0,)),
        (("/", "/two"), (1,)),
        (("/", "/two"), (0, 1, 2)),
        (("/", "/two", "/"), (1, 3)),
    ],
    ids=["the first", "the second", "three in a row", "two apart"],
)
def test_a_late_server_may_have_missed_what_our_deadline_ended(
    crawl: Crawl, seen: tuple[str, ...], unseen: tuple[int, ...]
) -> None:
    for target in seen:
        crawl.visit(target)
    for number, place in enumerate(unseen):
        crawl.log.insert(1 + place, record(f"/late-{number}", **GIVEN_UP))

    assert crawl.findings() == []


def test_one_that_was_missed_is_not_taken_for_its_repetition(crawl: Crawl) -> None:
    crawl.visit("/", reply=Answer(status=503))
    crawl.log.append(record("/", **GIVEN_UP))
    crawl.visit("/")

    assert crawl.findings() == []


def test_a_deadline_hides_no_other_request_from_the_servers(crawl: Crawl) -> None:
    crawl.visit("/")
    crawl.log += [record("/late", **GIVEN_UP), record("/never")]

    assert crawl.reasons() == [Reason.NOT_SEEN]


def test_a_request_to_a_host_that_is_not_ours_is_found(crawl: Crawl) -> None:
    crawl.log.append(record("/", url="http://bystander.localhost:8001/trap"))
    (found,) = crawl.findings()

    assert (found.reason, found.url) == (Reason.NOT_OURS, "http://bystander.localhost:8001/trap")


def test_our_own_mistakes_are_found(crawl: Crawl) -> None:
    crawl.log += [
        Internal(at=0.0, run="1", scope="plain.localhost", error="KeyError at engine.py:1"),
        record("/", outcome=Outcome.INTERNAL, status=None, detail="KeyError at client.py:1"),
    ]

    assert [(one.reason, one.detail) for one in crawl.findings()] == [
        (Reason.INTERNAL, "KeyError at engine.py:1"),
        (Reason.INTERNAL, "KeyError at client.py:1"),
    ]


def test_a_finding_reads_as_one_line(crawl: Crawl) -> None:
    crawl.visit("/closed")
    (found,) = crawl.findings()

    assert str(found).startswith(f"plain: against-robots: http://{AUTHORITY}/closed: refused by")


def test_an_expectation_that_is_not_met_is_found(crawl: Crawl) -> None:
    found = [one for one in of([crawl.ledger], [ORIGIN], []) if one.origin == "plain"]
    unmet = [one for one in found if one.reason is Reason.EXPECTATION]

    assert unmet[0].detail.startswith("expected: ")
    assert unmet[0].url == ORIGIN.url


def test_a_lane_that_failed_is_named_by_its_scope(crawl: Crawl) -> None:
    crawl.log.append(Internal(at=0.0, run="1", scope="plain.localhost", error="KeyError"))

    assert [str(one) for one in crawl.findings()] == ["plain.localhost: internal: KeyError"]
