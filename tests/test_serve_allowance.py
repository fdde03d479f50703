"""How often one host is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.serve import allowance
from crawler.serve.allowance import SLOTS, Allowance, Share


@pytest.mark.parametrize("share", Share)
def test_a_host_is_asked_a_few_times_a_minute(share: Share) -> None:
    allowed = Allowance()

    granted = [allowed.takes("bot.example", share, now) for now in range(20)]

    assert granted == [True] * SLOTS[share] + [False] * (20 - SLOTS[share])
    assert allowed.takes("other.example", share, 20)
    assert allowed.takes("bot.example", share, allowance.WITHIN)


@pytest.mark.parametrize("share", Share)
def test_no_share_takes_from_another(share: Share) -> None:
    allowed = Allowance()
    for now in range(20):
        allowed.takes("bot.example", share, now)

    others = [allowed.takes("bot.example", one, 20) for one in Share if one is not share]

    assert others == [True] * 3


def test_hosts_are_forgotten_after_a_minute() -> None:
    allowed = Allowance()
    for number in range(100):
        allowed.takes(f"{number}.example", Share.HOME, float(number) / 10)

    allowed.takes("last.example", Share.HOME, 100.0)

    assert len(allowed) == 1


@given(st.lists(st.tuples(st.floats(0, 20), st.sampled_from(Share)), max_size=80))
def test_nobody_is_asked_more_than_ten_times_in_any_minute(
    steps: list[tuple[float, Share]],
) -> None:
    allowed = Allowance()
    granted: list[float] = []
    now = 0.0
    for step, share in steps:
        now += step
        if allowed.takes("bot.example", share, now):
            granted.append(now)

        assert sum(now - allowance.WITHIN < one <= now for one in granted) <= allowance.FETCHES
