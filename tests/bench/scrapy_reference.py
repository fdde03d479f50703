"""Fetch the benchmark's pages with Scrapy, unsigned: the crawler that we compare ourselves with.

Run by the Python of a venv that has Scrapy, never by ours:

    PYTHON scrapy_reference.py PORT PAGES ADDRESS...

Asks each address for its robots.txt and for `PAGES` pages, and exits with 1 when a page is missing.
Nothing is done with a page but counting it. Scrapy's own defaults stand where nothing is said here;
its start requests skip the duplicate filter, which is in its favour.
"""

import sys
from collections.abc import Sequence
from typing import Any

import scrapy  # type: ignore[import-not-found]  # lives in a venv of its own
from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]

SETTINGS: dict[str, object] = {
    "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
    "DOWNLOAD_DELAY": 0,
    "COOKIES_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "USER_AGENT": "ExampleBot/1.0 (+https://bot.example/bot; mailto:bot@bot.example)",
}


class Reference(scrapy.Spider):  # type: ignore[misc]  # without Scrapy its class is Any
    """Asks for every start URL once and counts the answers."""

    name = "reference"

    def parse(self, response: Any) -> None:
        """Count a page that was answered with 200."""
        FETCHED.add(response.url)


FETCHED: set[str] = set()


def main(arguments: Sequence[str]) -> int:
    """Crawl, and compare what came with what was asked for."""
    port, pages, addresses = int(arguments[0]), int(arguments[1]), arguments[2:]
    targets = ["/", *(f"/page-{page}.html" for page in range(1, pages))]
    # address by address in turn, so that 4 in flight at each still make 16 in all
    urls = [f"http://{address}:{port}{target}" for target in targets for address in addresses]
    process = CrawlerProcess(SETTINGS)
    process.crawl(Reference, start_urls=urls)
    process.start()
    if set(urls) != FETCHED:
        print(f"Scrapy fetched {len(FETCHED)} of {len(urls)} pages", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
