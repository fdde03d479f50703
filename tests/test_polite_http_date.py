"""Reading HTTP dates (RFC 9110, section 5.6.7)."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.polite import http_date

NOVEMBER_1994 = 784111777.0
NOW = datetime(2026, 11, 30, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 6 Nov 1994 8:49:37 GMT",
        "sun, 06 nov 1994 08:49:37 gmt",
        "06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37",
        " Sun, 06 Nov 1994 08:49:37 GMT ",
        "Mon, 06 Nov 1994 08:49:37 GMT",
    ],
)
def test_reads_all_three_forms_and_what_servers_make_of_them(text: str) -> None:
    assert http_date.parse(text, NOW) == NOVEMBER_1994


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "784111777",
        "tomorrow",
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 30 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 25:49:37 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 PST",
        "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z",
    ],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert http_date.parse(text, NOW) is None


@pytest.mark.parametrize(
    ("text", "year"),
    [("06-Nov-26", 2026), ("06-Nov-76", 2076), ("06-Nov-77", 1977), ("06-Nov-00", 2000)],
)
def test_a_year_of_two_digits_is_at_most_fifty_years_ahead(text: str, year: int) -> None:
    found = http_date.parse(f"Sunday, {text} 08:49:37 GMT", NOW)

    assert found == datetime(year, 11, 6, 8, 49, 37, tzinfo=UTC).timestamp()


def test_a_leap_second_is_the_second_before() -> None:
    assert http_date.parse("Sat, 31 Dec 2016 23:59:60 GMT", NOW) == 1483228799.0


@given(st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)))
def test_reads_each_moment_back(moment: datetime) -> None:
    moment = moment.replace(microsecond=0, tzinfo=UTC)

    assert http_date.parse(format_datetime(moment, usegmt=True), NOW) == moment.timestamp()


@given(st.text(max_size=40))
def test_no_text_breaks_it(text: str) -> None:
    assert http_date.parse(text, NOW) is None or text
