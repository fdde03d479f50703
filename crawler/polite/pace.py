"""When the next request into a scope may leave. Decides, and never waits.

The state is folded from records alone: `after` over the log gives what the crawl itself had, so the
jitter of a back-off is a hash of the record's id. `before` is the promise that is on disk when a
request leaves; should its record never come, `resumed` waits a full delay from the restart.
"""

from datetime import UTC, datetime, timedelta
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from crawler.events import FetchRecord, Kind, Outcome, Stage, Why
from crawler.settings import Politeness, quiet_hours

REFUSALS_TOLERATED = 3
FAILURES_TOLERATED = 5
_DAY = 86400.0
_REACHED_NOBODY = {Stage.DNS, Stage.CONNECT, Stage.TLS}
_NO_ANSWER = {*_REACHED_NOBODY, Stage.FIRST_BYTE, Stage.HEAD, Stage.DEADLINE}


class Regard(Struct, frozen=True, kw_only=True):
    """How one origin takes us."""

    refusals: int = 0  # 401, 403, 451 in a row that sig2 did not cause
    freezes: int = 0
    failures: int = 0  # unreachable or failing in a row
    parkings: int = 0
    closed_until: float = 0.0
    closed: Why | None = None  # FROZEN or PARKED
    detail: str = ""
    day: int = 0  # days since 1970, UTC
    asked: int = 0  # requests on that day


class Pace(Struct, frozen=True, kw_only=True):
    """What a scope is owed."""

    not_before: float = 0.0
    why: Why = Why.DELAY
    setbacks: int = 0  # answers in a row that ask for back-off
    delay: float = 0.0  # the last one owed after an answer
    ended: float = 0.0  # when the last answer had come, whichever origin's
    pending: str | None = None  # the promised request whose record has not come yet
    regards: dict[str, Regard] = {}

    def regard(self, origin: str) -> Regard:
        return self.regards.get(origin, _STRANGER)


_STRANGER = Regard()


class Go(Struct, frozen=True):
    """Ask now."""


class Wait(Struct, frozen=True):
    """Ask at `until`."""

    until: float
    why: Why


class Stop(Struct, frozen=True):
    """Do not ask this origin in this turn; not before `until`."""

    until: float
    why: Why
    detail: str = ""


def decide(
    pace: Pace,
    origin: str,
    now: float,
    politeness: Politeness,
    crawl_delay: float | None = None,
) -> Go | Wait | Stop:
    """Whether a request to `origin` may leave now; `now` in seconds since 1970.

    The last answer in the scope may have been another origin's, with a shorter delay: this one's
    own, and its robots.txt's `crawl_delay` in seconds, count from there too. What is nearer than
    max_delay (or the largest Crawl-delay that we honour) is waited for; what is further away ends
    the origin's turn.
    """
    regard = pace.regard(origin)
    if regard.closed is not None and now < regard.closed_until:
        return Stop(regard.closed_until, regard.closed, regard.detail)
    if regard.day == int(now // _DAY) and regard.asked >= politeness.daily_requests:
        return Stop((regard.day + 1) * _DAY, Why.DAILY_BUDGET)
    until, why = pace.not_before, pace.why
    own = pace.ended + max(politeness.min_delay, crawl_delay or 0.0)
    if own > until:
        until, why = own, Why.DELAY
    ready = max(now, until)
    if politeness.quiet and (end := _quiet_until(politeness.quiet, ready)) > ready:
        until, why = end, Why.QUIET_HOURS
    if now >= until:
        return Go()
    if until - now > max(politeness.max_delay, politeness.max_crawl_delay):
        return Stop(until, why)
    return Wait(until, why)


def before(pace: Pace, origin: str, id: str, now: float) -> Pace:
    """The promise: what is on disk before the request `id` leaves."""
    regard = pace.regard(origin)
    day = int(now // _DAY)
    asked = regard.asked + 1 if regard.day == day else 1
    counted = replace(regard, day=day, asked=asked)
    return replace(pace, pending=id, regards={**pace.regards, origin: counted})


def resumed(pace: Pace, now: float, politeness: Politeness) -> Pace:
    """The pace of a restarted crawl: an interrupted request costs a full delay from now."""
    if pace.pending is None:
        return pace
    owed = now + max(politeness.min_delay, pace.delay)
    pace = replace(pace, pending=None, ended=now)
    if owed <= pace.not_before:
        return pace
    return replace(pace, not_before=owed, why=Why.INTERRUPTED)


def after(pace: Pace, record: FetchRecord, politeness: Politeness) -> Pace:
    """The pace once a request has ended. A fold over records, in the order of the log."""
    ended = record.at + record.elapsed
    regard = _regard_after(pace.regard(record.origin), record, politeness)
    regards = {**pace.regards, record.origin: regard}
    if _never_left(record):
        return replace(pace, pending=None, regards=regards)
    delay = _delay(record, politeness)
    until, why = ended + delay, Why.DELAY
    setbacks = pace.setbacks
    if _is_setback(record):
        setbacks += 1
        until, why = ended + _back_off(setbacks, delay, record, politeness), Why.BACK_OFF
    elif record.status is not None:
        setbacks = 0
    for seconds, reason in (
        (record.retry_after, Why.RETRY_AFTER),
        (record.quota_reset if record.quota_left == 0 else None, Why.RATE_LIMIT),
    ):
        if seconds is not None and seconds > 0:
            asked = ended + min(seconds, politeness.max_retry_after)
            if asked > until:
                until, why = asked, reason
    if pace.not_before > until:
        until, why = pace.not_before, pace.why
    return Pace(
        not_before=until, why=why, setbacks=setbacks, delay=delay, ended=ended, regards=regards
    )


def _never_left(record: FetchRecord) -> bool:
    """Whether a request stayed here; one that our own mistake ended may have left before."""
    if record.outcome is Outcome.INTERNAL:
        return record.header_bytes == 0
    return record.outcome is Outcome.NOT_SENT


def _delay(record: FetchRecord, politeness: Politeness) -> float:
    """Seconds from the end of an answer: the floor, or what a slow site or its robots.txt wants."""
    adaptive = min(politeness.delay_factor * record.elapsed, politeness.max_delay)
    spread = 0.0
    if record.quota_left and record.quota_reset and record.quota_reset > 0:
        spread = min(record.quota_reset / record.quota_left, politeness.max_delay)
    return max(politeness.min_delay, adaptive, spread, record.crawl_delay or 0.0)


def _is_setback(record: FetchRecord) -> bool:
    if record.stage is Stage.STALE_CONNECTION:
        return False
    if record.status is not None:
        return record.status == 429 or record.status >= 500
    return record.stage in _NO_ANSWER


def _back_off(setbacks: int, delay: float, record: FetchRecord, politeness: Politeness) -> float:
    """Doubling from the delay (at least a second), spread by a hash of the record's id."""
    exponent = min(setbacks, 16)
    grown = max(delay, 1.0) * 2.0 ** (exponent - 1)
    jitter = 1.0 + int.from_bytes(sha256(record.id.encode()).digest()[:4]) / 2**34
    return max(delay, min(grown, politeness.max_delay) * jitter)


def _regard_after(regard: Regard, record: FetchRecord, politeness: Politeness) -> Regard:
    ended = record.at + record.elapsed
    alone = len(record.labels) < 2
    status = record.status
    if status is not None and (200 <= status < 400):
        return replace(
            regard,
            refusals=0,
            failures=0,
            freezes=0 if record.kind is Kind.PAGE else regard.freezes,
            parkings=0,
            closed=None,
            closed_until=0.0,
            detail="",
        )
    if status in (401, 403, 451) and record.kind is Kind.PAGE:
        if not alone and status != 451:
            return regard
        regard = replace(regard, refusals=regard.refusals + 1)
        if regard.freezes == 0 and regard.refusals < REFUSALS_TOLERATED:
            return regard
        closed = politeness.freeze[min(regard.freezes, len(politeness.freeze) - 1)]
        return replace(
            regard,
            refusals=0,
            freezes=regard.freezes + 1,
            closed=Why.FROZEN,
            closed_until=ended + closed,
            detail=f"{status} {regard.refusals} times in a row",
        )
    failed = (
        status >= 500 and record.retry_after is None
        if status is not None
        else record.stage in _NO_ANSWER
    )
    if not failed:
        return regard
    if not alone and record.stage not in _REACHED_NOBODY:
        return regard
    regard = replace(regard, failures=regard.failures + 1)
    if regard.parkings == 0 and regard.failures < FAILURES_TOLERATED:
        return regard
    closed = politeness.freeze[min(regard.parkings, len(politeness.freeze) - 1)]
    return replace(
        regard,
        failures=0,
        parkings=regard.parkings + 1,
        closed=Why.PARKED,
        closed_until=ended + closed,
        detail=f"{status or record.stage}, {regard.failures} times in a row",
    )


def _quiet_until(quiet: str, moment: float) -> float:
    """When the quiet hours around `moment` end; `moment` itself outside of them."""
    first, last, zone = quiet_hours(quiet)
    local = datetime.fromtimestamp(moment, zone)
    minute = local.hour * 60 + local.minute
    inside = first <= minute < last if first <= last else minute >= first or minute < last
    if not inside:
        return moment
    end = local.replace(hour=last // 60, minute=last % 60, second=0, microsecond=0)
    if end <= local:
        end += timedelta(days=1)
    return end.astimezone(UTC).timestamp()
