"""Our own values never come back from an echo into the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.redaction import MARK, RUN, Ours, holds, quotes, without, without_runs, words

VALUE = "sig1=:abcdefghijklmnopqrstuvwxyz:"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b"", b"", id="nothing"),
        pytest.param(b"Bad Request", b"Bad Request", id="no echo"),
        pytest.param(b"<abcdefghijkl>", b"<[...]>", id="a run in the middle"),
        pytest.param(b"abcdefgh", b"[...]", id="eight bytes alone"),
        pytest.param(b"abcdefg", b"abcdefg", id="seven bytes"),
        pytest.param(b"abcdefgh ijklmnop", b"[...] [...]", id="two runs"),
        pytest.param(b"abcdefghstuvwxyz", b"[...]", id="two runs side by side"),
        pytest.param(b"abcdefgh1234567", b"[...]1234567", id="what follows a run stays"),
        pytest.param(VALUE.encode() * 2, b"[...]", id="the value twice"),
        pytest.param(b"the session=s3", b"the [...]", id="another value"),
    ],
)
def test_runs_of_our_values_are_taken_out(text: bytes, expected: bytes) -> None:
    assert without_runs(text, [VALUE, "session=s3", "short"]) == expected


def test_two_runs_that_touch_leave_one_mark_where_they_are_one_run() -> None:
    assert without_runs(b"xx" + VALUE.encode()[3:20] + b"yy", [VALUE]) == b"xx" + MARK + b"yy"


@given(
    st.text("ab", max_size=40),
    st.lists(st.one_of(st.text("ab", max_size=20), st.just("")), max_size=6),
)
def test_no_run_is_left_and_nothing_else_is_lost(value: str, pieces: list[str]) -> None:
    text = "|".join([*pieces, value]).encode()

    left = without_runs(text, [value])

    runs = {value.encode()[at : at + RUN] for at in range(len(value) - RUN + 1)}
    assert not any(run in left for run in runs)
    assert left.count(b"|") == text.count(b"|")
    if not runs:
        assert left == text


def test_a_value_outside_of_ascii_is_found_as_it_was_sent() -> None:
    assert without_runs("x=žluťoučký".encode(), ["žluťoučký"]) == b"x=" + MARK


@pytest.mark.parametrize(
    ("cookie", "expected"),
    [
        pytest.param("a=1234", ("a=1234", "1234"), id="a pair"),
        pytest.param("a=123", ("a=123",), id="a value too short to look for"),
        pytest.param("a=1", (), id="too short altogether"),
        pytest.param("token", ("token",), id="no pair"),
        pytest.param("a=12=34; b=5678", ("a=12=34; b=5678", "12=34", "5678"), id="two pairs"),
        pytest.param('a="1234"', ('a="1234"', '"1234"', "1234"), id="in quotes"),
        pytest.param("a=12%2034", ("a=12%2034", "12%2034", "12 34"), id="percent-encoded"),
    ],
)
def test_a_cookie_and_the_values_in_it_are_ours(cookie: str, expected: tuple[str, ...]) -> None:
    assert words(cookie) == expected


OURS = Ours((VALUE,), "session=0123456789; theme=dark")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b"the dark side", b"the [...] side", id="a short value"),
        pytest.param(b"the dar side", b"the dar side", id="a part of a short one"),
        pytest.param(b"x0123456789y", b"x[...]y", id="a long value"),
        pytest.param(b"01234567", b"[...]", id="a part of a long one"),
        pytest.param(b"abcdefgh", b"[...]", id="a run of a signature"),
    ],
)
def test_a_short_value_of_a_cookie_is_taken_out_whole(text: bytes, expected: bytes) -> None:
    assert without(text, OURS) == expected


@pytest.mark.parametrize(
    ("text", "held"),
    [
        pytest.param("/?q=0123456789", True, id="a value"),
        pytest.param("/?q=01234567", False, id="a part of one"),
        pytest.param("/session=", False, id="the name of a pair"),
        pytest.param("/dark", True, id="a short value"),
        pytest.param("/d%61rk", True, id="percent-encoded"),
        pytest.param("/abcdefgh", True, id="a run of a signature"),
        pytest.param("/%61bcdefgh", True, id="a run, percent-encoded"),
        pytest.param("/abcdefg", False, id="less than a run"),
        pytest.param("/%", False, id="nothing"),
    ],
)
def test_a_text_holds_a_value_of_ours_or_not(text: str, held: bool) -> None:
    assert holds(text, OURS) is held


def test_a_page_that_quotes_a_signature_is_told_at_a_glance() -> None:
    assert quotes(b"<a href='/?q=sig1%3D%3Aabcdefghijklmnopqrstuvwxyz%3A'>", [VALUE])
    assert not quotes(b"<a href='/abcdefghijklm'>", [VALUE])
    assert not quotes(b"<a href='/short'>", ["short"])
