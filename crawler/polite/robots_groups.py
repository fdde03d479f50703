"""Which lines of a robots.txt speak to us (RFC 9309, sections 2.1, 2.2 and 2.5).

Works on bytes: a line ends at CR, LF or CRLF and nowhere else, white space is ASCII white space,
and no encoding can hide a rule. Crawl-delay, Sitemap and unknown lines never end a group. Misspelt
keys, a missing colon and endless lines are read as Google reads them, because that is what their
authors tested with.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

LIMIT = 512_000  # bytes that are read of a file (500 KiB, section 2.5)

_LONGEST_LINE = 16_663  # bytes; eight URLs of 2,083, less one, is where Google cuts
_BOM = b"\xef\xbb\xbf"
_NOT_TOKEN = re.compile(r"[^A-Za-z_-]")  # section 2.2.1
_NOT_PRINTABLE = re.compile(r"[^ -~]")
_BLANKS = re.compile(rb"[ \t]+")
_DELAY = re.compile(r"(\d+\.?\d*|\.\d+) *(?:s|secs?|seconds?)?", re.ASCII | re.IGNORECASE)
_LONGEST_DELAY = 1e9  # seconds; keeps absurd numbers finite


class Key(StrEnum):
    """The lines that mean something, by the name that they are shown with."""

    AGENT = "User-agent"
    ALLOW = "Allow"
    DISALLOW = "Disallow"
    SITEMAP = "Sitemap"
    CRAWL_DELAY = "Crawl-delay"
    CONTENT_USAGE = "Content-Usage"


_KEYS = {
    Key.AGENT: (b"user-agent", b"useragent", b"user agent"),
    Key.ALLOW: (b"allow",),
    Key.DISALLOW: (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"),
    Key.SITEMAP: (b"sitemap", b"site-map"),
    Key.CRAWL_DELAY: (b"crawl-delay", b"crawldelay", b"crawl delay"),
    Key.CONTENT_USAGE: (b"content-usage",),
}
_RULES = (Key.ALLOW, Key.DISALLOW)


@dataclass(frozen=True, slots=True)
class Line:
    """A line that means something: its number from 1, and its value as printable ASCII.

    Control characters and octets beyond ASCII stand percent-encoded, which for comparing paths is
    the same, and safe to hand on and to print.
    """

    number: int
    key: Key
    value: str


@dataclass(frozen=True, slots=True)
class Group:
    """What one of our User-agent lines governs: rules in order, delays in seconds, usages."""

    agent: Line
    rules: tuple[Line, ...]
    delays: tuple[float, ...]
    usages: tuple[str, ...]


def lines(body: bytes) -> Iterator[Line]:
    """The meaningful lines of a file; nothing past the first 500 KiB, cut at a line end."""
    if len(body) > LIMIT:
        head = body[: LIMIT + 1]
        body = head[: max(head.rfind(b"\n"), head.rfind(b"\r"), 0)]
    for length in (3, 2, 1):  # also a torn byte order mark, as Google does
        if body.startswith(_BOM[:length]):
            body = body[length:]
            break
    for number, raw in enumerate(body.splitlines(), start=1):
        text = raw[:_LONGEST_LINE].partition(b"#")[0].strip()
        name, colon, value = text.partition(b":")
        if not colon:
            name, *values = _BLANKS.split(text)
            if len(values) != 1:
                continue
            value = values[0]
        name = name.strip().lower()
        for key, prefixes in _KEYS.items():
            if name.startswith(prefixes):
                yield Line(number, key, _printable(value.strip()))
                break


def groups(found: Iterable[Line], product: str) -> list[Group]:
    """The groups that speak to `product`: those that name it, or those for `*` where none does."""
    own: list[Group] = []
    everyone: list[Group] = []
    for agents, members in _runs(found):
        for agent in agents:
            if _token(agent.value) == product.lower():
                own.append(_group(agent, members))
                break
        for agent in agents:
            if agent.value == "*" or agent.value.startswith(("* ", "*%09")):
                everyone.append(_group(agent, members))
                break
    return own or everyone


def _runs(found: Iterable[Line]) -> Iterator[tuple[list[Line], list[Line]]]:
    """User-agent lines with what follows them, until one comes after a rule."""
    agents: list[Line] = []
    members: list[Line] = []
    ruled = False
    for line in found:
        if line.key is Key.AGENT:
            if ruled:
                yield agents, members
                agents, members, ruled = [], [], False
            agents.append(line)
        elif agents:
            members.append(line)
            ruled = ruled or line.key in _RULES
    yield agents, members


def _group(agent: Line, members: list[Line]) -> Group:
    delays = (_DELAY.fullmatch(line.value) for line in members if line.key is Key.CRAWL_DELAY)
    return Group(
        agent,
        tuple(line for line in members if line.key in _RULES),
        tuple(min(float(delay[1]), _LONGEST_DELAY) for delay in delays if delay),
        tuple(line.value for line in members if line.key is Key.CONTENT_USAGE),
    )


def _token(value: str) -> str:
    """The value up to the first character that a product token cannot have, in lower case."""
    return _NOT_TOKEN.split(value, maxsplit=1)[0].lower()


def _printable(value: bytes) -> str:
    return _NOT_PRINTABLE.sub(lambda odd: f"%{ord(odd[0]):02X}", value.decode("latin-1"))
