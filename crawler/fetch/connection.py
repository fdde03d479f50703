"""Connections: to which addresses they may go, and when one is used again.

Each socket is checked when it is made, so that the connection goes to the very address that was
checked, whatever a name resolves to the next moment; and again for each request that uses it.
"""

import asyncio
import socket
import ssl
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from aiohttp import AddrInfoType, ClientPayloadError, ClientTimeout, StreamReader, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection

from crawler.polite import address

if TYPE_CHECKING:
    from aiohttp import ClientRequest
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.tracing import Trace

IDLE: Final = 2.0  # seconds; many servers close at 5, and a request that meets that is lost
DNS_TTL: Final = 60  # seconds

_LOCALHOST: Final = "127.0.0.1"


class AddressRefused(OSError):
    """A name leads to an address that is not asked; nothing was sent."""


class Line:
    """A connection as long as it lasts, one request after the other.

    aiohttp tells nobody when it cannot parse a body that is being read: it closes the connection
    and the reader waits for ever. So whoever reads says what, and hears of the end from here.
    """

    __slots__ = ("_content", "_ended", "_protocol")

    def __init__(self, protocol: "ResponseHandler") -> None:
        self._protocol = protocol
        self._content: StreamReader | None = None
        self._ended = False

    def carries(self, content: StreamReader | None) -> None:
        """Say which body is read from now on."""
        self._content = content
        if self._ended:
            self.end()

    def end(self) -> None:
        """Wake up whoever still waits for a body."""
        self._ended = True
        content = self._content
        if content is not None and not content.is_eof() and content.exception() is None:
            content.set_exception(ClientPayloadError(str(self.problem() or "connection closed")))

    def problem(self) -> BaseException | None:
        """What ended the connection, or None."""
        return self._protocol.exception()


class Flight:
    """What a request under way knows of its connection.

    `admitted` is the operator's word for private addresses, `tls` says https. `opened` counts the
    sockets that were made for it, `line` is the connection that it left through.
    """

    __slots__ = ("address", "admitted", "line", "opened", "refused", "reused", "tls")

    def __init__(self, *, admitted: bool, tls: bool) -> None:
        self.admitted = admitted
        self.tls = tls
        self.refused: str | None = None
        self.opened = 0
        self.reused = False  # the connection had served before
        self.address: str | None = None
        self.line: Line | None = None

    @property
    def connected(self) -> bool:
        """Whether there was a connection: what had none never left."""
        return self.line is not None


FLIGHT: Final[ContextVar[Flight]] = ContextVar("flight")
"""The request that a connection is made for; set by whoever makes the request."""


class Connector(TCPConnector):
    """Connections that fill in the `Flight` of the request that they serve."""

    def __init__(self, trust: ssl.SSLContext | bool) -> None:
        super().__init__(
            ssl=trust,
            resolver=Resolver(),
            socket_factory=_checked_socket,
            keepalive_timeout=IDLE,
            ttl_dns_cache=DNS_TTL,
            limit=0,  # one request a scope at a time is the engine's structure
        )
        self._lines: dict[ResponseHandler, Line] = {}

    async def connect(
        self, req: "ClientRequest", traces: "list[Trace]", timeout: ClientTimeout
    ) -> Connection:
        """A connection, new or waiting, through which nothing has been sent yet."""
        connection = await super().connect(req, traces, timeout)
        protocol = connection.protocol
        assert protocol is not None  # noqa: S101 - it has just been given out
        flight = FLIGHT.get()
        line = self._lines.get(protocol)
        peer = None
        if protocol.transport is not None:
            peer = protocol.transport.get_extra_info("peername", (None,))[0]
        if line is not None and peer is not None:
            # made for another origin maybe, whose word for private addresses is not this one's
            try:
                _check(peer, flight)
            except AddressRefused:
                connection.release()
                raise
        flight.reused = line is not None
        flight.line = line if line is not None else self._watched(protocol)
        flight.line.carries(None)
        flight.address = peer if peer is not None else flight.address
        return connection

    def _watched(self, protocol: "ResponseHandler") -> Line:
        line = Line(protocol)

        def end(closed: "asyncio.Future[None]") -> None:
            closed.exception()  # looked at, so that asyncio does not complain
            self._lines.pop(protocol, None)
            line.end()

        if (closed := protocol.closed) is not None:
            self._lines[protocol] = line
            closed.add_done_callback(end)
        return line


def _checked_socket(info: AddrInfoType) -> socket.socket:
    family, kind, protocol, _, where = info
    flight = FLIGHT.get()
    host = str(where[0])
    _check(host, flight)
    flight.opened += 1
    flight.address = host
    return socket.socket(family, kind, protocol)


def _check(host: str, flight: Flight) -> None:
    if (refusal := address.refusal(host, admitted=flight.admitted)) is not None:
        flight.refused = address.said(host, refusal)
        raise AddressRefused(flight.refused)


class Resolver(AbstractResolver):
    """Names by the system's resolver, `localhost` and below it by RFC 6761 (section 6.3).

    A lookup has a thread of its own that ends with the process: one that hangs delays nobody, while
    a thread pool is waited for at the end.
    """

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name. Raises OSError."""
        if host == "localhost" or host.endswith(".localhost"):
            return [_result(host, _LOCALHOST, port, socket.AF_INET)]
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[ResolveResult]] = loop.create_future()

        def look_up() -> None:
            results: list[ResolveResult] = []
            problem: OSError | None = None
            try:
                infos = socket.getaddrinfo(
                    host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
                )
                results = [_result(host, str(info[4][0]), port, info[0]) for info in infos]
            except (OSError, UnicodeError) as error:
                problem = error if isinstance(error, OSError) else OSError(str(error))
            try:
                loop.call_soon_threadsafe(_settle, found, results, problem)
            except RuntimeError:  # the loop has ended before the lookup
                return

        threading.Thread(target=look_up, name=f"dns-{host}", daemon=True).start()
        return await found

    async def close(self) -> None:
        """Nothing is kept open."""


def _result(host: str, found: str, port: int, family: socket.AddressFamily) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=found,
        port=port,
        family=family,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST,
    )


def _settle(
    found: "asyncio.Future[list[ResolveResult]]",
    results: list[ResolveResult],
    problem: OSError | None,
) -> None:
    if found.cancelled():
        return
    if problem is not None:
        found.set_exception(problem)
    else:
        found.set_result(results)
