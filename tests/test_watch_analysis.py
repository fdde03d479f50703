"""The fold over a log: what is counted, for whom, since when."""

import pytest
from records import record
from watched import BOTH, ONE, Bad, failed, settings

from crawler.events import (
    Deferred,
    Degraded,
    Event,
    Interrupted,
    KeyInUse,
    RobotsRead,
    RunFinished,
    RunStarted,
    Skipped,
    Standing,
    Why,
    Without,
)
from crawler.settings import Second
from crawler.watch import analysis
from crawler.watch.analysis import UNREAD, Analysis, Line
from crawler.watch.findings import Findings, OriginFindings, VerdictState


def findings(*lines: Line, **chosen: object) -> Findings:
    return analysis.fold(lines, **chosen).findings()  # type: ignore[arg-type]


def only(found: Findings) -> OriginFindings:
    (origin,) = found.origins
    return origin


def started(run: str, at: float) -> RunStarted:
    return RunStarted(at=at, run=run, version="1", agent="ExampleBot/1.0", wall=at)


def finished(run: str, at: float) -> RunFinished:
    return RunFinished(at=at, run=run, requests=2, elapsed=10.0, cpu=1.0)


def skipped(at: float, why: Why = Why.ROBOTS) -> Skipped:
    return Skipped(at=at, run="r", origin="one", url="https://one.example/x", why=why)


def robots(at: float, *, changed: bool) -> RobotsRead:
    return RobotsRead(
        at=at,
        origin="one",
        url="https://one.example/robots.txt",
        answer="rules",
        until=at + 86400,
        changed=changed,
    )


def test_an_empty_log_says_nothing() -> None:
    found = findings()

    assert (found.first, found.last, found.origins, found.last_run) == (None, None, (), None)
    assert (found.totals.requests, found.totals.origins, found.totals.runs) == (0, 0, 0)
    assert found.recommendation.reason == "no answer looks as if a signature had caused it"


def test_origins_stand_in_the_order_of_their_names() -> None:
    found = findings(*(record(origin=name) for name in ("zoo", "alpha", "mid", "alpha")))

    assert [(origin.name, origin.requests) for origin in found.origins] == [
        ("alpha", 2),
        ("mid", 1),
        ("zoo", 1),
    ]


def test_totals_are_the_sums_of_the_origins() -> None:
    found = findings(
        record(origin="a", labels=BOTH, header_bytes=4330, sign_us=700.0, waited=1.5),
        record(origin="b", labels=ONE, header_bytes=790, sign_us=40.0, waited=2.5, status=403),
        record(origin="b", labels=BOTH, header_bytes=4330, sign_us=800.0, status=431),
    )
    totals = found.totals

    assert totals.name == "all"
    assert (totals.origins, totals.requests, totals.ok, totals.refused) == (2, 3, 1, 2)
    assert (totals.dual, totals.single, totals.header_bytes) == (2, 1, 9450)
    assert (totals.sign_cpu_ms, totals.waited, totals.suspicious_answers) == (1.54, 4.0, 1)


def test_only_chosen_origins_are_found_and_summed() -> None:
    lines = [record(origin=name) for name in ("a", "b", "c", "b")]
    found = findings(*lines, origins=["b", "nobody"])

    assert only(found).name == "b"
    assert (found.totals.origins, found.totals.requests) == (1, 2)


def test_nothing_earlier_is_counted() -> None:
    lines: list[Line] = [
        started("r1", 10.0),
        record(at=20.0),
        skipped(21.0),
        robots(22.0, changed=True),
        Interrupted(at=23.0, id="r-0-1", origin="one", scope="one.example", url="/"),
        Degraded(at=24.0, run="r1", reason="no key"),
        finished("r1", 30.0),
        started("r2", 100.0),
        record(at=100.0),
        skipped(101.0),
        robots(102.0, changed=True),
        robots(102.5, changed=False),
        Interrupted(at=103.0, id="r-0-2", origin="one", scope="one.example", url="/"),
        finished("r2", 130.0),
    ]
    found = findings(*lines, since=100.0)
    origin = only(found)

    assert (origin.requests, origin.skipped, origin.robots_changes) == (1, {Why.ROBOTS: 1}, 1)
    assert (origin.interrupted, found.noted) == (1, {})
    assert (found.totals.runs, found.totals.runs_ended, found.totals.cpu) == (1, 1, 1.0)
    assert (found.since, found.first, found.last) == (100.0, 10.0, 130.0)


def test_what_still_holds_from_earlier_is_told() -> None:
    found = findings(
        started("r1", 10.0),
        KeyInUse(at=10.0, run="r1", label="sig1", keyid="abc"),
        settings(at=10.0, sig2=Second.NEVER),
        record(at=11.0, labels=ONE, without=Without.SETTING),
        Standing(at=12.0, origin="one", why=Why.FROZEN, until=9000.0),
        finished("r1", 13.0),
        since=500.0,
    )
    origin = only(found)

    assert (origin.requests, origin.url) == (0, "https://one.example/")
    assert origin.verdict.state is VerdictState.PINNED
    assert origin.hold is not None
    assert origin.hold.until == 9000.0
    assert origin.last_request == 11.0
    assert found.keys == {"sig1": "abc"}
    assert found.last_run is not None
    assert found.last_run.ended == 13.0


def test_a_turn_that_ended_early_is_told_unless_a_request_came_after_it() -> None:
    put_off = Deferred(at=20.0, run="r", origin="one", why=Why.DAILY_BUDGET, until=86400.0)

    assert only(findings(record(at=10.0), put_off)).hold is not None
    assert only(findings(record(at=10.0), put_off, record(at=30.0), since=40.0)).hold is None


def test_lines_that_are_no_events_are_counted_and_the_first_ones_named() -> None:
    lines = [Bad(number=number) for number in range(1, UNREAD + 11)]
    found = findings(*lines, Bad(path="other", number=9, flaw="misfit", problem="no moment"))

    assert found.unreadable.count == UNREAD + 11
    assert found.unreadable.flaws == {"torn": UNREAD + 10, "misfit": 1}
    assert [line.line for line in found.unreadable.lines] == list(range(1, UNREAD + 1))
    assert found.unreadable.lines[0].problem == "cut off"


def test_findings_may_be_asked_for_while_the_log_grows() -> None:
    growing = Analysis()
    requests = []
    for line in (record(), record(), failed()):
        growing.add(line)
        requests.append(growing.findings().totals.requests)

    assert requests == [1, 2, 3]


def test_one_answer_alone_never_takes_sig2_out() -> None:
    found = findings(
        record(status=431),
        record(labels=ONE, without=Without.CONTROL, control_of="r-0-1"),
        record(origin="two", status=200),
    )

    assert found.recommendation.state == "keep"
    assert found.recommendation.reason == (
        "single answers prove nothing: 1 at 1 of 2 origins look as if a signature had caused them, "
        "1 of 1 asked again with sig1 alone were served"
    )


@pytest.mark.parametrize(
    "line",
    [
        started("r", 1.0),
        finished("r", 1.0),
        settings(),
        record(),
        skipped(1.0),
        robots(1.0, changed=False),
        Degraded(at=1.0, run="r", reason="no key"),
        Standing(at=1.0, origin="one", why=None),
    ],
    ids=lambda line: type(line).__name__,
)
def test_each_event_alone_is_a_log(line: Event) -> None:
    found = findings(line)

    assert (found.first, found.last) == (line.at, line.at)
