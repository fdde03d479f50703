"""When a page is worth asking for again, and what to send along (RFC 9111).

We are a private cache in the RFC's words: `s-maxage` and `private` are for others.
"""

from msgspec import Struct

from crawler.events import FetchRecord
from crawler.polite import cache_control, http_date
from crawler.settings import Politeness

HEURISTIC_SHARE = 0.1  # of the time since the last modification (section 4.2.2)

_GONE = 410
_HEURISTIC = frozenset({200, 203, 204, 206, 300, 301, 304, 308, 404, 405, 410, 414, 501})
_LONGEST_VALIDATOR = 1024


class Fields(Struct, frozen=True, kw_only=True):
    """The fields of an answer that speak of its freshness, as they came; None where absent."""

    cache_control: str | None = None
    expires: str | None = None
    date: str | None = None
    age: str | None = None
    etag: str | None = None
    last_modified: str | None = None


class Validators(Struct, frozen=True):
    """What a conditional request sends back, exactly as it came.

    Both where we have both (RFC 9110, sections 13.1.2 and 13.1.3).
    """

    etag: str | None = None
    last_modified: str | None = None


def granted(fields: Fields, *, requested: float, received: float) -> float | None:
    """Seconds that an answer's own fields call it fresh, from `received` on; None if none says.

    Never negative. `requested` and `received` are when the request left and the head came, in
    seconds since 1970 (sections 4.2.1 and 4.2.3). Unreadable means stale.
    """
    directives = cache_control.parse(fields.cache_control)
    if "no-cache" in directives or "no-store" in directives:
        return 0.0
    date = _moment(fields.date, received)
    if date is None:
        date = received  # RFC 9110, section 6.6.1
    if "max-age" in directives:  # before Expires (section 5.3)
        lifetime = float(cache_control.seconds(directives["max-age"]))
    elif fields.expires is not None:
        expires = _moment(fields.expires, received)
        lifetime = 0.0 if expires is None else expires - date
    else:
        return None
    apparent = max(0.0, received - date)
    corrected = _age(fields.age) + max(0.0, received - requested)
    return max(0.0, lifetime - max(apparent, corrected))


def validators(fields: Fields, received: float) -> Validators:
    """What to keep for the next visit: nothing of a no-store answer or that cannot be sent."""
    if "no-store" in cache_control.parse(fields.cache_control):
        return Validators()  # section 5.2.2.5
    etag = fields.etag if fields.etag and _sendable(fields.etag) else None
    modified = fields.last_modified
    if modified is not None and _moment(modified, received) is None:
        modified = None  # a server ignores what is no date (RFC 9110, section 13.1.3)
    return Validators(etag, modified)


def due(record: FetchRecord, now: float, manners: Politeness) -> float:
    """When the page may be asked for again, in seconds since 1970.

    As long as its own fields call it fresh, else a tenth of its age (section 4.2.2), but at least
    `min_interval` and at most `max_interval` from now. What is gone waits the longest.
    """
    if record.status == _GONE:
        fresh = manners.max_interval
    elif record.fresh_for is not None:
        fresh = record.fresh_for
    else:
        fresh = _heuristic(record)
    return now + max(manners.min_interval, min(fresh, manners.max_interval))


def full_fetch_due(full_at: float | None, now: float, manners: Politeness) -> bool:
    """Whether to ask without validators, in case a server answers 304 for ever.

    `full_at` is when the body was last read in full, None where it never was.
    """
    return full_at is None or now - full_at >= manners.full_fetch


def _heuristic(record: FetchRecord) -> float:
    if record.status not in _HEURISTIC:
        return 0.0
    modified = _moment(record.last_modified, record.at)
    return 0.0 if modified is None else HEURISTIC_SHARE * max(0.0, record.at - modified)


def _age(value: str | None) -> float:
    """Age of its first list member; what is unreadable counts as absent (section 5.1)."""
    return float(cache_control.seconds((value or "").partition(",")[0].strip()))


def _moment(value: str | None, now: float) -> float | None:
    return None if value is None else http_date.parse(value, now)


def _sendable(value: str) -> bool:
    return len(value) <= _LONGEST_VALIDATOR and value.isascii() and value.isprintable()
