"""Taking our own field values out of what a server sends back.

Some servers echo what they refuse. A signature or a cookie that lands in a log is one that whoever
reads the log may send again.
"""

import re
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

RUN: Final = 8  # bytes; shorter runs are words like `ed25519`, which the reader of the log needs
SHORTEST: Final = 4  # characters of a value in a cookie: shorter ones stand in any text
MARK: Final = b"[...]"

_PROBE: Final = re.compile(r"[A-Za-z0-9]{12,}")


class Ours(Struct, frozen=True):
    """What a request carried that nothing may bring into the log: signatures, nonce, cookie."""

    signed: tuple[str, ...] = ()
    cookie: str | None = None


NOTHING: Final = Ours()


@lru_cache(maxsize=256)
def words(cookie: str) -> tuple[str, ...]:
    """The cookie and the values in it, of 4 characters or more: the longest first.

    A value in quotes, and one with percent-encoded octets, counts in either form.
    """
    values = [pair.partition("=")[2].strip() for pair in cookie.split(";")]
    values += [value.strip('"') for value in values]
    values += [unquote(value) for value in values]
    found = {value for value in (cookie, *values) if len(value) >= SHORTEST}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def holds(text: str, ours: Ours) -> bool:
    """Whether a text that can only be kept as it is, or not at all, quotes one of our values.

    A run of a signature is enough, of a cookie it must be the value of a pair: parts of that, like
    its name, are in many a URL. Percent-encoded is quoted as well.
    """
    forms = (text, unquote(text)) if "%" in text else (text,)
    for form in forms:
        if ours.cookie is not None and any(word in form for word in words(ours.cookie)):
            return True
        signed = [value.encode("utf-8", "surrogateescape") for value in ours.signed]
        octets = form.encode("utf-8", "surrogateescape")
        if _touches(octets, signed) and without_runs(octets, ours.signed) != octets:
            return True
    return False


def quotes(page: bytes, signed: Iterable[str]) -> bool:
    """Whether a page seems to quote one of these values: a look that costs little.

    Looked for is a piece of letters and digits, which looks alike in each encoding.
    """
    probes = (_PROBE.search(value) for value in signed)
    return any(probe is not None and probe[0].encode() in page for probe in probes)


def without(text: bytes, ours: Ours) -> bytes:
    """The text with each quotation of our values replaced."""
    if ours.cookie is None:
        return without_runs(text, ours.signed)
    text = without_runs(text, (*ours.signed, ours.cookie))
    for word in words(ours.cookie):
        text = text.replace(word.encode("utf-8", "surrogateescape"), MARK)
    return text


def without_runs(text: bytes, values: Iterable[str]) -> bytes:
    """The text with each run of 8 bytes or more that stands in one of `values` replaced."""
    octets = [value.encode("utf-8", "surrogateescape") for value in values]
    short = len(text) * 8 < sum(map(len, octets))
    if short and not _touches(text, octets):
        return text
    ours: Container[bytes] = _Within(octets) if short else _runs(octets)
    kept = bytearray()
    copied = 0  # all before it is in `kept` or was left out
    end = 0  # of the run that we are in
    for start in range(len(text) - RUN + 1):
        if text[start : start + RUN] not in ours:
            continue
        if start > end or not end:
            kept += text[copied:start] + MARK
        end = copied = start + RUN
    return bytes(kept + text[copied:])


def _touches(text: bytes, values: Sequence[bytes]) -> bool:
    """Whether a run of 8 bytes may be in one of the values.

    Wherever such a run begins, five bytes of it begin at a multiple of four.
    """
    for start in range(0, len(text) - 4, 4):
        piece = text[start : start + 5]
        for value in values:
            if piece in value:
                return True
    return False


class _Within:
    """The runs of some values, looked for one at a time: for a text much shorter than these."""

    def __init__(self, values: list[bytes]) -> None:
        self._values = values

    def __contains__(self, run: object) -> bool:
        return isinstance(run, bytes) and any(run in value for value in self._values)


def _runs(values: list[bytes]) -> set[bytes]:
    """Every run of the values: for a text that is long itself."""
    return {value[start : start + RUN] for value in values for start in range(len(value) - RUN + 1)}
