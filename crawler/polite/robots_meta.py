"""What a page says to robots about itself: `<meta name="robots">` and X-Robots-Tag.

There is no RFC; this is what search engines document, read for a crawler with a name of its own.
All that speaks to us adds up, so the strictest word holds.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_ADDRESSED = re.compile(r"\s*([^\s:]+)\s*:(.*)", re.DOTALL)
_WITH_VALUE = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a page asks for: not to be kept, its links not to be followed, no copy to be shown."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False

    def __or__(self, other: "Wishes") -> "Wishes":
        return Wishes(
            self.noindex or other.noindex,
            self.nofollow or other.nofollow,
            self.noarchive or other.noarchive,
        )


def meta(name: str, content: str, product: str) -> Wishes:
    """One meta element. Counts where it is named `robots` or like our product token."""
    if name.strip().lower() not in ("robots", product.lower()):
        return Wishes()
    return _wishes(content.split(","))


def header(values: Iterable[str], product: str) -> Wishes:
    """All X-Robots-Tag fields of an answer.

    `noindex, nofollow` speaks to everyone; after `name:` all that follows in the field speaks to
    that name, until the next one.
    """
    ours: list[str] = []
    for value in values:
        to_us = True
        for part in value.split(","):
            word = part
            addressed = _ADDRESSED.fullmatch(part.lower())
            if addressed is not None and addressed[1] not in _WITH_VALUE:
                to_us = addressed[1] in ("robots", "*", product.lower())
                word = addressed[2]
            if to_us:
                ours.append(word)
    return _wishes(ours)


def _wishes(words: Iterable[str]) -> Wishes:
    said = {word.strip().lower() for word in words}
    none = "none" in said
    return Wishes(
        none or "noindex" in said,
        none or "nofollow" in said,
        "noarchive" in said or "nocache" in said,
    )
