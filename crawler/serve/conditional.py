"""What a conditional request gets (RFC 9110, section 13): the document, word that it has it, or no.

There is no modification date, so conditions on one are ignored, as section 13.1.3 asks.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

_TAG: Final = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')


class Outcome(StrEnum):
    """How a GET or HEAD of something that is there is answered."""

    FULL = "200"
    NOT_MODIFIED = "304"
    FAILED = "412"


def decide(etag: str, *, if_match: Sequence[str], if_none_match: Sequence[str]) -> Outcome:
    """The answer for a document with this strong entity tag; each field by its lines.

    If-Match compares strongly and comes first, If-None-Match weakly (section 13.2.2).
    """
    if if_match and not _any(if_match) and (None, etag) not in _tags(if_match):
        return Outcome.FAILED
    if _any(if_none_match) or etag in (tag for _, tag in _tags(if_none_match)):
        return Outcome.NOT_MODIFIED
    return Outcome.FULL


def _any(lines: Sequence[str]) -> bool:
    return [line.strip() for line in lines] == ["*"]


def _tags(lines: Sequence[str]) -> list[tuple[str | None, str]]:
    """Each entity tag and whether it is weak; what is none is stepped over."""
    return [(found[1], found[2]) for line in lines for found in _TAG.finditer(line)]
