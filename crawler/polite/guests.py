"""Requests at this origin's host that other origins' robots.txt have led to.

Each is made as our own are: as this origin's robots.txt allows, and in its pace.
"""

from collections import deque

from msgspec import Struct
from msgspec.structs import replace

from crawler.events import Why
from crawler.polite.frontier import FetchTask
from crawler.polite.permission import Permission
from crawler.settings import Politeness


class Declined(Struct, frozen=True):
    """A request that another origin's robots.txt has led to, and that is not made here."""

    task: FetchTask
    why: Why
    detail: str


class Guests:
    """The requests that wait at one origin, which asks by `permission`."""

    def __init__(self, permission: Permission, politeness: Politeness) -> None:
        self._permission = permission
        self._politeness = politeness
        self._waiting: deque[FetchTask] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def welcome(self, task: FetchTask) -> None:
        """Let a request wait for its turn."""
        self._waiting.append(task)

    def leave(self) -> FetchTask:
        """Take the first one out."""
        return self._waiting.popleft()

    def turned_away(self, why: Why, detail: str) -> tuple[Declined, ...]:
        """All of them, since this origin must not be asked now."""
        declined = tuple(Declined(task, why, detail) for task in self._waiting)
        self._waiting.clear()
        return declined

    def step(self, now: float) -> FetchTask | Declined | None:
        """The first one, or what must be asked before it; None while that is awaited."""
        task, permission = self._waiting[0], self._permission
        copy = permission.copy
        if copy is None or not permission.in_force(now):
            if permission.refused is None:
                return permission.task(now)
            return Declined(self.leave(), *permission.refused)
        if copy.rules is None:
            return task
        delay = copy.rules.crawl_delay
        if delay is not None and delay > self._politeness.max_crawl_delay:
            detail = f"{copy.url} asks for {delay:g} s between requests"
            return Declined(self.leave(), Why.CRAWL_DELAY, detail)
        ruling = copy.rules.ruling(task.url)
        if not ruling.allowed:
            return Declined(self.leave(), Why.ROBOTS, ruling.explain(copy.url))
        return replace(task, crawl_delay=delay)
