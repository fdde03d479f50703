"""Fetches one URL: signs it, sends it, reads the answer, and says in a record what became of it.

Nothing is followed, repeated or kept by itself: a redirect hop and a retry are tasks of their own,
and there is no cookie jar. Every failure is a record.
"""

import asyncio
import ssl
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar
from msgspec import Struct
from yarl import URL

from crawler.events import FetchRecord, Stage
from crawler.fetch import answer, failure, reading, stream
from crawler.fetch.asking import Door, server_of
from crawler.fetch.connection import FLIGHT, Connector, Flight
from crawler.fetch.keyring import Held, Keys
from crawler.fetch.middleware import Seen, Signer, Signing
from crawler.fetch.redaction import NOTHING, Ours
from crawler.fetch.stream import Trickle
from crawler.fetch.trip import Ending, Trip
from crawler.polite.frontier import FetchTask
from crawler.settings import Origin, Settings

_FIELD_LIMIT: Final = 32_768  # bytes; aiohttp's own 8,190 refuse fields that real sites send


class Received(Struct, frozen=True, kw_only=True):
    """A request's record, and the decoded body of a 2xx that was read.

    Of a robots.txt that is longer than what is read of one, the body is a byte longer than that.
    `robots_tags` are all X-Robots-Tag fields, as they came; `ours` is what the body may quote and
    nothing of it may bring into the log.
    """

    record: FetchRecord
    body: bytes | None = None
    robots_tags: tuple[str, ...] = ()
    ours: Ours = NOTHING


class Client:
    """One session for a whole crawl; an async context manager.

    `seen` has what the last answer of each server (its scheme and authority) showed: the caller
    may fill it in, each answer brings it up to date. `keys_changed` is told which keys sign when
    the first request is signed and whenever that changes. `wall` is the clock of `created`
    and of the dates in answers.
    """

    def __init__(
        self,
        settings: Settings,
        keys: Keys,
        *,
        seen: dict[str, Seen] | None = None,
        keys_changed: Callable[[Held], None] = lambda _: None,
        wall: Callable[[], float] = time.time,
        trust: ssl.SSLContext | bool = True,
        rate_window: float = stream.WINDOW,
    ) -> None:
        self._bot = settings.bot
        self._seen = {} if seen is None else seen
        self._signer = Signer(settings, keys, seen=self._seen, wall=wall, keys_changed=keys_changed)
        self._wall = wall
        self._trust = trust
        self._window = rate_window
        self._doors: dict[str, Door] = {}
        self._inside = {
            server_of(URL(origin.url, encoded=True))
            for origin in settings.origins
            if origin.allow_private
        }
        self._limits: set[asyncio.Timeout] = set()
        self._until = float("inf")  # of the loop's clock; sooner when the crawl is to end

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._session = ClientSession(
            connector=Connector(self._trust),
            cookie_jar=DummyCookieJar(),
            timeout=ClientTimeout(total=None, sock_connect=None),  # each request has our own limit
            auto_decompress=False,  # `decoding` stops at the cap
            trust_env=False,
            max_line_size=_FIELD_LIMIT,
            max_field_size=_FIELD_LIMIT,
        )
        # Whatever leaves is signed, paced and logged, so nothing may be sent again below us. There
        # is no public switch for that; a test pins this one.
        self._session._retry_connection = False
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    def hurry(self, grace: float) -> None:
        """End each request, also one that begins later, `grace` seconds from now."""
        self._until = min(self._until, self._loop.time() + grace)
        for limit in self._limits:
            when = limit.when()
            if not limit.expired() and (when is None or when > self._until):
                limit.reschedule(self._until)

    async def fetch(self, task: FetchTask, origin: Origin, now: Callable[[], float]) -> Received:
        """Make one request; `now` gives seconds since 1970. Raises nothing but CancelledError."""
        trip = Trip(now())
        try:
            ending = await self._make(trip, task, origin, now)
        except Exception as error:
            ending = failure.ending(error, trip)
        finally:
            trip.close()
        return Received(
            record=trip.record(task, ending, now()),
            body=ending.body,
            robots_tags=trip.answer.robots_tags,
            ours=trip.ours,
        )

    async def _make(
        self, trip: Trip, task: FetchTask, origin: Origin, now: Callable[[], float]
    ) -> Ending:
        politeness = origin.politeness
        door = self._doors.get(origin.name)
        if door is None or door.origin is not origin:
            door = self._doors[origin.name] = Door(self._bot, origin)
        url = URL(task.url, encoded=True)
        server = server_of(url)
        fields = door.fields(task, server)
        trip.cookie = fields.get("Cookie")
        # the robots.txt of one private origin may be with another; a public one is led to neither
        admitted = door.admits(url) or (origin.allow_private and server in self._inside)
        trip.flight = Flight(admitted=admitted, tls=url.scheme == "https")
        FLIGHT.set(trip.flight)
        trip.signing = Signing(self._signer, task, origin, server)
        deadline = self._loop.time() + politeness.deadline
        limit = asyncio.timeout_at(min(deadline, self._until))
        trickle = Trickle(limit, politeness.min_rate, self._window)
        self._limits.add(limit)
        try:
            async with limit:
                trip.response = response = await self._session.request(
                    "GET",
                    url,
                    headers=fields,
                    allow_redirects=False,
                    middlewares=(trip.signing,),
                )
                trip.received = now()
                assert trip.flight.line is not None  # noqa: S101 - the answer came through it
                trip.flight.line.carries(response.content)
                dated = self._wall()  # a server's dates are not of our clock, which may be ahead
                trip.answer = answer.read(
                    response,
                    trip.ours,
                    requested=dated - (trip.received - trip.began),
                    received=dated,
                )
                self._seen[server] = Seen(trip.answer.server, trip.answer.cf_ray)
                if (wanted := trip.answer.accept_signature) is not None:
                    trip.asked_for = self._signer.asked(wanted, task, origin, server)
                return await reading.read(response, trip, task, politeness, trickle)
        except TimeoutError:
            if not limit.expired():
                raise
            if trickle.too_slow:
                detail = f"less than {politeness.min_rate} B/s over {self._window:g} s"
                return failure.cut_short(Stage.MIN_RATE, detail, trip)
            if self._until < deadline:
                return failure.stopped(trip)
            return failure.out_of_time(trip, politeness.deadline)
        finally:
            self._limits.discard(limit)
