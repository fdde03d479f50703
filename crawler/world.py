"""The real World: the clock, the disk and the wire behind a crawl."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from crawler.events import Event, FetchRecord, Kind, Outcome, Skipped, Stage
from crawler.fetch import links, redaction
from crawler.fetch.client import Client, Received
from crawler.fetch.errors import StateUnusable
from crawler.fetch.fold import Links
from crawler.fetch.journal import Journal
from crawler.fetch.redaction import Ours
from crawler.fetch.store import Store
from crawler.hosts import Hosts
from crawler.polite import boundary, pace, robots, robots_meta
from crawler.polite.frontier import Fetched, FetchTask, Promise
from crawler.polite.target import Target, sendable
from crawler.settings import Follow, Origin, Settings
from crawler.watch import signals

# In lower case: with re.I the same look takes four times as long.
_WISH = re.compile(rb"no(?:index|archive|cache|ne\b)")
_HEAD = 16_384  # bytes of a page in which its meta elements stand
# Whatever has no line like these is a word to us and no robots.txt.
_ROBOTS_LINE = re.compile(
    rb"^[ \t\xef\xbb\xbf]*(?:#|(?:user-?agent|allow|disallow|sitemap|crawl-delay)[ \t]*:)",
    re.IGNORECASE | re.MULTILINE,
)
_HYPERTEXT = ("text/html", "application/xhtml+xml")


class Clock:
    """Seconds since 1970 that never go backwards: wall time at the start, then steady time.

    `floor` is the latest moment that an earlier run has seen; `set_back` is by how many seconds the
    wall clock stands before it.
    """

    def __init__(
        self,
        floor: float,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] | None = None,
    ) -> None:
        self._steady = steady if steady is not None else _steady()
        self.wall = wall()
        self.set_back = max(0.0, floor - self.wall)
        self.began = max(self.wall, floor)
        self._anchor = self.began - self._steady()

    def now(self) -> float:
        return self._anchor + self._steady()


def _steady() -> Callable[[], float]:
    """A clock that goes on while the machine sleeps, where the system has one."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic


class RealWorld:
    """Every effect of a crawl, on this machine. `told` hears each event once it is in the log."""

    def __init__(
        self,
        *,
        run: str,
        origins: Mapping[str, Origin],
        hosts: Hosts,
        product: str,
        clock: Clock,
        store: Store,
        journal: Journal,
        client: Client,
        told: Callable[[Event], None],
    ) -> None:
        self.run = run
        self.frontier = store
        self.store = store
        self.clock = clock
        self.now = clock.now
        self._origins = origins
        self._hosts = hosts
        self._product = product
        self._journal = journal
        self._client = client
        self._told = told
        self._stop = asyncio.Event()

    def stopping(self) -> bool:
        return self._stop.is_set()

    def stop(self, grace: float) -> None:
        """Let nothing more leave; requests in flight end within `grace` seconds."""
        self._stop.set()
        self._client.hurry(grace)

    async def sleep_until(self, moment: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, moment - self.now())):
                await self._stop.wait()
        except TimeoutError:
            return

    async def recall(self, scope: str) -> pace.Pace:
        """What the scope is owed; a promise whose record never came is said and paid for."""
        recalled = await self.store.recall(scope, self.now())
        if recalled.interrupted is not None:
            self.log(recalled.interrupted)
        return self.store.inherited(scope, self._hosts.doors(scope), recalled.pace)

    async def promise(self, promise: Promise) -> None:
        await self.store.promise(promise)

    def log(self, event: Event) -> None:
        if isinstance(event, Skipped) and event.rule:
            event = _unquoting(event, self._origins.get(event.origin))
        self._journal.append(event)
        self._told(event)

    async def fetch(self, task: FetchTask) -> Fetched:
        origin = self._origins[task.origin]
        received = await self._client.fetch(task, origin, self.now)
        record, body = received.record, received.body
        if body is None or record.outcome is not Outcome.ANSWERED:
            doubtful = record.kind is Kind.ROBOTS and signals.doubtful(record)
            return Fetched(record=record, doubtful=doubtful)
        if record.kind is Kind.ROBOTS:
            return await self._robots(record, body)
        page = await self._page(received, body, origin)
        wishes = (
            page.wishes
            if page is not None
            else robots_meta.header(received.robots_tags, self._product)
        )
        if not (wishes.noindex or wishes.noarchive):
            record = self._kept(task, record, body)
        if page is None or not _is_followed(record, origin):
            return Fetched(record=record)
        ours = received.ours
        signed = ours.signed if redaction.quotes(body, ours.signed) else ()
        return Fetched(record=record, links=_own(page, origin, Ours(signed, ours.cookie)))

    def _kept(self, task: FetchTask, record: FetchRecord, body: bytes) -> FetchRecord:
        """The record with the place of the body, which is kept anew where it is another one."""
        bodies = self.store.bodies
        if record.unchanged and task.place is not None and bodies.has(task.place):
            return replace(record, place=task.place)
        try:
            return replace(record, place=bodies.keep(body))
        except StateUnusable as error:
            self._not_kept(record, error)
            raise

    def _not_kept(self, record: FetchRecord, error: StateUnusable) -> None:
        """Log a request whose body cannot be kept: it has left all the same."""
        self.log(
            replace(
                record,
                outcome=Outcome.CANCELLED,  # by us: the page stays due
                stage=Stage.DISK,
                detail=error.problem,
                digest=None,
                etag=None,  # what we have not must be read in full the next time
                last_modified=None,
                unchanged=False,
            )
        )

    async def _robots(self, record: FetchRecord, body: bytes) -> Fetched:
        """The rules of a robots.txt; a long one is parsed off the loop."""
        assert record.digest is not None  # noqa: S101 - a body that was read has one
        try:
            self.store.robots.write(record.digest, body)
        except StateUnusable as error:
            self._not_kept(record, error)
            raise
        if len(body) > robots.LIGHT:
            rules = await asyncio.to_thread(robots.parse, body, self._product)
        else:
            rules = robots.parse(body, self._product)
        record = replace(record, robots=record.digest, crawl_delay=rules.crawl_delay)
        doubtful = signals.doubtful(record) or (
            bool(body.strip()) and _ROBOTS_LINE.search(body) is None
        )
        return Fetched(record=record, robots=rules, doubtful=doubtful)

    async def _page(
        self, received: Received, body: bytes, origin: Origin
    ) -> links.Hypertext | None:
        """What a page says, where its links are followed or it may ask not to be kept."""
        record = received.record
        if not (_is_followed(record, origin) or (_is_hypertext(record) and _may_wish(body))):
            return None
        if len(body) > links.LIGHT:
            return await asyncio.to_thread(_read, record, body, self._product, received.robots_tags)
        return _read(record, body, self._product, received.robots_tags)


def _unquoting(event: Skipped, origin: Origin | None) -> Skipped:
    """What a robots.txt refused, without the cookie that its lines may quote."""
    if origin is None or origin.cookie is None:
        return event
    ours = Ours(cookie=origin.cookie)
    said = {name: getattr(event, name).encode() for name in ("detail", "rule", "group")}
    return replace(
        event, **{name: redaction.without(text, ours).decode() for name, text in said.items()}
    )


def followed(record: FetchRecord, body: bytes, origin: Origin, product: str) -> tuple[str, ...]:
    """The links of a kept page that its origin's settings follow, in the order of the page."""
    if not _is_followed(record, origin):
        return ()
    kept = record.fields.get("x-robots-tag")
    page = _read(record, body, product, () if kept is None else (kept,))
    return _own(page, origin, Ours(cookie=origin.cookie))


def followed_again(settings: Settings) -> Links:
    """What finds the links of a kept page once more; an origin of the log has lost its cookie."""
    cookies = {origin.name: origin.cookie for origin in settings.origins}

    def links_of(record: FetchRecord, body: bytes, origin: Origin) -> tuple[str, ...]:
        known = replace(origin, cookie=cookies.get(origin.name))
        return followed(record, body, known, settings.bot.product)

    return links_of


def _read(
    record: FetchRecord, body: bytes, product: str, robots_tags: Sequence[str]
) -> links.Hypertext:
    return links.read(
        body,
        url=record.url,
        product=product,
        content_type=record.content_type,
        robots_tags=robots_tags,
    )


def _own(page: links.Hypertext, origin: Origin, ours: Ours) -> tuple[str, ...]:
    """The links that stay with their origin; what quotes a value of ours would stand in the log."""
    own = tuple(url for url in page.followable if _belongs(url, origin.url))
    if ours == redaction.NOTHING:
        return own
    return tuple(url for url in own if not redaction.holds(url, ours))


def _belongs(url: str, home: str) -> bool:
    """Whether a link stays with its origin: same scheme, host and port, below the same folder."""
    base = _target(home)
    if not url.startswith(f"{base.origin}/"):
        return False
    return base.path.rfind("/") == 0 or boundary.outside(_target(url), base) is None


@lru_cache(maxsize=256)
def _target(url: str) -> Target:
    found = sendable(url)
    assert isinstance(found, Target)  # noqa: S101 - both were brought into this form before
    return found


def _is_followed(record: FetchRecord, origin: Origin) -> bool:
    if Follow.LINKS not in origin.follow or record.depth >= origin.depth:
        return False
    return _is_hypertext(record)


def _is_hypertext(record: FetchRecord) -> bool:
    kind = (record.content_type or "").partition(";")[0].strip().lower()
    return record.kind is Kind.PAGE and kind in _HYPERTEXT


def _may_wish(body: bytes) -> bool:
    """Whether a page's head may ask not to be kept: a look that costs less than reading it."""
    return _WISH.search(body[:_HEAD].lower()) is not None
