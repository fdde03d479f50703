"""Moments as people write and read them. All are seconds since 1970 inside, and UTC outside."""

import re
from datetime import UTC, datetime

from crawler.problems import UsageProblem

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


_HINT = "for example 7d, 12h, 2026-11-01 or 2026-11-01T06:00"


class MomentUnreadable(UsageProblem):
    """A text that names no moment."""


def since(text: str, now: float) -> float:
    """The moment that "7d", "2026-11-01" or "2026-11-01T06:00+01:00" names, as seconds since 1970.

    "7d" counts back from `now`; a date is its midnight, and a time without an offset one of UTC.
    Raises MomentUnreadable, also for a moment before 1970 or still to come.
    """
    text = text.strip()
    seconds = _moment(text, now)
    if seconds < 0:
        raise MomentUnreadable(f"{text!r} is before 1970", _HINT)
    if seconds > now:
        raise MomentUnreadable(f"{text!r} is still to come: it is {written(now)}", _HINT)
    return seconds


def _moment(text: str, now: float) -> float:
    if (ago := _AGO.fullmatch(text)) is not None:
        return now - float(ago[1]) * _UNITS[ago[2]]
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise MomentUnreadable(f"{text!r} is no moment", _HINT) from error


def written(seconds: float) -> str:
    """A moment to the minute; the bare number where no calendar has it, as in a foreign log."""
    return _shown(seconds, "%Y-%m-%d %H:%M UTC")


def to_the_second(seconds: float) -> str:
    """A moment to the second, for what is a few seconds apart; otherwise as `written`."""
    return _shown(seconds, "%Y-%m-%d %H:%M:%S UTC")


def _shown(seconds: float, form: str) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(form)
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"
