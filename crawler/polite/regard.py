"""How an origin takes us, and when it is left alone.

Refusals in a row freeze it, failures in a row park it, each time for longer. What the second
signature may have caused counts for neither: only the control with sig1 alone tells.
"""

from msgspec import Struct
from msgspec.structs import replace

from crawler.events import FetchRecord, Kind, Stage, Why
from crawler.settings import Politeness

REFUSALS_TOLERATED = 3
FAILURES_TOLERATED = 5
REACHED_NOBODY = frozenset({Stage.DNS, Stage.CONNECT, Stage.TLS})
NO_ANSWER = REACHED_NOBODY | {Stage.FIRST_BYTE, Stage.HEAD, Stage.DEADLINE}


class Regard(Struct, frozen=True, kw_only=True):
    """What one origin's answers so far come to."""

    refusals: int = 0  # 401, 403, 451 in a row that sig2 did not cause
    freezes: int = 0
    failures: int = 0  # unreachable or failing in a row
    parkings: int = 0
    closed_until: float = 0.0
    closed: Why | None = None  # FROZEN or PARKED
    detail: str = ""
    day: int = 0  # days since 1970, UTC
    asked: int = 0  # requests on that day
    at: float = 0.0  # when we last knew anything new of it
    owed: float = 0.0  # when it may be asked again, as far as its own answers say
    why: Why = Why.DELAY


def after(regard: Regard, record: FetchRecord, politeness: Politeness) -> Regard:
    """The regard once a request has ended; after the first closing, one more suffices."""
    status = record.status
    if status is not None and 200 <= status < 400:
        return _welcome(regard, record)
    if status in (401, 403, 451):
        return _refused(regard, record, politeness)
    failed = (
        status >= 500 and record.retry_after is None
        if status is not None
        else record.stage in NO_ANSWER
    )
    return _failed(regard, record, politeness) if failed else regard


def _welcome(regard: Regard, record: FetchRecord) -> Regard:
    """A good answer. That of a robots.txt says nothing of the pages, which it comes before."""
    if record.kind is Kind.ROBOTS:
        return replace(regard, closed=None, closed_until=0.0, detail="")
    return Regard(day=regard.day, asked=regard.asked)


def _refused(regard: Regard, record: FetchRecord, politeness: Politeness) -> Regard:
    """A refusal of a page; 451 is about the law, so no control is awaited."""
    if record.kind is not Kind.PAGE or (len(record.labels) > 1 and record.status != 451):
        return regard
    counted = regard.refusals + 1
    if regard.freezes == 0 and counted < REFUSALS_TOLERATED:
        return replace(regard, refusals=counted)
    return replace(
        regard,
        refusals=0,
        freezes=regard.freezes + 1,
        closed=Why.FROZEN,
        closed_until=_until(record, regard.freezes, politeness),
        detail=f"{record.status}, {counted} times in a row",
    )


def _failed(regard: Regard, record: FetchRecord, politeness: Politeness) -> Regard:
    if len(record.labels) > 1 and record.stage not in REACHED_NOBODY:
        return regard
    counted = regard.failures + 1
    if regard.parkings == 0 and counted < FAILURES_TOLERATED:
        return replace(regard, failures=counted)
    return replace(
        regard,
        failures=0,
        parkings=regard.parkings + 1,
        closed=Why.PARKED,
        closed_until=_until(record, regard.parkings, politeness),
        detail=f"{record.status or record.stage}, {counted} times in a row",
    )


def _until(record: FetchRecord, before: int, politeness: Politeness) -> float:
    """When an origin that was closed `before` times is asked again."""
    lengths = politeness.freeze
    return record.at + record.elapsed + lengths[min(before, len(lengths) - 1)]
