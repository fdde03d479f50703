"""`crawl keys import` and `export`: keys from and for other programs."""

import os
import stat
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from crawler.commands import keys as commands
from crawler.fetch import keychange, keyfiles
from crawler.fetch.keyfolder import KeyFile
from crawler.fetch.keylife import Standing
from crawler.problems import Problem, UsageProblem
from crawler.settings import Settings
from signing import directory, keys, pem
from signing.errors import SigningError
from signing.keys import PrivateKey, Secret

_LARGEST = 65_536  # bytes
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Untransferable(Problem):
    """A key that cannot be read from there, or written to there."""


def take(settings: Settings, name: str) -> None:
    """Put the private key of a file, or of stdin, into the folder of keys."""
    key = _read(name)
    (file,) = keychange.add(settings.keys_directory, [key], time.time())
    print(f"took {file.keyid} ({file.algorithm.name}) into {file.path}: {commands.becoming(file)}")
    commands.say_what_is_left([file] if file.standing is Standing.PUBLISHED else [])


def give(settings: Settings, begin: str | None, *, form: str, output: str | None) -> None:
    """Write what is published, or of one key, as JWK Set or as PEM, to a new file or to stdout."""
    there = keyfiles.listing(settings.keys_directory, time.time())
    chosen = [keychange.find(there, begin)] if begin is not None else _published(there)
    public = [key for file in chosen if (key := file.public) is not None]
    if begin is not None and not public:
        raise Untransferable(f"{chosen[0].path}: {chosen[0].problem}", chosen[0].hint)
    data = (
        b"".join(pem.write_public(key) for key in public)
        if form == "pem"
        else directory.key_set(public) + b"\n"
    )
    _write(data, output or "-", 0o666)


def give_private(settings: Settings, begin: str | None, *, form: str, output: str | None) -> None:
    """Write a private key to a new file that is the owner's alone; to stdout by `-` only."""
    if begin is None or output is None:
        raise UsageProblem(
            "--private wants one key and --output FILE",
            "--output - writes to stdout, where others may see it",
        )
    there = keyfiles.listing(settings.keys_directory, time.time())
    file = keychange.find(there, begin)
    if file.key is None:
        raise Untransferable(f"{file.path}: {file.problem}", file.hint)
    _write(_private(file.key, form), output, 0o600)


def _private(key: PrivateKey, form: str) -> Secret:
    if form == "pem":
        return pem.write_private(key)
    return Secret(msgspec.json.encode(key.jwk()) + b"\n")


def _published(there: Iterable[KeyFile]) -> list[KeyFile]:
    """What is published, those that sign first."""
    found = [file for file in there if file.standing is not Standing.RETIRED]
    return sorted(found, key=lambda file: file.standing is not Standing.SIGNING)


def _read(name: str) -> PrivateKey:
    """The key of a file or of stdin. Raises Untransferable, which quotes nothing of it."""
    others = ""
    try:
        if name == "-":
            data = Secret(sys.stdin.buffer.read(_LARGEST))
        else:
            with Path(name).open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                data = Secret(file.read(_LARGEST))
            if stat.S_ISREG(mode) and mode & _OTHERS:
                others = f"others may have read it (mode {stat.S_IMODE(mode):03o})"
    except OSError as error:
        raise Untransferable(f"{name}: cannot be read: {error.strerror}") from error
    try:
        key = pem.read_private(data) if data.find(pem.MARK) >= 0 else keys.read_private(data)
    except SigningError as error:
        raise Untransferable(
            f"{name}: {error}", "one private JWK is wanted, or one PKCS#8 key as PEM"
        ) from None
    if others:
        print(f"crawl: note: {name}: {others}", file=sys.stderr)
    return key


def _write(data: bytes, name: str, mode: int) -> None:
    if name == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(bytes(data))
        sys.stdout.buffer.flush()
        return
    try:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except FileExistsError as error:
        raise Untransferable(f"{name}: is there already", "name another file") from error
    except OSError as error:
        raise Untransferable(f"{name}: cannot be written: {error.strerror}") from error
    print(f"wrote {name}", file=sys.stderr)
