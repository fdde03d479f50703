"""Reading Cache-Control (RFC 9111)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.polite import cache_control


@pytest.mark.parametrize(
    ("value", "directives"),
    [
        (None, {}),
        ("", {}),
        ("no-cache", {"no-cache": ""}),
        ("max-age=60", {"max-age": "60"}),
        (
            "Public, Max-Age=60 ,must-revalidate",
            {"public": "", "max-age": "60", "must-revalidate": ""},
        ),
        ('max-age="60"', {"max-age": "60"}),
        ("max-age=60, max-age=0", {"max-age": "60"}),
        ('private="a, no-store", max-age=1', {"private": "a, no-store", "max-age": "1"}),
        (r'x="a\"b, no-store"', {"x": 'a"b, no-store'}),
        (",, no-store ,", {"no-store": ""}),
        ("max-age = 60, no-store", {"max-age": "60", "no-store": ""}),
        ("max age, no-store", {"no-store": ""}),
        ("max-age=", {"max-age": ""}),
        ('"broken, no-cache', {"no-cache": ""}),
    ],
    ids=repr,
)
def test_reads_directives(value: str | None, directives: dict[str, str]) -> None:
    assert cache_control.parse(value) == directives


@pytest.mark.parametrize(
    ("argument", "seconds"),
    [("0", 0), ("60", 60), ("9" * 50, 2**31), ("-1", 0), ("1.5", 0), ("", 0), ("x", 0), ("٣", 0)],
)
def test_seconds_that_cannot_be_read_are_stale(argument: str, seconds: int) -> None:
    assert cache_control.seconds(argument) == seconds


@given(st.text(max_size=60))
def test_no_text_breaks_it(value: str) -> None:
    assert all(name == name.lower() for name in cache_control.parse(value))
