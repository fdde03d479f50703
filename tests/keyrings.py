"""A folder of keys and what it says at a moment, for tests of those who read and change it."""

from pathlib import Path

from crawler.fetch import keyfiles
from crawler.fetch.keyfolder import KeyFile
from crawler.fetch.keylife import Standing
from signing import algorithms
from signing.keys import PrivateKey

NOW = 1_800_000_000.0
DAY = 86_400.0


def fresh(*names: str) -> list[PrivateKey]:
    """New keys of these algorithms."""
    return [keyfiles.made(algorithms.by_name(name)) for name in names]


def signing(folder: Path, now: float = NOW) -> set[str]:
    """The thumbprints of what signs."""
    return named(folder, Standing.SIGNING, now)


def named(folder: Path, standing: Standing, now: float = NOW) -> set[str]:
    """The thumbprints of what has a standing."""
    return {file.keyid for file in keyfiles.listing(folder, now) if file.standing is standing}


def one(folder: Path, keyid: str, now: float = NOW) -> KeyFile:
    """The file of a key."""
    (found,) = (file for file in keyfiles.listing(folder, now) if file.keyid == keyid)
    return found


def says(folder: Path, text: str) -> None:
    """Write state.toml."""
    (folder / keyfiles.STATE).write_text(text)
