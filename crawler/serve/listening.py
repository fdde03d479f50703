"""What our servers share: until when they listen, and what is said where nothing can."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from crawler.problems import Problem


class AddressUnusable(Problem):
    """Nothing can listen there."""


def asked_to_end() -> asyncio.Event:
    """Set by SIGINT and SIGTERM."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    return ended


@contextmanager
def at(host: str, port: int) -> Iterator[None]:
    """Raises AddressUnusable for an OSError inside."""
    try:
        yield
    except OSError as error:
        raise AddressUnusable(
            f"cannot listen at {host} port {port}: {error.strerror}",
            "choose others by --host and --port; 0 takes a free port",
        ) from error
