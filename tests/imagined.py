"""A World for tests: a clock that jumps, a frontier in memory, sites that are functions."""

import asyncio
from collections.abc import Callable, Iterable
from math import inf
from typing import Any, TypeVar

from msgspec.structs import replace

from crawler.engine import Crawl
from crawler.events import Arm, Event, FetchRecord, Kind, Outcome, Stage
from crawler.polite import pace, robots, target
from crawler.polite.frontier import (
    Claim,
    Fetched,
    FetchTask,
    Frontier,
    Lesson,
    Opened,
    Page,
    Promise,
    Refresh,
    RobotsCopy,
    Supply,
)
from crawler.polite.itinerary import Itinerary
from crawler.settings import Origin, ProfileName, Second

E = TypeVar("E", bound=Event)
Site = Callable[[FetchTask], Fetched]
PRODUCT = "ExampleBot"


def origin(name: str = "one", url: str = "https://one.example/", **known: Any) -> Origin:
    return Origin(name=name, url=url, profile=ProfileName.AUTO, sig2=Second.WATCH, **known)


def answered(
    task: FetchTask, status: int | None = 200, links: Iterable[str] = (), **known: Any
) -> Fetched:
    """An answer with a status, as both signatures or one alone would have had it."""
    fields: dict[str, Any] = {
        "at": 0.0,
        "id": task.id,
        "origin": task.origin,
        "scope": task.scope,
        "url": task.url,
        "kind": task.kind,
        "depth": task.depth,
        "attempt": task.attempt,
        "via": task.via,
        "control_of": task.control_of,
        "labels": ("sig1", "sig2") if task.arm is Arm.CONFIGURED else ("sig1",),
        "outcome": Outcome.ANSWERED,
        "status": status,
        "elapsed": 0.5,
        "crawl_delay": task.crawl_delay,
        "robots": task.robots,
        **known,
    }
    return Fetched(record=FetchRecord(**fields), links=tuple(links))


def failed(task: FetchTask, stage: Stage) -> Fetched:
    return answered(task, status=None, outcome=Outcome.FAILED, stage=stage)


def robots_txt(task: FetchTask, text: str, **known: object) -> Fetched:
    """A robots.txt that was read."""
    rules = robots.parse(text.encode(), PRODUCT)
    fetched = answered(task, 200, (), digest=f"digest of {text!r}", **known)
    return Fetched(record=replace(fetched.record, crawl_delay=rules.crawl_delay), robots=rules)


class MemoryFrontier(Frontier):
    """What is known of pages, in a dict."""

    def __init__(self) -> None:
        self.pages: dict[tuple[str, str], Page] = {}
        self.due: dict[tuple[str, str], float] = {}
        self.seen: dict[tuple[str, str], float] = {}
        self.refreshes: dict[str, Refresh] = {}
        self.copies: dict[str, RobotsCopy] = {}
        self.paces: dict[str, pace.Pace] = {}

    async def open(self, origin: Origin, now: float) -> Opened:
        for path in origin.start:
            found = target.joined(origin.url, path)
            assert isinstance(found, target.Target)
            self._add(Page(origin=origin.name, url=found.url))
        known = self.refreshes.get(origin.name)
        refresh = known if known and not known.finished else Refresh(started=now)
        return Opened(refresh=refresh, copy=self.copies.get(origin.name))

    async def claim(self, claim: Claim) -> Supply:
        wanted = [
            (self.due[key], page.depth, page)
            for key, page in self.pages.items()
            if page.origin == claim.origin
            and page.depth <= claim.depth
            and self.seen.get(key, -inf) < claim.started
        ]
        wanted.sort(key=lambda item: item[:2])
        ready = [page for due, _, page in wanted if due <= claim.due]
        later = [due for due, _, _ in wanted if due > claim.due]
        return Supply(pages=tuple(ready[: claim.limit]), next_due=min(later, default=None))

    def keep(self, lesson: Lesson, pace: pace.Pace) -> None:
        record = lesson.fetched.record
        self.paces[record.scope] = pace
        for page in lesson.found:
            self._add(page)
        if lesson.copy is not None:
            self.copies[record.origin] = lesson.copy
        if lesson.due is not None:
            key = (record.origin, record.url)
            self.pages[key] = Page(
                origin=record.origin,
                url=record.url,
                depth=record.depth,
                etag=record.etag,
                last_modified=record.last_modified,
                digest=record.digest,
                full_at=record.at,
            )
            self.due[key] = lesson.due
            self.seen[key] = record.at

    def postpone(self, origin: str, url: str, until: float, now: float) -> None:
        self.due[origin, url] = until
        self.seen[origin, url] = now

    def finish(self, origin: str, refresh: Refresh) -> None:
        self.refreshes[origin] = refresh

    def _add(self, page: Page) -> None:
        key = (page.origin, page.url)
        self.pages.setdefault(key, page)
        self.due.setdefault(key, 0.0)


class ImaginedWorld:
    """Sites by host; time passes only by sleeping and by answers."""

    run = "run"

    def __init__(self, sites: dict[str, Site], *, now: float = 1_000_000.0) -> None:
        self.frontier = MemoryFrontier()
        self.sites = sites
        self.events: list[Event] = []
        self.asked: list[tuple[float, FetchTask]] = []
        self.promised: list[str] = []
        self.stopped = False
        self._now = now
        self._sleepers = 0

    def now(self) -> float:
        return self._now

    def stopping(self) -> bool:
        return self.stopped

    def stop(self, grace: float) -> None:
        self.stopped = True

    async def sleep_until(self, moment: float) -> None:
        await asyncio.sleep(0)
        self._now = max(self._now, moment)

    async def recall(self, scope: str) -> pace.Pace:
        return self.frontier.paces.get(scope, pace.Pace())

    async def promise(self, promise: Promise) -> None:
        assert promise.pace.pending == promise.task.id
        self.promised.append(promise.task.id)

    async def fetch(self, task: FetchTask) -> Fetched:
        assert self.promised[-1] == task.id
        self.asked.append((self._now, task))
        host = task.url.split("/")[2]
        fetched = self.sites[host](task)
        at, self._now = self._now, self._now + fetched.record.elapsed
        await asyncio.sleep(0)
        record = replace(fetched.record, at=at, waited=task.waited, waited_for=task.waited_for)
        return replace(fetched, record=record)

    def log(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def urls(self, kind: Kind | None = None) -> list[str]:
        return [task.url for _, task in self.asked if kind in (None, task.kind)]


async def refresh(
    world: ImaginedWorld,
    *origins: Origin,
    everything: bool = False,
    scope: str | None = None,
    asleep: tuple[Origin, ...] = (),
) -> Crawl:
    """Refresh origins in a world, each in its host's scope unless one is named.

    Those `asleep` are configured, too, but not due.
    """
    itineraries = []
    scopes = {item.name: scope or item.url.split("/")[2] for item in (*origins, *asleep)}
    hosts = {item.url.split("/")[2]: item.name for item in (*origins, *asleep)}

    def whereabouts(url: str) -> tuple[str, str] | None:
        name = hosts.get(url.split("/")[2])
        return (name, scopes[name]) if name is not None else None

    for item in (*origins, *asleep):
        if item in asleep:
            opened = Opened(refresh=Refresh(started=world.now(), finished=True))
        else:
            opened = await world.frontier.open(item, world.now())
        itineraries.append(
            Itinerary(
                item,
                run=world.run,
                scope=scopes[item.name],
                opened=opened,
                due=inf if everything else world.now(),
                whereabouts=whereabouts,
            )
        )
    crawl = Crawl(itineraries, world)
    await crawl.refresh()
    return crawl
