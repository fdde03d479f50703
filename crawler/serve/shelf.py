"""Which key sets of other people are at hand, and how long each may be believed.

Decides and fetches nothing. Only a set that was really read takes the place of an older one: a
directory that cannot be reached leaves what was known, a directory that has dropped a key drops it
here too. Failures are kept apart from sets, so that strangers who name places without keys push
nobody else's out.
"""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from signing.directory import KeySet
from signing.keys import PublicKey
from signing.verifier import Reason

SETS: Final = 256
FAILURES: Final = 1024
RECHECK: Final = 60.0  # seconds before a set is read again for a key that is not in it
NEGATIVE: Final = 60.0  # seconds that a failure is believed; never more than 300
LONGEST: Final = 86_400.0  # seconds that a set counts as fresh, whatever it says itself
USUAL: Final = 3600.0  # where it says nothing
STALE: Final = 86_400.0  # seconds that a set is used past that, while it cannot be read again


class _Kept(Struct, frozen=True):
    keys: KeySet
    read: float
    fresh_until: float


class _Failed(Struct, frozen=True):
    reason: Reason
    until: float


class Shelf:
    """The sets by URL, the least recently used one leaves first. Times are a steady clock's."""

    def __init__(self, *, sets: int = SETS, failures: int = FAILURES) -> None:
        self._sets: OrderedDict[str, _Kept] = OrderedDict()
        self._failed: OrderedDict[str, _Failed] = OrderedDict()
        self._most_sets = sets
        self._most_failures = failures

    def __contains__(self, url: str) -> bool:
        return url in self._sets

    def __len__(self) -> int:
        return len(self._sets)

    def look(self, url: str, keyid: str, now: float) -> PublicKey | Reason | None:
        """The key, why there is none, or None where the set has to be read for that."""
        failed = self._failed.get(url)
        failing = failed is not None and now < failed.until
        kept = self._sets.get(url)
        if kept is None:
            return failed.reason if failed is not None and failing else None
        self._sets.move_to_end(url)
        key = kept.keys.find(keyid)
        if key is None:
            return Reason.UNKNOWN_KEY if failing or now < kept.read + RECHECK else None
        if now < kept.fresh_until:
            return key
        if failed is None or not failing:
            return None
        return key if now < kept.fresh_until + STALE else failed.reason

    def learn(self, url: str, keys: KeySet, lifetime: float | None, now: float) -> None:
        """Keep a set that was just read; `lifetime` is what its server says, in seconds."""
        believed = USUAL if lifetime is None else min(max(lifetime, RECHECK), LONGEST)
        self._failed.pop(url, None)
        self._sets[url] = _Kept(keys, now, now + believed)
        self._sets.move_to_end(url)
        if len(self._sets) > self._most_sets:
            self._sets.popitem(last=False)

    def fail(self, url: str, reason: Reason, now: float, believed: float = NEGATIVE) -> None:
        """Keep for `believed` seconds that there is nothing to be had."""
        self._failed[url] = _Failed(reason, now + believed)
        self._failed.move_to_end(url)
        if len(self._failed) > self._most_failures:
            self._failed.popitem(last=False)
