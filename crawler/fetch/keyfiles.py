"""The folder of keys: private JWKs, and what each is used for.

Files are named `<algorithm>-<thumbprint>.jwk` and readable by their owner only. `state.toml` says
which keys are published, which sign and which are retired; without it the newest of each algorithm
signs, with it a key that it does not name is published. A key made beside one that signs is only
published, since sites may hold our key set of before for a day. No text from here quotes a file.
"""

import os
import stat
import tomllib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.problems import Problem
from signing import algorithms, keys
from signing.algorithms import ED25519, Algorithm
from signing.errors import KeyUnreadable
from signing.keys import PrivateKey

STATE: Final = "state.toml"
MAKE_ONE: Final = "`crawl keys new` makes one"

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_LARGEST: Final = 65_536  # bytes of a key file that are read


class KeysUnusable(Problem):
    """Nothing can be signed with what is in the folder: our error, exit code 1.

    `place` names the folder or file, `hint` what to try.
    """

    def __init__(self, place: Path, problem: str, hint: str | None = None) -> None:
        super().__init__(f"{place}: {problem}", hint)
        self.place = str(place)
        self.problem = problem


class Standing(StrEnum):
    """What a key is used for. One that signs is published, too."""

    SIGNING = "signing"
    PUBLISHED = "published"
    RETIRED = "retired"


class KeyFile(Struct, frozen=True, kw_only=True):
    """One file of the folder: its key, or the problem with it and what to try."""

    path: Path
    algorithm: Algorithm
    standing: Standing
    modified: int  # nanoseconds since 1970
    key: PrivateKey | None = None
    problem: str = ""
    hint: str | None = None

    @property
    def keyid(self) -> str:
        """The thumbprint; of an unusable file the one in its name."""
        return self.key.keyid if self.key is not None else _named(self.path, self.algorithm)


def listing(directory: Path) -> tuple[KeyFile, ...]:
    """Each key file of the folder: Ed25519 first, then by algorithm, newest first.

    Raises KeysUnusable where the folder or its state.toml cannot be read.
    """
    found = []
    for path, algorithm, modified in _files(directory):
        key, problem, hint = _load(path, algorithm)
        found.append(
            KeyFile(
                path=path,
                algorithm=algorithm,
                standing=Standing.PUBLISHED,
                modified=modified,
                key=key,
                problem=problem,
                hint=hint,
            )
        )
    order = [algorithm.name for algorithm in (ED25519, *algorithms.TABLE)]
    found.sort(key=lambda file: (order.index(file.algorithm.name), -file.modified, file.path.name))
    return _with_standing(found, directory / STATE)


def create(directory: Path, algorithm: str) -> Path:
    """Make a key of the algorithm in the folder, which is made too; the path of its file.

    Both are the owner's alone. A crawl that is running sees the whole file or none. Raises
    KeysUnusable where it cannot be written.
    """
    key = keys.generate(algorithms.by_name(algorithm))
    path = directory / f"{key.algorithm.name}-{key.keyid}.jwk"
    beside = path.with_suffix(".new")
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(key.jwk()) + b"\n")
            file.flush()
            os.fsync(descriptor)
        beside.rename(path)
    except OSError as error:
        raise KeysUnusable(
            directory, f"a key cannot be written: {error.strerror}", "make the folder writable"
        ) from error
    return path


def add(directory: Path, names: Iterable[str]) -> tuple[KeyFile, ...]:
    """Make a key of each of these algorithms and say what it is used for.

    The first usable key of an algorithm signs at once. Beside one that signs, the new one is only
    published: state.toml is written where there is none; one that stands there already is the
    owner's and stays as it is. Raises KeysUnusable as `listing` and `create` do.
    """
    there = listing(directory) if directory.is_dir() else ()
    state = directory / STATE
    signing = [] if state.exists() else [file for file in there if _signs(file)]
    if signing:  # before the key is there: a crawl that is running would sign with the newest
        _sign_with(state, signing)
    made = {create(directory, name) for name in names}
    if signing:
        held = {file.algorithm for file in signing}
        new = [file for file in listing(directory) if file.path in made]
        if first := [file for file in new if file.algorithm not in held]:
            _sign_with(state, [*signing, *first])
    return tuple(file for file in listing(directory) if file.path in made)


def _signs(file: KeyFile) -> bool:
    """Whether requests can be signed with it: what everybody has signs for nobody."""
    usable = file.key is not None and not keys.is_published_test_key(file.keyid)
    return usable and file.standing is Standing.SIGNING


def _sign_with(state: Path, signing: Iterable[KeyFile]) -> None:
    """Write a state.toml that has these sign, whole at any moment."""
    lines = "".join(f'  "{file.keyid}",  # {file.algorithm.name}\n' for file in signing)
    text = (
        "# What each key is used for, by its thumbprint. A key that is not named is published.\n"
        f"signing = [\n{lines}]\nretired = []  # neither sign nor are published\n"
    )
    beside = state.with_suffix(".new")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.rename(state)
    except OSError as error:
        raise KeysUnusable(
            state, f"cannot be written: {error.strerror}", "make the folder writable"
        ) from error


def _files(directory: Path) -> Iterator[tuple[Path, Algorithm, int]]:
    named = [(f"{algorithm.name}-", algorithm) for algorithm in algorithms.TABLE]
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                for prefix, algorithm in named:
                    if entry.name.startswith(prefix) and entry.name.endswith(".jwk"):
                        yield Path(entry.path), algorithm, _modified(entry)
    except OSError as error:
        raise KeysUnusable(
            directory, f"the folder cannot be read: {error.strerror}", MAKE_ONE
        ) from error


def _modified(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_mtime_ns
    except OSError:  # a link into nowhere; reading it will say so
        return 0


def _load(path: Path, algorithm: Algorithm) -> tuple[PrivateKey | None, str, str | None]:
    """The key of a file, or what is the matter and what to try."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & _OTHERS:
                others = f"others may use it (mode {stat.S_IMODE(mode):03o})"
                return None, others, f"chmod 600 {path}"
            key = keys.read_private(file.read(_LARGEST))
    except OSError as error:
        return None, f"cannot be read: {error.strerror}", f"chmod 600 {path}"
    except KeyUnreadable as error:
        return None, f"no usable key: {error}", None
    if key.algorithm is not algorithm:
        return None, f"the key in it is {key.algorithm.name}, not {algorithm.name}", None
    return key, "", None


def _with_standing(found: list[KeyFile], state: Path) -> tuple[KeyFile, ...]:
    stated = _state(state)
    if stated is None:
        newest = {file.algorithm.name: file for file in reversed(found)}.values()
        return tuple(
            replace(file, standing=Standing.SIGNING) if file in newest else file for file in found
        )
    known = {file.keyid for file in found}
    for keyid in stated:
        if keyid not in known:
            raise KeysUnusable(
                state,
                f"names the key {keyid!r}, of which there is no file",
                "take it out of there, or bring its file back",
            )
    standing = tuple(
        replace(file, standing=stated.get(file.keyid, Standing.PUBLISHED)) for file in found
    )
    for algorithm in algorithms.TABLE:
        signing = [
            file
            for file in standing
            if file.algorithm is algorithm and file.standing is Standing.SIGNING
        ]
        if len(signing) > 1:
            raise KeysUnusable(
                state, f"{len(signing)} {algorithm.name} keys are to sign", "leave one of them"
            )
    return standing


def _state(path: Path) -> dict[str, Standing] | None:
    """The standing of each key that state.toml names; None where there is no such file."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        lists = msgspec.convert(document, dict[Standing, list[str]])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise KeysUnusable(path, f"cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise KeysUnusable(
            path, f"is not understood: {error}", 'write for example signing = ["…"]'
        ) from error
    stated: dict[str, Standing] = {}
    for standing in (Standing.PUBLISHED, Standing.SIGNING, Standing.RETIRED):
        for keyid in lists.get(standing, ()):
            if standing is Standing.RETIRED and stated.get(keyid) is Standing.SIGNING:
                raise KeysUnusable(path, f"the key {keyid!r} is retired and signs")
            stated[keyid] = standing
    return stated


def _named(path: Path, algorithm: Algorithm) -> str:
    return path.name.removeprefix(f"{algorithm.name}-").removesuffix(".jwk")
