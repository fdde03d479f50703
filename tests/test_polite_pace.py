"""When the next request may leave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from records import record

from crawler.events import FetchRecord, Kind, Outcome, Stage, Why
from crawler.polite import pace
from crawler.polite.pace import Go, Pace, Stop, Wait
from crawler.settings import Politeness

POLITE = Politeness()
ONE = "https://one.example"
TWO = "https://two.example"
ALONE = ("sig1",)
BOTH = ("sig1", "sig2")
DAY = 86400.0


def after(*records: FetchRecord, politeness: Politeness = POLITE) -> Pace:
    state = Pace()
    for item in records:
        state = pace.after(state, item, politeness)
    return state


def test_a_stranger_may_be_asked_at_once() -> None:
    assert pace.decide(Pace(), ONE, 1000.0, POLITE) == Go()


@pytest.mark.parametrize(
    ("known", "delay", "why"),
    [
        pytest.param({"elapsed": 0.5}, 5.0, Why.DELAY, id="the floor"),
        pytest.param({"elapsed": 2.0}, 10.0, Why.DELAY, id="five times a slow answer"),
        pytest.param({"elapsed": 100.0}, 300.0, Why.DELAY, id="but no more than max_delay"),
        pytest.param({"crawl_delay": 20.0}, 20.0, Why.DELAY, id="Crawl-delay where larger"),
        pytest.param({"crawl_delay": 1.0}, 5.0, Why.DELAY, id="the floor where that is larger"),
        pytest.param(
            {"crawl_delay": 1e9}, 300.0, Why.DELAY, id="a senseless Crawl-delay blocks no scope"
        ),
        pytest.param({"retry_after": 120.0}, 120.0, Why.RETRY_AFTER, id="Retry-After on a 200"),
        pytest.param(
            {"status": 503, "retry_after": 7200.0}, 7200.0, Why.RETRY_AFTER, id="not cut short"
        ),
        pytest.param(
            {"status": 429, "retry_after": 1e9}, DAY, Why.RETRY_AFTER, id="up to max_retry_after"
        ),
        pytest.param(
            {"quota_left": 0, "quota_reset": 60.0}, 60.0, Why.RATE_LIMIT, id="a spent quota"
        ),
        pytest.param(
            {"quota_left": 3, "quota_reset": 60.0}, 20.0, Why.DELAY, id="what is left, spread"
        ),
        pytest.param(
            {"status": None, "outcome": Outcome.FAILED, "stage": Stage.STALE_CONNECTION},
            5.0,
            Why.DELAY,
            id="a stale connection is nobody's fault",
        ),
    ],
)
def test_the_delay_counts_from_the_end_of_the_answer(
    known: dict[str, object], delay: float, why: Why
) -> None:
    item = record(**known)
    state = after(item)

    assert state.not_before == pytest.approx(item.at + item.elapsed + delay)
    assert state.why is why
    now = state.not_before - 1.0
    assert pace.decide(state, ONE, now, POLITE) == Wait(state.not_before, why)
    assert pace.decide(state, ONE, state.not_before, POLITE) == Go()


@pytest.mark.parametrize(
    ("min_delay", "crawl_delay", "delay"),
    [
        pytest.param(1.0, None, 5.0, id="what the other's answer costs, where its own is shorter"),
        pytest.param(8.0, None, 8.0, id="its own delay"),
        pytest.param(1.0, 30.0, 30.0, id="what its own robots.txt asks for"),
    ],
)
def test_an_origin_keeps_its_own_delay_after_the_answer_to_another_in_its_scope(
    min_delay: float, crawl_delay: float | None, delay: float
) -> None:
    item = record(origin="quick", elapsed=0.5)
    state = after(item)
    own = Politeness(min_delay=min_delay)

    decision = pace.decide(state, "slow", 1001.0, own, crawl_delay)

    assert isinstance(decision, Wait)
    assert decision.until == pytest.approx(item.at + item.elapsed + delay)
    assert decision.why is Why.DELAY
    assert pace.decide(state, "slow", decision.until, own, crawl_delay) == Go()


def test_an_origin_keeps_its_own_delay_after_a_restart_that_cut_off_another_in_its_scope() -> None:
    state = pace.resumed(pace.before(Pace(), "quick", "r-1", 1000.0), "quick", 2000.0, POLITE)

    assert state.not_before == 2005.0
    assert pace.decide(state, "slow", 2001.0, Politeness(min_delay=60.0)) == Wait(2060.0, Why.DELAY)


def test_a_delay_that_the_operator_chose_is_waited_for_however_long() -> None:
    patient = Politeness(min_delay=900.0)
    state = after(record(), politeness=patient)

    assert pace.decide(state, ONE, 1000.5, patient) == Wait(1900.5, Why.DELAY)


def test_what_is_further_away_than_we_wait_ends_the_turn() -> None:
    state = after(record(status=503, retry_after=7200.0))

    assert pace.decide(state, ONE, 1001.0, POLITE) == Stop(state.not_before, Why.RETRY_AFTER)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_setbacks_in_a_row_double_the_delay_with_a_jitter_of_the_records_own(status: int) -> None:
    items = [record(status=status, id=f"r-{n}", labels=ALONE, elapsed=0.0) for n in range(3)]
    waits = [after(*items[: n + 1]).not_before - 1000.0 for n in range(3)]

    assert [5.0 <= waits[0] <= 6.25, 10.0 <= waits[1] <= 12.5, 20.0 <= waits[2] <= 25.0] == [
        True
    ] * 3
    assert after(*items).why is Why.BACK_OFF
    assert after(*items) == after(*items)


def test_an_answer_ends_the_back_off() -> None:
    state = after(record(status=503, id="a"), record(status=503, id="b"), record(at=2000.0))

    assert (state.setbacks, state.not_before) == (0, 2005.5)


def test_a_later_answer_never_shortens_what_is_owed() -> None:
    state = after(record(status=503, retry_after=600.0), record(at=1001.0))

    assert (state.not_before, state.why) == (1600.5, Why.RETRY_AFTER)


def test_a_promise_counts_the_days_requests_and_the_budget_ends_the_day() -> None:
    politeness = Politeness(daily_requests=2)
    state = pace.before(pace.before(Pace(), ONE, "a", 100.0), ONE, "b", 200.0)

    assert (state.pending, state.regard(ONE).asked) == ("b", 2)
    assert pace.decide(state, ONE, 300.0, politeness) == Stop(DAY, Why.DAILY_BUDGET)
    assert pace.decide(state, ONE, DAY + 1.0, politeness) == Go()
    assert pace.before(state, ONE, "c", DAY + 1.0).regard(ONE).asked == 1


def test_an_interrupted_request_costs_a_full_delay_from_the_restart() -> None:
    slow = after(record(crawl_delay=30.0))
    promised = pace.before(slow, ONE, "x", 5000.0)
    state = pace.resumed(promised, ONE, 6000.0, POLITE)

    assert (state.pending, state.not_before, state.why) == (None, 6030.0, Why.INTERRUPTED)
    assert pace.resumed(slow, ONE, 6000.0, POLITE) == slow


def test_an_interrupted_request_does_not_shorten_a_longer_promise() -> None:
    promised = pace.before(after(record(status=503, retry_after=7200.0)), ONE, "x", 1001.0)

    assert pace.resumed(promised, ONE, 2000.0, POLITE).not_before == 8200.5


def test_a_scope_of_another_name_owes_what_its_doors_were_owed() -> None:
    before = after(record(status=429, retry_after=7200.0, at=5000.0))
    narrow = pace.inherited(Pace(), [before], {ONE})
    since = after(record(at=9000.0))

    assert (narrow.not_before, narrow.why) == (before.not_before, Why.RETRY_AFTER)
    assert narrow.regard(ONE) == before.regard(ONE)
    assert pace.inherited(Pace(), [before], {TWO}) == Pace()
    assert pace.inherited(since, [before], {ONE}) == since


def test_a_wider_scope_that_was_asked_later_owes_each_door_its_own() -> None:
    one = after(record(status=429, retry_after=7200.0, at=5000.0))
    domain = after(record(url=f"{TWO}/", at=6000.0))
    wide = pace.inherited(domain, [one], {ONE, TWO})

    assert wide.not_before == one.not_before
    assert pace.decide(wide, TWO, 6010.0, POLITE) == Stop(one.not_before, Why.RETRY_AFTER)


def test_what_is_known_of_a_door_newest_counts_whichever_scope_learned_it() -> None:
    stale = after(record(at=1000.0), record(url=f"{TWO}/", at=9000.0))
    frozen = after(
        *(record(status=403, labels=ALONE, at=2000.0 + n, id=f"r-{n}") for n in range(3))
    )

    assert pace.inherited(frozen, [stale], {ONE}) == frozen
    assert pace.inherited(stale, [frozen], {ONE, TWO}).regard(ONE) == frozen.regard(ONE)


def test_an_interrupted_request_is_owed_for_in_another_scope_too() -> None:
    state = pace.resumed(pace.before(Pace(), ONE, "x", 5000.0), ONE, 6000.0, POLITE)

    assert pace.inherited(Pace(), [state], {ONE}).not_before == 6005.0


@pytest.mark.parametrize("outcome", [Outcome.NOT_SENT, Outcome.INTERNAL])
def test_what_never_left_owes_no_delay(outcome: Outcome) -> None:
    promised = pace.before(Pace(not_before=900.0), ONE, "x", 1000.0)
    state = pace.after(promised, record(outcome=outcome, status=None), POLITE)

    assert (state.pending, state.not_before) == (None, 900.0)


def test_our_own_mistake_after_sending_owes_the_delay() -> None:
    item = record(outcome=Outcome.INTERNAL, status=None, header_bytes=800)

    assert after(item).not_before == 1005.5


@pytest.mark.parametrize(
    ("now", "until"),
    [
        # 2026-11-30 is a Monday; Prague is an hour ahead of UTC then
        pytest.param(1796079600.0, 1796101200.0, id="at 22:00 + 1 h, until six"),
        pytest.param(1796097600.0, 1796101200.0, id="before dawn, until six"),
        pytest.param(1796101200.0, None, id="at six the day begins"),
        pytest.param(1796072399.0, None, id="a second before ten"),
    ],
)
def test_quiet_hours_are_the_sites_own_night(now: float, until: float | None) -> None:
    politeness = Politeness(quiet="22:00-06:00 Europe/Prague")
    decision = pace.decide(Pace(), ONE, now, politeness)

    assert decision == (Go() if until is None else Stop(until, Why.QUIET_HOURS))


def test_a_wait_that_would_end_in_quiet_hours_ends_after_them() -> None:
    politeness = Politeness(quiet="22:00-06:00 Europe/Prague")
    state = Pace(not_before=1796072400.0 + 30.0)

    assert pace.decide(state, ONE, 1796072400.0 - 30.0, politeness) == Stop(
        1796101200.0, Why.QUIET_HOURS
    )


ANSWERS = st.builds(
    record,
    status=st.sampled_from([200, 301, 304, 401, 403, 404, 429, 451, 500, 503, None]),
    outcome=st.just(Outcome.ANSWERED),
    stage=st.sampled_from([None, *Stage]),
    labels=st.sampled_from([ALONE, BOTH]),
    kind=st.sampled_from(Kind),
    elapsed=st.floats(0, 400),
    retry_after=st.none() | st.floats(-100, 1e8),
    quota_left=st.none() | st.integers(0, 10),
    quota_reset=st.none() | st.floats(-10, 1e8),
    crawl_delay=st.none() | st.floats(0, 300),
    id=st.uuids().map(str),
)


@given(st.lists(ANSWERS, max_size=12))
def test_no_history_makes_us_hasty(history: list[FetchRecord]) -> None:
    state, now = Pace(), 0.0
    for number, answer in enumerate(history):
        item = replace(answer, at=now)
        state = pace.after(pace.before(state, ONE, item.id, now), item, POLITE)
        ended = now + item.elapsed
        owed = max(POLITE.min_delay, item.crawl_delay or 0.0)

        assert state.not_before >= ended + owed
        assert state.not_before <= ended + DAY
        assert isinstance(pace.decide(state, ONE, ended, POLITE), Wait | Stop)
        assert state.pending is None
        assert sum(regard.asked for regard in state.regards.values()) <= number + 1
        now = max(state.not_before, state.regard(ONE).closed_until)
        assert pace.decide(state, ONE, now, POLITE) in (
            Go(),
            Stop((now // DAY + 1) * DAY, Why.DAILY_BUDGET),
        )
