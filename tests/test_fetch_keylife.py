"""Which of several keys signs at a moment, and what comes next."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch import keylife
from crawler.fetch.keylife import Change, Life, Standing

ROTATION = {
    "old": Life(rank=-inf, ends=200),
    "new": Life(rank=100, opens=100),
    "other": Life(),
    "gone": Life(rank=-inf, ends=-inf),
}
SIGNING, PUBLISHED, RETIRED = Standing.SIGNING, Standing.PUBLISHED, Standing.RETIRED


@pytest.mark.parametrize(
    ("now", "old", "new"),
    [
        pytest.param(0, SIGNING, PUBLISHED, id="before the new one signs"),
        pytest.param(99.999, SIGNING, PUBLISHED, id="just before"),
        pytest.param(100, PUBLISHED, SIGNING, id="at the moment"),
        pytest.param(199.999, PUBLISHED, SIGNING, id="before the old one is dropped"),
        pytest.param(200, RETIRED, SIGNING, id="when it is dropped"),
        pytest.param(1e12, RETIRED, SIGNING, id="ever after"),
    ],
)
def test_a_rotation_goes_by_the_clock(now: float, old: Standing, new: Standing) -> None:
    assert keylife.standing(ROTATION, now) == {
        "old": old,
        "new": new,
        "other": PUBLISHED,
        "gone": RETIRED,
    }


def test_each_key_says_what_comes_next() -> None:
    assert keylife.changes(ROTATION, 0) == {
        "old": Change(at=100, standing=PUBLISHED),
        "new": Change(at=100, standing=SIGNING),
    }
    assert keylife.changes(ROTATION, 100) == {"old": Change(at=200, standing=RETIRED)}
    assert keylife.changes(ROTATION, 200) == {}


def test_a_key_that_ends_gives_its_place_back_to_one_that_does_not() -> None:
    lives = {"old": Life(rank=1), "new": Life(rank=2, ends=50)}

    assert keylife.standing(lives, 49)["new"] is SIGNING
    assert keylife.standing(lives, 50) == {"old": SIGNING, "new": RETIRED}


@pytest.mark.parametrize(
    ("lives", "rivals"),
    [
        pytest.param([Life(rank=1), Life(rank=1)], (0, 1), id="the same moment"),
        pytest.param([Life(rank=1), Life(rank=2)], (), id="two moments"),
        pytest.param([Life(), Life()], (), id="none signs"),
        pytest.param([Life(rank=1, ends=5), Life(rank=1, opens=5)], (), id="one after the other"),
        pytest.param([Life(rank=1, ends=-inf), Life(rank=1)], (), id="one is retired"),
    ],
)
def test_keys_between_which_nothing_decides_are_found(
    lives: list[Life], rivals: tuple[int, ...]
) -> None:
    named = {str(number): life for number, life in enumerate(lives)}

    assert keylife.rivals(named) == tuple(map(str, rivals))


MOMENTS = st.integers(0, 9).map(float) | st.just(-inf)
LIVES = st.dictionaries(
    st.sampled_from("abcde"),
    st.builds(
        Life,
        rank=st.none() | MOMENTS,
        opens=MOMENTS,
        ends=st.integers(0, 9).map(float) | st.sampled_from([-inf, inf]),
    ),
)


@given(LIVES, st.integers(-1, 10))
def test_no_key_signs_before_its_time_or_after_its_end(lives: dict[str, Life], now: int) -> None:
    uses = keylife.standing(lives, now)
    signs = [keyid for keyid, use in uses.items() if use is SIGNING]

    assert len(signs) == any(life.may_sign(now) for life in lives.values())
    for keyid, use in uses.items():
        assert (use is RETIRED) == (now >= lives[keyid].ends)
    for keyid in signs:
        assert lives[keyid].opens <= now < lives[keyid].ends


@given(LIVES, st.integers(-1, 9))
def test_what_comes_next_comes_then_and_nothing_before(lives: dict[str, Life], now: int) -> None:
    before, ahead = keylife.standing(lives, now), keylife.changes(lives, now)
    for moment in range(now + 1, 11):
        for keyid, use in keylife.standing(lives, moment).items():
            change = ahead.get(keyid)
            if change is None or moment < change.at:
                assert use is before[keyid]
            if change is not None and moment == change.at:
                assert use is change.standing is not before[keyid]
