"""What an origin of the fleet is asked, and what it may reply."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request as it came; `labels` are the signatures on it, `verified` the good ones.

    `algorithms` are those of the good ones, each by its key and not by what the request says.
    `size` is the request head's in bytes, `now` Unix time. `visit` counts the requests for this
    target from 1, `turn` those for anything but robots.txt.
    """

    target: str
    labels: tuple[str, ...] = ()
    verified: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    size: int = 0
    now: float = 0.0
    visit: int = 1
    turn: int = 1
    fields: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def for_robots(self) -> bool:
        """Whether robots.txt is asked for."""
        return self.target == "/robots.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer that is sent in one go, `after` seconds from the request.

    `last` closes the connection behind it.
    """

    status: int = 200
    body: bytes = b""
    type: str = HTML
    fields: tuple[tuple[str, str], ...] = ()
    after: float = 0.0
    last: bool = False

    def field(self, name: str) -> str | None:
        """The value of one of its fields."""
        return next((value for key, value in self.fields if key.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drip:
    """An answer that never ends: `piece` again and again, `every` so many seconds."""

    piece: bytes = b"."
    every: float = 0.25


@dataclass(frozen=True, slots=True)
class Reset:
    """No answer: the connection is reset before the first byte."""


Reply: TypeAlias = Answer | Drip | Reset
Manner: TypeAlias = Callable[[Ask], Reply]
