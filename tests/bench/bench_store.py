"""What the state costs: a page's share of it, and a frontier of a million URLs beside an empty one.

    python tests/bench/bench_store.py [--short]

Twenty lanes promise, log and keep pages as a crawl does, without asking anybody; what counts is the
CPU of the whole process for each page. Then an origin with 1,000,000 known pages (--short:
100,000), half of them never asked, is opened and its pages are claimed, promised and kept. Each
measurement is a process of its own. Fails (exit code 1) past three times a limit.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from statistics import median, quantiles
from typing import Final

sys.path.append(str(Path(__file__).resolve().parents[1]))  # scripts here share the tests' helpers

import durable
from imagined import origin
from measure import ChildError, spend
from msgspec.structs import replace
from records import record

from crawler.events import FetchRecord
from crawler.fetch import schema
from crawler.fetch.journal import Journal
from crawler.fetch.store import Store
from crawler.polite import pace
from crawler.polite.frontier import Claim, Fetched, FetchTask, Lesson, Promise, Refresh
from crawler.settings import Follow, Politeness

MILLION, SHORT = 1_000_000, 100_000  # URLs in one origin's frontier
PAGES, LANES = 6_000, 20
CLAIMS: Final = 300
BATCH: Final = 64
CPU: Final = 160.0  # microseconds for each page: promise, record, page and pace
CLAIM, SLOWEST = 0.15, 1.0  # milliseconds, median and 99th percentile
START: Final = 0.2  # seconds
MEMORY: Final = 25e6  # bytes above an empty frontier
NOW: Final = durable.NOON
MANNERS: Final = Politeness(daily_requests=1_000_000_000)
ONE: Final = origin(follow=(Follow.LINKS,), depth=9, pages=10_000_000, politeness=MANNERS)
DIGEST: Final = "5e" * 32

Limit = tuple[str, float, str]
LIMITS: Final[dict[str, Limit]] = {
    "cpu": ("CPU for a page, 20 lanes", CPU, "µs"),
    "one": ("claim of the next page, median", CLAIM, "ms"),
    "slowest": ("claim of the next page, 99th percentile", SLOWEST, "ms"),
    "batch": ("claim of 64 pages, as a refresh does, median", SLOWEST, "ms"),
    "committed": ("the same with the commit before it, median", inf, "ms"),
    "everything": ("claim of 64 pages with --all, median", SLOWEST, "ms"),
    "start": ("start, until the first page is claimed", START, "s"),
    "memory": ("memory above an empty frontier's", MEMORY / 1e6, "MB"),
}


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="100,000 URLs, fewer pages")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        job, directory = options.child
        figures = asyncio.run({"lanes": lanes, "frontier": frontier}[job](Path(directory)))
        Path(directory, "figures").write_text(json.dumps(figures))
        return 0
    urls = SHORT if options.short else MILLION
    found = child("lanes", lambda _: None)
    few = child("frontier", lambda directory: fill(directory, BATCH))
    many = child("frontier", lambda directory: fill(directory, urls))
    found |= many
    found["memory"] = (many["resident"] - few["resident"]) / 1e6
    failed = False
    print(f"{urls:,} URLs in one origin's frontier")
    for name, (what, limit, unit) in LIMITS.items():
        past = found[name] > 3 * limit
        failed |= past
        at_most = "" if limit == inf else f" (limit {limit:g} {unit})"
        print(f"{what:45} {found[name]:8.3f} {unit}{at_most}{' FAILED' if past else ''}")
    return int(failed)


def child(job: str, prepare: Callable[[Path], None]) -> dict[str, float]:
    """Run one measurement in a process of its own, over a state directory made for it."""
    with tempfile.TemporaryDirectory() as directory:
        prepare(Path(directory))
        spend([sys.executable, __file__, "--child", job, directory])
        figures = json.loads(Path(directory, "figures").read_text())
        return {str(name): float(value) for name, value in figures.items()}


def fill(directory: Path, urls: int) -> None:
    """A database of an origin with so many pages."""
    path = directory / "state.db"
    schema.create(path)
    database = schema.filling(path)
    database.execute("BEGIN")
    database.execute("INSERT INTO origins (id, name) VALUES (1, 'one')")
    database.executemany(
        "INSERT INTO pages (origin, key, depth, due, seen, status, etag, digest, full_at)"
        " VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows(urls),
    )
    database.execute("COMMIT")
    database.close()
    asyncio.run(begin(directory))


async def begin(directory: Path) -> None:
    """One refresh of before, so that the settings are known."""
    async with durable.opened(directory, ONE) as (store, _):
        opened = await store.open(ONE, NOW - 3e6)
        store.finish("one", replace(opened.refresh, finished=True))


def rows(urls: int) -> Iterator[tuple[str | int | float | None, ...]]:
    dice = random.Random(3)
    for number in range(urls):
        url = f"https://one.example/section-{number % 997}/article-{number}.html"
        if number % 2:
            yield url, dice.randrange(1, 4), None, None, None, None, None, None
        else:
            due = NOW + dice.uniform(-1e6, 1e6)
            yield url, dice.randrange(1, 4), due, NOW - 2e6, 200, f'"{number:x}"', DIGEST, NOW - 2e6


async def lanes(directory: Path) -> dict[str, float]:
    """The CPU of a page's promise, record and lesson."""
    async with durable.opened(directory, ONE) as (store, journal):
        await store.open(ONE, NOW)
        spent = time.process_time()
        await asyncio.gather(*(lane(store, journal, number) for number in range(LANES)))
        return {"cpu": (time.process_time() - spent) / PAGES * 1e6}


async def lane(store: Store, journal: Journal, number: int) -> None:
    state, scope = pace.Pace(), f"scope-{number}.example"
    for page in range(PAGES // LANES):
        task = FetchTask(
            id=f"r-{number}-{page}", origin="one", scope=scope, url=f"https://{scope}/{page}.html"
        )
        state = await asked(store, journal, task, state)


async def asked(store: Store, journal: Journal, task: FetchTask, state: pace.Pace) -> pace.Pace:
    """What the state hears of a page that is asked for and read."""
    state = pace.before(state, task.origin, task.id, NOW)
    await store.promise(Promise(task=task, pace=state, refresh=Refresh(started=NOW, asked=1)))
    read = answer(task)
    journal.append(read)
    state = pace.after(state, read, MANNERS)
    store.keep(Lesson(fetched=Fetched(record=read), due=NOW + 3600.0), state)
    return state


def answer(task: FetchTask) -> FetchRecord:
    return record(
        id=task.id,
        origin=task.origin,
        scope=task.scope,
        url=task.url,
        at=NOW,
        digest=DIGEST,
        etag='"6537-1a2b3c"',
        fields={"x-robots-tag": "all"},
        content_type="text/html",
        header_bytes=4330,
    )


async def frontier(directory: Path) -> dict[str, float]:
    """How long claims take, from the start on."""
    began = time.perf_counter()
    async with durable.opened(directory, ONE) as (store, journal):
        await store.open(ONE, NOW)
        await store.claim(wanted(NOW))
        start = time.perf_counter() - began
        committed, batch, one, state = [], [], [], pace.Pace()
        for number in range(CLAIMS):
            took, pages = await timed(store, wanted(NOW))
            committed.append(took)
            for page in pages:
                task = FetchTask(id=f"r-{number}", origin="one", scope="s", url=page)
                read = answer(task)
                journal.append(read)
                store.keep(Lesson(fetched=Fetched(record=read), due=NOW + 3600.0), state)
            await store.promise(Promise(task=task, pace=state))
            batch.append((await timed(store, wanted(NOW)))[0])
            one.append((await timed(store, wanted(NOW, limit=1)))[0])
        everything = [(await timed(store, wanted(inf)))[0] for _ in range(CLAIMS)]
        return {
            "start": start,
            "one": median(one),
            "slowest": quantiles(one, n=100)[98],
            "batch": median(batch),
            "committed": median(committed),
            "everything": median(everything),
            "resident": resident(),
        }


def wanted(due: float, limit: int = BATCH) -> Claim:
    return Claim(origin="one", started=NOW, due=due, depth=3, limit=limit)


async def timed(store: Store, claim: Claim) -> tuple[float, list[str]]:
    """Milliseconds of a claim, and its URLs."""
    began = time.perf_counter()
    supply = await store.claim(claim)
    return (time.perf_counter() - began) * 1e3, [page.url for page in supply.pages]


def resident() -> int:
    """Bytes of this process that are in memory (proc(5), statm)."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ChildError as error:
        sys.exit(f"bench_store: error: {error}")
