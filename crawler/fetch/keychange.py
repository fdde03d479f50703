"""What a person changes in the folder of keys: add one, retire one; `keyrotation` has the third.

One command changes the folder at a time. The order of the writes is such that a crawl that is at
work meanwhile signs with what signed before or with what is to sign now, and with nothing else.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from crawler.fetch import keyfiles, keystate
from crawler.fetch.keyfolder import Folder, KeyFile, signing
from crawler.fetch.keylife import Standing
from crawler.fetch.keystate import KeysUnusable, State
from crawler.problems import Problem, UsageProblem
from signing import keys
from signing.algorithms import ED25519
from signing.keys import PrivateKey


class KeyUnknown(UsageProblem):
    """No key of the folder is meant, or more than one could be."""


class KeyRefused(Problem):
    """A key that cannot be put to that use."""


class Retired(Struct, frozen=True, kw_only=True):
    """A key was retired; `signs` signs in its stead, `kept` was to be dropped and stays."""

    file: KeyFile
    signs: KeyFile | None
    kept: KeyFile | None


def find(files: Iterable[KeyFile], begin: str) -> KeyFile:
    """The key whose thumbprint begins so. Raises KeyUnknown."""
    there = list(files)
    found = [file for file in there if file.keyid.startswith(begin)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise KeyUnknown(f"{begin}: there is no such key", "`crawl keys list` shows them")
    raise KeyUnknown(
        f"{begin}: {len(found)} keys begin so", ", ".join(file.keyid for file in found)
    )


def add(directory: Path, new: Iterable[PrivateKey], now: float) -> tuple[KeyFile, ...]:
    """Keep these keys and say what they are used for.

    The first usable key of an algorithm signs at once. Beside one that signs, or is to, the new one
    is only published: state.toml is written where there is none. Raises KeyRefused for a key that
    is there, or that everybody has, and KeysUnusable.
    """
    make_folder(directory)
    with keystate.changing(directory):
        folder = keyfiles.read(directory)
        there, new = folder.at(now), tuple(new)
        for key in new:
            _check_new(there, key)
        signs = [] if folder.state is not None else [file for file in there if file.signs]
        if signs:  # before the key is there: a crawl that is running would sign with the newest
            _sign_with(directory, signs)
        paths = {keyfiles.keep(directory, key) for key in new}
        kept = [file for file in keyfiles.listing(directory, now) if file.path in paths]
        held = {file.algorithm for file in there if file.signs or file.signs_from is not None}
        first = [file for file in kept if file.algorithm not in held]
        if first and folder.state is not None:
            state = folder.state
            chosen = (*state.signing, *(file.keyid for file in first))
            write(directory, replace(state, signing=chosen), [*there, *first])
        elif first and signs:
            _sign_with(directory, [*signs, *first])
        return tuple(file for file in keyfiles.listing(directory, now) if file.path in paths)


def retire(directory: Path, now: float, begin: str) -> Retired:
    """Let a key neither sign nor be published from now on.

    One that was to be dropped in favour of it stays, where nothing else would sign then. Raises
    KeyUnknown, KeyRefused where it would leave no Ed25519 key that signs, KeysUnusable.
    """
    with keystate.changing(directory):
        folder = keyfiles.read(directory)
        there = folder.at(now)
        file = find(there, begin)
        state = stated(folder, there).retiring(file.keyid)
        signs = _signs(folder, state, now, file)
        if file.algorithm is ED25519 and file.signs and (signs is None or not signs.signs):
            raise _leaves_nothing(there, file)
        kept = None
        if signs is not None and signs.keyid in state.drop_from:
            dropped = state.drop_from[signs.keyid].timestamp()
            if _signs(folder, state, dropped, file) is None:
                kept, state = signs, state.keeping(signs.keyid)
        write(directory, state, there)
        after = {one.keyid: one for one in keyfiles.listing(directory, now)}
        return Retired(
            file=after[file.keyid],
            signs=after[signs.keyid] if signs is not None else None,
            kept=after[kept.keyid] if kept is not None else None,
        )


def _check_new(there: Iterable[KeyFile], key: PrivateKey) -> None:
    """Raise KeyRefused for a key that cannot come into the folder."""
    if keys.is_published_test_key(key.keyid):
        raise KeyRefused(
            f"{key.keyid}: everybody has this key, an RFC or a draft has printed it",
            keyfiles.MAKE_ONE,
        )
    if key.algorithm is not ED25519 and key.algorithm.kty != "AKP":
        raise KeyRefused(f"requests are not signed with {key.algorithm.name} keys")
    for moment, word in (
        (key.public_key.not_before, "from which it is valid"),
        (key.public_key.expires, "at which it ends"),
    ):
        if moment is not None and not keystate.has_date(moment):
            raise KeyRefused(f"{key.keyid}: no calendar has the moment {word}")
    for file in there:
        if file.keyid == key.keyid:
            raise KeyRefused(f"{file.path}: this key is there already")


def _leaves_nothing(there: Iterable[KeyFile], file: KeyFile) -> KeyRefused:
    others = (
        one
        for one in there
        if one.algorithm is ED25519
        and one.key is not None
        and one.keyid != file.keyid
        and one.standing is not Standing.RETIRED
    )
    other = next((f"--to {one.keyid}" for one in others), "--algorithm ed25519")
    return KeyRefused(
        f"{file.keyid}: without it no ed25519 key signs, and nothing leaves unsigned",
        f"`crawl keys rotate {other} --wait 0s --keep 0s` puts another in its place at once",
    )


def stated(folder: Folder, there: Iterable[KeyFile]) -> State:
    """What state.toml says; where there is none, what follows from that."""
    if folder.state is not None:
        return folder.state
    return State(signing=tuple(file.keyid for file in there if file.standing is Standing.SIGNING))


def _signs(folder: Folder, state: State, now: float, like: KeyFile) -> KeyFile | None:
    """The key of the same algorithm that would sign at a moment by another state."""
    return signing(replace(folder, state=state).at(now), like.algorithm)


def _sign_with(directory: Path, files: Sequence[KeyFile]) -> None:
    write(directory, State(signing=tuple(file.keyid for file in files)), files)


def write(directory: Path, state: State, files: Iterable[KeyFile]) -> None:
    """Write a state.toml with a word on each of these files. Raises KeysUnusable."""
    keystate.write(directory, state, {file.keyid: file.algorithm.name for file in files})


def make_folder(directory: Path) -> None:
    """Make the folder where there is none. Raises KeysUnusable."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise KeysUnusable(
            directory, f"a key cannot be written: {error.strerror}", "make the folder writable"
        ) from error
