"""What a log says, as one value: the object behind every format of the report.

`crawl report --format json` prints it as it is. A field may be added, none is renamed. Moments are
seconds since 1970, durations seconds, sizes bytes, unless the name says otherwise.
"""

from enum import StrEnum

from msgspec import Struct

from crawler.events import Why, Without
from crawler.watch.patterns import Sight


class VerdictState(StrEnum):
    """Whether sig2 goes to an origin."""

    SENDING = "sending"  # nothing that an origin answered holds it back
    PINNED = "pinned"  # the operator's setting says it


class RecommendationState(StrEnum):
    """What to do about sig2 everywhere."""

    KEEP = "keep"


class Example(Struct, frozen=True, kw_only=True):
    """One suspicious answer: which request it belongs to, and what in it raised the suspicion."""

    id: str
    at: float
    url: str
    status: int | None
    matched: str
    source: str


class Suspicion(Struct, frozen=True, kw_only=True):
    """Suspicious answers of one kind, the latest few of them as examples."""

    count: int
    examples: tuple[Example, ...]


class Hold(Struct, frozen=True, kw_only=True):
    """Why an origin is not asked as the log ends, and until when."""

    why: Why
    since: float
    until: float | None
    detail: str


class Verdict(Struct, frozen=True, kw_only=True):
    state: VerdictState
    reason: str
    until: float | None = None
    evidence: tuple[str, ...] = ()  # ids of records


class Recommendation(Struct, frozen=True, kw_only=True):
    state: RecommendationState
    reason: str


class Counts(Struct, frozen=True, kw_only=True):
    """What became of requests, and what they cost. Counts of several origins can be added up.

    A request is what left this machine, as `FetchRecord.left` says; what never left is counted in
    `not_sent` and nowhere else.
    Each request that left is exactly one of ok, not_modified, redirected, missing, refused, failed
    and cancelled.
    """

    name: str  # the origin's; "all" for all together
    requests: int = 0  # that left this machine
    robots: int = 0  # of these, for robots.txt
    ok: int = 0  # 2xx
    not_modified: int = 0  # 304
    redirected: int = 0  # any other 3xx
    missing: int = 0  # 404, 410
    refused: int = 0  # any other 4xx
    failed: int = 0  # 5xx, or no whole answer
    cancelled: int = 0  # by the end of the run
    not_sent: int = 0  # never left: for want of an address, a name, a connection, or room
    unread: int = 0  # of ok: too big, or of a type that is not read
    unchanged: int = 0  # 304, or the body that we knew
    dual: int = 0  # requests with both labels
    single: int = 0  # requests with one
    controls: int = 0  # refused requests that were repeated with sig1 alone
    controls_passed: int = 0  # of these, served then
    header_bytes: int = 0  # request line and all fields, as sent
    signature_bytes: int = 0  # of these, the three signature fields
    dual_header_bytes: int = 0  # of header_bytes, in requests with both labels
    dual_signature_bytes: int = 0
    sign_cpu_ms: float = 0.0
    dual_sign_cpu_ms: float = 0.0
    body_bytes: int = 0  # decoded
    wire_bytes: int = 0
    waited: float = 0.0
    interrupted: int = 0  # requests that a crash cut off
    robots_changes: int = 0
    suspicious_answers: int = 0


class OriginFindings(Counts, frozen=True, kw_only=True):
    """What the log says about one origin."""

    url: str | None  # None where the log does not show its settings
    statuses: dict[str, int]
    failures: dict[str, int]  # requests without a whole answer, by the stage that they reached
    without: dict[Without, int]  # why requests carried one label
    not_sent_by: dict[str, int]  # by the stage that ended it, else the outcome
    not_sent_details: dict[str, str]  # what the last one of each of these said
    waits: dict[Why, float]  # what `waited` was for
    largest_head: int
    longest_line: int
    median_latency: float | None  # until the head of an answer
    p95_latency: float | None
    suspicious: dict[Sight, Suspicion]
    skipped: dict[Why, int]  # URLs that were not asked
    last_request: float | None
    hold: Hold | None
    verdict: Verdict


class Totals(Counts, frozen=True, kw_only=True):
    """All origins together, and the runs that asked them."""

    origins: int
    runs: int
    runs_ended: int  # of these: the others were cut off, or one still goes on
    cpu: float  # seconds that these used
    elapsed: float


class Run(Struct, frozen=True, kw_only=True):
    """The last run of the log; `ended` is None where it was cut off or still goes on."""

    run: str
    started: float | None
    ended: float | None
    stopped: bool = False  # by a signal
    requests: int = 0
    elapsed: float = 0.0
    cpu: float = 0.0


class Note(Struct, frozen=True, kw_only=True):
    """Something that befell the crawl itself: the event's name, and what it says."""

    at: float
    event: str
    text: str


class Unread(Struct, frozen=True, kw_only=True):
    """A line of the log that is no event."""

    path: str
    line: int
    flaw: str
    problem: str


class UnreadLines(Struct, frozen=True, kw_only=True):
    """How many lines are no events, and the first of them."""

    count: int
    flaws: dict[str, int]
    lines: tuple[Unread, ...]


class Findings(Struct, frozen=True, kw_only=True):
    """What a log says."""

    since: float | None  # earlier requests are not counted
    first: float | None  # the first and the last event
    last: float | None
    origins: tuple[OriginFindings, ...]
    totals: Totals
    recommendation: Recommendation
    last_run: Run | None
    keys: dict[str, str]  # the identifier of the key behind each label
    notes: tuple[Note, ...]  # the latest
    news: tuple[Note, ...]  # of the last run
    noted: dict[str, int]  # how many of each event there were
    unreadable: UnreadLines
