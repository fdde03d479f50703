"""When the next request into a scope may leave. Decides, and never waits.

The state is folded from records alone: `after` over the log gives what the crawl itself had, so the
jitter of a back-off is a hash of the record's id. `before` is the promise that is on disk when a
request leaves; should its record never come, `resumed` waits a full delay from the restart.
"""

from collections.abc import Iterable, Set
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from crawler.events import FetchRecord, Outcome, Stage, Why
from crawler.polite import regard, target
from crawler.polite.regard import Regard
from crawler.settings import Politeness, quiet_hours

_DAY = 86400.0


class Pace(Struct, frozen=True, kw_only=True):
    """What a scope is owed."""

    not_before: float = 0.0
    why: Why = Why.DELAY
    setbacks: int = 0  # answers in a row that ask for back-off
    delay: float = 0.0  # the last one owed after an answer
    ended: float = 0.0  # when the last answer had come, whichever origin's
    pending: str | None = None  # the promised request whose record has not come yet
    regards: dict[str, Regard] = {}

    def regard(self, door: str) -> Regard:
        return self.regards.get(door, _STRANGER)


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
    door: str,
    now: float,
    politeness: Politeness,
    crawl_delay: float | None = None,
) -> Go | Wait | Stop:
    """Whether a request may leave now; `now` in seconds since 1970.

    `door` is scheme, host and port of its URL: who has had enough of us is a host, whatever name
    the configuration gives it.

    The last answer in the scope may have been another origin's, with a shorter delay: this one's
    own, and its robots.txt's `crawl_delay` in seconds, count from there too. What is no further
    away than the longest delay that the settings know is waited for; the rest ends the turn.
    """
    us = pace.regard(door)
    if us.closed is not None and now < us.closed_until:
        return Stop(us.closed_until, us.closed, us.detail)
    if us.day == int(now // _DAY) and us.asked >= politeness.daily_requests:
        return Stop((us.day + 1) * _DAY, Why.DAILY_BUDGET)
    until, why = pace.not_before, pace.why
    own = pace.ended + max(politeness.min_delay, crawl_delay or 0.0)
    if own > until:
        until, why = own, Why.DELAY
    ready = max(now, until)
    if politeness.quiet and (end := _quiet_until(politeness.quiet, ready)) > ready:
        until, why = end, Why.QUIET_HOURS
    if now >= until:
        return Go()
    if until - now > max(politeness.min_delay, politeness.max_delay, politeness.max_crawl_delay):
        return Stop(until, why)
    return Wait(until, why)


def before(pace: Pace, door: str, id: str, now: float) -> Pace:
    """The promise: what is on disk before the request `id` leaves."""
    us = pace.regard(door)
    day = int(now // _DAY)
    counted = replace(us, day=day, asked=us.asked + 1 if us.day == day else 1, at=now)
    return replace(pace, pending=id, regards={**pace.regards, door: counted})


def resumed(pace: Pace, door: str, now: float, politeness: Politeness) -> Pace:
    """The pace of a restarted crawl: an interrupted request costs a full delay from now."""
    if pace.pending is None:
        return pace
    owed = now + max(politeness.min_delay, pace.delay)
    us = pace.regard(door)
    if owed > us.owed:
        us = replace(us, owed=owed, why=Why.INTERRUPTED)
    pace = replace(
        pace, pending=None, ended=now, regards={**pace.regards, door: replace(us, at=now)}
    )
    if owed <= pace.not_before:
        return pace
    return replace(pace, not_before=owed, why=Why.INTERRUPTED)


def inherited(pace: Pace, others: Iterable[Pace], doors: Set[str]) -> Pace:
    """The pace of a scope together with what its doors were owed in other scopes since.

    A scope gets another name when the operator widens it or an address changes; nobody is owed
    less for that. What is known of a door newest counts, wherever it was learned.
    """
    for other in others:
        for door, known in other.regards.items():
            if door not in doors or known.at <= pace.regard(door).at:
                continue
            until, why = max((pace.not_before, pace.why), (known.owed, known.why))
            pace = replace(
                pace,
                not_before=until,
                why=why,
                setbacks=max(pace.setbacks, other.setbacks),
                delay=max(pace.delay, other.delay),
                ended=max(pace.ended, known.at),
                regards={**pace.regards, door: known},
            )
    return pace


def after(pace: Pace, record: FetchRecord, politeness: Politeness) -> Pace:
    """The pace once a request has ended. A fold over records, in the order of the log."""
    ended = record.at + record.elapsed
    door = target.door(record.url)
    us = regard.after(pace.regard(door), record, politeness)
    if _never_left(record):
        return replace(pace, pending=None, regards={**pace.regards, door: us})
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
    us = replace(us, at=ended, owed=until, why=why)
    if pace.not_before > until:
        until, why = pace.not_before, pace.why
    return Pace(
        not_before=until,
        why=why,
        setbacks=setbacks,
        delay=delay,
        ended=ended,
        regards={**pace.regards, door: us},
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
    asked = min(record.crawl_delay or 0.0, politeness.max_crawl_delay)  # beyond: it is not asked
    return max(politeness.min_delay, adaptive, spread, asked)


def _is_setback(record: FetchRecord) -> bool:
    if record.stage is Stage.STALE_CONNECTION:
        return False
    if record.status is not None:
        return record.status == 429 or record.status >= 500
    return record.stage in regard.NO_ANSWER


def _back_off(setbacks: int, delay: float, record: FetchRecord, politeness: Politeness) -> float:
    """Doubling from the delay (at least a second), spread by a hash of the record's id."""
    exponent = min(setbacks, 16)
    grown = max(delay, 1.0) * 2.0 ** (exponent - 1)
    jitter = 1.0 + int.from_bytes(sha256(record.id.encode()).digest()[:4]) / 2**34
    return max(delay, min(grown, politeness.max_delay) * jitter)


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
