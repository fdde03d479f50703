"""The folder of keys: private JWKs, and what each is used for.

Files are named `<algorithm>-<thumbprint>.jwk` and readable by their owner only. What a key is used
for stands in `state.toml` (`keystate`); without that file the newest of each algorithm signs, and
with it a key that it does not name is published. No text from here quotes a key file.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from crawler.fetch import keystate
from crawler.fetch.keyfolder import Folder, Found, KeyFile
from crawler.fetch.keystate import KeysUnusable
from signing import algorithms, keys
from signing.algorithms import ED25519, Algorithm
from signing.errors import KeyUnreadable
from signing.keys import PrivateKey

STATE: Final = keystate.NAME
MAKE_ONE: Final = "`crawl keys new` makes one"

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_LARGEST: Final = 65_536  # bytes of a key file that are read


def read(directory: Path) -> Folder:
    """What is in the folder. Raises KeysUnusable where it or its state.toml cannot be read."""
    found = []
    for path, algorithm, modified in _files(directory):
        key, problem, hint = _load(path, algorithm)
        found.append(
            Found(
                path=path,
                algorithm=algorithm,
                modified=modified,
                key=key,
                problem=problem,
                hint=hint,
            )
        )
    order = [algorithm.name for algorithm in (ED25519, *algorithms.TABLE)]
    found.sort(key=lambda file: (order.index(file.algorithm.name), -file.modified, file.path.name))
    return Folder(directory=directory, files=tuple(found), state=keystate.read(directory))


def listing(directory: Path, now: float) -> tuple[KeyFile, ...]:
    """Each key file of the folder at a moment: Ed25519 first, then by algorithm, newest first.

    `now` is in seconds since 1970. Raises KeysUnusable where the folder or its state.toml cannot be
    read or makes no sense.
    """
    return read(directory).at(now)


def create(directory: Path, algorithm: str) -> Path:
    """Make a key of the algorithm in the folder, which is made too; the path of its file.

    Raises KeysUnusable where it cannot be written.
    """
    return keep(directory, made(algorithms.by_name(algorithm)))


def made(
    algorithm: Algorithm, *, not_before: int | None = None, expires: int | None = None
) -> PrivateKey:
    """A new key whose thumbprint no command line takes for an option; moments as in its JWK."""
    while True:
        key = keys.generate(algorithm, not_before=not_before, expires=expires)
        if not key.keyid.startswith("-"):
            return key


def keep(directory: Path, key: PrivateKey) -> Path:
    """Write a key into the folder, which is made too; the path of its file.

    Both are the owner's alone. A crawl that is running sees the whole file or none. Raises
    KeysUnusable where it cannot be written.
    """
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


def _files(directory: Path) -> Iterator[tuple[Path, Algorithm, int]]:
    named = [(f"{algorithm.name}-", algorithm) for algorithm in algorithms.TABLE if algorithm.signs]
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
