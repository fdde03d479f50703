"""What one transaction writes to the state database, as statements and their values.

The same values come from a crawl and from a log that is read back, so both lead to the same rows.
"""

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.events import FetchRecord, Outcome
from crawler.fetch import duplicates
from crawler.fetch.journal import BEGINNING, Position
from crawler.polite.frontier import FetchTask, Lesson, Page, Promise, Refresh, RobotsCopy
from crawler.polite.pace import Pace
from crawler.settings import Origin

Value = str | bytes | int | float | None
Statement = tuple[str, Sequence[tuple[Value, ...]]]

_json = msgspec.json.Encoder()

_ORIGIN = "INSERT OR IGNORE INTO origins (id, name) VALUES (?, ?)"
_SETTINGS = "UPDATE origins SET settings = ? WHERE id = ?"
_REFRESH = "UPDATE origins SET started = ?, asked = ?, finished = ? WHERE id = ?"
_FOUND = (
    "INSERT INTO pages (origin, key, url, depth) VALUES (?, ?, ?, ?) ON CONFLICT (origin, key) "
    "DO UPDATE SET depth = excluded.depth WHERE excluded.depth < depth"
)
_DEEPER = "UPDATE pages SET depth = 1 WHERE origin = ? AND key = ? AND depth = 0"
_ALL_DEEPER = "UPDATE pages SET depth = 1 WHERE origin = ? AND depth = 0"
_SET = "UPDATE pages SET due = ?, seen = ?"
_READ = (
    f"{_SET}, status = ?, etag = ?, last_modified = ?, digest = ?, full_at = ?, place = ? WHERE "
)
_CONFIRMED = (
    f"{_SET}, status = ?, "
    "etag = coalesce(?, etag), last_modified = coalesce(?, last_modified) WHERE "
)
_ANSWERED = f"{_SET}, status = ? WHERE "
_LATER = f"{_SET} WHERE "
_BY_NUMBER = "id = ?"
_BY_KEY = "origin = ? AND key = ?"
_SCOPE = "INSERT OR REPLACE INTO scopes VALUES (?, ?, ?, ?, ?)"
_ROBOTS = "INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_GRACE = "UPDATE robots SET until = ?, status = ? WHERE url = ?"
_EVIDENCE = "INSERT OR REPLACE INTO evidence VALUES (?, ?, ?)"
_PROGRESS = "UPDATE progress SET file = ?, offset = ?, moment = max(moment, ?)"


class Evidence(Struct, frozen=True):
    """What an origin's last answer shows of the server in front of it."""

    server: str | None
    cf_ray: bool


def evidence_of(record: FetchRecord) -> Evidence | None:
    """What a record shows; None where nothing answered."""
    return None if record.status is None else Evidence(record.server, "cf-ray" in record.fields)


class Pending(Struct, frozen=True):
    """A promised request, and where the log ended when it was promised."""

    task: FetchTask
    position: Position


class Origins:
    """The numbers that origins have in the database, by name."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers
        self._last = max(numbers.values(), default=0)

    def known(self, name: str) -> int | None:
        return self._numbers.get(name)

    def add(self, name: str) -> int:
        self._last += 1
        self._numbers[name] = self._last
        return self._last


class Batch:
    """Statements in the order in which they were asked for; of a scope's pace the last one only.

    `position` and `moment` say how far the log has come that all of this comes from.
    """

    def __init__(self, origins: Origins) -> None:
        self.position = BEGINNING
        self.moment = 0.0
        self._origins = origins
        self._statements: list[Statement] = []
        self._refreshes: dict[int, Refresh] = {}
        self._paces: dict[str, Pace] = {}
        self._promised: dict[str, tuple[Pace, Pending]] = {}

    @property
    def empty(self) -> bool:
        return not (self._statements or self._refreshes or self._paces or self._promised)

    @property
    def concerns_pages(self) -> bool:
        return bool(self._statements)

    def begin(self, origin: Origin, refresh: Refresh) -> None:
        """An origin's settings and the refresh that it is in."""
        number = self._number(origin.name)
        self._add(_SETTINGS, (_json.encode(replace(origin, cookie=None)), number))
        self._refreshes[number] = refresh

    def refresh(self, origin: str, refresh: Refresh) -> None:
        self._refreshes[self._number(origin)] = refresh

    def find(self, pages: Iterable[Page]) -> None:
        """Pages that are known from now on, each at the least depth at which it was found."""
        rows = [
            (
                self._number(page.origin),
                key := duplicates.key(page.url),
                None if key == page.url else page.url,
                page.depth,
            )
            for page in pages
        ]
        if rows:
            self._statements.append((_FOUND, rows))

    def demote(self, origin: str, urls: Iterable[str]) -> None:
        """Pages that are start pages no longer: they count as found on one."""
        number = self._number(origin)
        rows = [(number, duplicates.key(url)) for url in urls]
        if rows:
            self._statements.append((_DEEPER, rows))

    def demote_others(self, origin: str, urls: Iterable[str]) -> None:
        """The same, where it is not known which pages were start pages before."""
        self._add(_ALL_DEEPER, (self._number(origin),))
        self.find(Page(origin=origin, url=url) for url in urls)

    def postpone(self, origin: str, url: str, until: float, now: float, page: int | None) -> None:
        """A page that is not offered before `until`; `page` is its number, where it is known."""
        self._change(_LATER, (until, now), page, origin, url)

    def keep(self, lesson: Lesson, pace: Pace, page: int | None) -> None:
        """What an answer taught and the scope's pace after it; `page` as in `postpone`."""
        record = lesson.fetched.record
        if lesson.due is not None:
            self._answer(record, lesson.due, page)
        if lesson.found:
            self.find(lesson.found)
        if lesson.copy is not None:
            self.enforce(lesson.copy)
        self.settle(record.scope, pace)

    def settle(self, scope: str, pace: Pace) -> None:
        """A scope's pace while nothing is pending in it."""
        self._promised.pop(scope, None)
        self._paces[scope] = pace

    def promise(self, promise: Promise, position: Position) -> None:
        """A request that may leave once this batch is on disk."""
        task = promise.task
        self._promised[task.scope] = (promise.pace, Pending(task, position))
        if promise.refresh is not None:
            self._refreshes[self._number(task.origin)] = promise.refresh

    def renew(self, scope: str, pace: Pace, pending: Pending) -> None:
        """A promise of before whose record is to be looked for from a later position on."""
        self._promised[scope] = (pace, pending)

    def enforce(self, copy: RobotsCopy) -> None:
        """The copy of a robots.txt that is in force."""
        self._add(
            _ROBOTS,
            (
                copy.url,
                copy.answer,
                copy.status,
                copy.at,
                copy.until,
                copy.digest,
                copy.etag,
                copy.last_modified,
                copy.good_at,
            ),
        )

    def prolong(self, url: str, until: float, status: int | None) -> None:
        """A copy of before that stays in force though the robots.txt cannot be reached."""
        self._add(_GRACE, (until, status, url))

    def note(self, origin: str, evidence: Evidence) -> None:
        self._add(_EVIDENCE, (origin, evidence.server, evidence.cf_ray))

    def take_back(self, failed: "Batch") -> None:
        """Take over what could not be written, its promises left out: they were not given."""
        self._statements = failed._statements + self._statements
        self._refreshes = {**failed._refreshes, **self._refreshes}
        self._paces = {**failed._paces, **self._paces}

    def write(self, database: sqlite3.Connection) -> None:
        """Execute it all, inside of the caller's transaction."""
        for statement, rows in self._statements:
            database.executemany(statement, rows)
        if self._refreshes:
            database.executemany(
                _REFRESH,
                [
                    (refresh.started, refresh.asked, refresh.finished, number)
                    for number, refresh in self._refreshes.items()
                ],
            )
        scopes: list[tuple[Value, ...]] = [
            (scope, _json.encode(pace), None, None, None)
            for scope, pace in self._paces.items()
            if scope not in self._promised
        ]
        for scope, (pace, pending) in self._promised.items():
            position = pending.position
            row = (_json.encode(pace), _json.encode(pending.task), position.file, position.offset)
            scopes.append((scope, *row))
        database.executemany(_SCOPE, scopes)
        database.execute(_PROGRESS, (self.position.file, self.position.offset, self.moment))

    def _answer(self, record: FetchRecord, due: float, page: int | None) -> None:
        change = _ANSWERED
        values: tuple[Value, ...] = (due, record.at, record.status)
        if record.status == 304:
            change = _CONFIRMED
            values = (*values, record.etag, record.last_modified)
        elif has_body(record):
            change = _READ
            ended = record.at + record.elapsed
            place = None if record.place is None else _json.encode(record.place)
            values = (*values, record.etag, record.last_modified, record.digest, ended, place)
        if page is None:
            self.find((Page(origin=record.origin, url=record.url, depth=record.depth),))
        self._change(change, values, page, record.origin, record.url)

    def _change(
        self, change: str, values: tuple[Value, ...], page: int | None, origin: str, url: str
    ) -> None:
        if page is not None:
            self._add(change + _BY_NUMBER, (*values, page))
        else:
            where = (self._number(origin), duplicates.key(url))
            self._add(change + _BY_KEY, (*values, *where))

    def _number(self, origin: str) -> int:
        number = self._origins.known(origin)
        if number is None:
            number = self._origins.add(origin)
            self._add(_ORIGIN, (number, origin))
        return number

    def _add(self, statement: str, row: tuple[Value, ...]) -> None:
        self._statements.append((statement, (row,)))


def has_body(record: FetchRecord) -> bool:
    """Whether a page's body was read in full, so that its validators speak of what we have."""
    return (
        record.outcome is Outcome.ANSWERED
        and record.digest is not None
        and record.status is not None
        and 200 <= record.status < 300
    )
