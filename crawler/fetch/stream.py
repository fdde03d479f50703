"""Reading a body: no further than a cap on its decoded bytes, and not for ever."""

import asyncio
from typing import Final

from aiohttp import StreamReader
from msgspec import Struct

from crawler.fetch.decoding import Inflate

WINDOW: Final = 30.0  # seconds over which a body's rate is taken


class Body(Struct, frozen=True):
    """What was read. `cut` says that there was more than the cap, of which `data` has the start."""

    data: bytes
    cut: bool


class Trickle:
    """Watches how fast a body comes in, and lets its `limit` pass where that is too slow.

    `rate` is in bytes a second as they come over the wire, taken over each `window` of seconds.
    """

    __slots__ = ("_handle", "_least", "_limit", "_loop", "_window", "received", "too_slow")

    def __init__(self, limit: asyncio.Timeout, rate: float, window: float = WINDOW) -> None:
        self.received = 0  # bytes in the window that is open
        self.too_slow = False
        self._limit = limit
        self._least = rate * window
        self._window = window
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Open a window."""
        self.received = 0
        self._handle = self._loop.call_later(self._window, self._look)

    def stop(self) -> None:
        """Stop watching."""
        if self._handle is not None:
            self._handle.cancel()

    def _look(self) -> None:
        if self.received >= self._least:
            self.start()
        elif not self._limit.expired():
            self.too_slow = True
            self._limit.reschedule(self._loop.time())


async def read(content: StreamReader, cap: int, inflate: Inflate | None, trickle: Trickle) -> Body:
    """Read a body to its end, or to the piece of it that passes `cap` decoded bytes.

    A bomb is never inflated past the cap: the decoder gets no more room than is left. Raises
    Undecodable, and what aiohttp raises for a body that breaks off.
    """
    pieces: list[bytes] = []
    size = 0
    if not content.is_eof():  # else the whole body came with the head
        trickle.start()
    try:
        while not content.at_eof():
            piece = await content.readany()
            trickle.received += len(piece)
            if inflate is not None:
                piece = inflate.feed(piece, cap + 1 - size)
            size += len(piece)
            pieces.append(piece)
            if size > cap:
                return Body(b"".join(pieces)[:cap], cut=True)
    finally:
        trickle.stop()
    if inflate is not None:
        inflate.finish()
    return Body(pieces[0] if len(pieces) == 1 else b"".join(pieces), cut=False)
