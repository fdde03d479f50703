"""How long key sets are believed, and what takes their place."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.serve import shelf
from crawler.serve.shelf import Shelf
from signing import algorithms, keys
from signing.directory import KeySet
from signing.verifier import Reason

URL = "https://bot.example/keys"
A, B = (keys.generate(algorithms.ED25519).public_key for _ in range(2))


def with_set(*held: keys.PublicKey, lifetime: float | None = None) -> Shelf:
    made = Shelf()
    made.learn(URL, KeySet(held), lifetime, 0.0)
    return made


def test_a_set_that_was_never_read_has_to_be() -> None:
    assert Shelf().look(URL, A.keyid, 0.0) is None


@pytest.mark.parametrize(
    ("said", "believed"),
    [
        pytest.param(None, shelf.USUAL, id="nothing said"),
        pytest.param(0.0, shelf.RECHECK, id="not at all"),
        pytest.param(600.0, 600.0, id="ten minutes"),
        pytest.param(1e9, shelf.LONGEST, id="for ever"),
    ],
)
def test_a_set_is_fresh_for_as_long_as_its_server_says_within_bounds(
    said: float | None, believed: float
) -> None:
    kept = with_set(A, lifetime=said)

    assert kept.look(URL, A.keyid, believed - 1) is A
    assert kept.look(URL, A.keyid, believed) is None


def test_a_key_that_is_not_there_is_looked_for_again_after_a_while() -> None:
    kept = with_set(A)

    assert kept.look(URL, B.keyid, shelf.RECHECK - 1) is Reason.UNKNOWN_KEY
    assert kept.look(URL, B.keyid, shelf.RECHECK) is None


def test_a_set_that_has_dropped_a_key_drops_it_here() -> None:
    kept = with_set(A)

    kept.learn(URL, KeySet((B,)), None, 10.0)

    assert kept.look(URL, A.keyid, 11.0) is Reason.UNKNOWN_KEY
    assert kept.look(URL, B.keyid, 11.0) is B


def test_a_failure_leaves_a_stale_set_for_a_day() -> None:
    kept = with_set(A, lifetime=600)
    last = 600 + shelf.STALE

    kept.fail(URL, Reason.DIRECTORY_MALFORMED, 600.0)
    during = kept.look(URL, A.keyid, 601.0), kept.look(URL, B.keyid, 601.0)
    after = kept.look(URL, A.keyid, 600.0 + shelf.NEGATIVE)
    kept.fail(URL, Reason.DIRECTORY_MALFORMED, last)

    assert during == (A, Reason.UNKNOWN_KEY)
    assert after is None
    assert kept.look(URL, A.keyid, last) is Reason.DIRECTORY_MALFORMED


def test_a_failure_is_believed_for_at_most_five_minutes() -> None:
    kept = Shelf()

    kept.fail(URL, Reason.DIRECTORY_UNAVAILABLE, 0.0)

    assert kept.look(URL, A.keyid, shelf.NEGATIVE - 1) is Reason.DIRECTORY_UNAVAILABLE
    assert kept.look(URL, A.keyid, shelf.NEGATIVE) is None
    assert shelf.NEGATIVE <= 300
    assert shelf.RECHECK <= 300


def test_a_set_that_is_read_ends_a_failure() -> None:
    kept = Shelf()
    kept.fail(URL, Reason.DIRECTORY_UNAVAILABLE, 0.0)

    kept.learn(URL, KeySet((A,)), None, 1.0)

    assert kept.look(URL, A.keyid, 2.0) is A


def test_the_set_that_was_not_used_for_longest_leaves_first() -> None:
    kept = Shelf(sets=2)
    for url in ("a", "b"):
        kept.learn(url, KeySet((A,)), None, 0.0)
    kept.look("a", A.keyid, 1.0)

    kept.learn("c", KeySet((A,)), None, 2.0)

    assert ["a" in kept, "b" in kept, "c" in kept] == [True, False, True]


def test_failures_push_no_set_out() -> None:
    kept = Shelf(sets=1, failures=3)
    kept.learn(URL, KeySet((A,)), None, 0.0)

    for number in range(10):
        kept.fail(f"https://{number}.example", Reason.DIRECTORY_UNAVAILABLE, 0.0)

    assert kept.look(URL, A.keyid, 1.0) is A
    assert kept.look("https://0.example", A.keyid, 1.0) is None
    assert kept.look("https://9.example", A.keyid, 1.0) is Reason.DIRECTORY_UNAVAILABLE


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=60))
def test_there_are_never_more_sets_than_there_may_be(done: list[tuple[int, bool]]) -> None:
    kept = Shelf(sets=5)
    for now, (url, read) in enumerate(done):
        if read:
            kept.learn(str(url), KeySet((replace(A),)), None, now)
        else:
            kept.fail(str(url), Reason.DIRECTORY_UNAVAILABLE, now)

        assert len(kept) <= 5
