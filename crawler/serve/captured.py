"""A request as it was captured from the wire, byte for byte (RFC 9112).

Read strictly where two readers could take it for two requests, since then nobody could say which
of them was signed; leniently only in what captures do: LF for CRLF, no blank line at the end, and a
newline behind a request that has no body.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from crawler.problems import Problem
from signing.errors import SigningError
from signing.message import Message

_NAME: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST_LINE: Final = re.compile(rf"({_NAME}) ([!-~\x80-\xff]+) HTTP/\d(?:\.\d)?")
_FIELD: Final = re.compile(rf"({_NAME}):(.*)")
_CONTROL: Final = re.compile(r"[\0-\x08\x0a-\x1f\x7f]")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CHUNK_END: Final = re.compile(rb"\r?\n")
_TRAILERS: Final = re.compile(rb"(?:[^\r\n]++\r?\n)*+(?:\r?\n)?+\s*+")
_FIRST_LINE: Final = "the first line is, for example: GET /page HTTP/1.1"


class RequestUnreadable(Problem):
    """What was captured is no HTTP request, or could be read as several."""


@dataclass(frozen=True, slots=True)
class Captured:
    """A request and its body, without transfer coding; `whole` is one whose head had an end."""

    message: Message
    content: bytes
    whole: bool = True


def parse(data: bytes, scheme: str) -> Captured:
    """Read one request, which came over `scheme` (https or http). Raises RequestUnreadable.

    A target in absolute form says the scheme itself, and the host whatever Host says (RFC 9112,
    section 3.2.2).
    """
    begun = data.lstrip(b"\r\n")
    lines, rest, whole = _head(begun)
    first = data.count(b"\n", 0, len(data) - len(begun)) + 1
    if not lines:
        raise RequestUnreadable("there is no request: it is empty", _FIRST_LINE)
    if (line := _REQUEST_LINE.fullmatch(lines[0])) is None:
        copied = lines[0].startswith((">", "<"))
        raise RequestUnreadable(
            f"line {first}: {lines[0]!a:.60} is no request line",
            "take away what curl puts before each line: sed 's/^> //'" if copied else _FIRST_LINE,
        )
    method, target = line.groups()
    fields = _fields(lines[1:], first + 1)
    where = _where(method, target, scheme, fields, first)
    try:
        message = Message(
            method=method, scheme=where[0], authority=where[1], target=target, fields=fields
        )
    except SigningError as error:
        raise RequestUnreadable(f"line {first}: {error}") from error
    return Captured(message, _content(rest, message), whole)


def _head(data: bytes) -> tuple[list[str], bytes, bool]:
    """The lines before the first empty one, the bytes behind it, and whether there is one."""
    lines: list[str] = []
    at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        text = data[at:end].removesuffix(b"\r").decode("latin-1")
        at = end + 1
        if not text:
            return lines, data[at:], True
        lines.append(text)
    return lines, b"", False


def _fields(lines: list[str], first: int) -> tuple[tuple[str, str], ...]:
    fields: list[tuple[str, list[str]]] = []  # joined at the end: a field may have many lines
    for number, line in enumerate(lines, start=first):
        if _CONTROL.search(line):
            raise RequestUnreadable(f"line {number}: there is a control character in it")
        if line[0] in " \t" and fields:  # obsolete line folding (RFC 9112, section 5.2)
            fields[-1][1].append(line.strip(" \t"))
        elif (match := _FIELD.fullmatch(line)) is not None:
            fields.append((match[1], [match[2].strip(" \t")]))
        else:
            raise RequestUnreadable(
                f"line {number}: {line!a:.60} is no field",
                "a field is a name, a colon at once behind it, and a value",
            )
    return tuple((name, " ".join(filter(None, pieces))) for name, pieces in fields)


def _where(
    method: str, target: str, scheme: str, fields: tuple[tuple[str, str], ...], line: int
) -> tuple[str, str]:
    """Scheme and authority of a request."""
    hosts = [value for name, value in fields if name.lower() == "host"]
    if len(hosts) > 1:
        raise RequestUnreadable(
            f"Host stands {len(hosts)} times", "servers refuse that (RFC 9112, section 3.2)"
        )
    if target.startswith("/") or (method, target) == ("OPTIONS", "*") or method == "CONNECT":
        if not hosts or not hosts[0]:
            raise RequestUnreadable(
                "there is no Host", "the signature covers it as @authority: Host: shop.example"
            )
        return scheme, hosts[0]
    try:
        url = urlsplit(target)
        if url.scheme.lower() in ("https", "http") and url.netloc:
            return url.scheme.lower(), url.netloc
    except ValueError as error:
        raise RequestUnreadable(f"line {line}: {target!a:.60}: {error}") from error
    raise RequestUnreadable(
        f"line {line}: {target!a:.60} is no target", "it begins with / or with https://"
    )


def _content(rest: bytes, message: Message) -> bytes:
    length, coding = message.field("content-length"), message.field("transfer-encoding")
    if coding is not None and length is not None:
        raise RequestUnreadable("Content-Length and Transfer-Encoding: two readers, two bodies")
    if coding is not None:
        if coding.lower() != "chunked":
            raise RequestUnreadable(f"Transfer-Encoding {coding!a:.60} cannot be undone")
        return _unchunked(rest)
    if length is not None and not (length.isascii() and length.isdigit()):
        raise RequestUnreadable(f"Content-Length {length!a:.60} is no number")
    size = int(length[:12]) if length is not None else 0
    if len(rest) < size:
        raise RequestUnreadable(
            f"the body is cut short: {len(rest)} bytes of {size}", "capture the request as a whole"
        )
    if rest[size:].strip():
        said = (
            f"its {size} bytes of body" if length is not None else "the head, and no field says so"
        )
        raise RequestUnreadable(f"there are bytes behind {said}", "one request, please")
    return rest[:size]


def _unchunked(rest: bytes) -> bytes:
    """The body in chunks (RFC 9112, section 7.1)."""
    pieces: list[bytes] = []
    at = 0
    while (size := _CHUNK.match(rest, at)) is not None:
        length = int(size[1], 16)
        if not length:
            if _TRAILERS.fullmatch(rest, size.end()) is None:
                raise RequestUnreadable("there are bytes behind the last chunk")
            return b"".join(pieces)
        end = _CHUNK_END.match(rest, size.end() + length)
        if end is None:
            raise RequestUnreadable(f"chunk {len(pieces) + 1} is not as long as it says")
        pieces.append(rest[size.end() : size.end() + length])
        at = end.end()
    raise RequestUnreadable(
        f"chunk {len(pieces) + 1} has no size", "capture the request as a whole"
    )
