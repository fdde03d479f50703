"""What each key of a folder is used for at a moment, by its files and its `state.toml`. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace as with_end
from math import inf
from pathlib import Path

from msgspec import Struct

from crawler.fetch import keylife, keystate
from crawler.fetch.keylife import Change, Life, Standing
from crawler.fetch.keystate import KeysUnusable, State
from signing import algorithms, keys
from signing.algorithms import Algorithm
from signing.keys import PrivateKey, PublicKey


class KeyFile(Struct, frozen=True, kw_only=True):
    """One file of the folder at a moment: its key, or the problem with it and what to try.

    Moments are seconds since 1970. `since` is that from which it was to sign, where one is stated,
    `ends` that from which it neither signs nor is published, `change` its next one.
    """

    path: Path
    algorithm: Algorithm
    standing: Standing
    modified: int  # nanoseconds since 1970
    key: PrivateKey | None = None
    problem: str = ""
    hint: str | None = None
    since: float | None = None
    ends: float | None = None
    change: Change | None = None

    @property
    def keyid(self) -> str:
        """The thumbprint; of an unusable file the one in its name."""
        return self.key.keyid if self.key is not None else _named(self.path, self.algorithm)

    @property
    def public(self) -> PublicKey | None:
        """The public key as it is published, with the end that state.toml gives it."""
        if self.key is None:
            return None
        ends = None if self.ends is None or self.ends == -inf else int(self.ends)
        return with_end(self.key.public_key, expires=ends)

    @property
    def signs(self) -> bool:
        """Whether requests can be signed with it: what everybody has signs for nobody."""
        usable = self.key is not None and not keys.is_published_test_key(self.keyid)
        return usable and self.standing is Standing.SIGNING

    @property
    def signs_from(self) -> float | None:
        """When it begins to sign, in seconds since 1970; None where it never will, or does."""
        change = self.change
        return change.at if change is not None and change.standing is Standing.SIGNING else None


class Found(Struct, frozen=True, kw_only=True):
    """One file of the folder as it was read."""

    path: Path
    algorithm: Algorithm
    modified: int
    key: PrivateKey | None
    problem: str
    hint: str | None

    @property
    def keyid(self) -> str:
        return self.key.keyid if self.key is not None else _named(self.path, self.algorithm)


class Folder(Struct, frozen=True, kw_only=True):
    """What was read of a folder, from which follows what holds at any moment."""

    directory: Path
    files: tuple[Found, ...]  # Ed25519 first, then by algorithm, newest first
    state: State | None

    def at(self, now: float, ends: Mapping[str, float] | None = None) -> tuple[KeyFile, ...]:
        """What each key is used for at a moment, in seconds since 1970.

        `ends` takes keys away at moments that state.toml may not say. Raises KeysUnusable for a
        state.toml that makes no sense.
        """
        lives = {found.keyid: self._life(found, ends or {}) for found in self.files}
        self._check(lives, now)
        uses: dict[str, Standing] = {}
        ahead: dict[str, Change] = {}
        for algorithm in algorithms.TABLE:
            of_it = {one.keyid for one in self.files if one.algorithm is algorithm}
            some = {keyid: life for keyid, life in lives.items() if keyid in of_it}
            uses |= keylife.standing(some, now)
            ahead |= keylife.changes(some, now)
        return tuple(
            KeyFile(
                path=found.path,
                algorithm=found.algorithm,
                standing=uses[found.keyid],
                modified=found.modified,
                key=found.key,
                problem=found.problem,
                hint=found.hint,
                since=self._since(found.keyid),
                ends=None if lives[found.keyid].ends == inf else lives[found.keyid].ends,
                change=ahead.get(found.keyid),
            )
            for found in self.files
        )

    def _life(self, found: Found, ends: Mapping[str, float]) -> Life:
        public = found.key.public_key if found.key is not None else None
        opens = -inf if public is None or public.not_before is None else public.not_before
        until = [inf if public is None or public.expires is None else public.expires]
        until.append(ends.get(found.keyid, inf))
        if self.state is None:
            return Life(rank=found.modified, opens=opens, ends=min(until))
        until.append(self.state.ends().get(found.keyid, inf))
        rank = self.state.rank(found.keyid)
        return Life(rank=rank, opens=max(opens, rank or opens), ends=min(until))

    def _since(self, keyid: str) -> float | None:
        rank = None if self.state is None else self.state.rank(keyid)
        return rank if rank is not None and rank > -inf else None

    def _check(self, lives: Mapping[str, Life], now: float) -> None:
        """Raise KeysUnusable where state.toml contradicts itself or the folder."""
        if self.state is None:
            return
        place, ends = self.directory / keystate.NAME, self.state.ends()
        for keyid in self.state.needed():
            if keyid in self.state.retired and self.state.rank(keyid) is not None:
                raise KeysUnusable(place, f"the key {keyid!r} is retired and signs")
            if keyid not in lives and now < ends.get(keyid, inf):
                raise KeysUnusable(
                    place,
                    f"names the key {keyid!r}, of which there is no file",
                    "take it out of there, or bring its file back",
                )
        for algorithm in algorithms.TABLE:
            of_it = {one.keyid for one in self.files if one.algorithm is algorithm}
            some = {keyid: life for keyid, life in lives.items() if keyid in of_it}
            if rivals := keylife.rivals(some):
                raise KeysUnusable(
                    place, f"{len(rivals)} {algorithm.name} keys are to sign", "leave one of them"
                )


def signing(files: Iterable[KeyFile], algorithm: Algorithm) -> KeyFile | None:
    """The file whose key is to sign; whether it can is another matter."""
    return next(
        (
            file
            for file in files
            if file.algorithm is algorithm and file.standing is Standing.SIGNING
        ),
        None,
    )


def _named(path: Path, algorithm: Algorithm) -> str:
    return path.name.removeprefix(f"{algorithm.name}-").removesuffix(".jwk")
