"""The fleet's pages."""

import zlib

import lxml.html
import pytest

from crawler.demo import site


def test_a_front_page_links_to_all_pages_and_each_links_back() -> None:
    found = site.pages("Home", ["/a", "/b?x=1&y=2"])

    assert set(found) == {"/", "/a", "/b?x=1&y=2"}
    assert lxml.html.fromstring(found["/"].body).xpath("//a/@href") == ["/a", "/b?x=1&y=2"]
    assert lxml.html.fromstring(found["/a"].body).xpath("//a/@href") == ["/"]


@pytest.mark.parametrize("charset", ["utf-8", "windows-1251", "iso-8859-5"])
def test_a_page_says_its_charset_and_is_written_in_it(charset: str) -> None:
    body = site.page("Привет", ["/страница"], charset=charset)

    assert f'<meta charset="{charset}">'.encode() in body
    assert "Привет" in body.decode(charset)


def test_a_redirect_names_where_to_go() -> None:
    assert site.moved("/new", 301).field("location") == "/new"
    assert site.moved("/new", 301).status == 301


def test_a_bomb_is_about_a_thousand_times_larger_when_decoded() -> None:
    answer = site.bomb(4 * 2**20)
    decoded = zlib.decompress(answer.body, wbits=31)

    assert answer.field("Content-Encoding") == "gzip"
    assert decoded.startswith(b"<!doctype html>")
    assert len(decoded) >= 4 * 2**20
    assert len(answer.body) < len(decoded) / 500
