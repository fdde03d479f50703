"""The fields of one message, each put together, parsed and written once.

Every label and every covered member asks for a field again, and whoever sent the message decides
how many there are: without a memory the work would grow with the square of what was sent.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from signing import fields as sf
from signing.errors import FieldUnreadable
from signing.query import parameters

_Parsed = TypeVar("_Parsed")

# For all that is parsed of a message. Two signatures have some 40 pieces; 8 of 64 components 700.
MOST_PIECES: Final = 2048
# Each run of blanks is looked at once, from its start: `[ \t]*\n` alone would go over a long one
# again from every blank in it.
_FOLD: Final = re.compile(r"(?<![ \t])[ \t]*+(?:\r?\n[ \t]++)+")


class Reading:
    """What was read of some fields so far. Names are in lower case.

    All that is parsed of one message may have `MOST_PIECES` together (`fields.pieces`); what
    goes past that is unreadable.
    """

    __slots__ = (
        "_dictionaries",
        "_items",
        "_lines",
        "_parameters",
        "_pieces",
        "_sent",
        "_strict",
        "_values",
        "_written",
    )

    def __init__(self, sent: tuple[tuple[str, str], ...]) -> None:
        self._sent = sent
        self._lines: dict[str, list[str]] | None = None
        self._values: dict[str, str] = {}
        self._dictionaries: dict[str, dict[str, sf.Member] | FieldUnreadable] = {}
        self._items: dict[str, sf.Item | FieldUnreadable] = {}
        self._written: dict[tuple[str, str], str] = {}
        self._strict: dict[str, str] = {}
        self._parameters: dict[str, list[str]] | FieldUnreadable | None = None
        self._pieces = 0

    def value(self, name: str) -> str | None:
        """A field's lines in one, None if it has none (RFC 9421, section 2.1)."""
        if self._lines is None:
            self._lines = {}
            for key, line in self._sent:
                self._lines.setdefault(key.lower(), []).append(line)
        if name not in self._lines:
            return None
        if name not in self._values:
            lines = [line.strip(" \t") for line in self._lines[name]]
            self._values[name] = ", ".join(
                [_unfolded(line) if "\n" in line else line for line in lines]
            )
        return self._values[name]

    def dictionary(self, name: str) -> Mapping[str, sf.Member]:
        """The members of a field, none if it is absent. Raises as `fields.parse_dictionary`."""
        if name not in self._dictionaries:
            self._dictionaries[name] = self._tried(name, sf.parse_dictionary)
        return _given(self._dictionaries[name])

    def item(self, name: str) -> sf.Item:
        """The one item of a field. Raises FieldUnreadable."""
        if name not in self._items:
            self._items[name] = self._tried(name, sf.parse_item)
        return _given(self._items[name])

    def member(self, name: str, key: str) -> str | None:
        """One member of a dictionary, strictly written; None if it has no such member.

        Raises as `fields.parse_dictionary`.
        """
        if (name, key) not in self._written:
            found = self.dictionary(name).get(key)
            if found is None:
                return None
            self._written[name, key] = sf.serialize_member(found)
        return self._written[name, key]

    def strict(self, name: str) -> str:
        """A field that is there, strictly written (RFC 9421, section 2.1.1).

        Raises as `dictionary`, also for a field of unknown type; FieldUnwritable for an empty list
        or dictionary, which has no spelling.
        """
        if name not in self._strict:
            self._strict[name] = self._strictly(name)
        return self._strict[name]

    def wrapped(self, name: str) -> str:
        """The lines of a field that is there, each as a byte sequence (RFC 9421, section 2.1.3).

        Raises FieldUnreadable for text that no octets stand for.
        """
        self.value(name)
        lines = [_unfolded(line.strip(" \t")) for line in (self._lines or {})[name]]
        try:
            return sf.serialize_list(
                [sf.Item(line.encode("utf-8", "surrogateescape")) for line in lines]
            )
        except UnicodeEncodeError as error:
            raise FieldUnreadable(f"no octets stand for position {error.start}") from error

    def parameters(self, query: str) -> Mapping[str, list[str]]:
        """The values of each parameter of the one query that belongs to these fields.

        Raises FieldUnreadable where more would be parsed than `MOST_PIECES`.
        """
        if self._parameters is None:
            self._pieces += 1 + query.count("&")
            self._parameters = self._too_many("the query") or parameters(query)
        return _given(self._parameters)

    def _strictly(self, name: str) -> str:
        kind = sf.kind(name)
        if kind is None:
            raise FieldUnreadable("it is of no structured type that we know")
        if kind is sf.Kind.ITEM:
            return sf.serialize_member(self.item(name))
        if kind is sf.Kind.LIST:
            return sf.serialize_list(_given(self._tried(name, sf.parse_list)))
        return sf.serialize_dictionary(self.dictionary(name))

    def _tried(self, name: str, parse: Callable[[str], _Parsed]) -> _Parsed | FieldUnreadable:
        value = self.value(name) or ""
        self._pieces += sf.pieces(value)
        if (problem := self._too_many(name)) is not None:
            return problem
        try:
            return parse(value)
        except FieldUnreadable as error:
            return error

    def _too_many(self, name: str) -> FieldUnreadable | None:
        if self._pieces <= MOST_PIECES:
            return None
        return FieldUnreadable(f"with {name} there is more than {MOST_PIECES} pieces to parse")


def _unfolded(value: str) -> str:
    return _FOLD.sub(lambda folds: " " * folds[0].count("\n"), value)


def _given(tried: _Parsed | FieldUnreadable) -> _Parsed:
    if isinstance(tried, FieldUnreadable):
        raise tried.with_traceback(None)  # else each further raise would make it longer
    return tried
