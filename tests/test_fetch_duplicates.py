"""The key of a page's duplicates is w3lib's, only sooner."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.fetch import duplicates
from crawler.polite import target

PIECES = ["a", "B", "/", ".", "..", "~", "-", "_", "%41", "%2f", "?", "&", "=", ";", "//", "é", "+"]
urls = st.lists(st.sampled_from(PIECES), max_size=12).map(
    lambda pieces: f"https://one.example:8080/{''.join(pieces)}"
)


@given(urls)
@example("https://one.example/.well-known/x")
@example("http://127.0.0.1/a/...")
def test_the_key_is_the_one_that_w3lib_computes(url: str) -> None:
    found = target.sendable(url)
    assert isinstance(found, target.Target)

    assert duplicates.key(found.url) == target.duplicate_key(found.url)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("https://a.example/?b=2&a=1", "https://a.example/?a=1&b=2", id="order"),
        pytest.param("https://a.example/%7ex", "https://a.example/~x", id="escapes"),
        pytest.param("https://a.example/%c3%a9", "https://a.example/%C3%A9", id="case of escapes"),
    ],
)
def test_duplicates_share_a_key(one: str, other: str) -> None:
    assert duplicates.key(one) == duplicates.key(other)
