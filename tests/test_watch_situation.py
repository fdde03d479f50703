"""What is in force for an origin as its log ends."""

import pytest
from records import record
from watched import BOTH, ONE, failed, settings

from crawler.events import Deferred, FetchRecord, Outcome, Standing, Why, Without
from crawler.settings import Second
from crawler.watch.findings import Hold, Verdict, VerdictState
from crawler.watch.situation import Situation

FROZEN = Standing(at=50.0, origin="one", why=Why.FROZEN, until=3650.0, detail="403, 3 in a row")
WELCOME = Standing(at=60.0, origin="one", why=None)
PUT_OFF = Deferred(at=70.0, run="r", origin="one", why=Why.RETRY_AFTER, until=900.0, detail="wait")


def asked(*records: FetchRecord) -> Situation:
    found = Situation()
    for each in records:
        found.ask(each)
    return found


def test_a_frozen_origin_is_held_until_its_end() -> None:
    found = Situation()
    found.stand(FROZEN)

    assert found.hold() == Hold(why=Why.FROZEN, since=50.0, until=3650.0, detail="403, 3 in a row")


def test_an_origin_that_welcomes_us_again_is_not_held() -> None:
    found = Situation()
    found.stand(FROZEN)
    found.stand(WELCOME)

    assert found.hold() is None


def test_a_turn_that_ended_early_holds_the_origin() -> None:
    found = asked(record(at=65.0))
    found.defer(PUT_OFF)

    assert found.hold() == Hold(why=Why.RETRY_AFTER, since=70.0, until=900.0, detail="wait")


def test_a_request_after_that_ends_the_hold() -> None:
    found = asked(record(at=65.0))
    found.defer(PUT_OFF)
    found.ask(record(at=901.0))

    assert found.hold() is None


@pytest.mark.parametrize("outcome", [Outcome.NOT_SENT, Outcome.FAILED])
def test_a_request_that_never_left_does_not(outcome: Outcome) -> None:
    found = Situation()
    found.defer(PUT_OFF)
    found.ask(failed(at=901.0, outcome=outcome, labels=()))

    assert found.hold() is not None
    assert found.last is None


def test_frozen_says_more_than_put_off() -> None:
    found = Situation()
    found.defer(PUT_OFF)
    found.stand(FROZEN)

    assert found.hold() == Hold(why=Why.FROZEN, since=50.0, until=3650.0, detail="403, 3 in a row")


@pytest.mark.parametrize("sig2", [Second.NEVER, Second.ALWAYS])
def test_a_setting_pins_the_verdict(sig2: Second) -> None:
    found = asked(record(labels=BOTH))
    found.set(settings(sig2=sig2))

    assert found.verdict() == Verdict(state=VerdictState.PINNED, reason=f"sig2 = {sig2}")


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([], "nothing was asked"),
        ([failed(labels=())], "nothing was asked"),
        ([record(labels=BOTH)], "both labels are sent"),
        ([record(labels=BOTH), failed(labels=())], "both labels are sent"),
        (
            [record(labels=BOTH), record(labels=ONE, without=Without.CONTROL)],
            "both labels are sent",
        ),
        (
            [record(labels=BOTH), record(labels=ONE, without=Without.ROBOTS_CONTROL)],
            "both labels are sent",
        ),
        (
            [record(labels=ONE, without=Without.PROFILE)],
            "sig1 went alone last: its profile sends no second signature",
        ),
        (
            [record(labels=ONE, without=Without.NO_KEY)],
            "sig1 went alone last: the post-quantum key could not be used",
        ),
        (
            [record(labels=BOTH), record(labels=ONE, without=Without.BUDGET)],
            "sig1 went alone last: sig2 did not fit into header_limit",
        ),
        (
            [record(labels=ONE, without=Without.SETTING)],
            "sig1 went alone last: the setting was sig2 = never",
        ),
        ([record(labels=ONE)], "sig1 went alone last"),
    ],
)
def test_the_watch_sends_and_says_what_went_out(records: list[FetchRecord], reason: str) -> None:
    found = asked(*records)
    found.set(settings(sig2=Second.WATCH))

    assert found.verdict() == Verdict(state=VerdictState.SENDING, reason=reason)


def test_the_settings_in_force_are_the_latest() -> None:
    found = Situation()
    found.set(settings())
    found.set(settings(url="https://new.example/"))

    assert found.url == "https://new.example/"


def test_without_settings_in_the_log_no_url_is_known() -> None:
    assert Situation().url is None
