"""How much memory a crawl of 10,000 pages takes, and whether it grows with the pages.

    python tests/bench/bench_memory.py [--short]

nginx serves 20 loopback addresses with 500 pages each; `crawl --once` finds them by following
links, with no delay and everything on. The resident memory of the whole process is sampled against
the number of requests that nginx has seen. Fails (exit code 1) when a sample passes 90 MB, or when
the median over the last 500 pages is more than 6 MB above the one over the 500 after the first
1,000. `--short` crawls 3,000 pages and is judged alike.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Final

import corpus
from measure import ChildError
from servers import ServerError, WebServer, nginx
from workspace import AT_ONCE, Value, crawl, workspace

PAGES, SHORT = 500, 150  # at each address
WARM, WINDOW = 1000, 500  # pages
PEAK, GROWTH = 90e6, 6e6  # bytes
BETWEEN: Final = 0.02  # seconds from one sample to the next

Sample = tuple[int, int]
"""Requests that the server had answered, and bytes that were resident then."""


def main() -> int:
    """Crawl, print the memory at each thousand pages, and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="3,000 pages instead of 10,000")
    pages = SHORT if parser.parse_args().short else PAGES
    settings: dict[str, Value] = {
        "follow": "links",
        "depth": 4,
        "pages": pages,
        "allow_private": True,
    }
    with nginx(corpus.sites(pages)) as server:
        origins = {server.url(address=address): settings for address in corpus.ADDRESSES}
        with workspace(origins, politeness=AT_ONCE) as config:
            samples = watch(crawl(config), server, config.with_name("output"))
        seen = server.requests(at_least=corpus.requests_of(pages))
        problems = corpus.differences(seen, pages)
    if problems:
        raise ChildError("\n".join(("the crawl was not the one ordered:", *problems[:10])))
    for thousand in range(1000, samples[-1][0] + 1, 1000):
        print(
            f"{thousand:7} pages {next(rss for n, rss in samples if n >= thousand) / 1e6:6.1f} MB"
        )
    last = samples[-1][0]
    early = median(rss for n, rss in samples if WARM <= n <= WARM + WINDOW)
    late = median(rss for n, rss in samples if n >= last - WINDOW)
    peak = max(rss for _, rss in samples)
    failed = peak > PEAK or late - early > GROWTH
    print(f"peak {peak / 1e6:.1f} MB (at most {PEAK / 1e6:.0f}), {len(samples)} samples")
    print(
        f"growth from page {WARM} to page {last}: {(late - early) / 1e6:.1f} MB"
        f" (at most {GROWTH / 1e6:.0f}) {'FAILED' if failed else 'ok'}"
    )
    return int(failed)


def watch(command: list[str | Path], server: WebServer, output: Path) -> list[Sample]:
    """Run the crawl and sample its memory. Raises `ChildError` unless it ends with 0."""
    samples: list[Sample] = []
    with output.open("wb") as said, server.access_log.open("rb") as log:
        child = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        seen = 0
        while True:
            try:
                child.wait(timeout=BETWEEN)
                break
            except subprocess.TimeoutExpired:
                seen += log.read().count(b"\n")
                if rss := resident(child.pid):
                    samples.append((seen, rss))
    if child.returncode != 0:
        text = output.read_text(errors="replace").splitlines()[-30:]
        raise ChildError("\n".join((f"exit code {child.returncode}", *text)))
    return samples


def resident(process: int) -> int:
    """Give the bytes of a process that are in memory; 0 when it has just ended (proc(5), statm)."""
    pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ChildError, ServerError) as error:
        sys.exit(f"bench_memory: error: {error}")
