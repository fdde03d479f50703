"""Content codings, undone piece by piece and never further than there is room.

gzip (RFC 1952, several members in a row too) and deflate, which is zlib's format (RFC 1950) and, as
some servers have it, the raw one (RFC 1951). We ask for no other: a decoder for br would be one
more dependency that reads what strangers send.
"""

import zlib
from typing import Final

ACCEPTED: Final = "gzip, deflate"

_MEMBERS: Final = 64  # more members than a file ever had, few enough to cost nothing
_GZIP: Final = 16 + zlib.MAX_WBITS
_PADDING: Final = b"\0"
_GZIP_MAGIC: Final = b"\x1f"


class Undecodable(Exception):
    """A body that is not what its head says, or in a coding that we did not ask for."""


class Inflate:
    """One body's decoder. The text that it gives is never longer than the room that it is given."""

    def __init__(self, coding: str) -> None:
        self.junk = False  # what followed the stream was neither padding nor more of it
        self._coding = coding
        self._members = 0
        self._engine: zlib._Decompress | None = None

    def feed(self, data: bytes, room: int) -> bytes:
        """Decode the next piece into at most `room` bytes; what has no room is dropped.

        So whoever fills the room knows that the body is too big, and stops. Raises Undecodable.
        """
        pieces: list[bytes] = []
        while data and room > 0 and not self.junk:
            if self._engine is None or self._engine.eof:
                if self._engine is not None:
                    data = data.lstrip(_PADDING)
                    self.junk = bool(data) and not self._continues(data)
                if not data or self.junk:
                    break
                self._engine = self._next(data)
            try:
                piece = self._engine.decompress(data, room)
            except zlib.error as error:
                raise Undecodable(f"not {self._coding}: {error}") from error
            pieces.append(piece)
            room -= len(piece)
            data = self._engine.unused_data if self._engine.eof else self._engine.unconsumed_tail
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def finish(self) -> None:
        """Check at the end of the body that nothing is missing. Raises Undecodable."""
        if self._engine is not None and not self._engine.eof:
            raise Undecodable(f"the {self._coding} stream ends early")

    def _continues(self, data: bytes) -> bool:
        """Whether another member begins here."""
        return self._coding == "gzip" and data.startswith(_GZIP_MAGIC)

    def _next(self, data: bytes) -> "zlib._Decompress":
        self._members += 1
        if self._members > _MEMBERS:
            raise Undecodable(f"more than {_MEMBERS} gzip members")
        if self._coding == "gzip":
            return zlib.decompressobj(_GZIP)
        # zlib's first byte has the method, 8, in its lower half (RFC 1950, section 2.2)
        return zlib.decompressobj(zlib.MAX_WBITS if data[0] & 15 == 8 else -zlib.MAX_WBITS)


def framed(transfer_encoding: str | None) -> None:
    """See that a body comes as it is, or in chunks, which aiohttp undoes (RFC 9112, section 6.1).

    We send no TE field, so no other transfer coding may be used. Raises Undecodable.
    """
    if transfer_encoding is None:
        return
    codings = _codings(transfer_encoding)
    if codings not in ([], ["chunked"]):
        raise Undecodable(f"transfer coding {', '.join(codings)!a:.80} was not asked for")


def decoder(content_encoding: str | None) -> Inflate | None:
    """The decoder for a Content-Encoding field; None where there is nothing to undo.

    Raises Undecodable for a coding that we did not ask for.
    """
    if content_encoding is None:
        return None
    match _codings(content_encoding):
        case []:
            return None
        case ["gzip" | "x-gzip"]:
            return Inflate("gzip")
        case ["deflate"]:
            return Inflate("deflate")
        case others:
            raise Undecodable(f"content coding {', '.join(others)!a:.80} was not asked for")


def _codings(field: str) -> list[str]:
    codings = [coding.strip().lower() for coding in field.split(",")]
    return [coding for coding in codings if coding not in ("", "identity")]
