"""A folder that we write and somebody else serves: ours are replaced, anybody else's stay.

Each file is whole at any moment. Which files are ours stands in a list beside them, and that is
written first: after a kill at any moment the next time knows everything that may have come from us.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from crawler.problems import Problem

LIST: Final = ".callingcard.json"

_READABLE: Final = 0o644  # a web server is somebody else
_SEARCHABLE: Final = 0o755


class FolderUnusable(Problem):
    """Nothing is published there, or not all of it."""


def update(folder: Path, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Make the files of that folder ours; the paths that changed, in order, removed ones too.

    Files that are the same keep their modification time, so that a web server's validators stay
    good; others get one of a later second. Raises FolderUnusable before anything is written where
    somebody else's file stands in the way, or where it cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise FolderUnusable(f"{folder}: is no folder", "name one, or one that is to be made")
    try:
        ours = _ours(folder)
        for name, content in files.items():
            if name not in ours and _content(folder / name) not in (None, content):
                raise FolderUnusable(
                    f"{folder / name}: is there already, and not by `crawl publish`",
                    "move it away, or publish to a folder of its own",
                )
        _make(folder)
        _list(folder, ours | files.keys())
        changed = [name for name, content in files.items() if _write(folder / name, content)]
        for name in sorted(ours - files.keys()):
            if (folder / name).is_file():
                (folder / name).unlink()
                changed.append(name)
        _list(folder, files)
    except OSError as error:
        raise FolderUnusable(
            f"{error.filename or folder}: {error.strerror}", "name a folder that can be written to"
        ) from error
    return tuple(changed)


def _ours(folder: Path) -> frozenset[str]:
    data = _content(folder / LIST)
    if data is None:
        return frozenset()
    try:
        named = msgspec.json.decode(data, type=frozenset[str])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FolderUnusable(
            f"{folder / LIST}: does not say which files are ours: {error}",
            "remove it together with the files that `crawl publish` wrote",
        ) from error
    # a list that leads out of the folder is not by us, and would have us remove what it names
    if any(".." in Path(name).parts or Path(name).is_absolute() for name in named):
        raise FolderUnusable(f"{folder / LIST}: names files outside of the folder", "remove it")
    return named


def _list(folder: Path, names: Iterable[str]) -> None:
    _write(folder / LIST, msgspec.json.format(msgspec.json.encode(sorted(names)), indent=1))


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, content: bytes) -> bool:
    """Whether it had to be written."""
    if _content(path) == content:
        return False
    before = int(path.stat().st_mtime) if path.exists() else 0
    _make(path.parent)
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(file.fileno(), _READABLE)
        os.fsync(file.fileno())
    # nginx and Apache tell versions by second and size, and key sets are often of one size
    if int(beside.stat().st_mtime) <= before:
        os.utime(beside, (before + 1, before + 1))
    beside.replace(path)
    return True


def _make(folder: Path) -> None:
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir()
        folder.chmod(_SEARCHABLE)
