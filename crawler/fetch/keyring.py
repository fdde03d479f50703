"""Which keys sign now. The folder is looked at again when it changes; no restart is needed."""

import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from crawler.fetch.keyfiles import MAKE_ONE, KeyFile, KeysUnusable, Standing, listing
from signing import algorithms, keys
from signing.algorithms import ED25519, Algorithm
from signing.signer import Keyring

LOOK_EVERY: Final = 1.0  # seconds between two looks at the folder


class Source(StrEnum):
    """Whether keys that everybody has may sign."""

    OWN = "own"
    PUBLISHED_TEST_KEYS_TOO = "published-test-keys-too"  # tests and demonstrations


class Held(Struct, frozen=True, kw_only=True):
    """What signs now.

    `degraded` says why sig2 cannot be made, `unusable` why the folder cannot be used any more: the
    keys of before sign on until it can, since nothing leaves unsigned.
    """

    keyring: Keyring
    degraded: str | None = None
    unusable: KeysUnusable | None = None


class Keys:
    """The keys of a folder, looked at again when it changes.

    `second` names the algorithm of sig2's key; keys of other algorithms are left alone.
    """

    def __init__(
        self,
        directory: Path,
        second: str = "ml-dsa-44",
        *,
        source: Source = Source.OWN,
        look_every: float = LOOK_EVERY,
    ) -> None:
        self.directory = directory
        self._second = algorithms.by_name(second)
        self._source = source
        self._look_every = look_every
        self._held: Held | None = None
        self._next_look = 0.0
        self._seen: object = None

    def current(self, now: float) -> Held:
        """The keys that sign at `now`, in seconds of any clock that never goes back.

        The same value as before while nothing changed. Raises KeysUnusable where there never was a
        usable Ed25519 key.
        """
        if self._held is not None and now < self._next_look:
            return self._held
        self._next_look = now + self._look_every
        seen = _appearance(self.directory)
        if self._held is None or seen != self._seen:
            self._seen = seen
            self._held = self._again(self._held)
        return self._held

    def _again(self, before: Held | None) -> Held:
        try:
            return self._read()
        except KeysUnusable as error:
            if before is None:
                raise
            return Held(keyring=before.keyring, degraded=before.degraded, unusable=error)

    def _read(self) -> Held:
        found = listing(self.directory)
        first = _signing(found, ED25519)
        if first is None:
            raise KeysUnusable(self.directory, "no ed25519 key signs", MAKE_ONE)
        problem, hint = self._problem(first)
        if first.key is None or problem:
            raise KeysUnusable(first.path, problem, hint)
        second = _signing(found, self._second)
        if second is None:
            reason = f"{self.directory}: no {self._second.name} key signs; {MAKE_ONE}"
            return Held(keyring=Keyring(first.key), degraded=reason)
        problem, hint = self._problem(second)
        if problem:
            reason = f"{second.path}: {problem}" + (f"; {hint}" if hint else "")
            return Held(keyring=Keyring(first.key), degraded=reason)
        return Held(keyring=Keyring(first.key, second.key))

    def _problem(self, file: KeyFile) -> tuple[str, str | None]:
        if (
            file.key is not None
            and keys.is_published_test_key(file.key.keyid)
            and self._source is Source.OWN
        ):
            return "everybody has this key: an RFC or a draft has printed it", MAKE_ONE
        return file.problem, file.hint


def _signing(found: Iterable[KeyFile], algorithm: Algorithm) -> KeyFile | None:
    return next(
        (
            file
            for file in found
            if file.algorithm is algorithm and file.standing is Standing.SIGNING
        ),
        None,
    )


def _appearance(directory: Path) -> object:
    """What a change of any file in the folder changes, too; cheap, nothing is opened."""
    try:
        with os.scandir(directory) as entries:
            return sorted(
                (entry.name, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                for entry in entries
                if (status := _status(entry)) is not None
            )
    except OSError as error:
        return error.errno


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat()
    except OSError:
        return None
