"""A refresh: one coroutine for each pace scope, and every effect behind `World`.

Requests into one scope are written one after the other, so two at once cannot happen. A lane that
has nothing to ask ends; a page or a robots.txt that another lane's answer hands over starts it
anew.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol, assert_never

from msgspec.structs import replace

from crawler.events import Deferred, Event, FetchRecord, Internal, Skipped, Standing, Why
from crawler.polite import pace, target
from crawler.polite.frontier import Claim, Fetched, FetchTask, Frontier, Promise
from crawler.polite.guests import Declined
from crawler.polite.itinerary import Arrival, Itinerary
from crawler.polite.regard import Regard
from crawler.problems import Problem, place

_GRACE = 1.0  # seconds that requests in flight get when the state directory fails


class World(Protocol):
    """Every effect that a crawl has. Tests have one of their own, with no clock and no network."""

    @property
    def run(self) -> str:
        """This run's identifier, the beginning of each of its record ids."""

    @property
    def frontier(self) -> Frontier: ...

    def now(self) -> float:
        """Seconds since 1970, never going backwards."""

    def stopping(self) -> bool:
        """Whether the crawl was asked to end."""

    def stop(self, grace: float) -> None:
        """Let nothing more leave; requests in flight end within `grace` seconds."""

    async def sleep_until(self, moment: float) -> None:
        """Return at `moment`, or earlier where the crawl was asked to end."""

    async def recall(self, scope: str) -> pace.Pace:
        """What the scope is owed from before, an interrupted request included."""

    async def promise(self, promise: Promise) -> None:
        """Return once the promise is on disk."""

    async def fetch(self, task: FetchTask) -> Fetched:
        """Sign, send and read one request. Every failure is a record."""

    def log(self, event: Event) -> None: ...


Step = FetchTask | Claim | Skipped | Declined | Deferred


class Lane:
    """One pace scope and the origins in it."""

    def __init__(self, scope: str, number: int) -> None:
        self.scope = scope
        self.number = number
        self.members: list[Itinerary] = []
        self.made = 0
        self.waited: dict[Why, float] = {}  # seconds, since its last request
        self.wait: pace.Wait | None = None  # what it waits for just now
        self._turn = 0

    def next(self, now: float) -> tuple[Itinerary, Step] | None:
        """The next step in this scope and whose it is; None when there is none left."""
        for _ in self.members:
            itinerary = self.members[self._turn]
            if (step := itinerary.next(now)) is not None:
                return itinerary, step
            self._turn = (self._turn + 1) % len(self.members)
        return None


class Crawl:
    """All lanes of one refresh; every configured origin has an itinerary, most may be asleep."""

    def __init__(self, itineraries: Sequence[Itinerary], world: World) -> None:
        self._world = world
        self._itineraries = {itinerary.origin.name: itinerary for itinerary in itineraries}
        self._lanes: dict[str, Lane] = {}
        self._running: set[str] = set()
        self._group: asyncio.TaskGroup | None = None
        self._problem: Problem | None = None
        for itinerary in itineraries:
            self._lane(itinerary.scope).members.append(itinerary)

    async def refresh(self) -> None:
        """Ask every origin for what is due; returns when nothing is left to ask in this run.

        A state directory that fails ends the crawl: each lane lets its request come to an end, and
        the Problem is raised.
        """
        async with asyncio.TaskGroup() as group:
            self._group = group
            for scope in tuple(self._lanes):
                self.wake(scope)
        self._group = None
        for itinerary in self.itineraries:
            if itinerary.permission.away and not self._world.stopping():
                self._world.log(itinerary.abandoned(self._world.now()))
        if self._problem is not None:
            raise self._problem

    @property
    def itineraries(self) -> Sequence[Itinerary]:
        """Those of the origins that are asked in this run."""
        return tuple(one for one in self._itineraries.values() if not one.asleep)

    def waits(self) -> dict[str, pace.Wait]:
        """The scopes whose lanes wait for their turn just now."""
        return {scope: lane.wait for scope, lane in self._lanes.items() if lane.wait is not None}

    def itinerary(self, origin: str) -> Itinerary:
        return self._itineraries[origin]

    def arrive(self, arrival: Arrival) -> None:
        """Let an origin that is asked now know of a page; another one finds it at its next turn."""
        itinerary = self._itineraries[arrival.origin]
        if not itinerary.asleep:
            itinerary.arrive(arrival)
            self.wake(itinerary.scope)

    def hand_over(self, task: FetchTask) -> None:
        """Let the origin make a request at whose host another origin's robots.txt is."""
        host = self._itineraries[task.origin]
        self._itineraries[str(task.behalf)].permission.away = True
        host.welcome(task)
        self.wake(host.scope)

    def decline(self, declined: Declined) -> None:
        """Tell an origin that its robots.txt cannot be asked for where it has led."""
        owner = self._itineraries[str(declined.task.behalf)]
        owner.permission.decline(declined.why, declined.detail)
        self.wake(owner.scope)

    def wake(self, scope: str) -> None:
        """Start the scope's lane where it is not running."""
        if scope in self._running or self._group is None:
            return
        self._running.add(scope)
        self._group.create_task(self._run(self._lane(scope)))

    def _lane(self, scope: str) -> Lane:
        return self._lanes.setdefault(scope, Lane(scope, len(self._lanes)))

    async def _run(self, lane: Lane) -> None:
        try:
            await visit(lane, self, self._world)
        except Problem as error:
            self._problem = self._problem or error
            self._world.stop(_GRACE)
        except Exception as error:  # our own mistake ends this lane only
            self._world.log(
                Internal(
                    at=self._world.now(),
                    run=self._world.run,
                    scope=lane.scope,
                    error=place(error),
                )
            )
            for itinerary in lane.members:
                itinerary.over = True
        finally:
            self._running.discard(lane.scope)


async def visit(lane: Lane, crawl: Crawl, world: World) -> None:
    """Visit one pace scope until there is nothing left to ask, or it has had enough of us."""
    state = await world.recall(lane.scope)
    while not world.stopping() and (chosen := lane.next(world.now())) is not None:
        itinerary, step = chosen
        match step:
            case Claim():
                itinerary.supply(await world.frontier.claim(step))
            case Skipped():
                world.log(step)
                until = itinerary.postponed_until(step)
                world.frontier.postpone(step.origin, step.url, until, step.at)
            case Deferred():
                world.log(step)
            case Declined():
                crawl.decline(step)
            case FetchTask() if step.origin != itinerary.origin.name:
                crawl.hand_over(step)
            case FetchTask():
                state = await _ask(step, itinerary, state, lane, crawl, world)
            case _:
                assert_never(step)
    for itinerary in lane.members:
        if not itinerary.asleep:
            world.frontier.finish(itinerary.origin.name, itinerary.refresh)


async def _ask(
    task: FetchTask,
    itinerary: Itinerary,
    state: pace.Pace,
    lane: Lane,
    crawl: Crawl,
    world: World,
) -> pace.Pace:
    """Make one request if its time has come, or wait for it; the scope's pace from then on."""
    politeness = itinerary.origin.politeness
    door = target.door(task.url)
    now = world.now()
    match pace.decide(state, door, now, politeness, task.crawl_delay):
        case pace.Wait() as wait:
            lane.wait = wait
            await world.sleep_until(wait.until)
            lane.wait = None
            lane.waited[wait.why] = lane.waited.get(wait.why, 0.0) + world.now() - now
            return state
        case pace.Stop() as stop:
            for step in itinerary.stop(stop, now):
                if isinstance(step, Declined):
                    crawl.decline(step)
                else:
                    world.log(step)
            return state
        case pace.Go():
            pass
        case never:
            assert_never(never)
    lane.made += 1
    task = replace(
        task,
        id=f"{world.run}-{lane.number}-{lane.made}",
        waited=sum(lane.waited.values(), start=0.0),
        waited_for=max(lane.waited, key=lane.waited.__getitem__, default=None),
    )
    lane.waited.clear()
    refresh = itinerary.take(task)
    state = pace.before(state, door, task.id, now)
    await world.promise(Promise(task=task, pace=state, refresh=refresh))
    fetched = await world.fetch(task)
    world.log(fetched.record)
    regard = state.regard(door)
    state = pace.after(state, fetched.record, politeness)
    owner = itinerary if task.behalf is None else crawl.itinerary(task.behalf)
    ended = fetched.record.at + fetched.record.elapsed  # a replay of the log knows no other moment
    taught = owner.learn(fetched, ended)
    world.frontier.keep(taught.lesson, state)
    for event in (*taught.events, *_standing(regard, state.regard(door), fetched.record)):
        world.log(event)
    for arrival in taught.arrivals:
        crawl.arrive(arrival)
    if owner is not itinerary:
        crawl.wake(owner.scope)
    return state


def _standing(was: Regard, regard: Regard, record: FetchRecord) -> tuple[Standing, ...]:
    """The event that says how an origin's regard of us changed, if it did."""
    if (was.closed, was.closed_until) == (regard.closed, regard.closed_until):
        return ()
    return (
        Standing(
            at=record.at + record.elapsed,
            origin=record.origin,
            why=regard.closed,
            until=regard.closed_until or None,
            detail=regard.detail,
        ),
    )
