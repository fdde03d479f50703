"""One run over the origins that are due, from the lock to the closed log."""

import asyncio
import secrets
import signal
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from math import inf

from msgspec import Struct
from yarl import URL

from crawler import schedule
from crawler.attention import Attention
from crawler.engine import Crawl
from crawler.events import (
    ClockSetBack,
    Deferred,
    Degraded,
    Event,
    KeyInUse,
    OriginSettings,
    RunFinished,
    RunStarted,
    Why,
)
from crawler.fetch.asking import server_of
from crawler.fetch.client import Client
from crawler.fetch.journal import Journal
from crawler.fetch.keyring import Held, Keys
from crawler.fetch.keystate import KeysUnusable
from crawler.fetch.lock import RunLock
from crawler.fetch.middleware import Seen
from crawler.fetch.store import Store
from crawler.hosts import Hosts, located
from crawler.polite.frontier import Opened, Refresh
from crawler.polite.itinerary import Itinerary
from crawler.settings import Origin, Second, Settings
from crawler.world import Clock, RealWorld, followed_again

Watched = Callable[[Crawl, RealWorld], Coroutine[None, None, None]]
"""What runs beside a crawl and looks at it."""

GRACE = 3.0  # seconds that requests in flight get when a run is asked to end


class Run(Struct, frozen=True, kw_only=True):
    """How a run ended: `attention` holds what the operator should look at."""

    run: str
    requests: int
    elapsed: float
    stopped_by: signal.Signals | None = None
    attention: tuple[str, ...] = ()


async def once(
    settings: Settings,
    *,
    names: Sequence[str] = (),
    everything: bool = False,
    told: Callable[[Event], None] = lambda _: None,
    watched: Watched | None = None,
    warn: Callable[[str], None] = lambda _: None,
    wall: Callable[[], float] = time.time,
) -> Run:
    """Refresh the origins that are due (all of them with `everything`), then close the log.

    `told` hears each event, `watched` runs beside the crawl and is cancelled at its end, `warn` is
    given what a person should know at once. SIGINT and SIGTERM end the run within GRACE seconds and
    a little. Raises UsageProblem for an unknown name, AnotherRun, StateUnusable, and KeysUnusable
    where there is nothing to sign with, or nothing any more: that ends the run, too.
    """
    origins = schedule.selected(settings, names)
    gone: list[KeysUnusable] = []
    halt: list[Callable[[float], None]] = []

    def keys_spent(error: KeysUnusable) -> None:
        gone.append(error)
        for stop in halt:  # nothing leaves unsigned, so nothing leaves any more
            stop(GRACE)

    keys = Keys(settings.keys_directory, settings.signatures.second.algorithm, spent=keys_spent)
    keys.current(wall())
    directory = settings.state_directory
    hearing = Attention(origins, told)
    spent = time.process_time()
    async with AsyncExitStack() as opened:
        opened.enter_context(RunLock(directory))
        journal = Journal(directory / "log")
        opened.callback(journal.close)
        hosts = await located(settings)
        product = settings.bot.product
        store = await opened.enter_async_context(
            Store(
                directory,
                journal,
                product=product,
                links=followed_again(settings),
                whereabouts=hosts,
                now=wall(),
            )
        )
        clock = Clock(store.last_moment(), wall)
        held = keys.current(clock.now())  # a clock that was set back brings no key back
        run = f"{datetime.fromtimestamp(clock.now(), UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"

        signed_by: Held | None = None

        def keys_changed(now_held: Held) -> None:
            nonlocal signed_by
            before, signed_by = signed_by, now_held
            said = str(before.unusable) if before is not None else ""
            if now_held.unusable is not None and str(now_held.unusable) != said:
                warn(f"the keys of before sign on: {now_held.unusable}")
            for event in _keys(now_held, before, settings, run, clock.now()):
                world.log(event)
                if isinstance(event, Degraded):
                    warn(f"sig2 is left out: {event.reason}")

        client = await opened.enter_async_context(
            Client(
                settings,
                keys,
                seen=seen(settings, store),
                keys_changed=keys_changed,
                wall=wall,
            )
        )
        world = RealWorld(
            run=run,
            origins={origin.name: origin for origin in settings.origins},
            hosts=hosts,
            product=product,
            clock=clock,
            store=store,
            journal=journal,
            client=client,
            told=hearing.hear,
        )
        halt.append(world.stop)
        stopped_by = opened.enter_context(_stoppable(world))
        _begin(world, settings, hosts, held, everything=everything, warn=warn)
        for event in await store.interrupted(world.now()):
            world.log(event)
        itineraries = []
        for origin in settings.origins:
            now = world.now()
            when = schedule.due(origin, store.refresh(origin.name), now)
            if origin in origins and (when <= now or everything):
                opening = await store.open(origin, now)
            else:
                if origin in origins:
                    world.log(_not_due(origin, run, when, now))
                asleep = Refresh(started=now, finished=True)
                opening = Opened(refresh=asleep, copy=await store.copy(origin))
            itineraries.append(
                Itinerary(
                    origin,
                    run=run,
                    scope=hosts.scope(origin),
                    opened=opening,
                    due=inf if everything else now,
                    whereabouts=hosts,
                )
            )
        crawl = Crawl(itineraries, world)
        await _refresh(crawl, world, watched)
        elapsed = world.now() - clock.began
        world.log(
            RunFinished(
                at=world.now(),
                run=run,
                requests=hearing.requests,
                elapsed=elapsed,
                cpu=time.process_time() - spent,
                stopped=world.stopping(),
            )
        )
    if gone:
        raise gone[0]
    return Run(
        run=run,
        requests=hearing.requests,
        elapsed=elapsed,
        stopped_by=stopped_by[0] if stopped_by else None,
        attention=(*hearing.attention, *hearing.closed()),
    )


def _begin(
    world: RealWorld,
    settings: Settings,
    hosts: Hosts,
    held: Held,
    *,
    everything: bool,
    warn: Callable[[str], None],
) -> None:
    """Log how a run begins: the clock, the state, the keys, each origin's effective settings."""
    clock, store = world.clock, world.store
    if clock.set_back >= 1.0:
        world.log(ClockSetBack(at=clock.now(), wall=clock.wall, seconds=clock.set_back))
        warn(
            f"the clock stands {clock.set_back:.0f} s before what was seen; time goes on from there"
        )
    if store.rebuilt is not None:
        world.log(store.rebuilt)
        kept = f", the old one is kept as {store.rebuilt.kept}" if store.rebuilt.kept else ""
        warn(f"the database was rebuilt from the log: {store.rebuilt.problem}{kept}")
    second = held.keyring.second
    world.log(
        RunStarted(
            at=clock.now(),
            run=world.run,
            version=version("callingcard"),
            agent=settings.bot.user_agent,
            keys=(held.keyring.first.keyid, *([second.keyid] if second else [])),
            wall=clock.wall,
            everything=everything,
        )
    )
    for origin in settings.origins:
        world.log(
            OriginSettings(
                at=clock.now(),
                run=world.run,
                origin=origin.name,
                url=origin.url,
                scope=hosts.scope(origin),
                profile=origin.profile,
                sig2=origin.sig2,
                follow=origin.follow,
                pages=origin.pages,
                depth=origin.depth,
                allow_private=origin.allow_private,
                cookie=origin.cookie is not None,
                politeness=origin.politeness,
                components=origin.components,
            )
        )


async def _refresh(
    crawl: Crawl,
    world: RealWorld,
    watched: Watched | None,
) -> None:
    """Refresh, with somebody watching beside it, until done or asked to end."""
    watching = asyncio.ensure_future(watched(crawl, world)) if watched is not None else None
    try:
        await crawl.refresh()
    finally:
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


@contextmanager
def _stoppable(world: RealWorld) -> Iterator[list[signal.Signals]]:
    """Let SIGINT and SIGTERM end the crawl while the block runs; those that came."""
    came: list[signal.Signals] = []
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        came.append(number)
        world.stop(GRACE)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        yield came
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _keys(
    held: Held, before: Held | None, settings: Settings, run: str, at: float
) -> Iterator[KeyInUse | Degraded]:
    """Which keys sign from here on that did not before, and why sig2 is left out where it is.

    The folder is read anew whenever anything in it changes; the same news is no news.
    """
    ring = held.keyring
    if before is None or before.keyring.first.keyid != ring.first.keyid:
        yield KeyInUse(at=at, run=run, label="sig1", keyid=ring.first.keyid)
    second = before.keyring.second if before is not None else None
    if ring.second is not None:
        if second is None or second.keyid != ring.second.keyid:
            label = settings.signatures.second.label
            yield KeyInUse(at=at, run=run, label=label, keyid=ring.second.keyid)
    elif (
        held.degraded is not None
        and (before is None or before.degraded != held.degraded)
        and any(origin.sig2 is not Second.NEVER for origin in settings.origins)
    ):
        yield Degraded(at=at, run=run, reason=held.degraded)


def seen(settings: Settings, store: Store) -> dict[str, Seen]:
    """What each origin's last answer showed, in the form in which the client keeps it."""
    found = {}
    for origin in settings.origins:
        if (evidence := store.evidence(origin.name)) is not None:
            found[server_of(URL(origin.url, encoded=True))] = Seen(evidence.server, evidence.cf_ray)
    return found


def _not_due(origin: Origin, run: str, when: float, now: float) -> Deferred:
    return Deferred(
        at=now,
        run=run,
        origin=origin.name,
        why=Why.NOT_DUE,
        until=when,
        detail=schedule.rhythm(origin),
    )
