"""Directories that only this user can look into."""

from pathlib import Path


def directory(path: Path) -> None:
    """Make a directory, and those above it that are missing; OSError where that cannot be done.

    One that is there already keeps its mode: somebody chose it.
    """
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        directory(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
