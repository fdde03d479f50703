"""Our own values never come back from an echo into the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.redaction import MARK, RUN, without_runs

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
