"""What the demo's check finds fault with."""

from enum import StrEnum

from msgspec import Struct


class Reason(StrEnum):
    """What is wrong."""

    UNSIGNED = "unsigned"
    BADLY_SIGNED = "badly-signed"
    TOO_EARLY = "too-early"
    AT_ONCE = "at-once"  # two requests into one origin at the same time
    AGAINST_ROBOTS = "against-robots"
    NOT_OURS = "not-ours"  # a host that is not configured
    COOKIE = "cookie"  # one that nobody configured
    NOT_IN_LOG = "not-in-log"
    NOT_SEEN = "not-seen"  # in the log as sent, and no server saw it
    LOG_DIFFERS = "log-differs"
    INTERNAL = "internal"
    EXPECTATION = "expectation"


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that should not be; `origin` is its name, or its scope where a lane has failed."""

    origin: str
    url: str
    reason: Reason
    detail: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.origin, self.reason, self.url, self.detail)))
