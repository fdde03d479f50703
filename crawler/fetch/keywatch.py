"""The folder of keys as it stands at any moment, while it changes and while it cannot be read.

What is known of a key's end is not forgotten: not when the folder can no longer be read, not when
state.toml is broken or gone, and not when the clock is set back. A moment that has come has come.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.fetch import keyfiles, keystate
from crawler.fetch.keyfolder import Folder, KeyFile
from crawler.fetch.keystate import KeysUnusable, State

LOOK_EVERY: Final = 1.0  # seconds between two looks at all the files


class Seen(Struct, frozen=True, kw_only=True):
    """The folder at a moment, and why it cannot be read any more: then it is what it last was."""

    files: tuple[KeyFile, ...]
    ends: dict[str, float]  # of keys of which there may be no file; seconds since 1970
    problem: KeysUnusable | None = None


class KeyWatch:
    """The folder, read again when something in it changes.

    state.toml and the names in the folder are looked at each time, since a key may be retired at
    any moment; every file once in `look_every` seconds.
    """

    def __init__(self, directory: Path, *, look_every: float = LOOK_EVERY) -> None:
        self.directory = directory
        self.latest = -inf  # the latest moment that was asked for
        self._state = directory / keystate.NAME
        self._folder_name, self._state_name = os.fspath(directory), os.fspath(self._state)
        self._look_every = look_every
        self._looked = -inf
        self._glance: object = None
        self._appearance: object = None
        self._folder: Folder | None = None
        self._problem: KeysUnusable | None = None
        self._ends: dict[str, float] = {}
        self._seen: Seen | None = None
        self._until = -inf

    def at(self, now: float) -> Seen:
        """The folder at `now`, in seconds since 1970, or at the latest moment asked for before.

        The same value as before while nothing changes. Raises KeysUnusable where it never could be
        read.
        """
        changed = self._changed(now)
        self.latest = max(self.latest, now)
        if self._seen is not None and not changed and self.latest < self._until:
            return self._seen
        if changed or self._folder is None:
            self._read()
        assert self._folder is not None  # noqa: S101 - else reading has raised
        files = self._folder.at(self.latest, self._ends)
        self._until = min(_ahead(files, self._ends, self.latest), default=inf)
        self._seen = Seen(files=files, ends=self._ends, problem=self._problem)
        return self._seen

    def _read(self) -> None:
        """Read the folder; where that fails, at least who is retired, and keep what was read."""
        try:
            folder = keyfiles.read(self.directory)
            if gone := self._state_of_before(folder):
                folder = replace(folder, state=gone)
            stated = folder.state
            folder.at(self.latest, self._ends if stated is None else stated.ends())
        except KeysUnusable as error:
            if self._folder is None:
                raise
            self._problem = error
            with suppress(KeysUnusable):
                if (stated := keystate.read(self.directory)) is not None:
                    self._ends = stated.ends()
            return
        self._folder = folder
        self._problem = (
            KeysUnusable(self._state, "is gone; what it said goes on", "bring it back, or restart")
            if gone
            else None
        )
        if stated is not None:
            self._ends = stated.ends()

    def _state_of_before(self, folder: Folder) -> State | None:
        """What state.toml said, where it is gone while keys that it has sign are there.

        An editor may have renamed it, and without it the newest keys would sign. With all of those
        gone as well it is another folder.
        """
        before = None if self._folder is None else self._folder.state
        if before is None or folder.state is not None:
            return None
        there = {found.keyid for found in folder.files}
        return before if there & {*before.signing, *before.sign_from} else None

    def _changed(self, now: float) -> bool:
        glance = (_mark(self._folder_name), _mark(self._state_name))
        changed, self._glance = glance != self._glance, glance
        if changed or not 0 <= now - self._looked < self._look_every:
            self._looked = now
            appearance = _appearance(self.directory)
            changed = changed or appearance != self._appearance
            self._appearance = appearance
        return changed


def _ahead(files: Sequence[KeyFile], ends: dict[str, float], now: float) -> list[float]:
    """The moments after `now` at which something changes."""
    changes = [file.change.at for file in files if file.change is not None]
    return [*changes, *(end for end in ends.values() if end > now)]


def _mark(path: str) -> object:
    try:
        status = os.stat(path)  # noqa: PTH116 - for each request; pathlib takes as long again
    except OSError as error:
        return error.errno
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _appearance(directory: Path) -> object:
    """What a change of any file in the folder changes, too; nothing is opened."""
    try:
        with os.scandir(directory) as entries:
            return sorted((entry.name, _mark(entry.path)) for entry in entries)
    except OSError as error:
        return error.errno
