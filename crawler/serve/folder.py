"""A folder that we write and somebody else serves: ours are replaced, anybody else's stay.

Each file is whole at any moment. Which files are ours stands in a list beside them, and that is
written first: after a kill at any moment the next time knows everything that may have come from us,
the unfinished files too. No link is followed below the folder: who can plant one there would have
us write elsewhere.
"""

import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from errno import EISDIR
from pathlib import Path
from typing import Final

import msgspec

from crawler.problems import Problem

LIST: Final = ".callingcard.json"

_READABLE: Final = 0o644  # a web server is somebody else
_SEARCHABLE: Final = 0o755
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderUnusable(Problem):
    """Nothing is published there, or not all of it."""


def update(folder: Path, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Make the files of that folder ours; the paths that changed, in order, removed ones too.

    Files that are the same keep their modification time, so that a web server's validators stay
    good; others get one of a later second. Raises FolderUnusable before anything is written where
    somebody else's file or a link stands in the way, or where it cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise FolderUnusable(f"{folder}: is no folder", "name one, or one that is to be made")
    try:
        ours = _ours(folder)
        changing = {
            name: f"{name.rpartition('/')[0]}/.{secrets.token_hex(8)}.new".lstrip("/")
            for name, content in files.items()
            if _wants(folder, name, content, ours)
        }
        _make(folder)
        _list(folder, {*ours, *files, *changing.values()})
        for name, beside in changing.items():
            _write(folder / name, files[name], folder / beside)
        gone = [name for name in sorted(ours - files.keys()) if _removed(folder, name)]
        _list(folder, files)
    except OSError as error:
        raise FolderUnusable(
            f"{error.filename or folder}: {error.strerror}", "name a folder that can be written to"
        ) from error
    return *changing, *gone


def _ours(folder: Path) -> frozenset[str]:
    if _found(folder, LIST) is None:
        return frozenset()
    try:
        named = msgspec.json.decode(_content(folder / LIST), type=frozenset[str])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FolderUnusable(
            f"{folder / LIST}: does not say which files are ours: {error}",
            "remove it together with the files that `crawl publish` wrote",
        ) from error
    # a list that leads out of the folder is not by us, and would have us remove what it names
    if any(".." in Path(name).parts or Path(name).is_absolute() for name in named):
        raise FolderUnusable(f"{folder / LIST}: names files outside of the folder", "remove it")
    return named


def _wants(folder: Path, name: str, content: bytes, ours: frozenset[str]) -> bool:
    """Whether it has to be written. Raises FolderUnusable where something stands in its way."""
    there = _found(folder, name)
    if there is None:
        return True
    path = folder / name
    if there.st_size == len(content) and _content(path) == content:
        return False
    if name not in ours:
        raise FolderUnusable(
            f"{path}: is there already, and not by `crawl publish`",
            "move it away, or publish to a folder of its own",
        )
    return True


def _found(folder: Path, name: str) -> os.stat_result | None:
    """The regular file of that name below the folder, if any. Raises FolderUnusable for a link."""
    path = folder
    for part in Path(name).parts:
        path /= part
        try:
            there = path.lstat()
        except FileNotFoundError:
            return None
        if stat.S_ISLNK(there.st_mode):
            raise FolderUnusable(
                f"{path}: is a link, and not by `crawl publish`",
                "take it away; DIR itself may be a link",
            )
    if stat.S_ISDIR(there.st_mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
    if not stat.S_ISREG(there.st_mode):
        raise FolderUnusable(f"{path}: is no regular file", "move it away")
    return there


def _list(folder: Path, names: Iterable[str]) -> None:
    content = msgspec.json.format(msgspec.json.encode(sorted(names)), indent=1)
    if _found(folder, LIST) is None or _content(folder / LIST) != content:
        _write(folder / LIST, content, folder / f".{secrets.token_hex(8)}.new")


def _content(path: Path) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        return file.read()


def _write(path: Path, content: bytes, beside: Path) -> None:
    _make(path.parent)
    before = int(path.lstat().st_mtime) if path.exists() else 0
    with os.fdopen(os.open(beside, _NEW, 0o600), "wb") as file:
        try:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), _READABLE)
            # nginx and Apache tell versions by second and size, and key sets are often of one size
            if int(os.fstat(file.fileno()).st_mtime) <= before:
                os.utime(file.fileno(), (before + 1, before + 1))
            os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def _removed(folder: Path, name: str) -> bool:
    """Whether it was there and is gone now; what has come into its place stays."""
    try:
        if _found(folder, name) is None:
            return False
    except (FolderUnusable, IsADirectoryError):
        return False
    (folder / name).unlink()
    return True


def _make(folder: Path) -> None:
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir()
        folder.chmod(_SEARCHABLE)
