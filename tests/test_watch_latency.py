"""Median and tail: exact for few answers, nearly so for many, and never more memory."""

from math import ceil, inf, isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.watch.latency import KEPT, Latencies

SECONDS = st.floats(1e-6, 1e5)
SHARES = st.floats(0.001, 1.0)


def latencies(values: list[float]) -> Latencies:
    found = Latencies()
    for value in values:
        found.add(value)
    return found


def nearest(values: list[float], share: float) -> float:
    return sorted(values)[ceil(share * len(values)) - 1]


@given(st.lists(SECONDS, min_size=1, max_size=200), SHARES)
def test_few_answers_have_exact_quantiles(values: list[float], share: float) -> None:
    assert latencies(values).quantile(share) == nearest(values, share)


@settings(max_examples=20)
@given(st.lists(SECONDS, min_size=7, max_size=50), SHARES, st.integers(0, KEPT))
def test_many_answers_have_quantiles_within_four_in_a_thousand(
    values: list[float], share: float, more: int
) -> None:
    many = (values * (KEPT // len(values) + 1))[: KEPT - 1] + values + values * (more // 50)
    found = latencies(many).quantile(share)

    assert found is not None
    assert isclose(found, nearest(many, share), rel_tol=0.004)


def test_asking_in_between_changes_nothing() -> None:
    asked, silent = Latencies(), Latencies()
    for number in range(2 * KEPT + 10):
        asked.add(number / 1000 + 0.001)
        silent.add(number / 1000 + 0.001)
        if number % 1000 == 0:
            asked.quantile(0.5)

    assert asked.quantile(0.5) == silent.quantile(0.5)


def test_a_log_of_a_year_takes_no_more_than_a_few_classes() -> None:
    found = latencies([0.1 + number % 1000 / 1000 for number in range(20 * KEPT)])

    assert len(found._classes) < 1000
    assert len(found._kept) < KEPT


@pytest.mark.parametrize("value", [0.0, -1.0, -5e-324], ids=["zero", "negative", "below all"])
def test_what_only_a_foreign_log_says_sorts_first(value: float) -> None:
    many = latencies([0.5] * KEPT + [value] * 10)

    assert (many.quantile(0.0005) or 0.0) < 1e-30
    assert many.quantile(0.5) == pytest.approx(0.5, rel=0.004)


def test_a_duration_beyond_all_others_is_the_last() -> None:
    many = latencies([0.5] * KEPT + [1e300])

    assert many.quantile(0.5) == pytest.approx(0.5, rel=0.004)
    assert 1e30 < (many.quantile(1.0) or 0.0) < inf


def test_no_answer_has_no_median() -> None:
    assert Latencies().quantile(0.5) is None
