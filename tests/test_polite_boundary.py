"""Which URLs belong to a configured origin."""

import pytest

from crawler.polite.boundary import Outside, outside
from crawler.polite.target import Target, sendable


def at(url: str) -> Target:
    found = sendable(url)
    assert isinstance(found, Target)
    return found


@pytest.mark.parametrize(
    ("home", "found", "why"),
    [
        ("https://h/", "https://h/a/b", None),
        ("https://h/", "https://h:443/", None),
        ("https://h/", "http://h/", Outside.SCHEME),
        ("https://h/", "https://www.h/", Outside.HOST),
        ("https://h/", "https://h:8443/", Outside.PORT),
        ("https://h/docs/", "https://h/docs/", None),
        ("https://h/docs/", "https://h/docs/a", None),
        ("https://h/docs/", "https://h/docs", Outside.PATH),
        ("https://h/docs/", "https://h/docs2/", Outside.PATH),
        ("https://h/docs/", "https://h/docs/../a", Outside.PATH),
        ("https://h/docs/", "https://h/docs/%2e%2e/a", Outside.PATH),
        ("https://h/docs/", "https://h/Docs/", Outside.PATH),
        ("https://h/docs/", "https://h/%64ocs/a", None),
        ("https://h/docs/", "https://h/?x=/docs/", Outside.PATH),
        ("https://h/docs/index.html", "https://h/docs/a", None),
        ("https://h/docs/index.html?x=/y/", "https://h/docs/a", None),
        ("https://h/docs", "https://h/a", None),
    ],
)
def test_tells_what_a_url_differs_in(home: str, found: str, why: Outside | None) -> None:
    assert outside(at(found), at(home)) is why
