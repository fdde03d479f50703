"""What one origin's requests came to, added up record by record.

Millions of lines go through `Tally.add`, so it counts and leaves every sum that can wait to
`findings`. Members of enumerations stand under names of this module: on Python 3.11 to look one up
in its class takes as long as ten additions.
"""

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import asdict

from crawler.events import FetchRecord, Kind, Outcome, Skipped, Why, Without
from crawler.watch import signals
from crawler.watch.findings import Counts, Example, OriginFindings, Suspicion
from crawler.watch.latency import Latencies
from crawler.watch.situation import Situation

if TYPE_CHECKING:
    from crawler.watch.patterns import Sight

EXAMPLES = 3
_ANSWERED, _CANCELLED = Outcome.ANSWERED, Outcome.CANCELLED
_UNREAD = frozenset((Outcome.TOO_BIG, Outcome.WRONG_TYPE))
_ROBOTS = Kind.ROBOTS
_DELAY = Why.DELAY
_MISSING = (404, 410)
_Key = TypeVar("_Key")


class Heads:
    """What the heads of requests with the same number of labels came to."""

    __slots__ = ("bytes", "requests", "sign_us", "signature_bytes")

    def __init__(self) -> None:
        self.requests = self.bytes = self.signature_bytes = 0
        self.sign_us = 0.0


class Tally:
    """One origin's sums so far."""

    __slots__ = (
        "_body_bytes",
        "_cancelled",
        "_controls",
        "_controls_passed",
        "_dual",
        "_examples",
        "_failures",
        "_interrupted",
        "_largest_head",
        "_latencies",
        "_longest_line",
        "_name",
        "_not_sent",
        "_not_sent_details",
        "_robots",
        "_robots_changes",
        "_sights",
        "_single",
        "_skipped",
        "_statuses",
        "_unchanged",
        "_unread",
        "_waits",
        "_wire_bytes",
        "_without",
        "situation",
    )

    def __init__(self, name: str) -> None:
        self.situation = Situation()
        self._name = name
        self._statuses: defaultdict[int, int] = defaultdict(int)
        self._failures: dict[str, int] = {}
        self._not_sent: dict[str, int] = {}
        self._not_sent_details: dict[str, str] = {}
        self._without: dict[Without, int] = {}
        self._waits: defaultdict[Why, float] = defaultdict(float)
        self._skipped: dict[Why, int] = {}
        self._sights: dict[Sight, int] = {}
        self._examples: dict[Sight, deque[Example]] = {}
        self._latencies = Latencies()
        self._dual, self._single = Heads(), Heads()
        self._robots = self._unread = self._unchanged = self._cancelled = 0
        self._controls = self._controls_passed = 0
        self._largest_head = self._longest_line = 0
        self._body_bytes = self._wire_bytes = 0
        self._interrupted = self._robots_changes = 0

    def add(self, record: FetchRecord) -> None:
        """Count one request, or what was to be one and never left."""
        labels = record.labels
        if not labels:  # it never left, as record.left says, which would cost a call a line
            self._add_unsent(record)
            return
        status = record.status
        if record.outcome is _ANSWERED and status is not None:
            self._statuses[status] += 1
        else:
            self._add_rest(record)
        situation = self.situation
        if len(labels) > 1:
            situation.last = situation.telling = record
            heads = self._dual
        else:
            situation.ask(record)
            self._add_single(record)
            heads = self._single
        header_bytes = record.header_bytes
        heads.requests += 1
        heads.bytes += header_bytes
        heads.signature_bytes += record.signature_bytes
        heads.sign_us += record.sign_us
        if header_bytes > self._largest_head:
            self._largest_head = header_bytes
        if record.longest_line > self._longest_line:
            self._longest_line = record.longest_line
        self._body_bytes += record.body_bytes
        self._wire_bytes += record.wire_bytes
        if record.unchanged:
            self._unchanged += 1
        if record.kind is _ROBOTS:
            self._robots += 1
        if record.waited:
            self._waits[record.waited_for or _DELAY] += record.waited
        if record.first_byte is not None:
            self._latencies.add(record.first_byte)
        if status is None or status >= 400 or record.refusal or record.fields:
            self._look(record)  # all others are fine

    def _add_unsent(self, record: FetchRecord) -> None:
        reason = str(record.stage or record.outcome)
        _count(self._not_sent, reason)
        if record.detail:
            self._not_sent_details[reason] = record.detail

    def _add_rest(self, record: FetchRecord) -> None:
        """Count a request that left and has no whole, wanted answer."""
        status, outcome = record.status, record.outcome
        if outcome is _CANCELLED:
            self._cancelled += 1
        elif outcome in _UNREAD and status is not None:
            _count(self._statuses, status)
            if 200 <= status < 300:
                self._unread += 1
        else:
            _count(self._failures, str(record.stage or outcome))

    def _add_single(self, record: FetchRecord) -> None:
        if record.without is not None:
            _count(self._without, record.without)
        if record.control_of is not None:
            self._controls += 1
            if record.outcome is _ANSWERED and record.status is not None and record.status < 400:
                self._controls_passed += 1

    def _look(self, record: FetchRecord) -> None:
        sighting = signals.classify(record)
        if not signals.suspicious(record, sighting.sight):
            return
        _count(self._sights, sighting.sight)
        self._examples.setdefault(sighting.sight, deque(maxlen=EXAMPLES)).append(
            Example(
                id=record.id,
                at=record.at,
                url=record.url,
                status=record.status,
                matched=sighting.matched,
                source=sighting.source,
            )
        )

    def skip(self, event: Skipped) -> None:
        """Count a URL that was not asked."""
        _count(self._skipped, event.why)

    def interrupt(self) -> None:
        """Count a request that a crash cut off."""
        self._interrupted += 1

    def change_robots(self) -> None:
        """Count a robots.txt that is another than before."""
        self._robots_changes += 1

    def findings(self) -> OriginFindings:
        """What it all came to."""
        last = self.situation.last
        return OriginFindings(
            **asdict(self._counts()),
            url=self.situation.url,
            statuses={str(status): self._statuses[status] for status in sorted(self._statuses)},
            failures=_falling(self._failures),
            without=_falling(self._without),
            not_sent_by=_falling(self._not_sent),
            not_sent_details=dict(sorted(self._not_sent_details.items())),
            waits={why: round(self._waits[why], 3) for why in sorted(self._waits)},
            largest_head=self._largest_head,
            longest_line=self._longest_line,
            median_latency=self._latencies.quantile(0.5),
            p95_latency=self._latencies.quantile(0.95),
            suspicious={
                sight: Suspicion(count=count, examples=tuple(self._examples[sight]))
                for sight, count in _falling(self._sights).items()
            },
            skipped=_falling(self._skipped),
            last_request=None if last is None else last.at,
            hold=self.situation.hold(),
            verdict=self.situation.verdict(),
        )

    def _counts(self) -> Counts:
        def of(first: int, last: int) -> int:
            return sum(n for status, n in self._statuses.items() if first <= status <= last)

        dual, single = self._dual, self._single
        not_modified = self._statuses.get(304, 0)
        missing = sum(self._statuses.get(status, 0) for status in _MISSING)
        ok, redirected, refused = of(200, 299), of(300, 399), of(400, 499)
        requests = dual.requests + single.requests
        return Counts(
            name=self._name,
            requests=requests,
            robots=self._robots,
            ok=ok,
            not_modified=not_modified,
            redirected=redirected - not_modified,
            missing=missing,
            refused=refused - missing,
            failed=requests - self._cancelled - ok - redirected - refused,
            cancelled=self._cancelled,
            not_sent=sum(self._not_sent.values()),
            unread=self._unread,
            unchanged=self._unchanged,
            dual=dual.requests,
            single=single.requests,
            controls=self._controls,
            controls_passed=self._controls_passed,
            header_bytes=dual.bytes + single.bytes,
            signature_bytes=dual.signature_bytes + single.signature_bytes,
            dual_header_bytes=dual.bytes,
            dual_signature_bytes=dual.signature_bytes,
            sign_cpu_ms=round((dual.sign_us + single.sign_us) / 1000, 3),
            dual_sign_cpu_ms=round(dual.sign_us / 1000, 3),
            body_bytes=self._body_bytes,
            wire_bytes=self._wire_bytes,
            waited=round(sum(self._waits.values()), 3),
            interrupted=self._interrupted,
            robots_changes=self._robots_changes,
            suspicious_answers=sum(self._sights.values()),
        )


def _count(counts: dict[_Key, int], key: _Key) -> None:
    counts[key] = counts.get(key, 0) + 1


def _falling(counts: Mapping[_Key, int]) -> dict[_Key, int]:
    """The same counts, the most frequent first."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))))
