"""How often one host is asked."""

from hypothesis import given
from hypothesis import strategies as st

from crawler.serve import allowance
from crawler.serve.allowance import Allowance


def test_a_host_is_asked_eight_times_a_minute_for_what_strangers_name() -> None:
    allowed = Allowance()

    granted = [allowed.takes("bot.example", now) for now in range(20)]

    assert granted == [True] * 8 + [False] * 12
    assert allowed.takes("other.example", 20)
    assert allowed.takes("bot.example", allowance.WITHIN)


def test_two_more_are_kept_for_sets_that_were_read_before() -> None:
    allowed = Allowance()
    for now in range(20):
        allowed.takes("bot.example", now)

    again = [allowed.takes_again("bot.example", now) for now in range(20, 25)]

    assert again == [True, True, False, False, False]


def test_hosts_are_forgotten_after_a_minute() -> None:
    allowed = Allowance()
    for number in range(100):
        allowed.takes(f"{number}.example", float(number) / 10)

    allowed.takes("last.example", 100.0)

    assert len(allowed) == 1


@given(st.lists(st.tuples(st.floats(0, 20), st.booleans()), max_size=80))
def test_nobody_is_asked_more_than_ten_times_in_any_minute(
    steps: list[tuple[float, bool]],
) -> None:
    allowed = Allowance()
    granted: list[float] = []
    now = 0.0
    for step, known in steps:
        now += step
        if (allowed.takes_again if known else allowed.takes)("bot.example", now):
            granted.append(now)

        assert sum(now - allowance.WITHIN < one <= now for one in granted) <= allowance.FETCHES
