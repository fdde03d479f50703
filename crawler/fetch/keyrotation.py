"""Putting a key in another's place: publish it, sign with it, drop the old one.

Two moments in state.toml are all that it takes; whoever reads the folder goes by the clock.
"""

from collections.abc import Sequence
from math import inf
from pathlib import Path

from msgspec import Struct

from crawler.fetch import keychange, keyfiles, keystate
from crawler.fetch.keychange import KeyRefused
from crawler.fetch.keyfolder import KeyFile
from crawler.fetch.keylife import Standing
from signing import algorithms, keys
from signing.algorithms import Algorithm


class Turn(Struct, frozen=True, kw_only=True):
    """A new key takes an old one's place: it signs from `since`, the old one is gone at `until`.

    Both are seconds since 1970, and so is `instead`, from which it was to sign before this. Without
    a key before it, it signs at once.
    """

    new: KeyFile
    since: float
    old: KeyFile | None = None
    until: float | None = None
    instead: float | None = None


class _Plan(Struct, frozen=True, kw_only=True):
    """`new` is made where it is None; there may be no `old`."""

    new: KeyFile | None
    old: KeyFile | None
    since: int
    until: int


def rotate(
    directory: Path,
    now: float,
    *,
    names: Sequence[str],
    to: Sequence[str] = (),
    wait: float,
    keep: float,
) -> tuple[Turn, ...]:
    """Put a new key of each algorithm, or each of the keys `to`, in the place of what signs.

    It is published now and signs in `wait` seconds; the old one is dropped `keep` seconds later.
    Where no usable key of its algorithm signs it signs at once. Raises KeyUnknown, KeyRefused where
    another rotation of that algorithm is under way or a key would end too early, KeysUnusable.
    """
    keychange.make_folder(directory)
    with keystate.changing(directory):
        folder = keyfiles.read(directory)
        there = folder.at(now)
        targets = [keychange.find(there, begin) for begin in to]
        wanted = [file.algorithm for file in targets] or [algorithms.by_name(one) for one in names]
        plans = []
        for algorithm in dict.fromkeys(wanted):
            target = [file for file in targets if file.algorithm is algorithm]
            of_it = [file for file in there if file.algorithm is algorithm]
            plans.append((algorithm, _plan(of_it, target, now, wait, keep)))
        state = keychange.stated(folder, there)
        if folder.state is None:  # before a key is there, as in `add`
            keychange.write(directory, state, there)
        turns = []
        for algorithm, plan in plans:
            keyid = plan.new.keyid if plan.new else _kept(directory, algorithm, now)
            old = plan.old.keyid if plan.old else None
            state = state.succeeded(keyid, plan.since, old, plan.until)
            turns.append((keyid, old, plan))
        keychange.write(directory, state, keyfiles.read(directory).at(now))
        after = {file.keyid: file for file in keyfiles.listing(directory, now)}
        return tuple(
            Turn(
                new=after[keyid],
                since=plan.since,
                old=after[old] if old else None,
                until=plan.until if old else None,
                instead=plan.new.signs_from if plan.new else None,
            )
            for keyid, old, plan in turns
        )


def _plan(
    of_it: Sequence[KeyFile], target: Sequence[KeyFile], now: float, wait: float, keep: float
) -> _Plan:
    """What becomes of the keys of one algorithm, of which `target` is to sign."""
    if len(target) > 1:
        raise KeyRefused(f"{len(target)} {target[0].algorithm.name} keys cannot take one place")
    new = target[0] if target else None
    for file in of_it:
        if file.signs_from is not None and file != new:
            raise KeyRefused(
                f"{file.keyid} is to sign from {keystate.shown(file.signs_from)} on already",
                f"wait until then, or `crawl keys retire {file.keyid}`",
            )
    old = next((file for file in of_it if file.signs), None)
    since = int(now + wait) if old is not None else int(now)
    for file in of_it:  # of two, the one signs that was to sign last
        if file.standing is Standing.SIGNING and file.since is not None:
            since = max(since, int(file.since) + 1)
    if new is not None:
        _check_successor(new, since)
        opens = new.key.public_key.not_before if new.key is not None else None
        since = max(since, opens or since)
    until = since + int(keep)
    if not keystate.has_date(until):
        raise KeyRefused(
            "no calendar has the moment from which the new key would sign, or the old be dropped"
        )
    end = old.key.public_key.expires if old is not None and old.key is not None else None
    if old is not None and end is not None:
        if end < since:
            raise KeyRefused(
                f"{old.keyid} ends at {keystate.shown(end)}, before another key signs",
                "a shorter --wait has that sign in time",
            )
        until = min(until, end)
    return _Plan(new=new, old=old, since=since, until=until)


def _check_successor(file: KeyFile, since: float) -> None:
    """Raise KeyRefused where a key that is there cannot sign from a moment on."""
    if file.problem:
        raise KeyRefused(f"{file.path}: {file.problem}", file.hint)
    if keys.is_published_test_key(file.keyid):
        raise KeyRefused(f"{file.keyid}: everybody has this key", keyfiles.MAKE_ONE)
    if file.standing is Standing.RETIRED or (file.ends or inf) <= since:
        raise KeyRefused(f"{file.keyid} is retired then", "a key that is retired stays so")
    if file.standing is Standing.SIGNING:
        raise KeyRefused(f"{file.keyid} signs already")


def _kept(directory: Path, algorithm: Algorithm, now: float) -> str:
    key = keyfiles.made(algorithm, not_before=int(now))
    keyfiles.keep(directory, key)
    return key.keyid
