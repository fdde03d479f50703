"""How much longer a refresh of 21 origins takes than its slowest lane has to.

    python tests/bench/bench_makespan.py [--short]

nginx serves 21 loopback addresses, some of them slowly; each origin has a delay of its own, so the
lanes end at different times. `crawl --once` refreshes them all (about 40 s, `--short` a
third of that). No schedule can be shorter than its slowest lane's delays and response times; both
are computed from the log of the run. Fails (exit code 1) when the time from the first event of the
run to the last is more than 1.03 of that bound. What nginx noted is printed beside it.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import corpus
from measure import ChildError, spend
from servers import ServerError, nginx
from workspace import Value, crawl, workspace

from crawler import events

LIMIT: Final = 1.03
ADDRESSES: Final = tuple(f"127.0.0.{number}" for number in range(1, 22))
SLOW: Final = ADDRESSES[2::5]  # these take up to a second for a page, by `limit_rate`
PAGES, SHORT = 20, 6
FACTOR: Final = 1.0  # a slow answer's delay is as long as the answer took


def main() -> int:
    """Refresh once, print the slowest lanes, and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help=f"{SHORT} pages instead of {PAGES}")
    pages = SHORT if parser.parse_args().short else PAGES
    slowly = dict.fromkeys(SLOW, "limit_rate 8k;")
    with nginx(corpus.sites(pages, ADDRESSES), at=slowly) as server:
        origins = {server.url(address=address): manners(address, pages) for address in ADDRESSES}
        with workspace(origins, politeness={"delay_factor": FACTOR}) as config:
            spent = spend(crawl(config))
            log = list(read(config.parent / "state" / "log"))
        noted = server.requests(at_least=len(ADDRESSES) * (pages + 1))
        if problems := corpus.differences(noted, pages, ADDRESSES):
            raise ChildError("\n".join(("the refresh was not the one ordered:", *problems[:10])))
    lanes = by_scope(log)
    bounds = {scope: bound(records, delays(log)) for scope, records in lanes.items()}
    slowest = sorted(bounds, key=bounds.__getitem__, reverse=True)
    makespan = log[-1].at - log[0].at
    for scope in slowest[:3]:
        took = ended(lanes[scope][-1]) - lanes[scope][0].at
        print(f"{scope}: at least {bounds[scope]:.2f} s, took {took:.2f} s")
    ratio = makespan / bounds[slowest[0]]
    verdict = "FAILED" if ratio > LIMIT else "ok"
    seen = max(line.msec for line in noted) - min(line.began for line in noted)
    print(
        f"{len(noted)} requests in {seen:.2f} s as nginx saw it, {spent.wall:.2f} s with start-up"
    )
    print(f"makespan {makespan:.2f} s, ratio {ratio:.3f} (at most {LIMIT}) {verdict}")
    return int(ratio > LIMIT)


def manners(address: str, pages: int) -> dict[str, Value]:
    """Give an origin its delay: 0.25 s at the first address, 0.65 s at the last."""
    return {
        "start": corpus.targets(pages),
        "pages": pages,
        "min_delay": round(0.25 + 0.02 * ADDRESSES.index(address), 2),
        "allow_private": True,
    }


def read(folder: Path) -> Iterator[events.Event]:
    """Read every event of the run, in order."""
    for path in sorted(folder.glob("events-*.jsonl")):
        for line in path.read_bytes().splitlines():
            yield events.decode(line)


def by_scope(log: list[events.Event]) -> dict[str, list[events.FetchRecord]]:
    """Sort the requests into their lanes."""
    lanes: dict[str, list[events.FetchRecord]] = {}
    for event in log:
        if isinstance(event, events.FetchRecord):
            lanes.setdefault(event.scope, []).append(event)
    return lanes


def delays(log: list[events.Event]) -> dict[str, float]:
    """Read the least delay of each scope, seconds, from the settings that the run logged."""
    return {
        event.scope: event.politeness.min_delay
        for event in log
        if isinstance(event, events.OriginSettings)
    }


def bound(records: list[events.FetchRecord], least: dict[str, float]) -> float:
    """Give the shortest time that a lane's requests can take, in seconds.

    Every answer takes as long as it took, and every one but the last is followed by its delay.
    """
    waits = (max(least[record.scope], FACTOR * record.elapsed) for record in records[:-1])
    return sum(record.elapsed for record in records) + sum(waits)


def ended(record: events.FetchRecord) -> float:
    """Give the moment at which an answer was complete."""
    return record.at + record.elapsed


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ChildError, ServerError, events.EventUnreadable) as error:
        sys.exit(f"bench_makespan: error: {error}")
