"""Connections: to which addresses they may go, and when one is used again.

Each socket is checked when it is made, so that the connection goes to the very address that was
checked, whatever a name resolves to the next moment.
"""

import asyncio
import socket
import ssl
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from aiohttp import AddrInfoType, ClientTimeout, TCPConnector
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


class Flight:
    """What a request under way knows of its connection.

    `admitted` is the operator's word for private addresses, `tls` says https. `opened` counts the
    sockets that were made for it; none means that it went over a connection that had served before.
    """

    __slots__ = ("address", "admitted", "connected", "opened", "protocol", "refused", "tls")

    def __init__(self, *, admitted: bool, tls: bool) -> None:
        self.admitted = admitted
        self.tls = tls
        self.refused: str | None = None
        self.opened = 0
        self.connected = False
        self.address: str | None = None
        self.protocol: ResponseHandler | None = None

    @property
    def reused(self) -> bool:
        return self.connected and not self.opened


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

    async def connect(
        self, req: "ClientRequest", traces: "list[Trace]", timeout: ClientTimeout
    ) -> Connection:
        """A connection, new or waiting, through which nothing has been sent yet."""
        connection = await super().connect(req, traces, timeout)
        flight = FLIGHT.get()
        flight.connected = True
        flight.protocol = connection.protocol
        if (transport := connection.transport) is not None:
            peer = transport.get_extra_info("peername")
            flight.address = peer[0] if peer else None
        return connection


def _checked_socket(info: AddrInfoType) -> socket.socket:
    family, kind, protocol, _, where = info
    flight = FLIGHT.get()
    host = str(where[0])
    if (refusal := address.refusal(host, admitted=flight.admitted)) is not None:
        flight.refused = f"{host} is {refusal}"
        raise AddressRefused(flight.refused)
    flight.opened += 1
    flight.address = host
    return socket.socket(family, kind, protocol)


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
