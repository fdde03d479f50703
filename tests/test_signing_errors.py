"""What callers can rely on in the errors of signing."""

import inspect

import pytest

from signing import errors


@pytest.mark.parametrize(
    "error",
    [found for _, found in inspect.getmembers(errors, inspect.isclass)],
    ids=lambda found: found.__name__,
)
def test_every_failure_is_a_signing_error(error: type[Exception]) -> None:
    assert issubclass(error, errors.SigningError)


def test_a_duplicate_member_names_the_member() -> None:
    error = errors.DuplicateMember("sig1")

    assert error.key == "sig1"
    assert str(error) == "member 'sig1' stands twice in the dictionary"


def test_a_label_mismatch_names_the_label_and_its_only_field() -> None:
    error = errors.LabelMismatch("sig2", "Signature")

    assert error.label == "sig2"
    assert str(error) == "label 'sig2' stands only in Signature"


def test_an_unavailable_component_names_the_component() -> None:
    error = errors.ComponentUnavailable('"date"', "the message has no such field")

    assert error.component == '"date"'
    assert str(error) == 'component "date": the message has no such field'


def test_a_label_in_one_field_and_a_label_twice_are_unreadable_fields() -> None:
    assert issubclass(errors.LabelMismatch, errors.FieldUnreadable)
    assert issubclass(errors.DuplicateMember, errors.FieldUnreadable)
