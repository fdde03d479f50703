"""What a wait was for agrees with the pace that the crawl itself had."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from records import record
from watched import failed

from crawler.events import FetchRecord, Interrupted, Outcome, Stage, Why
from crawler.polite import pace
from crawler.settings import Politeness
from crawler.watch.waits import Waits

POLITENESS = Politeness()
ANSWERS = st.builds(
    lambda status, retry_after, left, reset, elapsed: record(
        status=status, retry_after=retry_after, quota_left=left, quota_reset=reset, elapsed=elapsed
    ),
    st.sampled_from((200, 304, 301, 403, 404, 429, 431, 451, 500, 502, 503)),
    st.none() | st.floats(0, 1e6),
    st.none() | st.integers(0, 5),
    st.none() | st.floats(0, 1e4),
    st.floats(0, 60),
)
FAILURES = st.sampled_from(Stage).map(lambda stage: failed(stage=stage))
UNSENT = st.sampled_from((Outcome.NOT_SENT, Outcome.INTERNAL)).map(
    lambda outcome: failed(outcome=outcome)
)


@given(st.lists(ANSWERS | FAILURES | UNSENT, max_size=20))
def test_each_wait_is_for_what_the_pace_says(answers: list[FetchRecord]) -> None:
    waits, state = Waits(), pace.Pace()
    at = 1000.0
    for number, answer in enumerate(answers):
        left = record(at=at, id=str(number), waited=1.0)

        assert waits.why(left, POLITENESS) is state.why

        ended = replace(answer, at=at, id=str(number))
        state = pace.after(state, ended, POLITENESS)
        waits.learn(ended, POLITENESS)
        at = max(state.not_before, at + ended.elapsed)


def test_each_scope_waits_for_its_own_answers() -> None:
    waits = Waits()
    waits.learn(record(scope="a", status=429, retry_after=60.0), POLITENESS)

    assert waits.why(record(scope="a", waited=60.0), POLITENESS) is Why.RETRY_AFTER
    assert waits.why(record(scope="b", waited=5.0), POLITENESS) is Why.DELAY


def test_a_plain_answer_ends_the_back_off() -> None:
    waits = Waits()
    waits.learn(record(status=500), POLITENESS)
    waits.learn(record(status=200), POLITENESS)

    assert waits.why(record(waited=5.0), POLITENESS) is Why.DELAY


def test_a_request_that_a_crash_cut_off_is_waited_for() -> None:
    waits = Waits()
    waits.cut_off(Interrupted(at=1.0, id="r-0-1", origin="one", scope="one.example", url="/"))

    assert waits.why(record(waited=5.0), POLITENESS) is Why.INTERRUPTED


@pytest.mark.parametrize(
    ("at", "why"),
    [(6 * 3600.0, Why.QUIET_HOURS), (6 * 3600.0 + 30, Why.DELAY), (3 * 3600.0, Why.QUIET_HOURS)],
    ids=["as the quiet hours end", "half a minute later", "within them, the clock having jumped"],
)
def test_a_wait_that_the_quiet_hours_end_is_theirs(at: float, why: Why) -> None:
    politeness = Politeness(quiet="22:00-06:00")

    assert Waits().why(record(at=at, waited=3600.0), politeness) is why
