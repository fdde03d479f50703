"""The fleet's pages: small, real HTML that links to its neighbours."""

import zlib
from collections.abc import Iterable
from html import escape

from crawler.demo.reply import Answer

_FILLER = (
    "A page that somebody reads now and then. It changes rarely, so asking often would teach "
    "nobody anything; whoever comes back politely is welcome."
)
_GZIP = 31  # zlib's window bits for a gzip frame


def page(title: str, links: Iterable[str] = (), *, charset: str = "utf-8") -> bytes:
    """A page in `charset`, which its own meta element names."""
    items = "".join(f'<li><a href="{escape(link)}">{escape(link)}</a></li>\n' for link in links)
    text = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="{charset}">\n'
        f"<title>{escape(title)}</title>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        f"<p>{_FILLER}</p>\n<ul>\n{items}</ul>\n</body>\n</html>\n"
    )
    return text.encode(charset)


def pages(title: str, targets: Iterable[str]) -> dict[str, Answer]:
    """A front page at `/` that links to all of `targets`, and a page at each of them."""
    listed = tuple(targets)
    found = {"/": Answer(body=page(title, listed))}
    for target in listed:
        found[target] = Answer(body=page(f"{title}: {target}", ["/"]))
    return found


def moved(location: str, status: int = 302) -> Answer:
    """A redirect."""
    return Answer(status=status, fields=(("Location", location),), body=page("Moved", [location]))


def bomb(decoded: int) -> Answer:
    """An answer of `decoded` bytes that gzip has made about a thousand times smaller."""
    squeeze = zlib.compressobj(level=9, wbits=_GZIP)
    chunk = bytes(65_536)
    body = squeeze.compress(page("A bomb"))
    for _ in range(decoded // len(chunk)):
        body += squeeze.compress(chunk)
    return Answer(body=body + squeeze.flush(), fields=(("Content-Encoding", "gzip"),))
