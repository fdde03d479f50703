"""What an answer says about when to come back: Retry-After and the rate limit fields.

Servers send these in many forms; what cannot be read says nothing, and never makes us hasty.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crawler.polite import http_date

_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_MEMBER = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^,"])+')
_PARAMETER = re.compile(r"(?:^|;)\s*([a-z*][a-z0-9_.*-]*)\s*=\s*(\d+)\b", re.ASCII)
_NAME = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^;=\s]+)')

_LONGEST = 1024  # characters of a field that are looked at
_MOST = 1e21  # where a larger number is cut: one of any length is one, and none is infinite
_MOST_LEFT = 1e15
_LONGEST_WAIT = 2.0**31  # seconds; what is longer is as long (as RFC 9111 has it, section 1.2.2)
_EPOCH = 1_000_000_000.0  # a larger number of seconds to wait is a moment
_EPOCH_MS = 1_000_000_000_000.0

# Fields of one number each: drafts 00 to 06, and what was there before them and still is.
_LEFT = ("ratelimit-remaining", "x-ratelimit-remaining", "x-rate-limit-remaining")
_RESET = (
    "ratelimit-reset",
    "x-ratelimit-reset-after",
    "x-ratelimit-reset",
    "x-rate-limit-reset",
)
NAMES = frozenset({"ratelimit", "ratelimit-policy", *_LEFT, *_RESET})
"""The names, in lower case, that `quota` looks at."""


@dataclass(frozen=True, slots=True)
class Quota:
    """How many requests are left and in how many seconds there are more; None where not said."""

    left: int | None = None
    reset: float | None = None


def retry_after(values: Iterable[str], now: float) -> float | None:
    """Seconds from `now` that Retry-After asks for (RFC 9110, section 10.2.3).

    Both forms, and fractions; of several fields the longest wait. None where there is no field,
    none that can be read, or only a moment that has passed. `now` is when the answer came, in
    seconds since 1970. No wait is longer than 68 years.
    """
    waits = [wait for value in values if (wait := _wait(value.strip(), now)) is not None]
    return max(waits, default=None)


def quota(fields: Mapping[str, str], now: float) -> Quota:
    """What is left of the quota that an answer's fields speak of; `fields` in lower-case names.

    RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers), else the fields of
    one number. Of several quotas the one that is used up first. `now` is in seconds since 1970.
    """
    if "ratelimit" in fields:
        windows = _windows(fields.get("ratelimit-policy", ""))
        found = list(_quotas(fields["ratelimit"], windows))
        return min(found, key=_urgency, default=Quota())
    left = next((fields[name] for name in _LEFT if name in fields), "")
    reset = next((fields[name] for name in _RESET if name in fields), "")
    number = _number(left)
    return Quota(
        _count(number) if number is not None else None,
        _moment(reset, now) if reset else None,
    )


def _wait(value: str, now: float) -> float | None:
    if _NUMBER.fullmatch(value):
        return min(float(value), _LONGEST_WAIT)
    moment = http_date.parse(value, now)
    return None if moment is None or moment < now else min(moment - now, _LONGEST_WAIT)


def _quotas(value: str, windows: dict[str, float]) -> Iterable[Quota]:
    """The members of RateLimit: `"name";r=50;t=30`, in draft 07 `remaining=50, reset=30`."""
    together: dict[str, float] = {}
    for member in _members(value):
        said = _parameters(member)
        if "r" in said:
            reset = _capped(said["t"]) if "t" in said else windows.get(_name(member))
            yield Quota(_count(said["r"]), reset)
        together |= said
    if "remaining" in together:
        window = max(windows.values(), default=None)
        reset = _capped(together["reset"]) if "reset" in together else window
        yield Quota(_count(together["remaining"]), reset)


def _windows(value: str) -> dict[str, float]:
    """The length in seconds of each window in a RateLimit-Policy field: `"name";q=100;w=60`."""
    return {
        _name(member): _capped(said["w"])
        for member in _members(value)
        if "w" in (said := _parameters(member))
    }


def _parameters(member: str) -> dict[str, float]:
    found = _PARAMETER.findall(member.strip())
    return {name: min(float(number), _MOST) for name, number in found}


def _members(value: str) -> list[str]:
    return _MEMBER.findall(value[:_LONGEST])  # the time that it takes grows with the square


def _name(member: str) -> str:
    match = _NAME.match(member)
    return match[1].strip('"') if match else ""


def _urgency(found: Quota) -> tuple[float, float]:
    """Sorts what is used up first to the front, the longest wait before a shorter one."""
    return (float(found.left or 0), -(found.reset or 0.0))


def _number(value: str) -> float | None:
    first = value.partition(",")[0].strip()
    return min(float(first), _MOST) if _NUMBER.fullmatch(first) else None


def _moment(value: str, now: float) -> float | None:
    """Seconds until a reset given as seconds, as a moment since 1970 or as a date."""
    number = _number(value)
    if number is None:
        number = http_date.parse(value, now)
        return None if number is None else _capped(number - now)
    while number >= _EPOCH_MS:  # in milliseconds, or a thousandth or a millionth of them
        number /= 1000.0
    return _capped(number - now if number >= _EPOCH else number)


def _count(number: float) -> int:
    return int(min(number, _MOST_LEFT))


def _capped(seconds: float) -> float:
    return min(max(0.0, seconds), _LONGEST_WAIT)
