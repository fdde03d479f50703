"""The links of an HTML page, and what it asks of robots."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.fetch import links
from crawler.fetch.links import Hypertext, Link
from crawler.polite.robots_meta import Wishes

PAGE = "https://example.com/docs/a.html"


def read(body: str | bytes, content_type: str | None = None, *tags: str) -> Hypertext:
    octets = body.encode() if isinstance(body, str) else body
    return links.read(
        octets, url=PAGE, product="ExampleBot", content_type=content_type, robots_tags=tags
    )


@pytest.mark.parametrize(
    ("html", "urls"),
    [
        ("<a href=b.html>b</a>", ["https://example.com/docs/b.html"]),
        ("<A HREF='/b'>", ["https://example.com/b"]),
        ("<map><area href=/b></map>", ["https://example.com/b"]),
        ("<a href=//other.example/x>", ["https://other.example/x"]),
        ("<a href=http://example.com:80>", ["http://example.com/"]),
        ("<a href=' /b\n/c '>", ["https://example.com/b/c"]),
        ("<a href='/b?x=1&amp;y=2#top'>", ["https://example.com/b?x=1&y=2"]),
        ("<a href=/ä>", ["https://example.com/%C3%A4"]),
        ("<a href=?q=ä>", ["https://example.com/docs/a.html?q=%C3%A4"]),
        ("<a href=/b><a href=/c><a href=/b#x>", ["https://example.com/b", "https://example.com/c"]),
        ("<a href=#top><a href=''><a href=a.html#x><a name=x><a>", []),
        ("<a href=mailto:a@b><a href=javascript:x()><a href=tel:1><a href=data:,x>", []),
        ("<a href=http://me@example.com/><a href=http://[/><a href=https://☃.example/>", []),
        ("<img src=/b><link rel=next href=/b><form action=/b><iframe src=/b>", []),
        ("<!-- <a href=/b> --><script>'<a href=/b>'</script><style><a href=/b></style>", []),
        ("<base href=/x/><a href=b>", ["https://example.com/x/b"]),
        ("<a href=b><base href=https://cdn.example/x/>", ["https://cdn.example/x/b"]),
        ("<base target=_top><base href=/x/><base href=/y/><a href=b>", ["https://example.com/x/b"]),
        ("<base href=data:,x><a href=b>", ["https://example.com/docs/b"]),
        ("<base href=javascript:x><a href=b>", ["https://example.com/docs/b"]),
        ('<meta http-equiv=Refresh content="0; url=/b">', ["https://example.com/b"]),
        ("<meta http-equiv=refresh content=\"5;URL='/b c'x\">", ["https://example.com/b%20c"]),
        ("<meta http-equiv=refresh content='0,\"/b'>", ["https://example.com/b"]),
        ("<meta http-equiv=refresh content=30><meta http-equiv=refresh>", []),
        ("<p><b><a href=/b><div></b><a href=/c", ["https://example.com/b"]),
        ("", []),
        ("plain text, <no> html </at> all & <", []),
    ],
)
def test_finds(html: str, urls: list[str]) -> None:
    assert [link.url for link in read(html).links] == urls


@pytest.mark.parametrize(
    ("html", "nofollow"),
    [
        ("<a href=/b rel=nofollow>", True),
        ("<a href=/b rel='external NoFollow'>", True),
        ("<a href=/b rel=nofollower>", False),
        ("<a href=/b rel='ugc sponsored'>", False),
        ("<a href=/b rel=nofollow><a href=/b>", False),
        ("<a href=/b><a href=/b rel=nofollow>", False),
        ("<a href=/b rel=nofollow><a href=/b rel=nofollow>", True),
    ],
)
def test_marks_what_is_not_to_be_followed(html: str, nofollow: bool) -> None:
    page = read(html)

    assert page.links == (Link("https://example.com/b", nofollow),)
    assert page.followable == (() if nofollow else ("https://example.com/b",))


@pytest.mark.parametrize(
    ("html", "tags", "wishes"),
    [
        ("", [], Wishes()),
        ("<meta name=robots content='noindex, nofollow'>", [], Wishes(True, True)),
        ("<META NAME=Robots CONTENT=NONE>", [], Wishes(True, True)),
        ("<meta name=examplebot content=nofollow>", [], Wishes(nofollow=True)),
        ("<meta name=otherbot content=none>", [], Wishes()),
        ("<meta content=none><meta name=robots>", [], Wishes()),
        ("<meta name=robots content=noarchive>", ["noindex"], Wishes(True, False, True)),
        ("", ["otherbot: none", "examplebot: nofollow"], Wishes(nofollow=True)),
    ],
)
def test_adds_up_what_a_page_asks_of_robots(html: str, tags: list[str], wishes: Wishes) -> None:
    assert read(html, None, *tags).wishes == wishes


def test_a_page_may_ask_to_follow_none_of_its_links() -> None:
    page = read("<a href=/b>", None, "nofollow")

    assert len(page.links) == 1
    assert page.followable == ()


@pytest.mark.parametrize(
    ("html", "canonical"),
    [
        ("<link rel=canonical href=/c>", "https://example.com/c"),
        ("<link rel='shortlink Canonical' href=c#x>", "https://example.com/docs/c"),
        ("<base href=/x/><link rel=canonical href=c>", "https://example.com/x/c"),
        ("<link rel=canonical href=/c><link rel=canonical href=/d>", "https://example.com/c"),
        ("<link rel=canonical href=mailto:x>", None),
        ("<link rel=canonical><link rel=stylesheet href=/c>", None),
    ],
)
def test_knows_the_canonical_url(html: str, canonical: str | None) -> None:
    assert read(html).canonical == canonical


@pytest.mark.parametrize(
    ("encoding", "content_type", "declared"),
    [
        ("windows-1251", "text/html; charset=windows-1251", ""),
        ("windows-1251", "text/html", "<meta charset=windows-1251>"),
        ("koi8-r", None, "<meta http-equiv=content-type content='text/html; charset=koi8-r'>"),
        ("utf-16", None, ""),
        ("utf-8", None, ""),
        ("shift_jis", "text/html; charset=Shift_JIS", ""),
    ],
)
def test_reads_pages_in_their_own_encoding(
    encoding: str, content_type: str | None, declared: str
) -> None:
    body = f"<html><head>{declared}</head><a href='/мир'>мир</a>".encode(encoding)

    assert read(body, content_type).followable == ("https://example.com/%D0%BC%D0%B8%D1%80",)


def test_a_query_stays_in_the_encoding_of_the_page() -> None:
    """As in browsers: only such a query finds anything on that site."""
    body = "<a href='/д?q=мир€ツ'>".encode("windows-1251", "xmlcharrefreplace")

    assert read(body, "text/html; charset=windows-1251").followable == (
        "https://example.com/%D0%B4?q=%EC%E8%F0%88%26%2312484%3B",
    )


def test_bytes_that_are_no_text_lose_no_link() -> None:
    body = b"<p>\xff\xfe\x00\x80</p><a href='/b'>\x00</a><a href='/c\x00d\xff'>"

    assert [link.url for link in read(body, "text/html; charset=utf-8").links][:1] == [
        "https://example.com/b"
    ]
    assert len(read(body, "text/html; charset=utf-8").links) == 2


MEGABYTES = 10_000_000
HOSTILE = {
    "deep nesting": b"<div>" * (MEGABYTES // 5),
    "deep nesting, then a link": b"<div><b><i>" * 90_000 + b"<a href=/b>",
    "a link in each of many open elements": b"<a href=/b><b>" * (MEGABYTES // 14),
    "one endless attribute": b"<a href='" + b"x" * MEGABYTES + b"'>",
    "an attribute that is never closed": b"<a href='" + b"<a href=/b>" * 300_000,
    "very many attributes": b"<a " + b" ".join(b"x%d=1" % n for n in range(400_000)) + b" href=/b>",
    "very many links": b"".join(b"<a href=/%d>" % n for n in range(600_000)),
    "long relative paths": b"<a href='" + b"../a/" * 3_000 + b"'>" * 200,
    "comments that are never closed": b"<!--" * (MEGABYTES // 4),
    "opening brackets": b"<" * MEGABYTES,
    "NULs": b"\x00" * MEGABYTES,
    "entities": b"&lt;&#0;&bogus;" * 700_000,
    "a long robots list": b"<meta name=robots content='" + b"nofollow," * 400_000 + b"'>",
    "a refresh of digits": b"<meta http-equiv=refresh content='" + b"0." * 2_000_000 + b"'>",
    "meta elements that are never closed": b"<meta charset" * 700_000,
    "names of its own": b"".join(b"<x%d y%d>" % (n, n) for n in range(200_000)),
    "no bytes of text": bytes(range(256)) * 40_000,
    "closing tags": b"</p></b>" * (MEGABYTES // 8),
    "tables in tables": b"<table><tr><td>" * 400_000,
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_page_costs_little_and_breaks_nothing(body: bytes) -> None:
    started = time.process_time()
    page = read(body)

    assert time.process_time() - started < 10  # about 0.5 s; a quadratic reader takes minutes
    assert len(page.links) <= links.LIMIT


def test_says_that_a_page_was_longer_than_is_read() -> None:
    many = "".join(f"<a href=/{n}>" for n in range(links.LIMIT + 1))
    long = "<a href=/b>" + " " * links.READ + "<a href=/c>"

    assert read("<a href=/b>").cut is False
    assert read(many).cut is True
    assert len(read(many).links) == links.LIMIT
    assert read(long).cut is True
    assert read(long).followable == ("https://example.com/b",)


def test_a_link_beyond_any_depth_is_found() -> None:
    assert read("<div>" * 100_000 + "<a href=/b>").followable == ("https://example.com/b",)


PIECES = ["<a href=", "'", '"', ">", "<", "/", "<base href=", "<meta name=robots content=", "ä"]
PIECES += ["nofollow", "rel=", " ", "<!--", "-->", "<script>", "</script>", "&#", ";", "\x00", "x"]
PIECES += ["<meta http-equiv=refresh content=", "0;url=", "<link rel=canonical href=", "<![CDATA["]


@settings(max_examples=500)
@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30)
    .map("".join)
    .map(str.encode)
    | st.binary(max_size=100),
    st.sampled_from(
        [None, "text/html; charset=utf-16", "text/html; charset=iso-2022-jp", "\x00;=,"]
    ),
)
def test_no_page_breaks_it(body: bytes, content_type: str | None) -> None:
    page = read(body, content_type, "x:y,:", ",")

    assert all(link.url.isascii() for link in page.links)
    assert len({link.url for link in page.links}) == len(page.links)
