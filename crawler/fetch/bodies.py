"""Bodies of pages, one after the other, each process in files of its own.

A file for each body would cost an inode each time, 50 to 300 microseconds on ext4 and more than
all else that is done on disk for a page. Whoever keeps a body is told its place, which stands in
the log and with the page. No file is ever gone on with: where one has lost its end, or is gone
itself, nothing else comes to stand in its place.
"""

import os
import re
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from crawler.events import Place
from crawler.fetch import private
from crawler.fetch.errors import StateUnusable

FULL: Final = 64 << 20  # bytes after which the next file is begun

_NAME: Final = re.compile(r"\d+-\d+-\d+")


class Bodies:
    """The bodies in one directory, readable by nobody else."""

    def __init__(self, directory: Path, *, full: int = FULL) -> None:
        self.directory = directory
        self._full = full
        self._begun = f"{time.time_ns() // 1_000_000}-{os.getpid()}"
        self._number = 0
        self._descriptor = -1
        self._name = ""
        self._size = 0

    def keep(self, body: bytes) -> Place:
        """Keep a body; whoever starts after a crash can read it. Raises StateUnusable."""
        try:
            if self._descriptor < 0 or self._size >= self._full or self._is_removed():
                self._open()
            self._append(body)
        except OSError as error:
            raise StateUnusable(
                self.directory / self._name,
                f"a body of {len(body)} bytes cannot be kept: {error.strerror}",
                f"make room in {self.directory}, or make it writable",
            ) from error
        place = Place(self._name, self._size, len(body))
        self._size += len(body)
        return place

    def has(self, place: Place) -> bool:
        """Whether there is something at a place, as far as the file's length says."""
        try:
            length = os.stat(f"{self.directory}/{place.file}").st_size  # noqa: PTH116 - once a page
        except OSError:
            return False
        return length >= place.offset + place.size

    def read(self, place: Place, digest: str) -> bytes | None:
        """The body at a place; None where there is none with this sha-256 in lower-case hex.

        A machine that lost its power may have left less than was written.
        """
        if not _NAME.fullmatch(place.file):
            return None
        try:
            with (self.directory / place.file).open("rb") as file:
                file.seek(place.offset)
                body = file.read(place.size)
        except (OSError, ValueError):
            return None
        return body if sha256(body).hexdigest() == digest else None

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> None:
        """Begin a file."""
        self.close()
        private.directory(self.directory)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        while self._descriptor < 0:
            self._number += 1
            self._name, self._size = f"{self._begun}-{self._number}", 0
            with suppress(FileExistsError):  # of the same millisecond
                self._descriptor = os.open(self.directory / self._name, flags, 0o600)

    def _is_removed(self) -> bool:
        return os.fstat(self._descriptor).st_nlink == 0

    def _append(self, body: bytes) -> None:
        view = memoryview(body)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            raise
