"""`state.toml` in the folder of keys: what each key is used for, and the moments of a rotation.

    signing = ["…"]    # signs, unless one signs that was to sign later
    published = ["…"]  # is published only; so is a key that is not named
    retired = ["…"]    # neither signs nor is published
    [sign_from]        # signs from that moment on, in the place of the one before
    "…" = 2026-12-02T08:00:00Z
    [drop_from]        # from that moment on as if retired
    "…" = 2026-12-03T08:00:00Z

A person may write it, `crawl keys` writes it too; a file without the two tables says what it
always said. It holds no secret.
"""

import fcntl
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from crawler.problems import Problem
from signing import algorithms

NAME: Final = "state.toml"

_HEAD: Final = """\
# What each key is used for, by its thumbprint. A key that is not named is published. Of those that
# may sign, the one signs that was to sign last. `crawl keys` writes this file anew.
"""
_LISTS: Final = {
    "signing": "",
    "published": "",
    "retired": "  # neither sign nor are published",
}
_TABLES: Final = {
    "sign_from": "  # signs from then on, in the place of the one before",
    "drop_from": "  # neither signs nor is published from then on",
}
# as `write` and `keyfiles.keep` name what is not whole yet
_UNFINISHED: Final = re.compile(
    rf"state\.new|(?:{'|'.join(one.name for one in algorithms.TABLE)})-[A-Za-z0-9_-]{{43}}\.new"
)
_Moment = Annotated[datetime, Meta(tz=True)]


class KeysUnusable(Problem):
    """Nothing can be done with what is in the folder of keys: our error, exit code 1.

    `place` names the folder or file, `hint` what to try.
    """

    def __init__(self, place: Path, problem: str, hint: str | None = None) -> None:
        super().__init__(f"{place}: {problem}", hint)
        self.place = str(place)
        self.problem = problem


class State(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file says, by thumbprints."""

    signing: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    sign_from: dict[str, _Moment] = {}
    drop_from: dict[str, _Moment] = {}

    def rank(self, keyid: str) -> float | None:
        """Since when the key is to sign, in seconds since 1970; None for one that is not to."""
        if (moment := self.sign_from.get(keyid)) is not None:
            return moment.timestamp()
        return -inf if keyid in self.signing else None

    def ends(self) -> dict[str, float]:
        """From when on each key that has an end is gone; retired ones always are."""
        dropped = {keyid: moment.timestamp() for keyid, moment in self.drop_from.items()}
        return dropped | dict.fromkeys(self.retired, -inf)

    def succeeded(self, new: str, since: float, old: str | None, until: float) -> "State":
        """The new key signs since a moment, and the old one is dropped at another."""
        return replace(
            self,
            signing=_without(self.signing, new),
            published=_without(self.published, new),
            sign_from={**self.sign_from, new: moment(since)},
            drop_from={**self.drop_from, **({old: moment(until)} if old is not None else {})},
        )

    def retiring(self, keyid: str) -> "State":
        """The key is retired, whatever was to become of it."""
        return replace(
            self,
            signing=_without(self.signing, keyid),
            published=_without(self.published, keyid),
            retired=(*_without(self.retired, keyid), keyid),
            sign_from={key: at for key, at in self.sign_from.items() if key != keyid},
        ).keeping(keyid)

    def keeping(self, keyid: str) -> "State":
        """The key is not dropped."""
        rest = {key: at for key, at in self.drop_from.items() if key != keyid}
        return replace(self, drop_from=rest)

    def needed(self) -> Iterator[str]:
        """The keys that it wants to be there."""
        yield from dict.fromkeys((*self.signing, *self.published, *self.sign_from))


def moment(seconds: float) -> datetime:
    """Seconds since 1970 as they stand in the file."""
    return datetime.fromtimestamp(int(seconds), UTC)


def has_date(seconds: float) -> bool:
    """Whether a calendar has the moment, in seconds since 1970, so that it can stand in the file.

    Numbers of JWKs may be of any size.
    """
    try:
        moment(seconds)
    except (ValueError, OverflowError, OSError):
        return False
    return True


def shown(seconds: float) -> str:
    """Seconds since 1970 as people read them; the bare number where no calendar has it."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S UTC}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"


def read(directory: Path) -> State | None:
    """What the file says; None where there is none. Raises KeysUnusable."""
    path = directory / NAME
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(document, State)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise KeysUnusable(path, f"cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise KeysUnusable(
            path,
            f"is not understood: {error}",
            'write for example signing = ["…"], and a moment as 2026-12-02T08:00:00Z',
        ) from error


def write(directory: Path, state: State, names: Mapping[str, str]) -> None:
    """Put it into the folder, whole at any moment, with the mode that the file has.

    `names` says the algorithm of each thumbprint, for people. Raises KeysUnusable.
    """
    path = directory / NAME
    beside = path.with_suffix(".new")
    try:
        with beside.open("w", encoding="utf-8") as file:
            if path.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            file.write(written(state, names))
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
    except OSError as error:
        raise KeysUnusable(
            path, f"cannot be written: {error.strerror}", "make the folder writable"
        ) from error


def written(state: State, names: Mapping[str, str]) -> str:
    """The text of the file; `names` says the algorithm of each thumbprint."""
    lines = [_HEAD]
    for name, about in _LISTS.items():
        keyids: tuple[str, ...] = getattr(state, name)
        if keyids:
            each = (f'  "{keyid}",{_comment(keyid, names)}\n' for keyid in keyids)
            lines.append(f"{name} = [{about}\n{''.join(each)}]\n")
        elif name != "published":
            lines.append(f"{name} = []{about}\n")
    for name, about in _TABLES.items():
        moments: dict[str, datetime] = getattr(state, name)
        if moments:
            each = (
                f'"{keyid}" = {moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}{_comment(keyid, names)}\n'
                for keyid, moment in moments.items()
            )
            lines.append(f"\n[{name}]{about}\n{''.join(each)}")
    return "".join(lines)


@contextmanager
def changing(directory: Path) -> Iterator[None]:
    """Keep other commands from changing the folder while the block runs. Raises KeysUnusable.

    What a killed command has left unfinished is taken away first: there may be a secret in it.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise KeysUnusable(directory, f"the folder cannot be read: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # of two, the later one begins with what is then
        _tidy(directory)
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _tidy(directory: Path) -> None:
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if _UNFINISHED.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    Path(entry.path).unlink()
    except OSError as error:
        raise KeysUnusable(
            directory,
            f"what a killed command left cannot be removed: {error.strerror}",
            "make the folder writable",
        ) from error


def _without(keyids: tuple[str, ...], keyid: str) -> tuple[str, ...]:
    return tuple(one for one in keyids if one != keyid)


def _comment(keyid: str, names: Mapping[str, str]) -> str:
    return f"  # {names[keyid]}" if keyid in names else ""
