"""Figures as people read them, and words for all that the log has names for."""

import pytest

from crawler.events import Without
from crawler.watch import wording
from crawler.watch.patterns import Sight


@pytest.mark.parametrize(
    ("count", "written"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (999.6, "1 kB"),
        (4330, "4.33 kB"),
        (999_400, "999 kB"),
        (999_600, "1 MB"),
        (10_485_760, "10.5 MB"),
        (2_500_000_000, "2.5 GB"),
        (1_500_000_000_000, "1.5 TB"),
        (-5000, "-5 kB"),
    ],
)
def test_sizes_are_written_in_three_digits(count: float, written: str) -> None:
    assert wording.size(count) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0.0, "0 ms"),
        (0.000041, "0.041 ms"),
        (0.145, "145 ms"),
        (0.9996, "1 s"),
        (59.4, "59.4 s"),
        (90.0, "1.5 min"),
        (4757.0, "1.32 h"),
        (172_800.0, "2 d"),
        (1e9, "1.16e+04 d"),
    ],
)
def test_durations_are_written_in_three_digits(seconds: float, written: str) -> None:
    assert wording.span(seconds) == written


def test_a_share_of_nothing_is_none() -> None:
    assert (wording.share(1.0, 3.0), wording.share(0.0, 0.0)) == ("33%", "0%")


def test_whatever_the_log_has_a_name_for_has_a_word() -> None:
    assert set(wording.SIGHTS) == set(Sight)
    assert set(wording.ALONE) == set(Without)
