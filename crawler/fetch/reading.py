"""What of an answer is read: a page that we asked for, a robots.txt, the beginning of a refusal."""

from hashlib import sha256
from typing import Final

from aiohttp import ClientResponse

from crawler.events import Kind, Outcome, Stage
from crawler.fetch import decoding, redaction, stream
from crawler.fetch.answer import essence
from crawler.fetch.decoding import Undecodable
from crawler.fetch.stream import Body, Trickle
from crawler.fetch.trip import Ending, Trip
from crawler.polite.frontier import FetchTask
from crawler.polite.robots_groups import LIMIT as ROBOTS_LIMIT
from crawler.settings import Politeness

REFUSAL: Final = 2_048  # bytes of a refusal that are kept

_REFUSAL_READ: Final = 8_192  # bytes of one that are read: it may begin with an echo of ours
_BODILESS: Final = (204, 205)
_PARTIAL: Final = 206
_OBJECTION: Final = b"invalid:"  # begins a 200 by which a verifier refuses
_TEXTS: Final = ("text/", "application/json", "application/xml", "application/problem")
_TEXT_SUFFIXES: Final = ("+json", "+xml")


async def read(
    response: ClientResponse, trip: Trip, task: FetchTask, politeness: Politeness, trickle: Trickle
) -> Ending:
    """Read what is worth reading of an answer; a body that is not read ends its connection.

    Raises Undecodable, ConnectionResetError, and what aiohttp raises for a body that breaks off.
    """
    answer = trip.answer
    if answer.status is not None and answer.status >= 400:
        return await _refusal(response, trip, trickle)
    if not answer.succeeded or answer.status in _BODILESS:
        return Ending(outcome=Outcome.ANSWERED, detail=answer.withheld)
    if answer.status == _PARTIAL:  # nobody asked for a range; the rest may be what closes the site
        return Ending(outcome=Outcome.FAILED, stage=Stage.BODY, detail="206: only a part of it")
    decoding.framed(answer.transfer_encoding)
    inflate = decoding.decoder(answer.content_encoding)
    if task.kind is Kind.ROBOTS:
        body = await stream.read(response.content, ROBOTS_LIMIT + 1, inflate, trickle)
        if inflate is not None and inflate.junk:  # of a page that is cut off, as browsers do
            raise Undecodable("what follows the compressed stream is no part of it")
        detail = f"longer than {ROBOTS_LIMIT} bytes" if body.cut else ""
        return _whole(response, trip, body, detail)
    if answer.media_type not in politeness.types:
        shown = essence(answer.content_type)
        return Ending(outcome=Outcome.WRONG_TYPE, detail=shown or "no content type")
    body = await stream.read(response.content, politeness.body_limit, inflate, trickle)
    if body.cut:
        return Ending(
            outcome=Outcome.TOO_BIG,
            detail=f"more than {politeness.body_limit} bytes",
            body_bytes=len(body.data),
        )
    return _whole(response, trip, body)


def _whole(response: ClientResponse, trip: Trip, body: Body, detail: str = "") -> Ending:
    if not body.cut and _broke_off(response, trip):
        raise ConnectionResetError("reset inside the body")
    data = body.data
    return Ending(
        outcome=Outcome.ANSWERED,
        detail=detail,
        body=data,
        body_bytes=len(data),
        digest=sha256(data).hexdigest(),
        refusal=_kept(data, trip) if data[: len(_OBJECTION)].lower() == _OBJECTION else "",
    )


def _broke_off(response: ClientResponse, trip: Trip) -> bool:
    """Whether a body whose end only the connection's end tells was cut by a reset."""
    if "Content-Length" in response.headers or "Transfer-Encoding" in response.headers:
        return False  # aiohttp counts
    line = trip.flight.line
    return line is not None and isinstance(line.problem(), OSError)


async def _refusal(response: ClientResponse, trip: Trip, trickle: Trickle) -> Ending:
    media_type = trip.answer.media_type
    if media_type and not media_type.startswith(_TEXTS) and not media_type.endswith(_TEXT_SUFFIXES):
        return Ending(outcome=Outcome.ANSWERED)
    decoding.framed(trip.answer.transfer_encoding)
    inflate = decoding.decoder(trip.answer.content_encoding)
    body = await stream.read(response.content, _REFUSAL_READ, inflate, trickle)
    return Ending(outcome=Outcome.ANSWERED, refusal=_kept(body.data, trip))


def _kept(data: bytes, trip: Trip) -> str:
    """The beginning of a refusal's text, our own values taken out."""
    text = redaction.without(data[:_REFUSAL_READ], trip.ours)
    return text[:REFUSAL].decode("utf-8", "replace")
