"""When an origin is left alone, and when it is asked again."""

import pytest
from records import record

from crawler.events import FetchRecord, Kind, Outcome, Stage, Why
from crawler.polite import pace
from crawler.polite.pace import Go, Pace, Stop
from crawler.settings import Politeness

POLITE = Politeness()
ONE = "https://one.example"
ALONE = ("sig1",)
BOTH = ("sig1", "sig2")
DAY = 86400.0


def after(*records: FetchRecord) -> Pace:
    state = Pace()
    for item in records:
        state = pace.after(state, item, POLITE)
    return state


@pytest.mark.parametrize(
    ("refusals", "closed"),
    [
        pytest.param([(403, ALONE)] * 3, Why.FROZEN, id="three refusals of sig1 alone"),
        pytest.param([(451, BOTH)] * 3, Why.FROZEN, id="451 is about the law, not the signature"),
        pytest.param([(403, ALONE)] * 2, None, id="two are tolerated"),
        pytest.param([(403, BOTH)] * 9, None, id="sig2 may have caused them"),
        pytest.param([(401, BOTH), (401, ALONE)] * 3, Why.FROZEN, id="confirmed by controls"),
        pytest.param([(403, ALONE), (200, BOTH)] * 5, None, id="others go well in between"),
        pytest.param([(500, ALONE)] * 5, Why.PARKED, id="five failures"),
        pytest.param([(500, BOTH)] * 9, None, id="failures that sig2 may have caused"),
        pytest.param([(404, ALONE)] * 9, None, id="not found is an answer"),
        pytest.param([(429, ALONE)] * 9, None, id="too many requests is our doing"),
    ],
)
def test_an_origin_that_refuses_or_fails_again_and_again_is_left_alone(
    refusals: list[tuple[int, tuple[str, ...]]], closed: Why | None
) -> None:
    state = after(
        *(
            record(status=status, labels=labels, id=f"r-{n}", at=1000.0 + 100 * n)
            for n, (status, labels) in enumerate(refusals)
        )
    )

    assert state.regard(ONE).closed is closed
    decision = pace.decide(state, ONE, 1001.0 + 100 * len(refusals), POLITE)
    assert isinstance(decision, Stop) is (closed is not None)
    assert pace.decide(state, "another", 1e9, POLITE) == Go()


@pytest.mark.parametrize("stage", [Stage.DNS, Stage.CONNECT, Stage.TLS])
def test_a_host_that_cannot_be_reached_is_parked_whatever_was_to_be_sent(stage: Stage) -> None:
    dead = [record(status=None, outcome=Outcome.FAILED, stage=stage, id=f"r-{n}") for n in range(5)]

    regard = after(*dead).regard(ONE)
    assert regard.closed is Why.PARKED
    assert stage in regard.detail


def test_each_freeze_is_longer_and_one_refusal_suffices_after_the_first() -> None:
    state, now, lengths = Pace(), 1000.0, []
    for n in range(3):
        while state.regard(ONE).closed is None or now >= state.regard(ONE).closed_until:
            item = record(status=403, labels=ALONE, at=now, id=f"r-{n}-{now}", elapsed=0.0)
            state = pace.after(state, item, POLITE)
            last, now = now, now + 10.0
        lengths.append(state.regard(ONE).closed_until - last)
        now = state.regard(ONE).closed_until

    assert lengths == [3600.0, DAY, 604800.0]


def test_a_good_answer_makes_us_welcome_again() -> None:
    frozen = after(*(record(status=403, labels=ALONE, id=f"r-{n}") for n in range(3)))
    state = pace.after(frozen, record(at=9000.0), POLITE)

    assert state.regard(ONE).closed is None
    assert state.regard(ONE).freezes == 0


def test_a_robots_txt_that_is_refused_freezes_nothing() -> None:
    refused = [record(status=403, labels=ALONE, kind=Kind.ROBOTS, id=f"r-{n}") for n in range(9)]

    assert after(*refused).regard(ONE).refusals == 0
    assert after(*refused).regard(ONE).closed is None


def test_a_503_that_says_when_to_come_back_is_no_failure() -> None:
    busy = [record(status=503, labels=ALONE, retry_after=9.0, id=f"r-{n}") for n in range(9)]

    assert after(*busy).regard(ONE).closed is None


@pytest.mark.parametrize(("status", "closed"), [(403, Why.FROZEN), (500, Why.PARKED)])
def test_a_robots_txt_that_is_read_between_refusals_forgives_none(status: int, closed: Why) -> None:
    visits = [
        record(id=f"{kind}-{n}", kind=kind, status=code, labels=ALONE, at=1000.0 + n * DAY)
        for n in range(5)
        for kind, code in ((Kind.ROBOTS, 200), (Kind.PAGE, status))
    ]

    closings = [after(*visits[:n]).regard(ONE).closed for n in range(1, 11)]
    assert closed in closings
