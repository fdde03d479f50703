"""How a request ended that did not go well: how far it came, told from what was raised."""

import re
from typing import Final

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientConnectorSSLError,
    ClientError,
    ClientOSError,
    ClientResponseError,
    ServerDisconnectedError,
)

from crawler.events import Outcome, Stage
from crawler.fetch import redaction
from crawler.fetch.decoding import Undecodable
from crawler.fetch.keystate import KeysUnusable
from crawler.fetch.middleware import HeadTooLarge
from crawler.fetch.trip import Ending, Trip
from crawler.problems import place
from signing.errors import ComponentUnavailable

LONGEST: Final = 200  # characters of what a failure said

_NOT_SHOWN: Final = re.compile(r"\s+|[^\x20-\x7e]+")
# With these a connection ends that has been made: in a handshake.
_ENDED: Final = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)


def ending(error: Exception, trip: Trip) -> Ending:
    """What a request ended in that raised `error`."""
    match error:
        case HeadTooLarge():
            return _not_sent(Stage.HEADER_LIMIT, str(error))
        case KeysUnusable():  # that ends the crawl, and the page stays due
            return Ending(outcome=Outcome.CANCELLED, detail=_words(str(error)))
        case ComponentUnavailable():
            return _not_sent(None, str(error))
        case ClientOSError() if trip.flight.refused is not None and not trip.flight.opened:
            return _not_sent(Stage.ADDRESS, trip.flight.refused)
        case Undecodable():
            return cut_short(Stage.BODY, str(error), trip)
        case ClientError() | OSError() if trip.response is not None:
            return cut_short(Stage.BODY, said(error), trip)
        case ClientError() | OSError():
            stage, detail = _before_the_head(error, trip)
            return Ending(outcome=Outcome.FAILED, stage=stage, detail=_ours_out(detail, trip))
        case _:  # our own mistake; its message may quote what is secret
            return Ending(outcome=Outcome.INTERNAL, detail=place(error))


def cut_short(stage: Stage, detail: str, trip: Trip) -> Ending:
    """The ending of a request whose answer was not read to its end.

    A refusal or a redirect counts as soon as its head is here.
    """
    if trip.answer.status is None or trip.answer.succeeded:
        return Ending(outcome=Outcome.FAILED, stage=stage, detail=_ours_out(detail, trip))
    return Ending(outcome=Outcome.ANSWERED, detail=_ours_out(f"{stage}: {detail}", trip))


def out_of_time(trip: Trip, seconds: float) -> Ending:
    """The ending of a request that took longer than its deadline of so many seconds."""
    if trip.flight.connected:
        return cut_short(Stage.DEADLINE, f"not whole within {seconds:g} s", trip)
    stage = Stage.CONNECT if trip.flight.opened else Stage.DNS
    detail = f"no connection within {seconds:g} s"
    return Ending(outcome=Outcome.FAILED, stage=stage, detail=detail)


def stopped(trip: Trip) -> Ending:
    """The ending of a request that was under way when the crawl was asked to end."""
    if trip.answer.status is None or trip.answer.succeeded:
        return Ending(outcome=Outcome.CANCELLED, detail="the crawl was asked to end")
    return Ending(outcome=Outcome.ANSWERED)


def said(error: Exception) -> str:
    """What an exception said, in one line that can stand in a log."""
    if isinstance(error, OSError) and error.strerror:
        return _words(error.strerror)
    return _words(str(error)) or type(error).__name__


def _not_sent(stage: Stage | None, detail: str) -> Ending:
    return Ending(outcome=Outcome.NOT_SENT, stage=stage, detail=_words(detail))


def _before_the_head(error: ClientError | OSError, trip: Trip) -> tuple[Stage, str]:
    flight = trip.flight
    match error:
        case ClientConnectorDNSError():
            return Stage.DNS, said(error.os_error)
        case ClientConnectorCertificateError():
            return Stage.TLS, said(error.certificate_error)
        case ClientConnectorSSLError():
            return Stage.TLS, said(error.os_error)
        case ClientConnectorError() if flight.tls and isinstance(error.os_error, _ENDED):
            return Stage.TLS, said(error.os_error)
        case ClientConnectorError():
            return Stage.CONNECT, said(error.os_error)
        case ClientResponseError():
            return Stage.HEAD, _words(error.message)
        case ServerDisconnectedError() if not isinstance(error.message, str):
            return Stage.HEAD, "closed before the head was whole"
        case _ if not flight.connected:
            return Stage.CONNECT, said(error)
        case _ if flight.reused:
            return Stage.STALE_CONNECTION, said(error)
        case _:
            return Stage.FIRST_BYTE, said(error)


def _ours_out(detail: str, trip: Trip) -> str:
    """What was said, without values of ours that it quotes."""
    left = redaction.without(detail.encode("utf-8", "replace"), trip.ours)
    return left.decode("utf-8", "replace")[:LONGEST]


def _words(text: str) -> str:
    return _NOT_SHOWN.sub(" ", text).strip()
