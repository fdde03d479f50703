"""What one origin's requests come to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import record
from watched import BOTH, ONE, failed

from crawler.events import FetchRecord, Kind, Outcome, Skipped, Stage, Why, Without
from crawler.watch.findings import OriginFindings
from crawler.watch.patterns import Sight
from crawler.watch.tally import EXAMPLES, Tally

CLASSES = ("ok", "not_modified", "redirected", "missing", "refused", "failed", "cancelled")


def tally(*records: FetchRecord) -> OriginFindings:
    found = Tally("one")
    for each in records:
        found.add(each)
    return found.findings()


@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        (record(status=200), "ok"),
        (record(status=204), "ok"),
        (record(status=200, outcome=Outcome.TOO_BIG), "ok"),
        (record(status=200, outcome=Outcome.WRONG_TYPE), "ok"),
        (record(status=304), "not_modified"),
        (record(status=301), "redirected"),
        (record(status=308), "redirected"),
        (record(status=404), "missing"),
        (record(status=410), "missing"),
        (record(status=400), "refused"),
        (record(status=401), "refused"),
        (record(status=403), "refused"),
        (record(status=405), "refused"),
        (record(status=407), "refused"),
        (record(status=429), "refused"),
        (record(status=431), "refused"),
        (record(status=451), "refused"),
        (record(status=494), "refused"),
        (record(status=500), "failed"),
        (record(status=503), "failed"),
        (record(status=999), "failed"),
        (record(status=101), "failed"),
        (record(status=200, outcome=Outcome.FAILED, stage=Stage.BODY), "failed"),
        (failed(stage=Stage.FIRST_BYTE), "failed"),
        (failed(), "failed"),
        (record(outcome=Outcome.ANSWERED, status=None), "failed"),
        (record(status=200, outcome=Outcome.CANCELLED), "cancelled"),
        (failed(outcome=Outcome.CANCELLED), "cancelled"),
    ],
)
def test_a_request_that_left_is_counted_once(answer: FetchRecord, counted: str) -> None:
    found = tally(answer)

    assert found.requests == 1
    assert {name: getattr(found, name) for name in CLASSES if getattr(found, name)} == {counted: 1}


@pytest.mark.parametrize(
    ("unsent", "reason"),
    [
        ({"outcome": Outcome.NOT_SENT, "stage": Stage.ADDRESS}, "address"),
        ({"outcome": Outcome.NOT_SENT}, "not-sent"),
        ({"outcome": Outcome.INTERNAL}, "internal"),
        ({"outcome": Outcome.CANCELLED}, "cancelled"),
        ({"stage": Stage.DNS}, "dns"),
        ({"stage": Stage.CONNECT, "without": Without.PROFILE}, "connect"),
    ],
    ids=["address", "no stage", "our own mistake", "the end of a run", "name", "connection"],
)
def test_what_never_left_is_no_request(unsent: dict[str, object], reason: str) -> None:
    found = tally(failed(**unsent, labels=(), waited=5.0, sign_us=700.0))

    assert (found.requests, found.not_sent, found.not_sent_by) == (0, 1, {reason: 1})
    assert {name: getattr(found, name) for name in CLASSES if getattr(found, name)} == {}
    assert (found.single, found.without, found.failures) == (0, {}, {})
    assert (found.waited, found.sign_cpu_ms, found.last_request) == (0.0, 0.0, None)


def test_our_own_mistake_after_a_request_left_is_a_request_that_failed() -> None:
    found = tally(failed(outcome=Outcome.INTERNAL, labels=BOTH))

    assert (found.requests, found.failed, found.not_sent) == (1, 1, 0)


def test_what_kept_requests_here_is_told_as_it_was_said_last() -> None:
    found = tally(
        failed(stage=Stage.DNS, detail="no such name", labels=()),
        failed(stage=Stage.ADDRESS, detail="127.0.0.1 is loopback", labels=()),
        failed(stage=Stage.ADDRESS, detail="10.0.0.1 is private", labels=()),
        failed(stage=Stage.TLS, labels=()),
    )

    assert list(found.not_sent_by.items()) == [("address", 2), ("dns", 1), ("tls", 1)]
    assert found.not_sent_details == {"address": "10.0.0.1 is private", "dns": "no such name"}


@given(
    st.lists(
        st.builds(
            lambda status, outcome, stage, labels, kind: record(
                status=status, outcome=outcome, stage=stage, labels=labels, kind=kind
            ),
            st.none() | st.integers(100, 999),
            st.sampled_from(Outcome),
            st.none() | st.sampled_from(Stage),
            st.sampled_from(((), ONE, BOTH)),
            st.sampled_from(Kind),
        )
    )
)
def test_the_classes_add_up(records: list[FetchRecord]) -> None:
    found = tally(*records)

    assert sum(getattr(found, name) for name in CLASSES) == found.requests
    assert found.dual + found.single == found.requests
    assert found.requests == sum(each.left for each in records)
    assert found.requests + found.not_sent == len(records)
    assert sum(found.statuses.values()) + sum(found.failures.values()) + found.cancelled == (
        found.requests
    )


def test_heads_and_signing_are_summed_and_split_by_labels() -> None:
    found = tally(
        record(
            labels=BOTH, header_bytes=4330, signature_bytes=3915, longest_line=3262, sign_us=700
        ),
        record(
            labels=BOTH, header_bytes=4300, signature_bytes=3915, longest_line=3262, sign_us=800
        ),
        record(labels=ONE, header_bytes=790, signature_bytes=441, longest_line=233, sign_us=40.5),
    )

    assert (found.dual, found.single) == (2, 1)
    assert (found.header_bytes, found.dual_header_bytes) == (9420, 8630)
    assert (found.signature_bytes, found.dual_signature_bytes) == (8271, 7830)
    assert (found.sign_cpu_ms, found.dual_sign_cpu_ms) == (1.54, 1.5)
    assert (found.largest_head, found.longest_line) == (4330, 3262)


def test_bodies_robots_and_what_is_unread_are_counted() -> None:
    found = tally(
        record(kind=Kind.ROBOTS, body_bytes=120, wire_bytes=100),
        record(status=304, unchanged=True, wire_bytes=7),
        record(outcome=Outcome.TOO_BIG, body_bytes=10_000, wire_bytes=900),
        record(outcome=Outcome.WRONG_TYPE),
        record(status=404, outcome=Outcome.WRONG_TYPE),
    )

    assert (found.robots, found.unchanged, found.unread) == (1, 1, 2)
    assert (found.body_bytes, found.wire_bytes) == (10_120, 1007)


def test_latency_is_until_the_head_of_an_answer() -> None:
    times = [0.1, 0.2, 0.3, 0.4, 9.0]
    found = tally(*(record(first_byte=time, elapsed=60.0) for time in times), failed(elapsed=30.0))

    assert (found.median_latency, found.p95_latency) == (0.3, 9.0)
    assert tally(failed()).median_latency is None


def test_waits_are_summed_by_what_they_were_for_a_bare_one_as_the_delay() -> None:
    found = tally(
        record(waited=0.0),
        record(waited=5.0, waited_for=Why.DELAY),
        record(waited=60.0, waited_for=Why.RETRY_AFTER),
        record(waited=10.0, waited_for=Why.BACK_OFF),
        record(waited=5.5),
    )

    assert found.waits == {Why.BACK_OFF: 10.0, Why.DELAY: 10.5, Why.RETRY_AFTER: 60.0}
    assert found.waited == 80.5


def test_why_requests_went_with_one_label_is_counted() -> None:
    found = tally(
        *(record(labels=ONE, without=Without.PROFILE) for _ in range(2)),
        *(record(labels=ONE, without=Without.BUDGET) for _ in range(3)),
        record(labels=ONE),
    )

    assert list(found.without.items()) == [(Without.BUDGET, 3), (Without.PROFILE, 2)]


def test_controls_are_counted_and_those_that_were_served() -> None:
    control = {"labels": ONE, "without": Without.CONTROL, "control_of": "r-0-1"}
    found = tally(
        record(status=431),
        record(**control, status=200),
        record(**control, status=403),
        record(**control, status=None),
        record(**control, status=304),
    )

    assert (found.controls, found.controls_passed) == (4, 2)


def test_suspicious_answers_are_counted_by_kind_with_the_latest_as_examples() -> None:
    found = tally(
        *(
            record(id=f"r-0-{n}", at=float(n), status=431, url=f"https://one.example/{n}")
            for n in range(9)
        ),
        record(status=401, refusal="invalid signature"),
        record(labels=ONE, status=431),
        record(status=403),
    )

    assert found.suspicious_answers == 10
    assert {sight: each.count for sight, each in found.suspicious.items()} == {
        Sight.SIZE_SURE: 9,
        Sight.VERIFIER: 1,
    }
    examples = found.suspicious[Sight.SIZE_SURE].examples
    assert [example.id for example in examples] == ["r-0-6", "r-0-7", "r-0-8"]
    assert len(examples) == EXAMPLES
    assert (examples[-1].at, examples[-1].status, examples[-1].matched) == (8.0, 431, "status 431")
    assert examples[-1].url == "https://one.example/8"
    assert "lighttpd" in examples[-1].source


def test_a_page_that_says_that_it_took_us_for_nobody_is_looked_at() -> None:
    found = tally(record(fields={"x-authenticated": "false"}), record(refusal="invalid: no"))

    assert found.suspicious[Sight.VERIFIER].count == 2


def test_statuses_and_failures_are_told_apart() -> None:
    found = tally(
        record(status=200),
        record(status=500),
        record(status=500),
        failed(stage=Stage.FIRST_BYTE),
        failed(stage=Stage.DEADLINE),
        failed(stage=Stage.DEADLINE),
        failed(),
    )

    assert found.statuses == {"200": 1, "500": 2}
    assert list(found.failures.items()) == [("deadline", 2), ("failed", 1), ("first-byte", 1)]


def test_what_was_not_asked_and_what_else_befell_is_counted() -> None:
    found = Tally("one")
    for why in (Why.ROBOTS, Why.ELSEWHERE, Why.ROBOTS):
        found.skip(Skipped(at=1.0, run="r", origin="one", url="https://one.example/x", why=why))
    found.interrupt()
    found.change_robots()
    told = found.findings()

    assert list(told.skipped.items()) == [(Why.ROBOTS, 2), (Why.ELSEWHERE, 1)]
    assert (told.interrupted, told.robots_changes, told.requests) == (1, 1, 0)
    assert (told.name, told.url, told.last_request, told.hold) == ("one", None, None, None)
