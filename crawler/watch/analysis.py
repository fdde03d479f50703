"""What a log says: a fold over its lines, however many, that stays within a few megabytes.

Lines come as typed events, or as what the reader calls a line that is none. Nothing here reads a
file or a clock.
"""

from collections.abc import Collection, Iterable
from typing import Any, Protocol, assert_never

from msgspec.structs import asdict

from crawler.events import (
    ClockSetBack,
    Deferred,
    Degraded,
    Event,
    FetchRecord,
    Internal,
    Interrupted,
    KeyInUse,
    OriginSettings,
    RobotsRead,
    RunFinished,
    RunStarted,
    Skipped,
    Standing,
    StateRebuilt,
)
from crawler.watch.chronicle import Chronicle, Told
from crawler.watch.findings import (
    Counts,
    Findings,
    OriginFindings,
    Recommendation,
    RecommendationState,
    Totals,
    Unread,
    UnreadLines,
)
from crawler.watch.tally import Tally

UNREAD = 100


class Unreadable(Protocol):
    """A line that is no event: where it stands, and what is the matter with it."""

    @property
    def path(self) -> object: ...
    @property
    def number(self) -> int: ...
    @property
    def flaw(self) -> str: ...
    @property
    def problem(self) -> str: ...


Line = Event | Unreadable
_OfOrigin = Skipped | Deferred | RobotsRead | Standing | Interrupted | OriginSettings


def fold(
    lines: Iterable[Line],
    *,
    since: float | None = None,
    origins: Collection[str] | None = None,
) -> "Analysis":
    """What all these lines say; see Analysis."""
    analysis = Analysis(since=since, origins=origins)
    add, fetched = analysis.add, analysis.fetched
    for line in lines:
        if isinstance(line, FetchRecord):  # nearly all are
            fetched(line)
        else:
            add(line)
    return analysis


class Analysis:
    """What the lines so far say.

    What befell before `since` (seconds since 1970) is not counted; what still holds from then, such
    as an origin's settings, is. `origins` names those that the findings are about.
    """

    def __init__(
        self, *, since: float | None = None, origins: Collection[str] | None = None
    ) -> None:
        self._since = since
        self._from = float("-inf") if since is None else since
        self._chosen = None if origins is None else frozenset(origins)
        self._tallies: dict[str, Tally] = {}
        self._first: float | None = None
        self._last: float | None = None
        self._chronicle = Chronicle()
        self._unread: list[Unread] = []
        self._flaws: dict[str, int] = {}

    @property
    def names(self) -> frozenset[str]:
        """The origins that the log speaks of, chosen or not."""
        return frozenset(self._tallies)

    def add(self, line: Line) -> None:
        """Take in one more line of the log."""
        match line:
            case FetchRecord():
                self.fetched(line)
            case Skipped() | Deferred() | RobotsRead() | Standing():
                self._of_origin(line)
            case Interrupted() | OriginSettings():
                self._of_origin(line)
            case RunStarted() | RunFinished() | KeyInUse() | Degraded():
                self._of_crawl(line)
            case ClockSetBack() | StateRebuilt() | Internal():
                self._of_crawl(line)
            case _:
                self._unreadable(line)

    def fetched(self, record: FetchRecord) -> None:
        """Take in one more request, or what never left."""
        tally = self._tallies.get(record.origin) or self._tally(record.origin)
        at = record.at
        self._last = at
        if self._first is None:
            self._first = at
        if at >= self._from:
            tally.add(record)
        else:
            tally.situation.ask(record)

    def _of_origin(self, event: _OfOrigin) -> None:
        counts = self._seen(event.at)
        tally = self._tally(event.origin)
        match event:
            case OriginSettings():
                tally.situation.set(event)
            case Standing():
                tally.situation.stand(event)
            case Deferred():
                tally.situation.defer(event)
            case Skipped():
                if counts:
                    tally.skip(event)
            case Interrupted():
                if counts:
                    tally.interrupt()
            case RobotsRead():
                if counts and event.changed:
                    tally.change_robots()
            case _:
                assert_never(event)

    def _of_crawl(self, event: Told) -> None:
        if self._seen(event.at):
            self._chronicle.add(event)
        else:
            self._chronicle.recall(event)

    def _unreadable(self, line: Unreadable) -> None:
        flaw = str(line.flaw)
        self._flaws[flaw] = self._flaws.get(flaw, 0) + 1
        if len(self._unread) < UNREAD:
            self._unread.append(
                Unread(path=str(line.path), line=line.number, flaw=flaw, problem=line.problem)
            )

    def _seen(self, at: float) -> bool:
        """Note the moment of an event; whether what befell then is counted."""
        self._last = at
        if self._first is None:
            self._first = at
        return at >= self._from

    def _tally(self, origin: str) -> Tally:
        if (tally := self._tallies.get(origin)) is None:
            tally = self._tallies[origin] = Tally(origin)
        return tally

    def findings(self) -> Findings:
        """What it all comes to; more lines may follow."""
        chronicle = self._chronicle
        origins = tuple(
            tally.findings()
            for name, tally in sorted(self._tallies.items())
            if self._chosen is None or name in self._chosen
        )
        return Findings(
            since=self._since,
            first=self._first,
            last=self._last,
            origins=origins,
            totals=Totals(
                **_sum(origins),
                origins=len(origins),
                runs=chronicle.runs,
                runs_ended=chronicle.ended,
                cpu=round(chronicle.cpu, 3),
                elapsed=round(chronicle.elapsed, 3),
            ),
            recommendation=_recommendation(origins),
            last_run=chronicle.last_run,
            keys=dict(chronicle.keys),
            notes=tuple(chronicle.notes),
            news=tuple(chronicle.news),
            noted=dict(chronicle.noted),
            unreadable=UnreadLines(
                count=sum(self._flaws.values()),
                flaws=dict(self._flaws),
                lines=tuple(self._unread),
            ),
        )


def _sum(origins: tuple[OriginFindings, ...]) -> dict[str, Any]:
    rows = [asdict(origin) for origin in origins]
    added = [name for name in Counts.__struct_fields__ if name != "name"]
    return {"name": "all", **{name: round(sum(row[name] for row in rows), 3) for name in added}}


def _recommendation(origins: tuple[OriginFindings, ...]) -> Recommendation:
    """Keep sig2: one answer decides nothing, whatever it looks like."""
    suspected = [origin for origin in origins if origin.suspicious_answers]
    if not suspected:
        reason = "no answer looks as if a signature had caused it"
    else:
        answers = sum(origin.suspicious_answers for origin in suspected)
        controls = sum(origin.controls for origin in suspected)
        passed = sum(origin.controls_passed for origin in suspected)
        reason = (
            f"single answers prove nothing: {answers} at {len(suspected)} of {len(origins)} "
            "origins look as if a signature had caused them, "
            f"{passed} of {controls} asked again with sig1 alone were served"
        )
    return Recommendation(state=RecommendationState.KEEP, reason=reason)
