"""Whether a robots.txt pattern covers a path."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.polite.robots_pattern import path_of, pattern, spelled


@pytest.mark.parametrize(
    ("value", "covered", "not_covered"),
    [
        (
            "/fish",
            ["/fish", "/fish.html", "/fishheads/x", "/fish?id=1"],
            ["/Fish", "/catfish", "/"],
        ),
        ("/fish/", ["/fish/", "/fish/x"], ["/fish", "/fish.html"]),
        ("/*.php", ["/a.php", "/f/a.php?x", "/a.php/"], ["/", "/a.PHP"]),
        ("/*.php$", ["/a.php", "/f/a.php"], ["/a.php?x", "/a.php5", "/a.php/"]),
        ("/fish*.php", ["/fish.php", "/fishheads/c.php?p"], ["/Fish.php", "/fis.php"]),
        ("/$", ["/"], ["/a"]),
        ("*", ["/", "/a"], []),
        ("*.gif$", ["/a.gif"], ["/a.gift"]),
        ("/a*$", ["/a", "/ab"], ["/b"]),
        ("/ab*ba$", ["/abba", "/abxba"], ["/aba"]),
        ("/a**b***c", ["/abc", "/axbxc"], ["/acb"]),
        ("/a$b", ["/a$b", "/a%24b"], ["/a"]),
        ("/x%24", ["/x$", "/x%24y"], ["/x"]),
        ("/x%2A", ["/x*", "/x%2a"], ["/xx"]),
        ("$", [], ["/", "/$"]),
        ("fish", [], ["/fish"]),
        ("/a%2Fb", ["/a%2Fb", "/a%2fb"], ["/a/b"]),
        ("/a%3Fb", ["/a%3Fb"], ["/a?b"]),
        ("/%62%61%7a", ["/baz", "/%62az"], ["/BAZ"]),
        ("/%E3%83%84", ["/ツ", "/%e3%83%84"], ["/%E3%83%85"]),
        ("/ツ", ["/%E3%83%84"], []),
        ("/a b|[c]", ["/a%20b%7C%5Bc%5D", "/a b|[c]"], []),
        ("/50%", ["/50%25", "/50%"], ["/50"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_covers(value: str, covered: list[str], not_covered: list[str]) -> None:
    found = pattern(value)

    assert [path for path in covered if not found.covers(spelled(path))] == []
    assert [path for path in not_covered if found.covers(spelled(path))] == []


@pytest.mark.parametrize(
    ("value", "octets"),
    [("/a", 2), ("/a*", 3), ("/a$", 3), ("/**", 3), ("/ツ", 10), ("/%62", 2), ("/a?b", 4)],
)
def test_counts_octets(value: str, octets: int) -> None:
    assert pattern(value).octets == octets


@given(
    st.lists(st.sampled_from(["a", "b", "/", "*", "ab"]), max_size=8).map("".join),
    st.booleans(),
    st.lists(st.sampled_from(["a", "b", "/", "ab"]), max_size=8).map("".join),
)
def test_matches_like_the_regular_expression_that_it_stands_for(
    value: str, anchored: bool, path: str
) -> None:
    meant = ".*".join(map(re.escape, value.split("*"))) + ("$" if anchored else "")
    found = pattern(value + "$" * anchored)

    assert found.covers(path) is (re.match(meant, path) is not None)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://host/a/b?c=d#e", "/a/b?c=d"),
        ("https://host", "/"),
        ("https://host?a", "/?a"),
        ("https://host#a", "/"),
        ("/a?b=http://c/d", "/a?b=http://c/d"),
        ("https://host/a?b=http://c/d", "/a?b=http://c/d"),
        ("https://host//a", "//a"),
        ("", "/"),
    ],
)
def test_takes_path_and_query_of_a_url(url: str, path: str) -> None:
    assert path_of(url) == path


@given(st.text(max_size=40))
def test_spelling_is_ascii_and_spelling_again_changes_nothing(text: str) -> None:
    once = spelled(text)

    assert once.isascii()
    assert spelled(once) == once


def test_spells_octets_of_a_header_that_were_no_utf8() -> None:
    assert spelled("/caf\udce9") == "/caf%E9"
