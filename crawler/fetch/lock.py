"""One crawl at a time in a state directory."""

import fcntl
import os
from pathlib import Path
from types import TracebackType

from crawler.fetch import private
from crawler.fetch.errors import AnotherRun, StateUnusable


class RunLock:
    """Holds `directory` for this process while the `with` block runs.

    Raises AnotherRun where another process holds it. The kernel lets go of it when the process
    dies, however it dies; so the file stays, and its being there means nothing.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / "lock"
        self._descriptor = -1

    def __enter__(self) -> "RunLock":
        try:
            private.directory(self.path.parent)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StateUnusable(
                self.path,
                f"cannot be opened: {error.strerror}",
                f"make {self.path.parent} a directory that this user may write to",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            said = os.read(descriptor, 20).strip()
            os.close(descriptor)
            raise AnotherRun(self.path, int(said) if said.isdigit() else None) from error
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:
            os.close(descriptor)
            raise StateUnusable(
                self.path, f"cannot be written: {error.strerror}", "make room on its disk"
            ) from error
        self._descriptor = descriptor
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
