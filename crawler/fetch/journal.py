"""The log's writer: one event, one line, one write.

A crash can cut the last line short; it is ended at the next start, so that it costs itself and no
other. A full disk cuts a line short as well; what was written of it is taken back at once.
"""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from crawler import events
from crawler.events import Event, FetchRecord
from crawler.fetch import private
from crawler.fetch.errors import LogUnwritable

_DAY = 86400.0
_NAME = re.compile(r"events-(\d{4}-\d\d-\d\d)\.jsonl(\.gz)?")
_HINT = "make room on its disk or let this user write there, then start again: nothing is lost"


class Position(Struct, frozen=True, order=True):
    """A place in the log: a file's name without `.gz`, and bytes of its plain text."""

    file: str = ""
    offset: int = 0


BEGINNING = Position()


def files(directory: Path) -> tuple[Path, ...]:
    """The log's files, the oldest first; plain ones, or compressed by the operator with gzip.

    Where both are there, gzip has not finished (or was told to keep the plain one).
    """
    found: dict[str, Path] = {}
    for path in sorted(directory.glob("events-*")):
        if _NAME.fullmatch(path.name):
            found.setdefault(path.name.removesuffix(".gz"), path)  # a name sorts before name.gz
    return tuple(found[name] for name in sorted(found))


def ended(event: Event) -> float:
    """The latest moment that an event speaks of."""
    return event.at + event.elapsed if isinstance(event, FetchRecord) else event.at


class Journal:
    """The log of one state directory, opened for writing: `events-YYYY-MM-DD.jsonl`, a file a day.

    Raises LogUnwritable, here and in `append`.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.moment = 0.0  # the latest one that an event of this process speaks of
        self._descriptor = -1
        self._name = ""
        self._size = 0
        self._torn = False
        self._until = 0.0  # when this day ends
        self._first = 0.0  # no file is begun for an earlier day than this one
        try:
            private.directory(directory)
            self._take_up()
        except OSError as error:
            raise LogUnwritable(directory, _said(error), _HINT) from error

    @property
    def end(self) -> Position:
        """Where the next event will stand."""
        return Position(self._name, self._size)

    def append(self, event: Event) -> None:
        """Write one event; it is in the log when this returns.

        An event belongs to the day of its `at`, but never stands before one that was written
        earlier: the order of the log is the order in which things were learned.
        """
        line = events.encode(event)
        if event.at >= self._until or self._descriptor < 0:
            self._begin_day(event.at)
        if self._torn:
            line = b"\n" + line
        try:
            written = os.write(self._descriptor, line)
        except OSError as error:
            self._take_back()
            raise LogUnwritable(self.directory / self._name, _said(error), _HINT) from error
        if written != len(line):
            self._take_back()
            raise LogUnwritable(
                self.directory / self._name, "only a part of a line could be written", _HINT
            )
        self._torn = False
        self._size += written
        self.moment = max(self.moment, ended(event))

    def close(self) -> None:
        """Let go of the file; on disk then, also should the machine lose its power."""
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _take_up(self) -> None:
        """Go on where an earlier process ended."""
        known = files(self.directory)
        if not known:
            return
        newest = known[-1]
        match = _NAME.fullmatch(newest.name)
        assert match is not None  # noqa: S101 - files() gives no other names
        day = datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp()
        if match[2]:  # compressed already: positions in it stay what they are
            self._first = day + _DAY
            return
        self._open(newest.name, day)
        if self._size and os.pread(self._descriptor, 1, self._size - 1) != b"\n":
            self._torn = os.write(self._descriptor, b"\n") != 1
            self._size += 1

    def _begin_day(self, at: float) -> None:
        day = max(at // _DAY * _DAY, self._first)
        name = f"events-{datetime.fromtimestamp(day, UTC):%Y-%m-%d}.jsonl"
        try:
            self.close()
            self._open(name, day)
        except OSError as error:
            raise LogUnwritable(self.directory / name, _said(error), _HINT) from error

    def _open(self, name: str, day: float) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(self.directory / name, flags, 0o600)
        self._name, self._size = name, os.fstat(self._descriptor).st_size
        self._first, self._until = day, day + _DAY

    def _take_back(self) -> None:
        """Take a half-written line out; where even that fails, end it before the next one."""
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:
            self._torn = True
            self._size = os.fstat(self._descriptor).st_size


def _said(error: OSError) -> str:
    return f"an event cannot be written: {error.strerror}"
