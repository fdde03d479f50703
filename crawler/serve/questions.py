"""How a server's question comes over the wire: an HTTP head without a body, and a short answer.

aiohttp refuses some of what nginx passes on of people's requests (control bytes in a Cookie, two
User-Agent lines, more than 128 fields), and the site would then answer 500. Here each octet is read
as it stands: a value that nobody could have signed is the verifier's to refuse. Nothing of a
question is ever written to stderr.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
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


Answering = Callable[[Question], Awaitable[Answer]]


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
    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):  # whoever asked has gone
                await _talk(answer, reader, writer)
        finally:
            writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(talk(reader, writer))
        talks.add(task)
        task.add_done_callback(talks.discard)

    server = await asyncio.start_server(begin, host, port, limit=_LONGEST, backlog=_WAITING)
    try:
        yield server
    finally:
        server.close()
        if talks:
            left = set(talks)
            for one in left:
                one.cancel()
            await asyncio.wait(left, timeout=_ENDING)


async def _talk(
    answer: Answering, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    last = False
    while not last:
        try:
            async with asyncio.timeout(_IDLE):
                head = await reader.readuntil(_END)
        except (asyncio.IncompleteReadError, TimeoutError):
            return
        except asyncio.LimitOverrunError:
            question, found = None, Answer(status=431, text=f"more than {_LONGEST} bytes\n")
        else:
            question = read(head)
            found = await _answer(answer, question)
        last = question is None or question.last
        head_only = question is not None and question.method == "HEAD"
        writer.write(written(found, last=last, head_only=head_only))
        await writer.drain()
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER):
            while await reader.read(65_536):
                pass


async def _answer(answer: Answering, question: Question | None) -> Answer:
    if question is None:
        return Answer(status=400, text="no HTTP request can be read here\n")
    try:
        return await answer(question)
    except Exception as error:
        diagnostics.logger().error("a question was not answered", error=brief.what(error))
        return Answer(status=500, text="this is the gate's own mistake; its log has the place\n")
