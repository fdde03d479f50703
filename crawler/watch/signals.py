"""What one answer says about our signatures, seen by itself.

Reads status, reason, fields, the beginning of a refusal and the stage of a failure against the rows
of `patterns`; an answer that no row knows is judged by its status alone. A sight never proves that
sig2 was the cause: the same request with sig1 alone does.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import assert_never

from msgspec import Struct

from crawler.events import FetchRecord, Outcome, Stage
from crawler.watch.patterns import TABLE, Row, Sight, Where

_QUOTED = 100  # characters of an answer that a sighting quotes
_FAILED = Outcome.FAILED  # to look a member up in its class takes long on Python 3.11
_DIRECTORY, _VERIFIER = Sight.DIRECTORY, Sight.VERIFIER
_OF_BOTH = frozenset((Sight.SIZE_SURE, Sight.SIZE_POSSIBLE, Sight.VERIFIER, Sight.CHALLENGE))
_NEVER_ANSWERED = frozenset((Outcome.NOT_SENT, Outcome.CANCELLED, Outcome.INTERNAL))
_MARKUP = re.compile(
    r"<(style|script)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)|<[/!?a-z][^<>]*(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_SPACE = re.compile(r"\s+")


class Sighting(Struct, frozen=True, kw_only=True):
    """What an answer looks like, what in it says so, and which software answers like that."""

    sight: Sight
    matched: str = ""
    source: str = ""


FINE = Sighting(sight=Sight.FINE)
OTHER = Sighting(sight=Sight.OTHER)


def classify(record: FetchRecord) -> Sighting:
    """What the answer to one request looks like.

    429, and 503 with Retry-After, speak of our pace and of nothing else. What refuses a request
    that carried sig1 alone as a verifier does is a matter of what we publish: `directory`.
    """
    status = record.status
    if status is None or record.outcome in _NEVER_ANSWERED:
        return _without_answer(record)
    if status >= 400:
        if status == 429 or (status == 503 and record.retry_after is not None):
            return OTHER
        return _first(_answered(status), record) or OTHER
    if (record.refusal or record.fields) and (
        found := _first(_answered(status), record)
    ) is not None:
        return found
    return OTHER if record.outcome is _FAILED else FINE


def _without_answer(record: FetchRecord) -> Sighting:
    stage = record.stage
    if record.outcome in _NEVER_ANSWERED or stage is None or record.reused:
        return OTHER  # a connection that had served before may have died of age
    return _first(_failed(stage), record) or OTHER


def suspicious(record: FetchRecord, sight: Sight) -> bool:
    """Whether this answer is reason enough to ask whether a signature costs us pages here.

    For all but `directory` that takes a request that carried both.
    """
    return sight is _DIRECTORY or (sight in _OF_BOTH and len(record.labels) > 1)


def doubtful(record: FetchRecord) -> bool:
    """Whether anything in an answer is a verifier's or a challenge's, whatever its status.

    For an answer that must not be believed lightly, as a robots.txt's; a doubt costs one request.
    """
    answer = _Answer(record)
    return any(find(answer) is not None for find in _telling())


@lru_cache(maxsize=512)  # whoever answers chooses the names
def read(name: str) -> bool:
    """Whether an answer field of this name is one that `classify` reads, and a record keeps."""
    return any(row.name and _compiled(row.name).fullmatch(name) is not None for row in TABLE)


class _Answer:
    """An answer, its text prepared for the first row that wants it."""

    __slots__ = ("_text", "record")

    def __init__(self, record: FetchRecord) -> None:
        self.record = record
        self._text: str | None = None

    @property
    def text(self) -> str:
        """Reason phrase and body as a reader sees them: `<header>` is no word."""
        if self._text is None:
            body = _MARKUP.sub(" ", self.record.refusal)
            self._text = _SPACE.sub(" ", f"{self.record.reason or ''}\n{body}")
        return self._text


_Finder = Callable[[_Answer], str | None]


def _first(rows: tuple[tuple[Row, _Finder], ...], record: FetchRecord) -> Sighting | None:
    answer = _Answer(record)
    for row, find in rows:
        if (matched := find(answer)) is not None:
            sight = row.sight
            if sight is _VERIFIER and len(record.labels) < 2:
                sight = _DIRECTORY
            return Sighting(sight=sight, matched=matched, source=row.source)
    return None


@lru_cache(maxsize=128)
def _answered(status: int) -> tuple[tuple[Row, _Finder], ...]:
    return tuple((row, _finder(row)) for row in TABLE if status in row.statuses)


@cache
def _telling() -> tuple[_Finder, ...]:
    return tuple(
        _finder(row)
        for row in TABLE
        if row.sight in (Sight.VERIFIER, Sight.CHALLENGE)
        and row.where not in (Where.ANYWHERE, Where.DETAIL)
    )


@cache
def _failed(stage: Stage) -> tuple[tuple[Row, _Finder], ...]:
    return tuple((row, _finder(row)) for row in TABLE if stage in row.stages)


def _finder(row: Row) -> _Finder:
    """What gives, quoted for people, the part of an answer that the row's pattern finds."""
    name, pattern = _compiled(row.name), _compiled(row.pattern)

    def status_or_stage(answer: _Answer) -> str:
        record = answer.record
        return f"status {record.status}" if record.status is not None else str(record.stage)

    def in_text(answer: _Answer) -> str | None:
        found = pattern.search(answer.text)
        return None if found is None else _quoted("text", found[0])

    def at_start(answer: _Answer) -> str | None:
        found = pattern.match(answer.record.refusal)
        return None if found is None else _quoted("body", found[0])

    def in_detail(answer: _Answer) -> str | None:
        detail = answer.record.detail
        return None if pattern.search(detail) is None else _quoted("failure", detail)

    def in_field(answer: _Answer) -> str | None:
        for own, value in answer.record.fields.items():
            if name.fullmatch(own) and pattern.search(value):
                return _quoted(own.lower(), value)
        return None

    match row.where:
        case Where.ANYWHERE:
            return status_or_stage
        case Where.TEXT:
            return in_text
        case Where.START:
            return at_start
        case Where.DETAIL:
            return in_detail
        case Where.FIELD:
            return in_field
        case _:
            assert_never(row.where)


def _quoted(place: str, found: str) -> str:
    return f"{place}: {found[:_QUOTED].strip()}"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
