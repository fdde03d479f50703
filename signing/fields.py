"""Structured fields (RFC 9651). The only module that knows http-sf.

Stricter than RFC 9651 in one place: a member or parameter that stands twice is an error. The
RFC lets the last one win, and a reader that takes the first would see another message.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeAlias, cast

import http_sf
from http_sf import DisplayString, Token
from http_sf.retrofit import retrofit

from signing.errors import DuplicateMember, FieldUnreadable, FieldUnwritable, LabelMismatch

__all__ = ["BareItem", "DisplayString", "InnerList", "Item", "Member", "Params", "Token"]

# One member of a dictionary that parses: a comma is in it inside of strings alone. Only in an
# sf-string does a backslash escape; a display string has its escapes in hex.
_MEMBER: Final = re.compile(
    r"""(?: [^",%]++ | %"[^"]*+" | "(?:[^"\\]++|\\.)*+" | % )++""", re.VERBOSE
)

# Token and DisplayString are no str: `isinstance(value, str)` is true for an sf-string alone.
BareItem: TypeAlias = int | Decimal | str | bool | bytes | Token | datetime | DisplayString
Params: TypeAlias = tuple[tuple[str, BareItem], ...]


@dataclass(frozen=True, slots=True)
class Item:
    """One item with its parameters, in their order."""

    value: BareItem
    params: Params = ()


@dataclass(frozen=True, slots=True)
class InnerList:
    """One inner list with its parameters, in their order."""

    items: tuple[Item, ...]
    params: Params = ()


Member: TypeAlias = Item | InnerList


class Kind(StrEnum):
    """What a structured field is at the top."""

    ITEM = "item"
    LIST = "list"
    DICTIONARY = "dictionary"


# What http-sf's table lacks or has under another name: RFC 9421, RFC 9530, RFC 9440, RFC 9745 and
# Web Bot Auth. The fields that are not sent, but stand for others ("SF-Date"), are taken out.
_KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {name: Kind(kind) for name, kind in retrofit.items() if not name.startswith("sf-")}
    | dict.fromkeys(
        (
            "accept-signature",
            "content-digest",
            "repr-digest",
            "signature",
            "signature-agent",
            "signature-input",
            "want-content-digest",
            "want-repr-digest",
        ),
        Kind.DICTIONARY,
    )
    | dict.fromkeys(("client-cert", "deprecation"), Kind.ITEM)
    | {"client-cert-chain": Kind.LIST}
)


def kind(name: str) -> Kind | None:
    """The type of a field, given in lower case, None if it is not known to be structured."""
    return _KINDS.get(name)


def parse_dictionary(value: str | bytes) -> dict[str, Member]:
    """The members of a dictionary field by name, in their order; none for an empty field.

    Raises DuplicateMember if a name stands twice, FieldUnreadable for anything else.
    """
    parsed = _parse(value, "dictionary")
    return {key: _member(member) for key, member in parsed.items()}


def parse_list(value: str | bytes) -> tuple[Member, ...]:
    """The members of a list field in their order; none for an empty one. Raises FieldUnreadable."""
    return tuple(_member(member) for member in _parse(value, "list"))


def parse_item(value: str | bytes) -> Item:
    """The one item of an item field. Raises FieldUnreadable."""
    return _item(_parse(value, "item"))


def pieces(value: str) -> int:
    """How many members, items and parameters a field has at most, before anything is parsed.

    It is what parsing costs: some 5 µs each at worst, the bytes in them next to nothing. What
    separates them is counted, inside of strings too.
    """
    return 1 + sum(map(value.count, " ,;(%"))


def pair(
    inputs: Mapping[str, Member], signatures: Mapping[str, Member]
) -> tuple[tuple[str, Member, Member], ...]:
    """Each label with its parameters and its value, in the order of Signature-Input.

    Raises LabelMismatch if a label stands in one of the two only (RFC 9421, section 4.2).
    """
    for label in sorted(inputs.keys() ^ signatures.keys()):
        raise LabelMismatch(label, "Signature-Input" if label in inputs else "Signature")
    return tuple((label, member, signatures[label]) for label, member in inputs.items())


def own_texts(value: str, members: Mapping[str, Member]) -> dict[str, str]:
    """The text of each member, its name in front, in the dictionary field that was parsed."""
    return dict(zip(members, _MEMBER.findall(value.strip(" ")), strict=True))


def byte_sequence(member: Member, text: str) -> bytes:
    """The bytes of a member; ``text`` is its own (``own_texts``), or a field with it alone.

    Raises FieldUnreadable for another type, and for anything but standard base64 with its
    padding: RFC 9651 (4.2.7) forgives that, but then one signature has several spellings.
    """
    if not isinstance(member, Item) or not isinstance(member.value, bytes):
        raise FieldUnreadable("the value is no byte sequence")
    # Not just anywhere in it: a parameter may have the right spelling beside a wrong one.
    if not text.partition("=")[2].startswith(serialize_byte_sequence(member.value)):
        raise FieldUnreadable("the byte sequence is not in standard base64 with padding")
    return member.value


def serialize_string(value: str) -> str:
    """An sf-string, quoted and escaped. Raises FieldUnwritable if it is not printable ASCII."""
    return _serialize(value)


def serialize_byte_sequence(value: bytes) -> str:
    """An sf-binary: standard base64 with padding, between colons."""
    return _serialize(value)


def serialize_params(params: Params) -> str:
    """Parameters in their order, each with its semicolon; "" for none. Raises FieldUnwritable."""
    return _serialize([([], dict(params))]).removeprefix("()")


def serialize_member(member: Member) -> str:
    """A member alone, strictly serialized (RFC 9421, section 2.1.2); a bare one is ``?1``.

    Raises FieldUnwritable.
    """
    # As a list of one: at the top http-sf takes items, lists and dictionaries, no inner list.
    return _serialize([_plain(member)])


def serialize_dictionary(members: Mapping[str, Member]) -> str:
    """A dictionary field in the given order. Raises FieldUnwritable, also if it is empty."""
    return _serialize({key: _plain(member) for key, member in members.items()})


def serialize_list(members: Iterable[Member]) -> str:
    """A list field in the given order. Raises FieldUnwritable, also if it is empty."""
    return _serialize([_plain(member) for member in members])


def _parse(value: str | bytes, kind: str) -> Any:  # http-sf's own nested dicts, lists and tuples
    try:
        data = value.encode("ascii") if isinstance(value, str) else value
        return http_sf.parse(data, tltype=kind, on_duplicate_key=_refuse_duplicate)
    except UnicodeEncodeError as error:
        raise FieldUnreadable(f"not ASCII at position {error.start}") from error
    except http_sf.StructuredFieldError as error:
        raise FieldUnreadable(str(error)) from error


def _refuse_duplicate(key: str, where: str) -> NoReturn:
    if where == "dictionary":
        raise DuplicateMember(key)
    raise FieldUnreadable(f"parameter {key!r} stands twice")


def _member(parsed: Any) -> Member:
    value, params = parsed
    if isinstance(value, list):
        return InnerList(tuple(_item(item) for item in value), tuple(params.items()))
    return _item(parsed)


def _item(parsed: Any) -> Item:
    value, params = parsed
    return Item(value, tuple(params.items()))


def _plain(member: Member) -> tuple[object, dict[str, BareItem]]:
    if isinstance(member, InnerList):
        return [_plain(item) for item in member.items], dict(member.params)
    return member.value, dict(member.params)


def _serialize(structure: object) -> str:
    try:
        return http_sf.ser(cast("http_sf.StructuredType", structure))
    except (ValueError, TypeError) as error:
        raise FieldUnwritable(f"not writable as a structured field: {error}") from error
