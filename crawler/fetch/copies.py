"""Copies of robots.txt as files, named by their digest: one that did not change is kept once."""

import os
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from crawler.fetch import private
from crawler.fetch.errors import StateUnusable

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Copies:
    """The copies in one directory, readable by nobody else.

    A file is either whole or absent for a reader that dies or starts at any moment: it gets its
    name once it is written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._root = str(directory)
        self._written = 0

    def path(self, digest: str) -> Path:
        """Where the copy with this digest is or would be; `digest` is sha-256 in lower-case hex."""
        return Path(self._place(digest))

    def write(self, digest: str, body: bytes) -> None:
        """Keep a copy under the digest that it was given while it was read.

        Raises StateUnusable where it cannot be written.
        """
        path = self._place(digest)
        if os.access(path, os.F_OK):
            return
        self._written += 1
        # beside its place: a rename from one directory into another costs 30 microseconds more
        draft = f"{path[:-62]}.{os.getpid()}-{self._written}"
        try:
            _draft(draft, body)
            os.rename(draft, path)  # noqa: PTH104 - and pathlib 10
        except OSError as error:
            with suppress(OSError):
                Path(draft).unlink(missing_ok=True)
            raise StateUnusable(
                Path(path),
                f"a robots.txt of {len(body)} bytes cannot be kept: {error.strerror}",
                f"make room in {self.directory}, or make it writable",
            ) from error

    def _place(self, digest: str) -> str:
        if not _DIGEST.fullmatch(digest):
            raise ValueError(f"{digest[:80]!r} is no sha-256 digest in lower-case hex")
        return f"{self._root}/{digest[:2]}/{digest[2:]}"

    def read(self, digest: str) -> bytes | None:
        """The copy, or None where there is none, or one that is not what its name says.

        A machine that lost its power may have left a file cut short.
        """
        try:
            body = self.path(digest).read_bytes()
        except OSError:
            return None
        return body if sha256(body).hexdigest() == digest else None


def _draft(path: str, body: bytes) -> None:
    """Write a new file with mode 0600; its directory is made where it is the first one."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        private.directory(Path(path).parent)
        descriptor = os.open(path, flags, 0o600)
    try:
        view = memoryview(body)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)
