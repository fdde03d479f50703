"""How a server's question comes over the wire: an HTTP head without a body, and a short answer.

aiohttp refuses some of what nginx passes on of people's requests (control bytes in a Cookie, two
User-Agent lines, more than 128 fields), and the site would then answer 500. Here each octet is read
as it stands: a value that nobody could have signed is the verifier's to refuse. Nothing of a
question is ever written to stderr. An answer that waits for nothing is given in the same turn of
the loop.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from crawler import diagnostics
from crawler.serve import brief

_END: Final = b"\r\n\r\n"
_LONGEST: Final = 1_048_576  # bytes of a head; nginx lets 32 kB through unless told otherwise
_IDLE: Final = 3600.0  # seconds; longer than any server keeps a connection that it does not use
_LINGER: Final = 2.0  # seconds to take what we do not want, so that the answer is not lost
_ENDING: Final = 1.0  # seconds for the last answers
_WAITING: Final = 512  # connections


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request by a server; octets of its fields that are no UTF-8 are surrogates (PEP 383)."""

    method: str
    path: str
    fields: tuple[tuple[str, str], ...]
    last: bool  # nothing is read of this connection afterwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server is told."""

    status: int
    fields: Mapping[str, str] = field(default_factory=dict)
    text: str = ""


Answering = Callable[[Question], Answer | Coroutine[None, None, Answer]]
"""Who answers: at once, or later where somebody has to be waited for."""


def read(head: bytes) -> Question | None:
    """Read a head with the empty line at its end; None where it is none (RFC 9112)."""
    text = head.removesuffix(_END).decode("utf-8", "surrogateescape")
    start, *lines = text.split("\r\n")
    if not text.count("\r") == text.count("\n") == len(lines):
        return None  # two readers would not agree where a line ends
    method, _, rest = start.partition(" ")
    path, _, version = rest.partition(" ")
    if not (method and path) or version not in ("HTTP/1.1", "HTTP/1.0"):
        return None
    fields = []
    last, body = version == "HTTP/1.0", False
    for line in lines:
        name, colon, value = line.partition(":")
        if not (colon and name) or name[0] in " \t":
            return None
        value = value.strip(" \t")
        fields.append((name, value))
        match name.lower():
            case "connection":
                last = "close" in value.lower() or (last and "keep-alive" not in value.lower())
            case "content-length":
                body = body or value != "0"
            case "transfer-encoding":
                body = True
    return Question(method=method, path=path, fields=tuple(fields), last=last or body)


def written(answer: Answer, *, last: bool, head_only: bool = False) -> bytes:
    """The octets of an answer, which no cache may keep."""
    body = answer.text.encode()
    lines = [
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        *(f"{name}: {_value(value)}" for name, value in answer.fields.items()),
        "Cache-Control: no-store",
        f"Content-Length: {len(body)}",
        f"Connection: {'close' if last else 'keep-alive'}",
    ]
    return "\r\n".join(lines).encode("ascii") + _END + (b"" if head_only else body)


def _value(value: str) -> str:
    if value.isascii() and value.isprintable():
        return value
    return "".join(one if one.isascii() and one.isprintable() else "?" for one in value)


@asynccontextmanager
async def answering(answer: Answering, host: str, port: int) -> AsyncIterator[asyncio.Server]:
    """Listen there and answer while the context lasts. Raises OSError where nothing can listen."""
    talks: set[_Talk] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Talk(answer, talks), host, port, backlog=_WAITING)
    try:
        yield server
    finally:
        server.close()
        tasks = [task for talk in tuple(talks) if (task := talk.abandon()) is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=_ENDING)


class _Talk(asyncio.Protocol):
    """One connection: a question, its answer, the next question."""

    def __init__(self, answer: Answering, talks: "set[_Talk]") -> None:
        self._answer = answer
        self._talks = talks
        self._loop = asyncio.get_running_loop()
        self._came = bytearray()
        self._looked = 0  # octets in which no head ends
        self._task: asyncio.Task[None] | None = None  # makes the answer that is waited for
        self._over = False  # nothing is read any more
        self._full = False  # who asks does not take the answers
        self._ended = False  # who asks has said all
        self._used = self._loop.time()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - it is a stream
        self._wire = transport
        self._talks.add(self)
        self._timer = self._loop.call_later(_IDLE, self._idle)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio says why
        self._over = True
        self._timer.cancel()
        self._talks.discard(self)
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        self._came += data
        self._next()
        if self._task is not None and len(self._came) > _LONGEST:
            self._wire.pause_reading()

    def eof_received(self) -> bool:
        self._ended = True
        return self._task is not None or self._full  # whoever asked still listens

    def pause_writing(self) -> None:
        self._full = True
        self._wire.pause_reading()

    def resume_writing(self) -> None:
        self._full = False
        self._go_on()

    def abandon(self) -> asyncio.Task[None] | None:
        """End the connection; the task that ends with it, if there is one."""
        if self._task is not None:
            self._task.cancel()
        self._wire.abort()
        return self._task

    def _next(self) -> None:
        """Answer what has come, as far as nothing has to be waited for."""
        while not (self._task or self._over or self._full):
            end = self._came.find(_END, self._looked)
            if max(end, len(self._came) if end < 0 else 0) > _LONGEST:
                self._say(Answer(status=431, text=f"more than {_LONGEST} bytes\n"), None)
                return
            if end < 0:
                self._looked = max(0, len(self._came) - len(_END) + 1)
                return
            head = bytes(self._came[: end + len(_END)])
            del self._came[: end + len(_END)]
            self._looked = 0
            question = read(head)
            if question is None:
                self._say(Answer(status=400, text="no HTTP request can be read here\n"), None)
                return
            try:
                found = self._answer(question)
            except Exception as error:
                found = _mistaken(error)
            if isinstance(found, Answer):
                self._say(found, question)
            else:
                self._task = self._loop.create_task(self._later(found, question))

    async def _later(self, coming: Coroutine[None, None, Answer], question: Question) -> None:
        try:
            found = await coming
        except Exception as error:
            found = _mistaken(error)
        self._task = None
        self._say(found, question)
        if not self._full:
            self._go_on()

    def _go_on(self) -> None:
        """Read again what was left, after an answer or once the answers are taken."""
        self._next()
        if self._task is not None or self._full:
            return
        if self._ended:
            self._wire.close()
        else:
            self._wire.resume_reading()

    def _say(self, found: Answer, question: Question | None) -> None:
        last = question is None or question.last
        head_only = question is not None and question.method == "HEAD"
        self._used = self._loop.time()
        self._wire.write(written(found, last=last, head_only=head_only))
        if last and not self._wire.is_closing():
            self._over = True
            self._wire.write_eof()
            self._loop.call_later(_LINGER, self._wire.close)

    def _idle(self) -> None:
        left = self._used + _IDLE - self._loop.time()
        if left > 0 or self._task is not None:
            self._timer = self._loop.call_later(max(left, 1.0), self._idle)
        else:
            self._wire.close()


def _mistaken(error: Exception) -> Answer:
    diagnostics.logger().error("a question was not answered", error=brief.what(error))
    return Answer(status=500, text="this is the gate's own mistake; its log has the place\n")
