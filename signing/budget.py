"""How large a request's head gets, and which signatures still fit into what an origin takes.

What does not fit is left out, sig2 first: its line alone has some 3.3 KB, and sig1 is the one that
says who we are. Nothing leaves unsigned, so where not even sig1 fits, nothing leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# "GET /a HTTP/1.1\r\n" has two spaces, the version and a line end; the empty line ends the head.
_FRAME = len("  HTTP/1.1\r\n") + len("\r\n")


class Cost(NamedTuple):
    """Bytes of the three signature fields as sent: names, `: `, values and line ends."""

    first: int  # with sig1 alone
    second: int  # what sig2 adds to that


class Reason(StrEnum):
    """Why a signature was left out."""

    SECOND_OVER_LIMIT = "second-over-limit"
    FIRST_OVER_LIMIT = "first-over-limit"


@dataclass(frozen=True, slots=True)
class Both:
    """Every signature fits; the head will have `size` bytes."""

    size: int


@dataclass(frozen=True, slots=True)
class FirstOnly:
    """sig1 fits and sig2 does not; the head will have `size` bytes."""

    size: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Nothing:
    """Not even sig1 fits: with it alone the head would have `size` bytes."""

    size: int
    reason: Reason


Plan = Both | FirstOnly | Nothing


def head_size(method: str, target: str, fields: Iterable[tuple[str, str]]) -> int:
    """Count the bytes of an HTTP/1.1 request head: request line, field lines and the empty line."""
    size = _encoded(method) + _encoded(target) + _FRAME
    return size + sum(_encoded(name) + _encoded(value) + 4 for name, value in fields)


def plan(unsigned_head: int, first_cost: int, second_cost: int, limit: int) -> Plan:
    """Say which signatures fit a head of at most `limit` bytes, sig2 left out first.

    `unsigned_head` is `head_size` without the three fields, the costs are those of
    `signer.cost`; a `second_cost` of 0 means that there is no second signature to leave out.
    """
    alone = unsigned_head + first_cost
    if alone > limit:
        return Nothing(alone, Reason.FIRST_OVER_LIMIT)
    if alone + second_cost > limit:
        return FirstOnly(alone, Reason.SECOND_OVER_LIMIT)
    return Both(alone + second_cost)


def _encoded(text: str) -> int:
    # UTF-8 is what aiohttp sends; a surrogate stands for one byte that nobody could decode.
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
