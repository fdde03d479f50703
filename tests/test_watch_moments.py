"""Moments on the command line and in the report."""

import pytest

from crawler.watch import moments
from crawler.watch.moments import MomentUnreadable

NOW = 1_793_599_200.0  # 2026-11-02 06:00 UTC
DAY = 86400.0


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("7d", NOW - 7 * DAY),
        ("12h", NOW - DAY / 2),
        ("90m", NOW - 5400),
        ("30 s", NOW - 30),
        ("2w", NOW - 14 * DAY),
        ("1.5d", NOW - 1.5 * DAY),
        ("2026-11-01", 1_793_491_200.0),
        ("2026-11-01T06:00", 1_793_512_800.0),
        ("2026-11-01 06:00", 1_793_512_800.0),
        ("2026-11-01T06:00+01:00", 1_793_509_200.0),
        ("2026-11-01T06:00:00Z", 1_793_512_800.0),
        (" 2026-11-01 ", 1_793_491_200.0),
    ],
)
def test_a_moment_is_written_like(text: str, moment: float) -> None:
    assert moments.since(text, NOW) == moment


@pytest.mark.parametrize(
    "text",
    ["", "7", "d", "-7d", "7 days", "yesterday", "2026-13-01", "2026", "1.11.2026"],
)
def test_what_names_no_moment_says_what_to_write(text: str) -> None:
    with pytest.raises(MomentUnreadable, match="is no moment") as caught:
        moments.since(text, NOW)

    assert "7d" in (caught.value.hint or "")
    assert caught.value.code == 2


@pytest.mark.parametrize("text", ["99999999d", f"{'9' * 400}w", "1969-12-31", "0001-01-01"])
def test_a_moment_before_all_logs_is_none(text: str) -> None:
    with pytest.raises(MomentUnreadable, match="is before 1970"):
        moments.since(text, NOW)


def test_a_moment_to_come_says_what_time_it_is() -> None:
    with pytest.raises(MomentUnreadable, match="still to come: it is 2026-11-02 06:00 UTC"):
        moments.since("2026-11-03", NOW)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (NOW, "2026-11-02 06:00 UTC"),
        (NOW + 59.9, "2026-11-02 06:00 UTC"),
        (0.0, "1970-01-01 00:00 UTC"),
        (1e300, "1e+300"),
        (-1e15, "-1e+15"),
    ],
    ids=["a moment", "to the minute", "the first one", "beyond all calendars", "before them"],
)
def test_a_moment_is_shown_to_the_minute(seconds: float, text: str) -> None:
    assert moments.written(seconds) == text


def test_what_is_a_few_seconds_apart_is_shown_to_the_second() -> None:
    assert moments.to_the_second(NOW + 5.9) == "2026-11-02 06:00:05 UTC"
    assert moments.to_the_second(1e300) == "1e+300"
