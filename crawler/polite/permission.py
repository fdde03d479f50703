"""May I ask this origin at all? Which robots.txt copy is in force, and what to ask to get one.

Nothing is asked of an origin before its robots.txt was answered (RFC 9309, section 2.3.1). An
answer that the second signature may have caused is no answer: it must never open a closed site.
"""

from collections.abc import Callable

from msgspec.structs import replace

from crawler.events import Arm, FetchRecord, Kind, RobotsRead, Stage, Why
from crawler.polite import address, robots, target
from crawler.polite.frontier import Fetched, FetchTask, RobotsCopy
from crawler.settings import Origin, Unreachable

TRIES = 3
_LAST_GOOD = 30 * 86400.0
_GRACE = 3600.0  # how long a last good copy serves before robots.txt is asked again

Whereabouts = Callable[[str], tuple[str, str] | None]
"""The configured origin and the pace scope of a URL; None where no origin has that host."""


class Permission:
    """One origin's robots.txt, from the first request to the copy in force."""

    def __init__(
        self, origin: Origin, scope: str, copy: RobotsCopy | None, whereabouts: Whereabouts
    ) -> None:
        self.origin = origin
        self._url = f"{target.origin_key(origin.url)}/robots.txt"
        self.copy = copy if copy is not None and copy.url == self._url else None
        self.refused: tuple[Why, str] | None = None
        self.away = False  # the request is with another host's lane
        self._whereabouts = whereabouts
        self._scope = scope
        self._tries = 0
        self._stale = 0
        self._next = self._ask()

    def in_force(self, now: float) -> bool:
        """Whether there is a copy that may be decided by."""
        return self.copy is not None and now < self.copy.until

    def task(self, now: float) -> FetchTask | None:
        """The robots.txt request to make now; None where a copy is in force or none can be had."""
        if self.away or self.refused is not None or self.in_force(now):
            return None
        return self._next

    def learn(self, fetched: Fetched, now: float) -> tuple[RobotsCopy | None, RobotsRead | None]:
        """The copy that an answer puts into force and the event that says so, if it does."""
        record = fetched.record
        self.away = False
        if record.stage is Stage.STALE_CONNECTION and self._stale < TRIES:
            self._stale += 1
            return None, None
        answer = robots.judge(
            status=record.status if record.stage is None else None,
            carried_second=len(record.labels) > 1,
            before_first_byte=record.stage in (Stage.FIRST_BYTE, Stage.HEAD),
            hops=len(record.via),
            doubtful=fetched.doubtful,
        )
        match answer:
            case robots.Answer.AGAIN_WITH_FIRST_ONLY:
                self._next = replace(
                    self._ask(), arm=Arm.FIRST_ONLY, control_of=record.id, attempt=record.attempt
                )
                return None, None
            case robots.Answer.REDIRECT:
                return self._redirected(record, now)
            case robots.Answer.UNREACHABLE:
                return self._unreachable(record, now)
            case robots.Answer.UNCHANGED:
                if self.copy is None or self.copy.rules is None:
                    return self._unreachable(record, now)
                copy = replace(
                    self.copy,
                    at=record.at,
                    until=now + robots.lifetime(record.fresh_for),
                    answer=robots.Answer.RULES,
                    status=record.status,
                    etag=record.etag or self.copy.etag,
                    last_modified=record.last_modified or self.copy.last_modified,
                    good_at=now,
                )
            case robots.Answer.ALLOW_ALL:
                copy = RobotsCopy(
                    url=self._url,
                    answer=answer,
                    status=record.status,
                    at=record.at,
                    until=now + robots.lifetime(record.fresh_for),
                    rules=robots.everything_allowed(record.status or 0),
                )
            case robots.Answer.RULES:
                if fetched.robots is None:
                    return self._unreachable(record, now)
                copy = RobotsCopy(
                    url=self._url,
                    answer=answer,
                    status=record.status,
                    at=record.at,
                    until=now + robots.lifetime(record.fresh_for),
                    digest=record.digest,
                    etag=None if record.via else record.etag,  # it is another URL's
                    last_modified=None if record.via else record.last_modified,
                    rules=fetched.robots,
                    good_at=now,
                )
        return self._enforce(copy, now)

    def _enforce(self, copy: RobotsCopy, now: float) -> tuple[RobotsCopy, RobotsRead]:
        previous = self.copy.digest if self.copy is not None else None
        event = RobotsRead(
            at=now,
            origin=self.origin.name,
            url=self._url,
            answer=copy.answer,
            status=copy.status,
            digest=copy.digest,
            previous=previous,
            changed=self.copy is not None and copy.digest != previous,
            until=copy.until,
            etag=copy.etag,
            last_modified=copy.last_modified,
        )
        self.copy = copy
        self._tries = 0
        self._next = self._ask()
        return copy, event

    def _redirected(
        self, record: FetchRecord, now: float
    ) -> tuple[RobotsCopy | None, RobotsRead | None]:
        found = None if record.location is None else target.joined(record.url, record.location)
        if (
            found is None
            or isinstance(found, target.Unsendable)
            or found.url in (*record.via, record.url)
        ):
            return self._unreachable(record, now, dead_end="a redirect that leads nowhere")
        where = self._whereabouts(found.url)
        if where is None:
            detail = f"redirects to {found.url}, which is no configured origin's host"
            self.decline(Why.ROBOTS_ELSEWHERE, f"{self._url} {detail}")
            return None, None
        name, scope = where
        self._next = replace(
            self._next,
            origin=name,
            scope=scope,
            url=found.url,
            via=(*record.via, record.url),
            behalf=None if name == self.origin.name else self.origin.name,
            etag=None,
            last_modified=None,
        )
        return None, None

    def decline(self, why: Why, detail: str) -> None:
        """Note that no robots.txt can be had in this run, so that nothing is allowed."""
        self.away = False
        self.refused = (why, detail)

    def _unreachable(
        self, record: FetchRecord, now: float, dead_end: str = ""
    ) -> tuple[RobotsCopy | None, RobotsRead | None]:
        """Nothing is allowed; asked again a few times, unless that can only end the same."""
        self._tries += 1
        if record.stage in (Stage.ADDRESS, Stage.HEADER_LIMIT):  # nothing left, nor would it next
            refused = record.stage is Stage.ADDRESS
            told = address.advised(record.detail) if refused else record.detail
            self.decline(Why.ROBOTS_UNREACHABLE, f"{record.url}: {told}")
            return None, None
        good = self.copy
        if (
            self.origin.politeness.unreachable_robots is Unreachable.LAST_GOOD
            and good is not None
            and good.rules is not None
            and good.good_at is not None
            and now - good.good_at < _LAST_GOOD
        ):
            return self._enforce(replace(good, until=now + _GRACE, status=record.status), now)
        if dead_end or self._tries >= TRIES:
            said = record.status or record.stage or record.outcome
            told = dead_end or f"{said}, {self._tries} times"
            self.decline(Why.ROBOTS_UNREACHABLE, f"{self._url}: {told}")
        again = replace(self._ask(), attempt=self._tries + 1)
        if record.control_of is not None:  # sig1 alone was no better: both would be asked twice
            again = replace(again, arm=Arm.FIRST_ONLY, control_of=record.control_of)
        self._next = again
        return None, None

    def _ask(self) -> FetchTask:
        copy = self.copy
        return FetchTask(
            origin=self.origin.name,
            scope=self._scope,
            url=self._url,
            kind=Kind.ROBOTS,
            etag=copy.etag if copy and copy.rules else None,
            last_modified=copy.last_modified if copy and copy.rules else None,
            digest=copy.digest if copy else None,
            robots=copy.digest if copy else None,
            crawl_delay=copy.rules.crawl_delay if copy and copy.rules else None,
        )
