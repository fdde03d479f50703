"""The links of an HTML page, and what it asks of robots.

The page may be hostile. It is read as a stream of start tags: libxml2 then builds no tree, whose
attributes and depth can take quadratic time. Time and memory are linear in `READ` bytes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from lxml import etree

from crawler.fetch import charset
from crawler.polite import robots_meta
from crawler.polite.robots_meta import Wishes
from crawler.polite.target import LONGEST, Target, Unsendable, joined

READ = 4_194_304  # bytes of a page that are looked at
LIMIT = 5_000  # links of a page that are taken
LIGHT = 131_072  # bytes; longer pages belong off the event loop (a megabyte takes about 0.1 s)

_REFRESH = re.compile(
    r"[\d.]*\s*[;,]\s*(?:url\s*=\s*)?(?:\"([^\"]*)|'([^']*)|(.+))", re.I | re.DOTALL
)
_NOT_ASCII = re.compile("[^\x00-\x7f]+")


@dataclass(frozen=True, slots=True)
class Link:
    """A URL that a page points to, in sendable form, and whether it asks not to follow it."""

    url: str
    nofollow: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypertext:
    """What a page says: its links in order, each once, its wishes, its canonical URL.

    `cut` says that the page had more bytes or links than are taken.
    """

    links: tuple[Link, ...]
    wishes: Wishes
    canonical: str | None = None
    cut: bool = False

    @property
    def followable(self) -> tuple[str, ...]:
        """The links that may be followed as far as the page is concerned."""
        if self.wishes.nofollow:
            return ()
        return tuple(link.url for link in self.links if not link.nofollow)


def read(
    body: bytes,
    *,
    url: str,
    product: str,
    content_type: str | None = None,
    robots_tags: Sequence[str] = (),
) -> Hypertext:
    """Read the page at `url`, as decoded bytes without content coding. Never fails.

    `product` is our product token, `robots_tags` the values of its X-Robots-Tag fields. Fragments,
    links to the page itself and what cannot be asked for are left out. A link that stands there
    both with and without `rel=nofollow` may be followed.
    """
    tags = _StartTags(product)
    parser = etree.HTMLParser(
        encoding="utf-8",
        target=tags,  # type: ignore[arg-type]  # the stub wants calls for text, lxml does not
    )
    encoding = charset.of_page(body[:READ], content_type)
    parser.feed(charset.text(body[:READ], encoding).encode("utf-8"))
    parser.close()
    base = _base(tags.base, url)
    found: dict[str, bool] = {}
    for reference, nofollow in tags.references:
        target = joined(base, _query_encoded(reference, encoding))
        if isinstance(target, Target) and target.url != url:
            found[target.url] = found.get(target.url, True) and nofollow
    canonical = None if tags.canonical is None else joined(base, tags.canonical)
    return Hypertext(
        links=tuple(Link(*item) for item in found.items()),
        wishes=tags.wishes | robots_meta.header(robots_tags, product),
        canonical=canonical.url if isinstance(canonical, Target) else None,
        cut=tags.cut or len(body) > READ,
    )


def _base(reference: str | None, url: str) -> str:
    if reference is None:
        return url
    base = joined(url, reference)
    return url if isinstance(base, Unsendable) else base.url  # HTML ignores data: and javascript:


def _query_encoded(reference: str, encoding: str) -> str:
    """As browsers do: a query is in the page's own encoding, the rest of a URL in UTF-8."""
    if reference.isascii() or encoding.startswith("utf-"):
        return reference
    before, mark, query = reference.partition("?")
    return (
        before
        + mark
        + _NOT_ASCII.sub(
            lambda match: quote(match[0].encode(encoding, "xmlcharrefreplace"), safe=""), query
        )
    )


class _StartTags:
    """What libxml2 tells of a page, tag by tag."""

    def __init__(self, product: str) -> None:
        self.references: list[tuple[str, bool]] = []
        self.base: str | None = None
        self.canonical: str | None = None
        self.wishes = Wishes()
        self.cut = False
        self._product = product

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Called by the parser for each start tag."""
        if tag in ("a", "area"):
            if (href := attributes.get("href")) is not None:
                self._refer(href, nofollow="nofollow" in _words(attributes.get("rel")))
        elif tag == "base":
            if self.base is None:
                self.base = attributes.get("href")
        elif tag == "meta":
            self._meta(attributes)
        elif tag == "link" and "canonical" in _words(attributes.get("rel")):
            self.canonical = self.canonical or attributes.get("href")

    def close(self) -> None:
        """Called by the parser at the end."""

    def _meta(self, attributes: Mapping[str, str]) -> None:
        content = attributes.get("content", "")
        if attributes.get("http-equiv", "").strip().lower() == "refresh":
            refresh = _REFRESH.match(content[:LONGEST].strip())
            if refresh is not None:
                self._refer(refresh[1] or refresh[2] or refresh[3] or "", nofollow=False)
        else:
            self.wishes |= robots_meta.meta(attributes.get("name", ""), content, self._product)

    def _refer(self, reference: str, *, nofollow: bool) -> None:
        if len(self.references) >= LIMIT:
            self.cut = True
        elif not reference.startswith("#"):
            self.references.append((reference, nofollow))


def _words(value: str | None) -> list[str]:
    return [] if value is None else value.lower().split()
