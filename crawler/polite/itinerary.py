"""What is asked of one origin next. Decides, and asks nothing itself.

A refresh asks for the pages that are due, one at a time, after its robots.txt. A retry, and a
control that repeats a refused request with sig1 alone, are requests of their own; so is a redirect
hop, which is simply a page that was found and remembers where it came from.
"""

from collections import deque

from msgspec import Struct
from msgspec.structs import replace

from crawler.events import (
    Arm,
    Deferred,
    Event,
    FetchRecord,
    Kind,
    Outcome,
    Skipped,
    Stage,
    Why,
)
from crawler.polite import freshness, target
from crawler.polite.frontier import (
    Claim,
    Fetched,
    FetchTask,
    Lesson,
    Opened,
    Page,
    Refresh,
    Supply,
)
from crawler.polite.guests import Declined, Guests
from crawler.polite.pace import Stop
from crawler.polite.permission import Permission, Whereabouts
from crawler.settings import Follow, Origin

ATTEMPTS = 3
HOPS = 10
CONTROLS = 3  # of refusals, in one refresh: enough to know whom they were meant for
BATCH = 64
_REDIRECTS = (301, 302, 303, 307, 308)
_FINAL = {Outcome.CANCELLED, Outcome.INTERNAL, Outcome.NOT_SENT}
_PASSING = {Stage.DNS, Stage.CONNECT, Stage.TLS, Stage.FIRST_BYTE, Stage.HEAD, Stage.BODY}


class Arrival(Struct, frozen=True):
    """A page that an answer redirected to, maybe another origin's."""

    origin: str
    url: str
    via: tuple[str, ...]


class Taught(Struct, frozen=True, kw_only=True):
    """What a fetched answer leads to."""

    lesson: Lesson
    events: tuple[Event, ...] = ()
    arrivals: tuple[Arrival, ...] = ()


class Itinerary:
    """One origin's refresh."""

    def __init__(
        self,
        origin: Origin,
        *,
        run: str,
        scope: str,
        opened: Opened,
        due: float,
        whereabouts: Whereabouts,
    ) -> None:
        self.origin = origin
        self.scope = scope
        self.refresh: Refresh = opened.refresh
        self.permission = Permission(origin, scope, opened.copy, whereabouts)
        self.asleep = opened.refresh.finished  # not due: only here for what others are led to
        self.over = self.asleep
        self._run = run
        self._home = f"{target.origin_key(origin.url)}/"
        self._due = due
        self._whereabouts = whereabouts
        self._pages: deque[Page] = deque()
        self._again: deque[FetchTask] = deque()
        self._guests = Guests(self.permission, origin.politeness)
        self._exhausted = False
        self._next_due: float | None = None
        self._controls = 0
        self._via: dict[str, tuple[str, ...]] = {}

    def next(self, now: float) -> FetchTask | Claim | Skipped | Declined | Deferred | None:
        """The next request, what must be claimed first, why something is not asked, or the end.

        None while the answer to a robots.txt is awaited from another host's lane, too.
        """
        if self._guests and (step := self._guests.step(now)) is not None:
            return step
        if self.over:
            return None
        if not self._again and not self._pages:
            if not self._exhausted:
                return self._claim()
            return self._finish()
        if self.refresh.asked >= self.origin.pages:
            return self._close(now, Why.PAGE_LIMIT, f"{self.origin.pages} pages asked", done=True)
        if (stray := self._stray(now)) is not None:
            self._take()
            return stray
        if not self.permission.in_force(now):
            if (refused := self.permission.refused) is not None:
                return self._close(now, refused[0], refused[1])
            return self.permission.task(now)
        assert self.permission.copy is not None  # noqa: S101
        copy = self.permission.copy
        delay = copy.rules.crawl_delay if copy.rules else None
        if delay is not None and delay > self.origin.politeness.max_crawl_delay:
            detail = f"{copy.url} asks for {delay:g} s between requests"
            return self._close(now, Why.CRAWL_DELAY, detail)
        task = self._again[0] if self._again else self._task(self._pages[0], now)
        if copy.rules is not None:
            ruling = copy.rules.ruling(task.url)
            if not ruling.allowed:
                self._take()
                return Skipped(
                    at=now,
                    run=self._run,
                    origin=self.origin.name,
                    url=task.url,
                    why=Why.ROBOTS,
                    detail=ruling.explain(copy.url),
                    line=ruling.line,
                    rule=ruling.rule,
                    group=ruling.group,
                    robots=copy.digest,
                )
        return replace(task, robots=copy.digest, crawl_delay=delay)

    def take(self, task: FetchTask) -> Refresh | None:
        """Count a task that is about to leave; the refresh to promise with it."""
        if task.behalf is not None:
            self._guests.leave()
        if task.kind is Kind.ROBOTS:
            return None
        self._take()
        self.refresh = replace(self.refresh, asked=self.refresh.asked + 1)
        return self.refresh

    def postponed_until(self, skipped: Skipped) -> float:
        """When a page that was not asked is offered again."""
        copy = self.permission.copy
        if skipped.why is Why.ROBOTS and copy is not None:
            return copy.until
        return skipped.at + self.origin.politeness.max_interval

    def supply(self, supply: Supply) -> None:
        """Take the pages that were claimed."""
        self._pages.extend(supply.pages)
        self._next_due = supply.next_due
        self._exhausted = not supply.pages

    def arrive(self, arrival: Arrival) -> None:
        """A page that an answer redirected to is among the known ones now."""
        self._via[arrival.url] = arrival.via
        self._exhausted = False
        self.over = False

    def welcome(self, task: FetchTask) -> None:
        """A request that another origin's robots.txt has led to; it is made as our own are."""
        self._guests.welcome(task)

    def learn(self, fetched: Fetched, now: float) -> Taught:
        """What an answer to one of our tasks teaches, and what follows from it."""
        record = fetched.record
        if record.kind is Kind.ROBOTS:
            copy, event = self.permission.learn(fetched, now)
            return Taught(
                lesson=Lesson(fetched=fetched, copy=copy),
                events=(event,) if event is not None else (),
            )
        if (again := self._repeat(record)) is not None:
            self._again.append(again)
            return Taught(lesson=Lesson(fetched=fetched))
        if record.outcome is Outcome.CANCELLED:
            return Taught(lesson=Lesson(fetched=fetched))
        due = freshness.due(record, now, self.origin.politeness)
        if record.status in _REDIRECTS and record.location is not None:
            found = self._redirected(record, now)
            if isinstance(found, Skipped):
                return Taught(lesson=Lesson(fetched=fetched, due=due), events=(found,))
            page = Page(origin=found.origin, url=found.url, depth=record.depth)
            return Taught(lesson=Lesson(fetched=fetched, due=due, found=(page,)), arrivals=(found,))
        depth = record.depth + 1
        found_pages: tuple[Page, ...] = ()
        if Follow.LINKS in self.origin.follow and depth <= self.origin.depth:
            found_pages = tuple(
                Page(origin=self.origin.name, url=link, depth=depth) for link in fetched.links
            )
            self._exhausted = self._exhausted and not found_pages
        return Taught(lesson=Lesson(fetched=fetched, due=due, found=found_pages))

    def stop(self, stop: Stop, now: float) -> tuple[Deferred | Declined, ...]:
        """End this origin's turn because it must not be asked now, its guests' included."""
        detail = f"{self.origin.name}: {stop.why} {stop.detail}".rstrip()
        declined = self._guests.turned_away(Why.ROBOTS_UNREACHABLE, detail)
        if self.over:
            return declined
        self.over = True
        deferred = Deferred(
            at=now,
            run=self._run,
            origin=self.origin.name,
            why=stop.why,
            until=stop.until,
            detail=stop.detail,
        )
        return (deferred, *declined)

    def abandoned(self, now: float) -> Deferred:
        """The end of a turn whose robots.txt waits for a host that waits for this one in turn."""
        detail = "its robots.txt is at a host whose own robots.txt is not to be had"
        return self._close(now, Why.ROBOTS_ELSEWHERE, detail)

    def _stray(self, now: float) -> Skipped | None:
        """The next page, where it is on a host that was this origin's before its URL changed."""
        url = self._again[0].url if self._again else self._pages[0].url
        if url.startswith(self._home):
            return None
        return self._skipped(url, now, Why.ELSEWHERE, f"{self.origin.name} is now at {self._home}")

    def _claim(self) -> Claim:
        follows = Follow.LINKS in self.origin.follow
        return Claim(
            origin=self.origin.name,
            started=self.refresh.started,
            due=self._due,
            depth=self.origin.depth if follows else 0,
            limit=min(BATCH, max(1, self.origin.pages - self.refresh.asked)),
        )

    def _task(self, page: Page, now: float) -> FetchTask:
        full = freshness.full_fetch_due(page.full_at, now, self.origin.politeness)
        return FetchTask(
            origin=self.origin.name,
            scope=self.scope,
            url=page.url,
            depth=page.depth,
            via=self._via.get(page.url, ()),
            etag=None if full else page.etag,
            last_modified=None if full else page.last_modified,
            digest=page.digest,
            place=page.place,
        )

    def _take(self) -> None:
        if self._again:
            self._again.popleft()
        else:
            self._pages.popleft()

    def _finish(self) -> Deferred | None:
        self.over = True
        self.refresh = replace(self.refresh, finished=True)
        if self.refresh.asked == 0 and self._next_due is not None:
            return Deferred(
                at=self.refresh.started,
                run=self._run,
                origin=self.origin.name,
                why=Why.FRESH,
                until=self._next_due,
                detail="no page is due yet",
            )
        return None

    def _close(self, now: float, why: Why, detail: str, *, done: bool = False) -> Deferred:
        self.over = True
        self.refresh = replace(self.refresh, finished=done)
        return Deferred(at=now, run=self._run, origin=self.origin.name, why=why, detail=detail)

    def _repeat(self, record: FetchRecord) -> FetchTask | None:
        """The same page again, where an answer may be a passing one or sig2's doing."""
        if record.attempt >= ATTEMPTS or record.outcome in _FINAL:
            return None
        again = FetchTask(
            origin=record.origin,
            scope=record.scope,
            url=record.url,
            depth=record.depth,
            attempt=record.attempt + 1,
            via=record.via,
        )
        refused = record.status in (401, 403) or (
            record.status is not None and record.status >= 500 and record.retry_after is None
        )
        if refused and len(record.labels) > 1 and self._controls < CONTROLS:
            self._controls += 1
            return replace(again, arm=Arm.FIRST_ONLY, control_of=record.id)
        passing = record.status is not None and (record.status == 429 or record.status >= 500)
        if passing or record.stage in _PASSING or record.stage is Stage.STALE_CONNECTION:
            return again
        return None

    def _redirected(self, record: FetchRecord, now: float) -> Arrival | Skipped:
        found = target.joined(record.url, record.location or "")
        via = (*record.via, record.url)
        if isinstance(found, target.Unsendable):
            return self._skipped(found.url, now, Why.UNSENDABLE, str(found))
        if found.url in via:
            chain = " -> ".join((*via, found.url))
            return self._skipped(found.url, now, Why.REDIRECT_LOOP, chain)
        if len(via) > HOPS:
            detail = f"{HOPS} hops from {via[0]}"
            return self._skipped(found.url, now, Why.REDIRECT_LIMIT, detail)
        where = self._whereabouts(found.url)
        if where is None:
            detail = f"{record.url} redirects to a host that is not configured"
            return self._skipped(found.url, now, Why.ELSEWHERE, detail)
        return Arrival(where[0], found.url, via)

    def _skipped(self, url: str, now: float, why: Why, detail: str) -> Skipped:
        return Skipped(
            at=now, run=self._run, origin=self.origin.name, url=url, why=why, detail=detail
        )
