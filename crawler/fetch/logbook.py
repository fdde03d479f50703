"""The log's reader: every line that can be read, and a word on each that cannot."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, cast, get_args

import msgspec
from msgspec import Struct

from crawler import events
from crawler.events import Event, EventUnreadable
from crawler.fetch import journal
from crawler.fetch.errors import LogUnreadable
from crawler.fetch.journal import Position

LONGEST = 1 << 20  # bytes of a line; ours are a few kilobytes

_BLOCK = 1 << 20
_KNOWN = frozenset(kind.__struct_config__.tag for kind in get_args(Event))


class Flaw(StrEnum):
    """What is the matter with a line."""

    TORN = "torn"  # no JSON: cut off by a crash, or not ours
    UNKNOWN = "unknown"  # a later version's, or a foreign one
    MISFIT = "misfit"  # an event of ours with a value that it cannot have
    LONG = "long"  # longer than any line that we write
    PACKED = "packed"  # the rest of a .gz file cannot be unpacked


class Unreadable(Struct, frozen=True, kw_only=True):
    """A line that is no event, where it stands, and why."""

    path: Path
    number: int  # counted from 1
    flaw: Flaw
    problem: str

    def __str__(self) -> str:
        return f"{self.path}:{self.number}: {self.problem}"


class Entry(Struct, frozen=True):
    """A line of the log and where it begins."""

    position: Position
    line: Event | Unreadable


def read(paths: Iterable[Path]) -> Iterator[Event | Unreadable]:
    """The lines of files, in order; those that end in `.gz` are unpacked.

    Raises LogUnreadable for a file that cannot be opened or read; a bad line is never fatal.
    """
    for path in paths:
        yield from _Reading(path).lines()


def entries(directory: Path, start: Position) -> Iterator[Entry]:
    """The lines of a log directory from a position on. Raises LogUnreadable."""
    for path in journal.files(directory):
        name = path.name.removesuffix(".gz")
        if name >= start.file:
            reading = _Reading(path, start.offset if name == start.file else 0)
            for line in reading.lines():
                yield Entry(Position(name, reading.begins), line)


class _Reading:
    """One pass over a file, from the first line that begins at `offset` or later.

    Millions of lines go through `lines`, so it says of each where it begins in an attribute, and
    whoever does not ask pays for no value.
    """

    __slots__ = ("_offset", "_path", "begins")

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.begins = offset  # bytes of plain text before the line that came last
        self._path = path
        self._offset = offset

    def lines(self) -> Iterator[Event | Unreadable]:
        place, number = self._offset, 0
        decode, longest = events.decode, LONGEST
        try:
            with _opened(self._path) as file:
                place = _settle(file, place)
                readline = file.readline
                while text := readline(longest + 1):
                    number += 1
                    length = len(text)
                    self.begins = place
                    place += length
                    if length > longest:
                        place += _skip(file, text)
                        yield self._flawed(
                            number, Flaw.LONG, f"a line of more than {longest} bytes"
                        )
                    elif length == 1 and text == b"\n":  # it ended a torn line that had its end
                        continue
                    else:
                        try:
                            line = decode(text)
                        except EventUnreadable as error:
                            yield self._flawed(number, *_explained(text, str(error)))
                        else:
                            yield line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.begins = place
            problem = f"cannot be unpacked from here on: {error}"
            yield self._flawed(number + 1, Flaw.PACKED, problem)
        except OSError as error:
            raise LogUnreadable(
                self._path,
                f"cannot be read: {error.strerror}",
                "name a log that this user may read",
            ) from error

    def _flawed(self, number: int, flaw: Flaw, problem: str) -> Unreadable:
        """The line of that number in this pass; the lines before it are counted only now."""
        counted = number + _lines_before(self._path, self._offset)
        return Unreadable(path=self._path, number=counted, flaw=flaw, problem=problem)


def _skip(file: BinaryIO, text: bytes) -> int:
    """Go to the end of a line that began with `text`; how many bytes that were."""
    skipped = 0
    while not text.endswith(b"\n") and (text := file.readline(LONGEST)):
        skipped += len(text)
    return skipped


def _opened(path: Path) -> BinaryIO:
    if path.name.endswith(".gz"):
        return cast("BinaryIO", gzip.open(path, "rb"))
    return path.open("rb")


def _settle(file: BinaryIO, offset: int) -> int:
    """Go to the first line that begins at `offset` or later; its place."""
    if offset == 0:
        return 0
    file.seek(offset - 1)
    if file.read(1) != b"\n":
        file.readline()
    return file.tell()


def _lines_before(path: Path, offset: int) -> int:
    """How many lines stand before the one that `_settle` finds."""
    if offset == 0:
        return 0
    number, left, last = 0, offset, b"\n"
    with _opened(path) as file:
        while left and (block := file.read(min(_BLOCK, left))):
            number += block.count(b"\n")
            left -= len(block)
            last = block[-1:]
    return number if last == b"\n" else number + 1


class _Tagged(Struct):
    event: str


def _explained(text: bytes, problem: str) -> tuple[Flaw, str]:
    try:
        tag = msgspec.json.decode(text, type=_Tagged).event
    except msgspec.ValidationError:
        return Flaw.MISFIT, f"no event: {problem}"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Flaw.TORN, f"cut off, or no JSON: {problem}"
    if tag in _KNOWN:
        return Flaw.MISFIT, f"event {tag!r} is not as it should be: {problem}"
    return Flaw.UNKNOWN, f"unknown event {tag!r}"
