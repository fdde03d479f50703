"""A message's fields are put together, parsed and written once, and not without bound."""

import pytest

from signing import fields as sf
from signing.errors import DuplicateMember, FieldUnreadable
from signing.reading import MOST_PIECES, Reading


def reading(*sent: tuple[str, str]) -> Reading:
    return Reading(sent)


def test_the_lines_of_a_field_are_one_value_and_no_line_is_no_value() -> None:
    found = reading(("X", " a\t"), ("y", "other"), ("x", "b\r\n  c"))

    assert found.value("x") == "a, b c"
    assert found.value("z") is None


def test_what_was_read_once_is_given_again() -> None:
    found = reading(("A", 'x=1, y="e"'), ("B", '"item";p'))

    assert found.value("a") is found.value("a")
    assert found.dictionary("a") is found.dictionary("a")
    assert found.item("b") is found.item("b")
    assert found.member("a", "y") is found.member("a", "y")


@pytest.mark.parametrize("value", ["a=", "a=1, a=2", "é"], ids=["bad", "twice", "not ASCII"])
def test_what_could_not_be_read_once_fails_again_in_the_same_way(value: str) -> None:
    found = reading(("A", value))
    faults = []
    for _ in range(3):
        with pytest.raises(FieldUnreadable) as caught:
            found.dictionary("a")
        faults.append(caught.value)

    assert faults[0] is faults[1] is faults[2]
    assert isinstance(faults[0], DuplicateMember) == (value == "a=1, a=2")


def test_an_absent_field_has_no_members_and_is_no_item() -> None:
    found = reading()

    assert found.dictionary("a") == {}
    assert found.member("a", "x") is None
    with pytest.raises(FieldUnreadable):
        found.item("a")


@pytest.mark.parametrize("separator", [" ", ",", ";", "(", "%"])
def test_every_separator_may_begin_a_piece(separator: str) -> None:
    assert sf.pieces("a" + 9 * separator) == 10


def long(pieces: int) -> str:
    return f"a=({' '.join('1' for _ in range(pieces - 1))})"


def test_so_many_pieces_may_be_parsed_of_one_message_and_no_more() -> None:
    most = reading(("A", long(MOST_PIECES)))
    more = reading(("A", long(MOST_PIECES + 1)))

    assert len(most.dictionary("a")) == 1
    with pytest.raises(FieldUnreadable, match="with a there is more than 2048 pieces to parse"):
        more.dictionary("a")


def test_the_pieces_of_all_fields_count_together_and_those_of_one_field_once() -> None:
    half = MOST_PIECES // 2
    found = reading(("A", long(half)), ("B", long(half)), ("C", "x"))

    for _ in range(3):
        found.dictionary("a")
        found.dictionary("b")

    assert found.value("c") == "x"
    with pytest.raises(FieldUnreadable, match="with c there is more"):
        found.item("c")
