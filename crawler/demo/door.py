"""An origin's door: looks at the card, writes down who came and when, then behaves as it does."""

import asyncio
import socket
import struct
import time
from collections.abc import Callable
from typing import assert_never

from aiohttp.web import BaseRequest, Response, StreamResponse
from msgspec.structs import replace

from crawler.demo.ledger import Head, Ledger
from crawler.demo.reply import Answer, Ask, Drip, Manner, Reset
from signing.budget import head_size
from signing.errors import SigningError
from signing.message import Message
from signing.verifier import Verification

Verify = Callable[[Message], Verification]

_AT_ONCE = struct.pack("ii", 1, 0)  # lingering for no second makes close() send RST, not FIN


class Door:
    """Answers the requests to one origin."""

    def __init__(self, ledger: Ledger, manner: Manner, verify: Verify) -> None:
        self._ledger = ledger
        self._manner = manner
        self._verify = verify

    async def __call__(self, request: BaseRequest) -> StreamResponse:
        """Judge, write down, answer."""
        now = time.monotonic()
        head = read(request, self._verify)
        number = self._ledger.arrive(head, now)
        try:
            return await self._answer(request, head, number)
        except ConnectionError:
            return Response()  # nobody is there to read it
        finally:
            self._ledger.close(number)

    async def _answer(self, request: BaseRequest, head: Head, number: int) -> StreamResponse:
        ledger, wall = self._ledger, time.time()
        reply = self._manner(
            Ask(
                target=head.target,
                labels=head.labels,
                verified=head.verified,
                algorithms=head.algorithms,
                size=head.size,
                now=wall,
                visit=ledger.visits(head.target),
                turn=ledger.turns,
                fields={name.lower(): value for name, value in request.headers.items()},
            )
        )
        match reply:
            case Answer():
                await asyncio.sleep(reply.after)
                response: StreamResponse = Response(
                    status=reply.status,
                    body=reply.body if reply.status != 304 else None,
                    headers={"Content-Type": reply.type, **dict(reply.fields)},
                )
                if reply.last:
                    response.force_close()
                await response.prepare(request)
                now = time.monotonic()
                ledger.reply(number, reply, now, time.time())
                ledger.sent(number, now)
                await response.write_eof()
                return response
            case Drip():
                response = StreamResponse(headers={"Content-Type": "text/html"})
                ledger.reply(number, Answer(), time.monotonic(), wall)
                await response.prepare(request)
                while True:  # until the other side has enough of it
                    ledger.sent(number, time.monotonic())
                    await response.write(reply.piece)
                    await asyncio.sleep(reply.every)
            case Reset():
                ledger.reply(number, None, time.monotonic(), wall)
                ledger.sent(number, time.monotonic())
                _reset(request.transport)
                return Response()  # aiohttp wants one, and finds no connection to send it on
            case _:
                assert_never(reply)


def _reset(transport: asyncio.Transport | None) -> None:
    if transport is None:
        return
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()


def read(request: BaseRequest, verify: Verify) -> Head:
    """A request's head as a value, judged."""
    fields = tuple(
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in request.raw_headers
    )
    method, target = request.method, request.raw_path
    head = Head(
        method=method,
        authority=request.headers.get("Host", ""),
        target=target,
        size=head_size(method, target, fields),
        cookie="Cookie" in request.headers,
    )
    try:
        message = Message(
            method=method, scheme="http", authority=head.authority, target=target, fields=fields
        )
    except SigningError as error:
        return replace(head, fault=f"no message that could be signed: {error}")
    if message.field("signature-input") is None:
        return replace(head, fault="it carries no signature")
    return _judged(head, verify(message))


def _judged(head: Head, verification: Verification) -> Head:
    faults = [f"{one.label}: {one.reason}" for one in verification.labels if one.reason]
    faults += [f"{label}: its tag is none that we know" for label in verification.passed_over]
    if verification.reason is not None and not faults:
        faults = [verification.reason]
    return replace(
        head,
        labels=(*(one.label for one in verification.labels), *verification.passed_over),
        verified=tuple(one.label for one in verification.labels if one.reason is None),
        algorithms=tuple(
            one.algorithm for one in verification.labels if one.reason is None and one.algorithm
        ),
        fault="; ".join(faults),
    )
