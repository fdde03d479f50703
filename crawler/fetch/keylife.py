"""The life of a key: from when on it signs, from when on it is gone. Decides, and knows no clock.

Of all keys of an algorithm that may sign at a moment, the one signs that was to sign last. So a
rotation is two moments, that from which the new key signs and that at which the old one is
dropped, and nobody has to do anything when they come. All moments are seconds since 1970.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import combinations
from math import inf

from msgspec import Struct


class Standing(StrEnum):
    """What a key is used for. One that signs is published, too."""

    SIGNING = "signing"
    PUBLISHED = "published"
    RETIRED = "retired"


class Life(Struct, frozen=True, kw_only=True):
    """When one key may be used.

    It may sign from `opens` until `ends`; from then on it is not published either. Of several the
    one with the highest `rank` signs, one without never.
    """

    rank: float | None = None
    opens: float = -inf
    ends: float = inf

    def may_sign(self, now: float) -> bool:
        return self.rank is not None and self.opens <= now < self.ends


class Change(Struct, frozen=True, kw_only=True):
    """What a key becomes, and when."""

    at: float
    standing: Standing


def standing(lives: Mapping[str, Life], now: float) -> dict[str, Standing]:
    """What each key of one algorithm is used for at a moment; the first of equals signs."""
    able = {keyid: life.rank or 0.0 for keyid, life in lives.items() if life.may_sign(now)}
    first = max(able, key=able.__getitem__, default=None)
    return {
        keyid: Standing.RETIRED
        if now >= life.ends
        else Standing.SIGNING
        if keyid == first
        else Standing.PUBLISHED
        for keyid, life in lives.items()
    }


def changes(lives: Mapping[str, Life], now: float) -> dict[str, Change]:
    """The next change after a moment of each key of one algorithm that has one ahead."""
    before, found = standing(lives, now), {}
    for moment in sorted(set(_moments(lives, now))):
        after = standing(lives, moment)
        for keyid, use in after.items():
            if keyid not in found and use is not before[keyid]:
                found[keyid] = Change(at=moment, standing=use)
    return found


def rivals(lives: Mapping[str, Life]) -> tuple[str, ...]:
    """Keys of one algorithm between which nothing decides at some moment."""
    found: dict[str, None] = {}
    for (one, this), (other, that) in combinations(lives.items(), 2):
        overlap = max(this.opens, that.opens) < min(this.ends, that.ends)
        if overlap and this.rank is not None and this.rank == that.rank:
            found |= {one: None, other: None}
    return tuple(found)


def _moments(lives: Mapping[str, Life], now: float) -> Iterator[float]:
    for life in lives.values():
        yield from (moment for moment in (life.opens, life.ends) if now < moment < inf)
