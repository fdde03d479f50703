"""The log: facts that the crawl wrote down, typed, one JSON line each.

Writer and reader share these types. A field may be added with a default; nothing is renamed or
re-meant. Whatever decides later (pace, freshness, verdict) is folded from these lines alone, so
that a replay of the log gives the state that the crawl itself had.
"""

from enum import StrEnum

import msgspec
from msgspec import Struct

from crawler.settings import Follow, Politeness, ProfileName, Second


class Kind(StrEnum):
    """What a request asks for."""

    ROBOTS = "robots"
    PAGE = "page"


class Arm(StrEnum):
    """Which signatures a request was meant to carry."""

    CONFIGURED = "configured"
    FIRST_ONLY = "first-only"


class Without(StrEnum):
    """Why sig2 is not on a request."""

    SETTING = "setting"
    PROFILE = "profile"
    NO_KEY = "no-key"
    BUDGET = "budget"
    CONTROL = "control"
    ROBOTS_CONTROL = "robots-control"


class Outcome(StrEnum):
    """What became of a request."""

    ANSWERED = "answered"
    TOO_BIG = "too-big"
    WRONG_TYPE = "wrong-type"
    FAILED = "failed"
    CANCELLED = "cancelled"
    NOT_SENT = "not-sent"
    INTERNAL = "internal"


class Stage(StrEnum):
    """How far a request came before it failed."""

    ADDRESS = "address"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    FIRST_BYTE = "first-byte"
    STALE_CONNECTION = "stale-connection"
    HEAD = "head"
    BODY = "body"
    DEADLINE = "deadline"
    MIN_RATE = "min-rate"
    HEADER_LIMIT = "header-limit"
    DISK = "disk"


class Why(StrEnum):
    """Why something was not asked, or not now."""

    ROBOTS = "robots"
    ROBOTS_UNREACHABLE = "robots-unreachable"
    ROBOTS_ELSEWHERE = "robots-elsewhere"
    CRAWL_DELAY = "crawl-delay"
    PAGE_LIMIT = "page-limit"
    DAILY_BUDGET = "daily-budget"
    QUIET_HOURS = "quiet-hours"
    DELAY = "delay"
    BACK_OFF = "back-off"
    RETRY_AFTER = "retry-after"
    RATE_LIMIT = "rate-limit"
    INTERRUPTED = "interrupted"
    NOT_COVERED = "not-covered"
    FROZEN = "frozen"
    PARKED = "parked"
    FRESH = "fresh"
    NOT_DUE = "not-due"
    ELSEWHERE = "elsewhere"
    REDIRECT_LOOP = "redirect-loop"
    REDIRECT_LIMIT = "redirect-limit"
    UNSENDABLE = "unsendable"
    STOPPED = "stopped"


class _Event(Struct, frozen=True, kw_only=True, tag_field="event", omit_defaults=True):
    at: float  # seconds since 1970, World.now()


class RunStarted(_Event, frozen=True, kw_only=True, tag="run-started"):
    """A crawl began."""

    run: str
    version: str
    agent: str
    keys: tuple[str, ...] = ()  # key identifiers that it signs with, sig1's first
    wall: float  # what the wall clock said
    everything: bool = False  # --all


class OriginSettings(_Event, frozen=True, kw_only=True, tag="origin-settings"):
    """What is in force for an origin from here on (at the start of a run and after a reload)."""

    run: str
    origin: str
    url: str
    scope: str
    profile: ProfileName
    sig2: Second
    follow: tuple[Follow, ...]
    pages: int
    depth: int
    allow_private: bool
    cookie: bool
    politeness: Politeness
    components: tuple[str, ...] = ()  # that signatures cover where the profile leaves it open


class Place(Struct, frozen=True):
    """Where a body is kept: a file below `bodies/` in the state, and bytes in it."""

    file: str
    offset: int
    size: int


class FetchRecord(_Event, frozen=True, kw_only=True, tag="fetch"):
    """One request left this machine (or was about to), and this is what became of it.

    One without `labels` never left: nothing leaves unsigned, so it is not among the requests that
    are counted. `at` is when it began. Sizes are bytes, times seconds unless the name says
    otherwise.
    """

    id: str
    origin: str
    scope: str
    url: str
    kind: Kind = Kind.PAGE
    depth: int = 0
    attempt: int = 1
    via: tuple[str, ...] = ()  # the URLs that redirected here, first one first
    control_of: str | None = None  # the record whose refusal this one checks with sig1 alone
    behalf: str | None = None  # another origin, whose robots.txt has led to this one's host
    waited: float = 0.0  # how long the lane waited for this turn
    waited_for: Why | None = None  # what most of that time was for

    profile: ProfileName | None = None
    profile_reason: str = ""
    labels: tuple[str, ...] = ()  # the signatures that it carried, in order; none: it never left
    without: Without | None = None  # why sig2 is not among them
    second_tag: str | None = None
    header_bytes: int = 0  # request line and all fields, as sent
    signature_bytes: int = 0  # of these, the three signature fields
    longest_line: int = 0
    cookie_bytes: int = 0
    sign_us: float = 0.0  # CPU microseconds that signing took
    wish: str = ""  # the record whose Accept-Signature sig1 follows, or "not", it, and why

    outcome: Outcome
    stage: Stage | None = None  # where it failed
    detail: str = ""  # what a failure said
    reused: bool = False  # on a connection that had served before
    address: str | None = None
    status: int | None = None
    reason: str | None = None  # the reason phrase
    server: str | None = None
    fields: dict[str, str] = {}  # answer fields that the watch reads
    asked_for: str = ""  # by Accept-Signature: what of it the next request grants, or why nothing
    refusal: str = ""  # the first 2,048 bytes of a refusal's text, our own values taken out
    first_byte: float | None = None  # until the answer's head
    elapsed: float = 0.0  # until the end

    retry_after: float | None = None
    quota_left: int | None = None  # RateLimit
    quota_reset: float | None = None
    location: str | None = None
    crawl_delay: float | None = None  # robots.txt's, in force for or found by this request
    robots: str | None = None  # sha-256 of the robots copy in force for or found by this request

    etag: str | None = None
    last_modified: str | None = None
    conditional: bool = False  # validators were sent
    fresh_for: float | None = None  # seconds that the answer's own fields grant
    content_type: str | None = None
    digest: str | None = None  # sha-256 of the decoded body
    body_bytes: int = 0  # decoded
    wire_bytes: int = 0
    unchanged: bool = False  # 304, or the digest that we knew
    place: Place | None = None  # where the body is kept, unless it is not

    @property
    def left(self) -> bool:
        """Whether it is a request at all, or stayed here for want of an address or a connection."""
        return bool(self.labels)


class Skipped(_Event, frozen=True, kw_only=True, tag="skipped"):
    """A URL was not asked, and why."""

    run: str
    origin: str
    url: str
    why: Why
    detail: str = ""
    line: int | None = None  # of robots.txt
    rule: str = ""
    group: str = ""
    robots: str | None = None


class Deferred(_Event, frozen=True, kw_only=True, tag="deferred"):
    """An origin's turn ended with something left to ask."""

    run: str
    origin: str
    why: Why
    until: float | None = None
    detail: str = ""


class RobotsRead(_Event, frozen=True, kw_only=True, tag="robots"):
    """A robots.txt was judged; `digest` names the copy that is in force now."""

    origin: str
    url: str
    answer: str
    status: int | None = None
    digest: str | None = None
    previous: str | None = None
    changed: bool = False
    until: float
    etag: str | None = None
    last_modified: str | None = None


class Standing(_Event, frozen=True, kw_only=True, tag="standing"):
    """An origin was frozen or parked, or is welcome again."""

    origin: str
    why: Why | None  # FROZEN, PARKED; None: welcome again
    until: float | None = None
    detail: str = ""


class Interrupted(_Event, frozen=True, kw_only=True, tag="interrupted"):
    """A promise without a record: a request that may have left before the crawl was cut off."""

    id: str
    origin: str
    scope: str
    url: str


class Degraded(_Event, frozen=True, kw_only=True, tag="degraded"):
    """The post-quantum key cannot be used; requests carry sig1 alone."""

    run: str
    reason: str


class KeyInUse(_Event, frozen=True, kw_only=True, tag="key"):
    """From here on this key signs."""

    run: str
    label: str
    keyid: str


class ClockSetBack(_Event, frozen=True, kw_only=True, tag="clock-set-back"):
    """The wall clock stood before what we had already seen; time goes on from there."""

    wall: float
    seconds: float


class StateRebuilt(_Event, frozen=True, kw_only=True, tag="state-rebuilt"):
    """The database was damaged, kept aside, and folded anew from the log."""

    kept: str
    records: int
    problem: str


class Internal(_Event, frozen=True, kw_only=True, tag="internal"):
    """Our own mistake ended one lane."""

    run: str
    scope: str
    error: str


class RunFinished(_Event, frozen=True, kw_only=True, tag="run-finished"):
    """A crawl ended and closed its log."""

    run: str
    requests: int
    elapsed: float
    cpu: float
    stopped: bool = False


Event = (
    RunStarted
    | OriginSettings
    | FetchRecord
    | Skipped
    | Deferred
    | RobotsRead
    | Standing
    | Interrupted
    | Degraded
    | KeyInUse
    | ClockSetBack
    | StateRebuilt
    | Internal
    | RunFinished
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class EventUnreadable(Exception):
    """A line that is no event that we know: torn, foreign, or of a later version."""


def encode(event: Event) -> bytes:
    """One event as its log line, newline included."""
    return _encoder.encode(event) + b"\n"


def decode(line: bytes) -> Event:
    """The event of one log line. Raises EventUnreadable, never anything else."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EventUnreadable(str(error)) from error
