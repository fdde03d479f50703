"""The events of a crawl, to be asked about one origin at a time."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from crawler.events import Deferred, Event, FetchRecord, Kind, Outcome, RobotsRead, Skipped, Why
from crawler.polite.robots import Answer


class History:
    """What a log says became of each origin."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events

    def records(self, origin: str, target: str | None = None) -> list[FetchRecord]:
        """The requests made for an origin's own URLs, or for one of them."""
        return [
            event
            for event in self._events
            if isinstance(event, FetchRecord)
            and event.origin == origin
            and (target is None or target_of(event) == target)
        ]

    def pages(self, origin: str) -> list[FetchRecord]:
        return [one for one in self.records(origin) if one.kind is Kind.PAGE]

    def robots(self, origin: str) -> list[FetchRecord]:
        return [one for one in self.records(origin) if one.kind is Kind.ROBOTS]

    def read(self, origin: str) -> set[str]:
        """The targets of the pages that were read."""
        return {
            target_of(one)
            for one in self.pages(origin)
            if one.outcome is Outcome.ANSWERED and one.status == 200
        }

    def skipped(self, origin: str, why: Why) -> list[Skipped]:
        return [
            event
            for event in self._events
            if isinstance(event, Skipped) and event.origin == origin and event.why is why
        ]

    def deferred(self, origin: str, why: Why) -> bool:
        return any(
            isinstance(event, Deferred) and event.origin == origin and event.why is why
            for event in self._events
        )

    def judged(self, origin: str, answer: Answer) -> bool:
        return any(
            isinstance(event, RobotsRead) and event.origin == origin and event.answer == answer
            for event in self._events
        )


def target_of(record: FetchRecord) -> str:
    """Path and query of a record's URL."""
    parts = urlsplit(record.url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
