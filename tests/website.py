"""A small site of real HTML, the same bytes each time, for tests and benches to serve.

The pages link like a site does: the home page leads to `fanout` others, each of these to `fanout`
more, and every page to its neighbours and back home. Beside them stand links that a polite crawler
leaves alone: one into `/private/`, which robots.txt forbids (the page exists, so that asking for it
would show in the access log), one to another host, one `mailto:`, one to a fragment.
"""

import random
from collections.abc import Mapping
from typing import Final

Files = Mapping[str, bytes]
"""Paths below the document root (no leading slash) and what stands there."""

FORBIDDEN: Final = "private/ledger.html"
_PROSE: Final = (
    "harbour lantern orchard winter copper meadow station river garden letter market window "
    "bridge kitchen morning paper summer village forest museum journey pattern weather island "
    "library autumn machine quarter concert evening railway teacher history language mountain "
    "bakery signal compass theatre gallery workshop neighbour printer archive cathedral of the "
    "and a in with under near between after before slowly often rarely again quietly open small "
    "old bright public local early careful wooden painted measured carries keeps opens repairs "
    "draws measures remembers collects crosses follows naïve café Übergang señal “quoted” – &amp;"
)
WORDS: Final = _PROSE.split()

ROBOTS: Final = b"""\
# Read by every crawler that comes here.
User-agent: *
Disallow: /private/
Disallow: /*?sort=
Allow: /

User-agent: GreedyBot
Disallow: /
"""


def path_of(page: int) -> str:
    """Give the target at which page number `page` is asked for (page 0 is the home page)."""
    return "/" if page == 0 else f"/page-{page}.html"


def files(
    pages: int, *, title: str = "Harbour notes", size: int = 10_000, fanout: int = 10
) -> Files:
    """Write a site of `pages` pages of about `size` bytes each, with its robots.txt."""
    site = {"robots.txt": ROBOTS, FORBIDDEN: _page(title, pages, 1, size, fanout)}
    for number in range(pages):
        name = "index.html" if number == 0 else path_of(number).removeprefix("/")
        site[name] = _page(title, number, pages, size, fanout)
    return site


def _page(title: str, number: int, pages: int, size: int, fanout: int) -> bytes:
    chance = random.Random(f"{title}/{number}")
    size = int(size * chance.uniform(0.8, 1.2))
    first = number * fanout + 1
    near = [0, max(number - 1, 0), min(number + 1, pages - 1)]
    links = [path_of(page) for page in (*near, *range(first, min(first + fanout, pages)))]
    links += [f"/{FORBIDDEN}", "https://elsewhere.example/", "mailto:desk@site.example", "#top"]
    menu = "".join(f'<li><a href="{link}">{_words(chance, 3)}</a></li>\n' for link in links)
    head = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}: {_words(chance, 4)}</title>\n"
        f'<meta name="description" content="{_words(chance, 14)}">\n'
        f'<link rel="icon" href="/favicon.ico">\n</head>\n<body>\n'
        f'<header id="top"><h1>{title}</h1></header>\n<nav><ul>\n{menu}</ul></nav>\n<main>\n'
    )
    foot = '</main>\n<footer><p><a href="#top">Up</a> &copy; 2026</p></footer>\n</body>\n</html>\n'
    parts = [head]
    length = len(head) + len(foot)
    while length < size:
        part = (
            f"<h2>{_words(chance, 5)}</h2>\n"
            f'<p class="lead">{_words(chance, 60)}.</p>\n'
            f"<table><tr><td>{_words(chance, 2)}</td><td>{chance.randrange(9999)}</td></tr>\n"
            f"</table>\n<p>{_words(chance, 90)} <em>{_words(chance, 3)}</em>.</p>\n"
        )
        parts.append(part)
        length += len(part)
    return "".join((*parts, foot)).encode()


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))
