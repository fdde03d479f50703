"""Reads one key set from the network, within limits (Web Bot Auth -01, section 5.2).

The URL comes from a stranger's request, so this is where a verifier can be turned against its own
network. Each socket is checked when it is made: the connection goes to the very address that was
checked, whatever the name resolves to the next moment. Nothing is followed, no cookie is kept and
no proxy asked, and nothing is decoded further than there is room.
"""

import asyncio
import socket
import ssl
from dataclasses import dataclass
from typing import Final

from aiohttp import (
    AddrInfoType,
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)
from aiohttp.abc import AbstractResolver
from yarl import URL

from crawler.fetch import decoding
from crawler.fetch.connection import AddressRefused, Resolver
from crawler.polite import address, cache_control
from signing import directory
from signing.directory import KeySet
from signing.errors import KeySetUnreadable
from signing.verifier import Reason

SECONDS: Final = 5.0
DECODED: Final = 65_536  # bytes
KEYS: Final = 10
MEDIA_TYPES: Final = (directory.MEDIA_TYPE, "application/jwk-set+json", "application/json")
_LONGEST_URL: Final = 2048


class NoKeySet(Exception):
    """There is no key set to be had there; `reason` is the verifier's, the message says why."""

    def __init__(self, reason: Reason, why: str) -> None:
        super().__init__(why)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Read:
    """A set as it was read, and for how many seconds its server says that it holds, if it does."""

    keys: KeySet
    lifetime: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Where key sets may lie.

    `local` admits plain http, and loopback and private addresses: for a network of one's own, and
    for a URL that the operator has written. Metadata addresses are never asked. `trust` are the
    authorities that https is checked by; True are the system's. `remedy` is said where `local`
    would have admitted an address.
    """

    local: bool = False
    remedy: str = ""
    trust: ssl.SSLContext | bool = True


class Reader:
    """Reads key sets. Made inside a running loop, and closed there."""

    def __init__(
        self,
        reach: Reach = Reach(),
        resolver: AbstractResolver | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._reach = reach
        self._seconds = seconds
        self._session = ClientSession(
            connector=TCPConnector(
                ssl=reach.trust,
                resolver=resolver or Resolver(),
                socket_factory=self._checked_socket,
                use_dns_cache=False,
                force_close=True,  # a connection that waits would be one that is not checked
                limit=0,
            ),
            auto_decompress=False,
            cookie_jar=DummyCookieJar(),
            timeout=ClientTimeout(total=None),
            trust_env=False,
            headers={
                "Accept": ", ".join(MEDIA_TYPES),
                "Accept-Encoding": decoding.ACCEPTED,
                "User-Agent": "callingcard (verifies HTTP message signatures)",
            },
        )
        # aiohttp would ask once more by itself where a connection ends without an answer
        self._session._retry_connection = False

    async def close(self) -> None:
        """Close what is open."""
        await self._session.close()

    async def read(self, url: str) -> Read:
        """The set behind a URL. Raises NoKeySet, after `seconds` at the latest."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._read(url)
        except TimeoutError as error:
            raise _unavailable(f"no answer within {self._seconds:g} s") from error
        except ClientConnectorError as error:
            cause = error.os_error
            refused = isinstance(cause, AddressRefused)
            raise _unavailable(str(cause if refused else error)) from error
        except (ClientError, OSError, ValueError) as error:
            raise _unavailable(str(error) or type(error).__name__) from error

    async def _read(self, url: str) -> Read:
        if len(url) > _LONGEST_URL:
            raise _unavailable(f"a URL of more than {_LONGEST_URL} bytes")
        asked = URL(url, encoded=True)
        if asked.scheme != "https" and not (self._reach.local and asked.scheme == "http"):
            raise _unavailable("key sets are read over https")
        async with self._session.get(asked, allow_redirects=False) as response:
            if response.status != 200:
                raise _unavailable(f"it answers {response.status}, only 200 counts")
            if response.content_type not in MEDIA_TYPES:
                raise _malformed(f"its media type is {response.content_type!a:.80}")
            body = await _body(response)
        try:
            keys = directory.read_key_set(body, most=KEYS)
        except KeySetUnreadable as error:
            raise _malformed(str(error)) from error
        return Read(keys, _lifetime(response))

    def _checked_socket(self, info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, where = info
        host = str(where[0])
        if (refusal := address.refusal(host, admitted=self._reach.local)) is not None:
            said = address.said(host, refusal)
            admissible = address.refusal(host, admitted=True) is None
            remedy = self._reach.remedy if admissible else ""
            raise AddressRefused(f"{said}; {remedy}" if remedy else said)
        return socket.socket(family, kind, protocol)


async def _body(response: ClientResponse) -> bytes:
    try:
        decoding.framed(response.headers.get("Transfer-Encoding"))
        inflate = decoding.decoder(response.headers.get("Content-Encoding"))
        body, received = b"", 0
        async for piece in response.content.iter_any():
            received += len(piece)
            room = DECODED + 1 - len(body)
            body += piece[:room] if inflate is None else inflate.feed(piece, room)
            # Both: a coding can make much of little, and nothing of much.
            if max(len(body), received) > DECODED:
                raise _malformed(f"more than {DECODED} bytes")
        if inflate is not None:
            inflate.finish()
    except decoding.Undecodable as error:
        raise _malformed(str(error)) from error
    return body


def _lifetime(response: ClientResponse) -> float | None:
    said = cache_control.parse(", ".join(response.headers.getall("Cache-Control", [])) or None)
    if "no-store" in said or "no-cache" in said:
        return 0.0
    return float(cache_control.seconds(said["max-age"])) if "max-age" in said else None


def _unavailable(why: str) -> NoKeySet:
    return NoKeySet(Reason.DIRECTORY_UNAVAILABLE, why)


def _malformed(why: str) -> NoKeySet:
    return NoKeySet(Reason.DIRECTORY_MALFORMED, why)
