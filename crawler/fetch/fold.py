"""What the log's events change in what is known: the crawl's own rules, applied once more."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from crawler.events import (
    Event,
    FetchRecord,
    Interrupted,
    Kind,
    OriginSettings,
    RobotsRead,
    Skipped,
    Why,
)
from crawler.fetch.batch import Batch, Evidence, evidence_of, has_body
from crawler.fetch.bodies import Bodies
from crawler.fetch.journal import Journal
from crawler.fetch.view import View
from crawler.polite import pace, robots, target
from crawler.polite.frontier import Fetched, Lesson, Opened, Page, Refresh, RobotsCopy
from crawler.polite.itinerary import Itinerary
from crawler.polite.pace import Pace
from crawler.polite.permission import Whereabouts
from crawler.settings import Follow, Origin, ProfileName, Second

Links = Callable[[FetchRecord, bytes, Origin], tuple[str, ...]]
"""The links of a page's body that its origin follows, sendable."""


class Past(Struct, frozen=True, kw_only=True):
    """What is needed to read the log back."""

    journal: Journal
    bodies: Bodies
    links: Links
    whereabouts: Whereabouts


class Fold:
    """Absorbs events, in the order of the log, into `batch`.

    `view` says what was known before the first one.
    """

    def __init__(self, batch: Batch, view: View, past: Past) -> None:
        self.batch = batch
        self._view = view
        self._past = past
        self._paces: dict[str, Pace] = {}
        self._origins: dict[str, Origin] = {}
        self._until: dict[str, float] = {}  # of each origin's robots copy
        self._evidence: dict[str, Evidence] = {}
        self._read: set[int] = set()  # bodies whose links are known

    def absorb(self, event: Event) -> None:
        """Change what is known as the crawl did when it wrote this event."""
        match event:
            case OriginSettings():
                self._origins[event.origin] = _origin(event)
            case FetchRecord():
                self._answer(event)
            case Interrupted():
                self._interrupt(event)
            case RobotsRead():
                self._enforce(event)
            case Skipped(why=Why.ROBOTS):
                until = self._robots_until(event.origin, event.at)
                self.batch.postpone(event.origin, event.url, until, event.at, None)
            case _:
                pass  # what else happened follows from these, or changes nothing that is kept

    def pace(self, scope: str) -> Pace:
        """What a scope is owed, as far as the events absorbed say."""
        if scope not in self._paces:
            known = self._view.scope(scope)
            self._paces[scope] = known[0] if known is not None else Pace()
        return self._paces[scope]

    def _answer(self, record: FetchRecord) -> None:
        origin = self._origin(record.origin, record.url)
        owed = _promised(self.pace(record.scope), record.url, record.id, record.at)
        owed = self._paces[record.scope] = pace.after(owed, record, origin.politeness)
        if record.kind is Kind.ROBOTS:
            lesson = Lesson(fetched=Fetched(record=record))  # RobotsRead tells what it led to
        else:
            self.batch.find((Page(origin=record.origin, url=record.url, depth=record.depth),))
            lesson = self._lesson(record, origin)
        self.batch.keep(lesson, owed, None)
        evidence = evidence_of(record)
        if evidence is not None and self._evidence.get(record.origin) != evidence:
            self._evidence[record.origin] = evidence
            self.batch.note(record.origin, evidence)

    def _lesson(self, record: FetchRecord, origin: Origin) -> Lesson:
        """What the itinerary of the refresh taught; it decides by the record alone."""
        ended = record.at + record.elapsed
        itinerary = Itinerary(
            origin,
            run="",
            scope=record.scope,
            opened=Opened(refresh=Refresh(started=record.at)),
            due=ended,
            whereabouts=self._past.whereabouts,
        )
        links = self._links_of(record, origin)
        lesson = itinerary.learn(Fetched(record=record, links=links or ()), ended).lesson
        if links is not None:
            return lesson
        # what it pointed to is lost: without validators it is read in full at its next turn
        unconfirmed = replace(record, etag=None, last_modified=None, place=None)
        return replace(lesson, fetched=Fetched(record=unconfirmed))

    def _links_of(self, record: FetchRecord, origin: Origin) -> tuple[str, ...] | None:
        """The links of a page, read anew from its body; None where that was not kept."""
        follows = Follow.LINKS in origin.follow and record.depth < origin.depth
        if not follows or record.digest is None or not has_body(record):
            return ()
        mark = hash((record.url, record.digest))
        if mark in self._read:
            return ()
        body = None
        if record.place is not None:
            body = self._past.bodies.read(record.place, record.digest)
        if body is None:
            return None
        self._read.add(mark)
        return self._past.links(record, body, origin)

    def _interrupt(self, event: Interrupted) -> None:
        origin = self._origin(event.origin, event.url)
        owed = _promised(self.pace(event.scope), event.url, event.id, event.at)
        owed = self._paces[event.scope] = pace.resumed(
            owed, target.door(event.url), event.at, origin.politeness
        )
        self.batch.settle(event.scope, owed)

    def _enforce(self, event: RobotsRead) -> None:
        self._until[event.origin] = event.until
        if event.status is None or event.status == 429 or event.status >= 500:
            self.batch.prolong(event.url, event.until, event.status)
            return
        self.batch.enforce(
            RobotsCopy(
                url=event.url,
                answer=event.answer,
                status=event.status,
                at=event.at,
                until=event.until,
                digest=event.digest,
                etag=event.etag,
                last_modified=event.last_modified,
                good_at=event.at if event.answer == robots.Answer.RULES else None,
            )
        )

    def _robots_until(self, name: str, at: float) -> float:
        until = self._until.get(name)
        if until is None:
            origin = self._view.settings(name)
            copy = self._view.copy(robots_url(origin)) if origin is not None else None
            until = copy.until if copy is not None else None
        return at if until is None else until

    def _origin(self, name: str, url: str) -> Origin:
        """An origin as it was configured then; with the defaults where nothing says how."""
        origin = self._origins.get(name) or self._view.settings(name)
        if origin is None:
            key = target.origin_key(url)
            origin = Origin(name=name, url=f"{key}/", profile=ProfileName.AUTO, sig2=Second.WATCH)
        return self._origins.setdefault(name, origin)


def robots_url(origin: Origin) -> str:
    """Where an origin's robots.txt is."""
    return f"{target.origin_key(origin.url)}/robots.txt"


def _promised(owed: Pace, url: str, id: str, at: float) -> Pace:
    """The pace with this promise counted, once."""
    return owed if owed.pending == id else pace.before(owed, target.door(url), id, at)


def _origin(event: OriginSettings) -> Origin:
    return Origin(
        name=event.origin,
        url=event.url,
        follow=event.follow,
        pages=event.pages,
        depth=event.depth,
        profile=event.profile,
        sig2=event.sig2,
        allow_private=event.allow_private,
        politeness=event.politeness,
    )
