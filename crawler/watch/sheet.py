"""The report for people: which tables and sentences the findings make."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from crawler.events import Why
from crawler.watch.findings import Counts, Findings, Note, OriginFindings, Run
from crawler.watch.layout import Block, Listing, Table
from crawler.watch.moments import written
from crawler.watch.wording import ALONE, SIGHTS, share, size, span, times

_Name = TypeVar("_Name", bound=str)
_USUAL = "both labels are sent"


def blocks(findings: Findings) -> tuple[Block, ...]:
    """What people read, in the order in which they need it."""
    origins = findings.origins
    listings = (
        Listing(title="Suspicious answers", lines=tuple(_suspicious(origins))),
        Listing(title="Not asked as the log ends", lines=held(origins)),
        Listing(title="sig2", lines=tuple(_verdicts(origins))),
        Listing(title="Details", lines=tuple(_details(origins))),
        Listing(title="The crawl itself", lines=tuple(_crawl(findings))),
        Listing(title="Lines that are no events", lines=tuple(_unreadable(findings))),
    )
    return (
        Listing(title="Report", lines=tuple(_period(findings))),
        *(_tables(findings) if origins else ()),
        *(listing for listing in listings if listing.lines),
        Listing(title="All in all", lines=tuple(_summary(findings))),
    )


def held(origins: Iterable[OriginFindings]) -> tuple[str, ...]:
    """Why some of the origins are not asked as the log ends, and until when."""
    return tuple(
        f"{origin.name}: {origin.hold.why}"
        + ("" if origin.hold.until is None else f" until {written(origin.hold.until)}")
        + (f": {origin.hold.detail}" if origin.hold.detail else "")
        for origin in origins
        if origin.hold is not None
    )


def noted(notes: Iterable[Note]) -> tuple[str, ...]:
    """What befell the crawl, one sentence each."""
    return tuple(f"{written(note.at)}  {note.event}: {note.text}" for note in notes)


def _period(findings: Findings) -> Iterator[str]:
    if findings.first is None or findings.last is None:
        yield "the log holds no event"
        return
    yield f"events from {written(findings.first)} to {written(findings.last)}"
    if findings.since is not None:
        yield f"counted since {written(findings.since)}"


def _tables(findings: Findings) -> tuple[Table, ...]:
    origins = findings.origins
    all_ = findings.totals if len(origins) > 1 else None
    return (
        Table(
            title="Answers",
            head=(
                "origin",
                "requests",
                "2xx",
                "304",
                "3xx",
                "404/410",
                "refused",
                "failed",
                "unsent",
            ),
            legend=(
                "refused: any other 4xx; failed: 5xx, or no whole answer",
                "unsent: never left this machine, so not among the requests",
            ),
            rows=tuple(_answers(origin) for origin in origins),
            total=_answers(all_) if all_ else None,
        ),
        Table(
            title="Pace and size",
            head=(
                "origin",
                "received",
                "decoded",
                "waited",
                "median",
                "p95",
                "other waits",
            ),
            rows=tuple((*_pace(origin), *_latency(origin)) for origin in origins),
            total=(*_pace(all_), "", "", "") if all_ else None,
            left=frozenset((0, 6)),
            legend=(
                "median, p95: until an answer's head came",
                "other waits: the part of waited that was for more than the usual delay",
            ),
        ),
        Table(
            title="Signatures",
            head=(
                "origin",
                "both",
                "sig1 alone",
                "heads",
                "signatures",
                "CPU",
                "suspicious",
                "sig2",
            ),
            rows=tuple((*_signatures(origin), str(origin.verdict.state)) for origin in origins),
            total=(*_signatures(all_), "") if all_ else None,
            left=frozenset((0, 7)),
            legend=(
                "both, sig1 alone: requests by the signatures that they carried",
                "heads: bytes of all request heads; signatures: of these; CPU: of signing",
                "suspicious: answers that look as if a signature had caused them",
                "sig2: sending where no answer holds it back, pinned where a setting decides",
            ),
        ),
    )


def _answers(counts: Counts) -> tuple[str, ...]:
    numbers = (
        counts.requests,
        counts.ok,
        counts.not_modified,
        counts.redirected,
        counts.missing,
        counts.refused,
        counts.failed,
        counts.not_sent,
    )
    return (counts.name, *(f"{number:,}" for number in numbers))


def _pace(counts: Counts) -> tuple[str, ...]:
    return counts.name, size(counts.wire_bytes), size(counts.body_bytes), span(counts.waited)


def _latency(origin: OriginFindings) -> tuple[str, ...]:
    times = (origin.median_latency, origin.p95_latency)
    waits = (
        f"{why} {share(seconds, origin.waited)}"
        for why, seconds in sorted(origin.waits.items(), key=lambda item: -item[1])
        if why is not Why.DELAY
    )
    return (*("" if time is None else span(time) for time in times), ", ".join(waits))


def _signatures(counts: Counts) -> tuple[str, ...]:
    return (
        counts.name,
        f"{counts.dual:,}",
        f"{counts.single:,}",
        size(counts.header_bytes),
        size(counts.signature_bytes),
        span(counts.sign_cpu_ms / 1000),
        f"{counts.suspicious_answers:,}",
    )


def _suspicious(origins: tuple[OriginFindings, ...]) -> Iterator[str]:
    for origin in origins:
        for sight, suspicion in origin.suspicious.items():
            last = suspicion.examples[-1]
            yield (
                f"{origin.name}: {SIGHTS[sight]}, {suspicion.count:,} of {origin.requests:,}; last "
                f"{written(last.at)} {last.url}: {last.matched} (as from {last.source})"
            )
        if origin.controls:
            yield (
                f"{origin.name}: asked again with sig1 alone after a refusal "
                f"{times(origin.controls, 'time')}, {origin.controls_passed:,} served"
            )


def _verdicts(origins: tuple[OriginFindings, ...]) -> Iterator[str]:
    for origin in origins:
        if origin.verdict.reason != _USUAL:
            yield f"{origin.name}: {origin.verdict.state}, {origin.verdict.reason}"


def _details(origins: tuple[OriginFindings, ...]) -> Iterator[str]:
    """One line for each origin with something that the tables do not show."""
    for origin in origins:
        counted = (
            ("no whole answer", _list(origin.failures)),
            ("URLs not asked", _list(origin.skipped)),
            ("sig1 alone", _list({ALONE[why]: count for why, count in origin.without.items()})),
            ("never left", _unsent(origin)),
            ("not read, for size or type", _list({"": origin.unread})),
            ("cut off by the end of a run", _list({"": origin.cancelled})),
            ("cut off by a crash", _list({"": origin.interrupted})),
            ("robots.txt changed", _list({"": origin.robots_changes})),
        )
        if said := "; ".join(f"{what}: {counts}" for what, counts in counted if counts):
            yield f"{origin.name}: {said}"


def _list(counts: Mapping[_Name, int]) -> str:
    return ", ".join(f"{name} {count:,}".lstrip() for name, count in counts.items() if count)


def _unsent(origin: OriginFindings) -> str:
    """What kept requests here, with what was said about it last."""
    said = origin.not_sent_details
    return ", ".join(
        f"{why} {count:,}" + (f" ({said[why]})" if why in said else "")
        for why, count in origin.not_sent_by.items()
    )


def _crawl(findings: Findings) -> Iterator[str]:
    for event, count in findings.noted.items():
        yield f"{event}: {times(count, 'time')}"
    yield from noted(findings.notes)


def _unreadable(findings: Findings) -> Iterator[str]:
    unreadable = findings.unreadable
    for line in unreadable.lines:
        yield f"{line.path}:{line.line}: {line.problem}"
    if (more := unreadable.count - len(unreadable.lines)) > 0:
        yield f"and {more:,} more"


def _summary(findings: Findings) -> Iterator[str]:
    totals = findings.totals
    unsent = f"; {totals.not_sent:,} more never left" if totals.not_sent else ""
    yield (
        f"{times(totals.requests, 'request')} to {times(totals.origins, 'origin')} "
        f"in {times(totals.runs, 'run')}; {totals.dual:,} with both signatures, "
        f"{totals.single:,} with sig1 alone" + unsent
    )
    cpu = totals.sign_cpu_ms / 1000
    whole = totals.runs == totals.runs_ended and totals.cpu > 0
    of_all = f", {share(cpu, totals.cpu)} of the crawl's {span(totals.cpu)}" if whole else ""
    yield (
        f"signing cost {span(cpu)} of CPU{of_all}, and {size(totals.signature_bytes)}, "
        f"{share(totals.signature_bytes, totals.header_bytes)} of all request heads"
    )
    if (run := findings.last_run) is not None:
        yield _last(run)
    yield f"sig2: {findings.recommendation.state}; {findings.recommendation.reason}"


def _last(run: Run) -> str:
    started = "" if run.started is None else f", started {written(run.started)}"
    if run.ended is None:
        return f"last run {run.run}{started}: its end is not in the log"
    how = "was stopped" if run.stopped else "ended"
    return (
        f"last run {run.run}{started}: {how} {written(run.ended)} after "
        f"{times(run.requests, 'request')} in {span(run.elapsed)}, {span(run.cpu)} of CPU"
    )
