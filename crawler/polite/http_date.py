"""Reading HTTP dates (RFC 9110, section 5.6.7)."""

import re
from datetime import UTC, datetime
from functools import lru_cache

from msgspec import Struct

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = r"(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second>\d\d)"
_FORMS = (
    # Sun, 06 Nov 1994 08:49:37 GMT, and the obsolete Sunday, 06-Nov-94 08:49:37 GMT
    re.compile(
        r"(?:[A-Za-z]+, ?)?(?P<day>\d\d?)[ -](?P<month>[A-Za-z]{3})[ -](?P<year>\d{4}|\d\d) "
        + _CLOCK
        + r"(?: (?:GMT|UTC|Z|[+-]0000))?",
        re.ASCII | re.IGNORECASE,
    ),
    # Sun Nov  6 08:49:37 1994, obsolete too
    re.compile(
        r"[A-Za-z]{3} (?P<month>[A-Za-z]{3}) {1,2}(?P<day>\d\d?) " + _CLOCK + r" (?P<year>\d{4})",
        re.ASCII | re.IGNORECASE,
    ),
)


class _Written(Struct, frozen=True):
    """What a date says, the year as it is written."""

    year: int
    short: bool  # of two digits
    month: int
    day: int
    hour: int
    minute: int
    second: int


def parse(value: str, now: float) -> float | None:
    """Seconds since 1970 of an HTTP date in any of its three forms; None where it is none.

    Lenient where servers are known to be (zone names, missing weekday). `now` decides the century
    of a two-digit year: one that seems more than 50 years ahead is past.
    """
    written = _read(value)
    if written is None:
        return None
    year = written.year
    if written.short:
        this = datetime.fromtimestamp(now, UTC).year
        year += this // 100 * 100
        if year > this + 50:
            year -= 100
    try:
        moment = datetime(
            year,
            written.month,
            written.day,
            written.hour,
            written.minute,
            min(written.second, 59),  # a leap second
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return moment.timestamp()


@lru_cache(maxsize=256)  # a server's pages often have the same date, and each is read twice
def _read(value: str) -> _Written | None:
    match = next(filter(None, (form.fullmatch(value.strip()) for form in _FORMS)), None)
    if match is None or match["month"].lower() not in _MONTHS:
        return None
    return _Written(
        year=int(match["year"]),
        short=len(match["year"]) == 2,
        month=_MONTHS.index(match["month"].lower()) + 1,
        day=int(match["day"]),
        hour=int(match["hour"]),
        minute=int(match["minute"]),
        second=int(match["second"]),
    )
