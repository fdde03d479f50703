"""Logs of every schema that ever was still say what they said. Never write these files anew."""

from pathlib import Path
from typing import get_args

import pytest

from crawler import events
from crawler.events import Event, Why, Without
from crawler.fetch import logbook
from crawler.watch import analysis
from crawler.watch.findings import Findings, OriginFindings, VerdictState
from crawler.watch.patterns import Sight

LOGS = Path(__file__).parent / "logs"
WHOLE = LOGS / "schema-1.jsonl"
TORN = LOGS / "schema-1-torn.jsonl"  # one run, with torn, foreign and later lines


def findings(path: Path) -> Findings:
    return analysis.fold(logbook.read([path])).findings()


@pytest.fixture(scope="module")
def whole() -> Findings:
    return findings(WHOLE)


def of(found: Findings, name: str) -> OriginFindings:
    return next(origin for origin in found.origins if origin.name == name)


@pytest.mark.parametrize("path", sorted(LOGS.glob("*.jsonl")), ids=lambda path: path.name)
def test_a_frozen_log_holds_events_that_still_read(path: Path) -> None:
    lines = list(logbook.read([path]))
    read = [line for line in lines if isinstance(line, get_args(Event))]

    assert read
    assert path.name.endswith("-torn.jsonl") or read == lines


def test_the_first_schema_has_every_event_and_is_written_the_same_today() -> None:
    lines = WHOLE.read_bytes().splitlines(keepends=True)
    kinds = {type(events.decode(line)) for line in lines}

    assert len(kinds) == 14
    assert [events.encode(events.decode(line)) for line in lines] == lines


@pytest.mark.parametrize(
    ("name", "counts"),
    # requests, 2xx, 304, 3xx, 404/410, refused, failed, cancelled, not sent
    [
        ("cloudy", (3, 2, 0, 0, 0, 1, 0, 0, 0)),
        ("down", (2, 0, 0, 0, 0, 0, 2, 0, 0)),
        ("guarded", (8, 1, 0, 0, 1, 6, 0, 0, 0)),
        ("lone", (2, 2, 0, 0, 0, 0, 0, 0, 2)),
        ("plain", (16, 8, 2, 1, 1, 1, 2, 1, 0)),
        ("tight", (7, 2, 0, 0, 0, 3, 2, 0, 0)),
    ],
)
def test_answers_of(name: str, counts: tuple[int, ...], whole: Findings) -> None:
    origin = of(whole, name)

    assert (
        origin.requests,
        origin.ok,
        origin.not_modified,
        origin.redirected,
        origin.missing,
        origin.refused,
        origin.failed,
        origin.cancelled,
        origin.not_sent,
    ) == counts


@pytest.mark.parametrize(
    ("name", "heads"),
    # both labels, one, bytes of heads, of signatures, CPU ms
    [
        ("cloudy", (0, 3, 2387, 1323, 0.123)),
        ("down", (2, 0, 8682, 7830, 0.769)),
        ("guarded", (4, 4, 20512, 17424, 2.729)),
        ("lone", (0, 2, 1597, 882, 0.082)),
        ("plain", (10, 6, 48180, 41796, 9.546)),
        ("tight", (5, 2, 23260, 20457, 5.079)),
    ],
)
def test_signatures_of(name: str, heads: tuple[float, ...], whole: Findings) -> None:
    origin = of(whole, name)

    assert (
        origin.dual,
        origin.single,
        origin.header_bytes,
        origin.signature_bytes,
        origin.sign_cpu_ms,
    ) == heads


@pytest.mark.parametrize(
    ("name", "costs"),
    # decoded, received, waited, median, p95
    [
        ("cloudy", (40_120, 14_120, 11.2, 0.05, 0.2)),
        ("down", (0, 0, 9.8, None, None)),
        ("guarded", (800, 1082, 34.5, 0.04, 0.05)),
        ("lone", (3120, 1320, 12.4, 0.03, 0.3)),
        ("plain", (10_552_391, 2_022_024, 155.65, 0.08, 0.14)),
        ("tight", (7064, 7769, 40.8, 0.02, 0.03)),
    ],
)
def test_pace_and_size_of(name: str, costs: tuple[float | None, ...], whole: Findings) -> None:
    origin = of(whole, name)

    assert (
        origin.body_bytes,
        origin.wire_bytes,
        origin.waited,
        origin.median_latency,
        origin.p95_latency,
    ) == costs


def test_what_each_wait_was_for(whole: Findings) -> None:
    assert of(whole, "plain").waits == {
        Why.DELAY: 93.85,
        Why.INTERRUPTED: 5.0,
        Why.RATE_LIMIT: 25.9,
        Why.RETRY_AFTER: 30.9,
    }
    assert of(whole, "tight").waits == {Why.BACK_OFF: 11.6, Why.DELAY: 29.2}


def test_suspicious_answers(whole: Findings) -> None:
    counts = {
        origin.name: {sight: each.count for sight, each in origin.suspicious.items()}
        for origin in whole.origins
        if origin.suspicious
    }

    assert counts == {
        "guarded": {Sight.VERIFIER: 3},
        "tight": {Sight.SIZE_POSSIBLE: 2, Sight.SIZE_SURE: 2},
    }
    assert whole.totals.suspicious_answers == 7


def test_controls_and_the_reasons_for_one_label(whole: Findings) -> None:
    assert (of(whole, "tight").controls, of(whole, "tight").controls_passed) == (2, 2)
    assert (of(whole, "guarded").controls, of(whole, "guarded").controls_passed) == (3, 0)
    assert of(whole, "tight").without == {Without.CONTROL: 1, Without.ROBOTS_CONTROL: 1}
    assert of(whole, "cloudy").without == {Without.PROFILE: 3}
    assert of(whole, "lone").not_sent_by == {"header-limit": 1, "internal": 1}
    assert of(whole, "lone").not_sent_details == {
        "header-limit": "1101 bytes of head even with sig1 alone, 1024 are allowed",
        "internal": "KeyError at client.py:210",
    }


def test_what_holds_as_the_log_ends(whole: Findings) -> None:
    down = of(whole, "down").hold

    assert down is not None
    assert (down.why, down.until) == (Why.PARKED, 1_793_602_803.0)
    assert [origin.name for origin in whole.origins if origin.hold is not None] == ["down"]
    assert {origin.name: origin.verdict.state for origin in whole.origins} == {
        "cloudy": VerdictState.SENDING,
        "down": VerdictState.PINNED,
        "guarded": VerdictState.SENDING,
        "lone": VerdictState.PINNED,
        "plain": VerdictState.SENDING,
        "tight": VerdictState.SENDING,
    }


def test_what_befell_the_crawl(whole: Findings) -> None:
    assert list(whole.noted) == ["clock-set-back", "state-rebuilt", "degraded", "internal"]
    assert (of(whole, "plain").interrupted, of(whole, "plain").robots_changes) == (1, 1)
    assert of(whole, "plain").skipped == {Why.ROBOTS: 1}
    assert of(whole, "cloudy").skipped == {Why.UNSENDABLE: 1}
    assert whole.last_run is not None
    assert (whole.last_run.requests, whole.last_run.stopped, whole.last_run.cpu) == (7, True, 0.6)


def test_the_totals(whole: Findings) -> None:
    totals = whole.totals

    assert (totals.requests, totals.dual, totals.single) == (38, 21, 17)
    assert (totals.header_bytes, totals.signature_bytes) == (104_618, 89_712)
    assert totals.sign_cpu_ms == pytest.approx(18.328)
    assert (totals.origins, totals.runs, totals.runs_ended, totals.cpu) == (6, 2, 2, 2.5)
    assert whole.unreadable.count == 0


def test_since_the_second_run_only_that_is_counted() -> None:
    found = analysis.fold(
        logbook.read([WHOLE]), since=1_793_599_200.0, origins=["plain"]
    ).findings()

    assert (found.totals.requests, found.totals.not_modified, found.totals.dual) == (6, 2, 0)
    assert found.totals.runs == 1


def test_torn_and_foreign_lines_are_named_and_the_rest_is_counted() -> None:
    found = findings(TORN)
    plain = of(found, "plain")

    assert [line.line for line in found.unreadable.lines] == [1, 5, 7, 8, 9, 11, 12, 13, 17]
    assert found.unreadable.count == 9
    assert (plain.requests, plain.robots, plain.ok, plain.dual) == (3, 1, 3, 3)
    assert (plain.header_bytes, plain.body_bytes, plain.wire_bytes) == (13_011, 27_320, 9220)
    assert plain.skipped == {Why.ROBOTS: 1}
    assert found.last_run is not None
    assert found.last_run.requests == 31


def test_logs_of_several_files_are_one_log() -> None:
    found = analysis.fold(logbook.read([TORN, WHOLE])).findings()

    assert found.totals.requests == 41
    assert found.unreadable.count == 9
