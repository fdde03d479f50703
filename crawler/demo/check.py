"""Whether the crawl kept its promises, by what the servers saw and what the log says.

The servers are the witnesses: each request must be signed as the log says, be asked when robots.txt
and pace allow it, and stand in the log; what left by the log must have been seen. Only what our
deadline ended may have been answered, or missed, on the other side.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from urllib.parse import urlsplit

from crawler.demo.expectations import TABLE
from crawler.demo.finding import Finding, Reason
from crawler.demo.history import History
from crawler.demo.ledger import Entry, Ledger
from crawler.events import Event, FetchRecord, Internal, Outcome, Stage
from crawler.settings import Origin

TOLERANCE = 0.005  # seconds: the two clocks may tick so much apart, nobody may hurry so much

_STAYED = {Stage.ADDRESS, Stage.DNS, Stage.CONNECT, Stage.TLS, Stage.HEADER_LIMIT}
_NEVER_LEFT = {Outcome.NOT_SENT, Outcome.INTERNAL}


def check(
    ledgers: Sequence[Ledger], origins: Sequence[Origin], events: Iterable[Event]
) -> tuple[Finding, ...]:
    """All that is to find fault with; empty if the crawl was what it says that it is.

    `events` are those of the refreshes that `ledgers` saw, in the order of the log.
    """
    said = tuple(events)
    sent = tuple(event for event in said if isinstance(event, FetchRecord) and _left(event))
    configured = {origin.name: origin for origin in origins}
    found: list[Finding] = []
    for ledger in ledgers:
        origin = configured[ledger.origin]
        entries = tuple(ledger.entries)
        for before, entry in zip((None, *entries), entries, strict=False):
            found.extend(_manners(origin, ledger.authority, before, entry))
        records = [one for one in sent if urlsplit(one.url).netloc == ledger.authority]
        found.extend(_log(origin, entries, records))
    found.extend(_strays(sent, {ledger.authority for ledger in ledgers}))
    found.extend(_mishaps(said))
    history = History(said)
    found.extend(
        Finding(
            origin=expectation.origin,
            url=configured[expectation.origin].url,
            reason=Reason.EXPECTATION,
            detail=f"expected: {expectation.what}",
        )
        for expectation in TABLE
        if not expectation.met(history)
    )
    return tuple(found)


def _left(record: FetchRecord) -> bool:
    return record.outcome not in _NEVER_LEFT and record.stage not in _STAYED


def _manners(
    origin: Origin, authority: str, before: Entry | None, entry: Entry
) -> Iterator[Finding]:
    """What one origin has to say about one request."""
    head = entry.head

    def finding(reason: Reason, detail: str) -> Finding:
        url = f"http://{head.authority}{head.target}"
        return Finding(origin=origin.name, url=url, reason=reason, detail=detail)

    if head.authority != authority:
        yield finding(Reason.NOT_OURS, f"this is {authority}")
    if not head.labels:
        yield finding(Reason.UNSIGNED, head.fault)
    elif head.fault:
        yield finding(Reason.BADLY_SIGNED, head.fault)
    if head.cookie and origin.cookie is None:
        yield finding(Reason.COOKIE, "a cookie was sent back")
    if entry.unasked:
        yield finding(Reason.AGAINST_ROBOTS, entry.unasked)
    if entry.overlaps:
        yield finding(Reason.AT_ONCE, "the one before was still being answered")
    if before is None or entry.gap is None:
        return
    owed, why = _owed(origin, before, entry)
    if entry.gap < owed - TOLERANCE:
        detail = f"{entry.gap:.3f} s after the last answer instead of {owed:.3f} s ({why})"
        yield finding(Reason.TOO_EARLY, detail)


def _owed(origin: Origin, before: Entry, entry: Entry) -> tuple[float, str]:
    """How many seconds from the end of the answer before it are owed, and what for."""
    politeness = origin.politeness
    ended = before.ended or before.arrived
    took = min(politeness.delay_factor * (ended - before.arrived), politeness.max_delay)
    claims = [
        (politeness.min_delay, "the smallest delay"),
        (took, f"{politeness.delay_factor:g} times the last answer's"),
        (entry.crawl_delay, "Crawl-delay"),
    ]
    if entry.promised is not None:
        claims.append((entry.promised - ended, "Retry-After"))
    if entry.setbacks:
        doubled = min(2.0 ** (entry.setbacks - 1), politeness.max_delay)
        claims.append((doubled, f"back-off, {entry.setbacks} in a row"))
    return max(claims)


def _log(
    origin: Origin, entries: Sequence[Entry], records: Sequence[FetchRecord]
) -> Iterator[Finding]:
    """What the log and an origin disagree on, request by request."""
    for entry, record in zip_longest(entries, _seen(origin, entries, records)):
        if record is None:
            yield Finding(
                origin=origin.name,
                url=f"http://{entry.head.authority}{entry.head.target}",
                reason=Reason.NOT_IN_LOG,
                detail=f"the server saw {len(entries)} requests, the log has {len(records)}",
            )
        elif entry is None:
            yield Finding(
                origin=origin.name,
                url=record.url,
                reason=Reason.NOT_SEEN,
                detail=f"the log has {len(records)} requests, the server saw {len(entries)}",
            )
        elif differences := tuple(_differences(origin, entry, record)):
            yield Finding(
                origin=origin.name,
                url=record.url,
                reason=Reason.LOG_DIFFERS,
                detail="; ".join(differences),
            )


def _seen(
    origin: Origin, entries: Sequence[Entry], records: Sequence[FetchRecord]
) -> list[FetchRecord]:
    """The records without those that no server need have seen, as many as are too many.

    A server that is late finds a request whose connection is closed already, and never looks at it.
    Which of several that was nobody can tell: those whose absence explains the most.
    """
    kept = list(records)

    def unexplained(without: int) -> int:
        others = kept[:without] + kept[without + 1 :]
        return sum(any(_differences(origin, *pair)) for pair in zip(entries, others, strict=False))

    while len(kept) > len(entries):
        given_up = [index for index, one in enumerate(kept) if _out_of_time(origin, one)]
        if not given_up:
            break
        del kept[min(given_up, key=unexplained)]
    return kept


def _out_of_time(origin: Origin, record: FetchRecord) -> bool:
    """Whether our deadline ended it before an answer had begun, by its own time as well.

    The server may have handed over its answer by then, in a moment that we had no time to look.
    """
    return (
        record.outcome is Outcome.FAILED
        and record.stage is Stage.DEADLINE
        and record.status is None
        and record.elapsed >= origin.politeness.deadline - TOLERANCE
    )


def _differences(origin: Origin, entry: Entry, record: FetchRecord) -> Iterator[str]:
    head = entry.head
    unheard = record.outcome is Outcome.CANCELLED or _out_of_time(origin, record)
    for what, seen, logged in (
        ("url", f"http://{head.authority}{head.target}", record.url),
        ("labels", head.labels, record.labels),
        ("header bytes", head.size, record.header_bytes),
        ("status", entry.status, record.status),
    ):
        if seen != logged and not (what == "status" and unheard):
            yield f"{what}: the server saw {seen}, the log has {logged}"


def _strays(sent: Iterable[FetchRecord], ours: set[str]) -> Iterator[Finding]:
    for record in sent:
        if urlsplit(record.url).netloc not in ours:
            detail = "no origin of the fleet has this host"
            yield Finding(
                origin=record.origin, url=record.url, reason=Reason.NOT_OURS, detail=detail
            )


def _mishaps(events: Iterable[Event]) -> Iterator[Finding]:
    """Our own mistakes, which end a lane or lose a request."""
    for event in events:
        if isinstance(event, Internal):
            yield Finding(origin=event.scope, url="", reason=Reason.INTERNAL, detail=event.error)
        elif isinstance(event, FetchRecord) and event.outcome is Outcome.INTERNAL:
            yield Finding(
                origin=event.origin, url=event.url, reason=Reason.INTERNAL, detail=event.detail
            )
