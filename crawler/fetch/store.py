"""What is known of origins, their pages and their robots.txt, kept across runs and crashes.

A request leaves only once its promise is on disk. What its answer taught is on disk with the
scope's next promise; until then the log has it, and the next start reads it back from there.
"""

import asyncio
import sqlite3
from collections.abc import Set
from pathlib import Path
from types import TracebackType

from msgspec import Struct
from msgspec.structs import replace

from crawler.events import FetchRecord, Interrupted, StateRebuilt, Why
from crawler.fetch import logbook, private, rebuild, schema
from crawler.fetch.batch import Evidence, Origins, Pending, evidence_of
from crawler.fetch.bodies import Bodies
from crawler.fetch.copies import Copies
from crawler.fetch.errors import StateDamaged, StateUnusable
from crawler.fetch.fold import Fold, Links, Past, robots_url
from crawler.fetch.journal import Journal
from crawler.fetch.view import Known, View
from crawler.fetch.writer import Writer
from crawler.polite import pace, robots, target
from crawler.polite.frontier import (
    Claim,
    Frontier,
    Lesson,
    Opened,
    Page,
    Promise,
    Refresh,
    RobotsCopy,
    Supply,
)
from crawler.polite.pace import Pace
from crawler.polite.permission import Whereabouts
from crawler.settings import Origin, Politeness

RESUMED = 86400.0  # a refresh that was cut off is taken up again for so long
UNCOVERED = 86400.0  # how long a scope waits that a rebuilt database knows nothing of


class Recalled(Struct, frozen=True):
    """What a scope is owed; the event to log at once where a promise was left without a record."""

    pace: Pace
    interrupted: Interrupted | None = None


class Store(Frontier):
    """The state of one directory, for as long as the `async with` block runs.

    `product` is our product token. `now` is what the clock says at the start; it dates what
    happened to a damaged database. Entering the block raises StateUnusable and LogUnreadable, every
    method StateUnusable where the disk fails.
    """

    def __init__(
        self,
        directory: Path,
        journal: Journal,
        *,
        product: str,
        links: Links,
        whereabouts: Whereabouts,
        now: float,
    ) -> None:
        self.path = directory / "state.db"
        self.bodies = Bodies(directory / "bodies")
        self.robots = Copies(directory / "robots")
        self.rebuilt: StateRebuilt | None = None  # to be logged by whoever opened this
        self._journal = journal
        self._product = product
        self._past = Past(journal=journal, bodies=self.bodies, links=links, whereabouts=whereabouts)
        self._now = now
        self._claimed: dict[str, dict[str, int]] = {}
        self._evidence: dict[str, Evidence] = {}
        self._refreshes: dict[str, Refresh] = {}
        self._settings: dict[str, Origin] = {}

    async def __aenter__(self) -> "Store":
        database = await asyncio.to_thread(self._opened)
        self._view = View(self.path)
        self._progress = self._view.progress()
        self._origins = Origins(self._view.origins())
        self._writer = Writer(database, self.path, self._origins, self._journal)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bodies.close()
        self._view.close()  # before the writer: whoever closes last writes what is in the -wal back
        await self._writer.close()

    def last_moment(self) -> float:
        """The latest moment that this crawl or one before it has seen; time goes on from there."""
        return max(self._progress.moment, self._journal.moment)

    async def open(self, origin: Origin, now: float) -> Opened:
        """Begin a refresh, or take up one that was cut off less than a day ago."""
        urls = start_urls(origin)
        before = self._settings.get(origin.name) or self._view.settings(origin.name)
        refresh = resumed(self.refresh(origin.name), now)
        batch = self._writer.batch
        if before is not None:
            batch.demote(origin.name, start_urls(before).keys() - urls)
        elif self._origins.known(origin.name) is not None:
            batch.demote_others(origin.name, urls)
        batch.begin(origin, refresh)
        batch.find(Page(origin=origin.name, url=url) for url in urls)
        self._settings[origin.name] = origin
        self._refreshes[origin.name] = refresh
        self._claimed.pop(origin.name, None)
        return Opened(refresh=refresh, copy=await self.copy(origin))

    async def claim(self, claim: Claim) -> Supply:
        """The next due pages: never asked ones first, then the longest due."""
        if self._writer.pages_wait:
            await self._writer.committed()
        found, numbers = self._view.claim(claim)
        supply = replace(found, pages=tuple(map(self._as_kept, found.pages)))
        self._claimed.setdefault(claim.origin, {}).update(numbers)
        return supply

    def _as_kept(self, page: Page) -> Page:
        """The page; what has lost its body since must be read in full."""
        if page.place is None or self.bodies.has(page.place):
            return page
        return replace(page, etag=None, last_modified=None, place=None)

    def keep(self, lesson: Lesson, pace: Pace) -> None:
        """Remember what an answer taught; its record is in the log, written in this turn."""
        record = lesson.fetched.record
        number = self._done_with(record.origin, record.url) if lesson.due is not None else None
        self._writer.batch.keep(lesson, pace, number)
        evidence = evidence_of(record)
        if evidence is not None and self._evidence.get(record.origin) != evidence:
            self._evidence[record.origin] = evidence
            self._writer.batch.note(record.origin, evidence)

    def postpone(self, origin: str, url: str, until: float, now: float) -> None:
        """Do not offer a page before then."""
        self._writer.batch.postpone(origin, url, until, now, self._done_with(origin, url))

    def finish(self, origin: str, refresh: Refresh) -> None:
        """Note how a refresh stands at the end of its turn, and write what is still to write."""
        self._claimed.pop(origin, None)
        self._refreshes[origin] = refresh
        self._writer.batch.refresh(origin, refresh)
        self._writer.soon()

    async def promise(self, promise: Promise) -> None:
        """Return once the promise is on disk, with all that was learned before it."""
        if promise.refresh is not None:
            self._refreshes[promise.task.origin] = promise.refresh
        self._writer.batch.promise(promise, self._journal.end)
        await self._writer.committed()

    async def recall(self, scope: str, now: float) -> Recalled:
        """What a scope is owed.

        A promise whose record is not in the log is an interrupted request: the pace waits a full
        delay from `now`, and the event is to be logged before anything else is awaited.
        """
        await self._writer.committed()
        known = self._view.scope(scope)
        if known is None:
            return Recalled(self._unknown(now))
        owed, pending = known
        if pending is None:
            return Recalled(owed)
        event = await asyncio.to_thread(self._find, pending)
        if event is not None:  # its record was written, but what it taught was not kept
            fold = Fold(self._writer.batch, self._view, self._past)
            fold.absorb(event)
            return Recalled(fold.pace(scope))
        task = pending.task
        settings = self._settings.get(task.origin) or self._view.settings(task.origin)
        politeness = settings.politeness if settings is not None else Politeness()
        owed = pace.resumed(owed, target.door(task.url), now, politeness)
        self._writer.batch.settle(scope, owed)
        interrupted = Interrupted(at=now, id=task.id, origin=task.origin, scope=scope, url=task.url)
        return Recalled(owed, interrupted)

    def inherited(self, scope: str, doors: Set[str], owed: Pace) -> Pace:
        """The pace of a scope with what is owed to its doors from when they were in others."""
        others = [other for name, other in self._view.paces().items() if name != scope]
        return pace.inherited(owed, others, doors)

    async def interrupted(self, now: float) -> tuple[Interrupted, ...]:
        """The promises without a record, in whatever scope; each event is to be logged at once."""
        recalled = [await self.recall(scope, now) for scope in self._view.pending()]
        return tuple(one.interrupted for one in recalled if one.interrupted is not None)

    async def vouch(self, scope: str) -> None:
        """Take the operator's word that nothing is owed to a scope that the log does not cover."""
        await self._writer.committed()
        if self._view.scope(scope) is None:
            self._writer.batch.settle(scope, Pace())
            await self._writer.committed()

    def refresh(self, origin: str) -> Refresh | None:
        """An origin's last refresh, finished or not."""
        return self._refreshes.get(origin) or self._view.refresh(origin)

    def page(self, origin: str, url: str) -> Known | None:
        """What is known of one page, by its sendable URL."""
        return self._view.page(origin, url)

    def evidence(self, origin: str) -> Evidence | None:
        """What the origin's last answer showed of its server."""
        if origin not in self._evidence and (known := self._view.evidence(origin)) is not None:
            self._evidence[origin] = known
        return self._evidence.get(origin)

    def _opened(self) -> sqlite3.Connection:
        """The database, with the whole log in it."""
        try:
            private.directory(self.path.parent)
        except OSError as error:
            raise StateUnusable(
                self.path.parent,
                f"cannot be made: {error.strerror}",
                "name a state directory that this user may write to",
            ) from error
        self.rebuilt = rebuild.ready(self.path, self._past, self._now)
        try:
            return self._caught_up()
        except StateDamaged:  # a large database is not looked through before it is used
            self.rebuilt = rebuild.ready(self.path, self._past, self._now)
            return self._caught_up()

    def _caught_up(self) -> sqlite3.Connection:
        database = schema.writing(self.path)
        try:
            rebuild.catch_up(database, self.path, self._past)
        except BaseException:
            database.close()
            raise
        return database

    def _unknown(self, now: float) -> Pace:
        """The pace of a scope that the database knows nothing of: a new one, or a lost one."""
        rebuilt = self._progress.rebuilt
        if rebuilt is None or now >= rebuilt + UNCOVERED:
            return Pace()
        return Pace(not_before=rebuilt + UNCOVERED, why=Why.NOT_COVERED)

    def _find(self, pending: Pending) -> FetchRecord | Interrupted | None:
        """What the log says of a promised request, if anything."""
        for entry in logbook.entries(self._journal.directory, pending.position):
            line = entry.line
            if isinstance(line, FetchRecord | Interrupted) and line.id == pending.task.id:
                return line
        return None

    def _done_with(self, origin: str, url: str) -> int | None:
        """The number of a claimed page, which is not needed again."""
        claimed = self._claimed.get(origin)
        return claimed.pop(url, None) if claimed is not None else None

    async def copy(self, origin: Origin) -> RobotsCopy | None:
        """The robots.txt copy of an origin with its rules; None where its body is lost."""
        copy = self._view.copy(robots_url(origin))
        if copy is None:
            return None
        if copy.answer == robots.Answer.ALLOW_ALL:
            return replace(copy, rules=robots.everything_allowed(copy.status or 0))
        body = self.robots.read(copy.digest) if copy.digest is not None else None
        if body is None:
            return None
        if len(body) > robots.LIGHT:
            rules = await asyncio.to_thread(robots.parse, body, self._product)
        else:
            rules = robots.parse(body, self._product)
        return replace(copy, rules=rules)


def resumed(last: Refresh | None, now: float) -> Refresh:
    """The refresh that an origin is in: the last one where it was cut off a short time ago."""
    if last is not None and not last.finished and 0.0 <= now - last.started < RESUMED:
        return last
    return Refresh(started=now)


def start_urls(origin: Origin) -> dict[str, None]:
    """Where a refresh begins, in the order of the configuration, which was checked."""
    found = (target.joined(origin.url, path) for path in origin.start)
    return dict.fromkeys(item.url for item in found if isinstance(item, target.Target))
