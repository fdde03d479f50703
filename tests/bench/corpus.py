"""The 3,000 pages that the benchmarks crawl: 20 loopback addresses with 150 pages each.

Each address has pages of its own (8 to 13 KB of HTML), so that a store which keeps equal bodies
once gains nothing by it.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).resolve().parents[1]))  # scripts here share the tests' servers

import website
from servers import Access

ADDRESSES: Final = tuple(f"127.0.0.{number}" for number in range(1, 21))
PAGES: Final = 150  # at each address


def sites(pages: int = PAGES, addresses: Iterable[str] = ADDRESSES) -> dict[str, website.Files]:
    """Write the pages of every address."""
    return {address: website.files(pages, title=f"Notes of {address}") for address in addresses}


def targets(pages: int) -> list[str]:
    """List what is asked for at each address, robots.txt apart."""
    return [website.path_of(page) for page in range(pages)]


def requests_of(pages: int) -> int:
    """Count what a crawl of `pages` pages at each address asks for, robots.txt included."""
    return len(ADDRESSES) * (pages + 1)


def differences(seen: list[Access], pages: int, addresses: Iterable[str] = ADDRESSES) -> list[str]:
    """Compare the server's own log with the crawl that was ordered; empty when they agree."""
    ordered = sorted(
        (address, target) for address in addresses for target in ("/robots.txt", *targets(pages))
    )
    served = sorted((line.address, line.target) for line in seen)
    problems = [
        f"{line.status} for {line.address}{line.target}" for line in seen if line.status != 200
    ]
    if served != ordered:
        missing, extra = set(ordered) - set(served), set(served) - set(ordered)
        problems.append(
            f"{len(served)} requests where {len(ordered)} were ordered,"
            f" missing {sorted(missing)[:3]}, not ordered {sorted(extra)[:3]}"
        )
    return problems
