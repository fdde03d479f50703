"""Which keys sign now. A change of the folder, or a moment that has come, needs no restart."""

from collections.abc import Callable
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Final

from msgspec import Struct

from crawler.fetch import keystate
from crawler.fetch.keyfiles import MAKE_ONE
from crawler.fetch.keyfolder import KeyFile, signing
from crawler.fetch.keystate import KeysUnusable
from crawler.fetch.keywatch import LOOK_EVERY, KeyWatch, Seen
from signing import algorithms, keys
from signing.algorithms import ED25519
from signing.keys import PrivateKey
from signing.signer import Keyring

ROTATE: Final = "`crawl keys rotate` makes one that signs"


class Source(StrEnum):
    """Whether keys that everybody has may sign."""

    OWN = "own"
    PUBLISHED_TEST_KEYS_TOO = "published-test-keys-too"  # tests and demonstrations


class Held(Struct, frozen=True, kw_only=True):
    """What signs now.

    `degraded` says why sig2 cannot be made, `unusable` why the folder cannot be used any more: the
    Ed25519 key of before signs on until it can, since nothing leaves unsigned, unless its end has
    come.
    """

    keyring: Keyring
    degraded: str | None = None
    unusable: KeysUnusable | None = None


class Keys:
    """The keys of a folder that sign, by the clock and by what is in the folder.

    `second` names the algorithm of sig2's key; keys of other algorithms are left alone. `spent` is
    told, each time that it happens, that from now on there is nothing to sign with.
    """

    def __init__(
        self,
        directory: Path,
        second: str = "ml-dsa-44",
        *,
        source: Source = Source.OWN,
        look_every: float = LOOK_EVERY,
        spent: Callable[[KeysUnusable], None] = lambda _: None,
    ) -> None:
        self.directory = directory
        self._second = algorithms.by_name(second)
        self._source = source
        self._spent = spent
        self._watch = KeyWatch(directory, look_every=look_every)
        self._seen: Seen | None = None
        self._held: Held | None = None
        self._last: PrivateKey | None = None
        self._until = inf

    def current(self, now: float) -> Held:
        """The keys that sign at `now`, in seconds since 1970.

        A clock that goes back brings no key back. The same value as before while nothing changes.
        Raises KeysUnusable where there is no usable Ed25519 key.
        """
        seen = self._watch.at(now)
        if self._held is not None and seen is self._seen and self._watch.latest < self._until:
            return self._held
        had, self._seen, self._held = self._held, seen, None
        try:
            self._held = self._choose(seen)
        except KeysUnusable as error:
            if had is not None:
                self._spent(error)
            raise
        self._last = self._held.keyring.first
        self._until = self._end(self._last, seen)
        return self._held

    def _choose(self, seen: Seen) -> Held:
        try:
            first, problem = self._first(seen), seen.problem
        except KeysUnusable as error:
            if self._last is None or self._end(self._last, seen) <= self._watch.latest:
                raise
            first, problem = self._last, error
        file = signing(seen.files, self._second)
        if file is None:
            name = self._second.name
            degraded = (
                f"{self.directory}: no {name} key signs; "
                f"`crawl keys rotate --algorithm {name}` makes one that does"
            )
            return Held(keyring=Keyring(first), degraded=degraded, unusable=problem)
        wrong, hint = self._problem(file)
        if wrong:
            degraded = f"{file.path}: {wrong}" + (f"; {hint}" if hint else "")
            return Held(keyring=Keyring(first), degraded=degraded, unusable=problem)
        return Held(keyring=Keyring(first, file.key), unusable=problem)

    def _first(self, seen: Seen) -> PrivateKey:
        """The key of sig1. Raises KeysUnusable."""
        file = signing(seen.files, ED25519)
        if file is None:
            raise self._nobody(seen)
        problem, hint = self._problem(file)
        if file.key is None or problem:
            raise KeysUnusable(file.path, problem, hint)
        return file.key

    def _nobody(self, seen: Seen) -> KeysUnusable:
        """Why no Ed25519 key is to sign, and what to do."""
        said, hint = self._why(seen)
        if seen.problem is None:
            return KeysUnusable(self.directory, said, hint)
        return KeysUnusable(
            self.directory, f"{said}, and {seen.problem}", seen.problem.hint or hint
        )

    def _why(self, seen: Seen) -> tuple[str, str]:
        files = [file for file in seen.files if file.algorithm is ED25519]
        said = "no ed25519 key signs"
        for file in files:
            if file.signs_from is not None:
                at = keystate.shown(file.signs_from)
                return f"{said} yet: {file.keyid} does from {at} on", ROTATE
        ended = [(file.ends, file.keyid) for file in files if file.ends not in (None, -inf)]
        if ended:
            end, keyid = max(ended)
            said += f" any more: {keyid} ended at {keystate.shown(end)}"
        return said, ROTATE if files else MAKE_ONE

    def _end(self, key: PrivateKey, seen: Seen) -> float:
        """From when on a key may not sign, whether its file is still there or not."""
        ends = [file.ends for file in seen.files if file.keyid == key.keyid]
        ends += [seen.ends.get(key.keyid), key.public_key.expires]
        return min((end for end in ends if end is not None), default=inf)

    def _problem(self, file: KeyFile) -> tuple[str, str | None]:
        if (
            file.key is not None
            and keys.is_published_test_key(file.key.keyid)
            and self._source is Source.OWN
        ):
            return "everybody has this key: an RFC or a draft has printed it", MAKE_ONE
        return file.problem, file.hint
