"""A server that keeps each request head exactly as it came, and answers what a test scripts.

It runs in threads, so that a test may sit in an event loop or wait for a child process. Bytes go
in and out untouched: an answer may break every rule of HTTP.
"""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus


class Then(StrEnum):
    """What becomes of the connection after an answer."""

    KEEP = "keep"
    CLOSE = "close"
    RESET = "reset"


@dataclass(frozen=True, kw_only=True)
class Captured:
    """One request, as it came."""

    head: bytes  # from the request line to the blank line, that included
    body: bytes
    connection: int  # counts from 0
    at: float  # Unix time at which the head was complete

    @property
    def method(self) -> str:
        """The request line's first word."""
        return self._line[0]

    @property
    def target(self) -> str:
        """The request line's second word."""
        return self._line[1]

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """Each field line in order, names as they were sent, bytes as Latin-1."""
        lines = self.head.decode("latin-1").split("\r\n")[1:-2]
        pairs = (line.partition(":") for line in lines)
        return tuple((name, value.strip(" \t")) for name, _, value in pairs)

    def field(self, name: str) -> str | None:
        """Give the combined value of a field, or None where it was not sent."""
        values = [value for other, value in self.fields if other.lower() == name.lower()]
        return ", ".join(values) if values else None

    @property
    def _line(self) -> list[str]:
        return self.head.partition(b"\r\n")[0].decode("latin-1").split(" ")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Bytes to send in pieces, the pause in seconds between two of them, and how it ends."""

    pieces: tuple[bytes, ...] = ()
    pause: float = 0.0
    then: Then = Then.KEEP


def respond(
    status: int, *fields: tuple[str, str], body: bytes = b"", then: Then = Then.KEEP
) -> Answer:
    """Make a well-formed answer with its Content-Length."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    return Answer(pieces=("\r\n".join((*lines, "", "")).encode("latin-1") + body,), then=then)


@dataclass(frozen=True, kw_only=True)
class CapturingServer:
    """What came in so far, in the order in which the heads were complete."""

    address: str
    port: int
    requests: list[Captured] = field(default_factory=list)

    def url(self, target: str = "/") -> str:
        """Give the URL of a target."""
        return f"http://{self.address}:{self.port}{target}"


@contextmanager
def capturing(
    answer: Callable[[Captured], Answer], address: str = "127.0.0.1"
) -> Iterator[CapturingServer]:
    """Answer each request as `answer` says while the context lasts, and keep what came."""
    with socket.create_server((address, 0), backlog=128) as listener:
        server = CapturingServer(address=address, port=int(listener.getsockname()[1]))
        door = _Door(listener, server, answer)
        door.thread.start()
        try:
            yield server
        finally:
            door.close()


class _Door:
    """The threads behind one listening socket, and how to end them all."""

    def __init__(
        self,
        listener: socket.socket,
        server: CapturingServer,
        answer: Callable[[Captured], Answer],
    ) -> None:
        self.listener, self.server, self.answer = listener, server, answer
        self.thread = threading.Thread(target=self._accept, name="capture")
        self.ending = threading.Event()
        self.guests: list[tuple[threading.Thread, socket.socket]] = []

    def close(self) -> None:
        self.ending.set()
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self.thread.join()
        for guest, connection in self.guests:
            _end(connection)
            guest.join()

    def _accept(self) -> None:
        while not self.ending.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:  # close() has shut the listener
                return
            number = len(self.guests)
            guest = threading.Thread(target=self._talk, args=(connection, number), name="guest")
            self.guests.append((guest, connection))
            guest.start()

    def _talk(self, connection: socket.socket, number: int) -> None:
        with connection:
            try:
                unread = b""
                while (read := _read(connection, unread)) is not None:
                    head, body, unread = read
                    request = Captured(head=head, body=body, connection=number, at=time.time())
                    self.server.requests.append(request)
                    if not self._send(connection, self.answer(request)):
                        return
            except OSError:  # the client went away, or close() has shut this connection
                return

    def _send(self, connection: socket.socket, answer: Answer) -> bool:
        """Send an answer; false when the connection ends with it."""
        for number, piece in enumerate(answer.pieces):
            if number and self.ending.wait(answer.pause):
                return False
            connection.sendall(piece)
        if answer.then is Then.RESET:
            # lingering for zero seconds makes close() send RST instead of FIN
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return answer.then is Then.KEEP


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it has ended by itself
        return


def _read(connection: socket.socket, unread: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Read a head, its body and what came after them; None when the client has ended."""
    while b"\r\n\r\n" not in unread:
        if not (piece := connection.recv(65536)):
            return None
        unread += piece
    head, _, rest = unread.partition(b"\r\n\r\n")
    head += b"\r\n\r\n"
    length = _content_length(head)
    while len(rest) < length:
        if not (piece := connection.recv(65536)):
            return None
        rest += piece
    return head, rest[:length], rest[length:]


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return 0
