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
        for entry in _entries(path, 0):
            yield entry.line


def entries(directory: Path, start: Position) -> Iterator[Entry]:
    """The lines of a log directory from a position on. Raises LogUnreadable."""
    for path in journal.files(directory):
        name = path.name.removesuffix(".gz")
        if name >= start.file:
            yield from _entries(path, start.offset if name == start.file else 0)


def _entries(path: Path, offset: int) -> Iterator[Entry]:
    name = path.name.removesuffix(".gz")
    place, number = offset, 0

    def unreadable(flaw: Flaw, problem: str) -> Unreadable:
        counted = number + _lines_before(path, offset)  # rare, so not counted all the time
        return Unreadable(path=path, number=counted, flaw=flaw, problem=problem)

    try:
        with _opened(path) as file:
            place = _settle(file, offset)
            while text := file.readline(LONGEST + 1):
                number += 1
                begins, place = place, place + len(text)
                line: Event | Unreadable
                if len(text) > LONGEST:
                    while not text.endswith(b"\n") and (text := file.readline(LONGEST)):
                        place += len(text)
                    line = unreadable(Flaw.LONG, f"a line of more than {LONGEST} bytes")
                elif text == b"\n":  # it ended a torn line that had its end already
                    continue
                else:
                    try:
                        line = events.decode(text)
                    except EventUnreadable as error:
                        line = unreadable(*_explained(text, str(error)))
                yield Entry(Position(name, begins), line)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        number += 1
        flawed = unreadable(Flaw.PACKED, f"cannot be unpacked from here on: {error}")
        yield Entry(Position(name, place), flawed)
    except OSError as error:
        raise LogUnreadable(
            path, f"cannot be read: {error.strerror}", "name a log that this user may read"
        ) from error


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
