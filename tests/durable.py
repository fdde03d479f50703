"""A World whose memory is the real one: an imagined clock and imagined sites, a real disk."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from math import inf
from pathlib import Path

import imagined
from imagined import PRODUCT, ImaginedWorld, Site, answered
from msgspec.structs import replace

from crawler.engine import Crawl
from crawler.events import Event, FetchRecord, OriginSettings
from crawler.fetch.journal import Journal
from crawler.fetch.store import Store
from crawler.polite import pace
from crawler.polite.frontier import Fetched, FetchTask, Promise
from crawler.polite.itinerary import Itinerary
from crawler.settings import Origin

NOON = 20_000 * 86400.0 + 43_200.0


def no_links(record: FetchRecord, body: bytes, origin: Origin) -> tuple[str, ...]:
    return ()


def written_links(record: FetchRecord, body: bytes, origin: Origin) -> tuple[str, ...]:
    """The links of a body that consists of them."""
    return tuple(body.decode().split())


def by_host(*origins: Origin) -> dict[str, tuple[str, str]]:
    return {item.url.split("/")[2]: (item.name, item.url.split("/")[2]) for item in origins}


@asynccontextmanager
async def opened(
    directory: Path, *origins: Origin, now: float = NOON
) -> AsyncIterator[tuple[Store, Journal]]:
    """The state of a directory, with its log."""
    hosts = by_host(*origins)
    journal = Journal(directory / "log")
    try:
        async with Store(
            directory,
            journal,
            product=PRODUCT,
            links=written_links,
            whereabouts=lambda url: hosts.get(url.split("/")[2]),
            now=now,
        ) as store:
            yield store, journal
    finally:
        journal.close()


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()


def page(store: Store, task: FetchTask, links: Sequence[str] = (), **known: object) -> Fetched:
    """A page that was read, whose body consists of its links."""
    body = "\n".join(links).encode()
    place = store.bodies.keep(body)
    return answered(task, 200, links, digest=digest(body), place=place, **known)


def robots_txt(store: Store, task: FetchTask, text: str = "") -> Fetched:
    """A robots.txt that was read, its body kept."""
    name = digest(text.encode())
    store.robots.write(name, text.encode())
    fetched = imagined.robots_txt(task, text)
    return replace(fetched, record=replace(fetched.record, digest=name, robots=name))


class DurableWorld(ImaginedWorld):
    """Imagined sites, remembered by a real store and a real log."""

    def __init__(
        self, run: str, store: Store, journal: Journal, sites: dict[str, Site], now: float = NOON
    ) -> None:
        super().__init__(sites, now=max(now, store.last_moment()))
        self.run = run
        self.frontier = store  # type: ignore[assignment]
        self.store = store
        self.journal = journal

    async def recall(self, scope: str) -> pace.Pace:
        recalled = await self.store.recall(scope, self.now())
        if recalled.interrupted is not None:
            self.log(recalled.interrupted)
        return recalled.pace

    async def promise(self, promise: Promise) -> None:
        await self.store.promise(promise)
        await super().promise(promise)

    def log(self, event: Event) -> None:
        super().log(event)
        self.journal.append(event)


def settings(item: Origin, run: str = "run", at: float = NOON) -> OriginSettings:
    """What the log says of an origin at the start of a run."""
    return OriginSettings(
        at=at,
        run=run,
        origin=item.name,
        url=item.url,
        scope=by_host(item)[item.url.split("/")[2]][1],
        profile=item.profile,
        sig2=item.sig2,
        follow=item.follow,
        pages=item.pages,
        depth=item.depth,
        allow_private=item.allow_private,
        cookie=item.cookie is not None,
        politeness=item.politeness,
    )


async def crawl(world: DurableWorld, *origins: Origin, everything: bool = False) -> None:
    """Refresh origins, each in its host's scope."""
    hosts = by_host(*origins)
    for item in origins:
        world.log(settings(item, world.run, world.now()))
    itineraries = [
        Itinerary(
            item,
            run=world.run,
            scope=hosts[item.url.split("/")[2]][1],
            opened=await world.store.open(item, world.now()),
            due=inf if everything else world.now(),
            whereabouts=lambda url: hosts.get(url.split("/")[2]),
        )
        for item in origins
    ]
    await Crawl(itineraries, world).refresh()
