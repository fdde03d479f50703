"""What a page says to robots about itself."""

import pytest

from crawler.polite import robots_meta
from crawler.polite.robots_meta import Wishes

NOTHING = Wishes()
NOINDEX, NOFOLLOW = Wishes(noindex=True), Wishes(nofollow=True)
NONE = Wishes(noindex=True, nofollow=True)


@pytest.mark.parametrize(
    ("name", "content", "wishes"),
    [
        ("robots", "nofollow", NOFOLLOW),
        ("ROBOTS", " NoFollow , NOINDEX", NONE),
        ("robots", "none", NONE),
        ("robots", "noarchive", Wishes(noarchive=True)),
        ("robots", "nocache", Wishes(noarchive=True)),
        ("robots", "all", NOTHING),
        ("robots", "", NOTHING),
        ("robots", "nofollowers", NOTHING),
        ("ExampleBot", "nofollow", NOFOLLOW),
        ("examplebot", "nofollow", NOFOLLOW),
        ("OtherBot", "nofollow", NOTHING),
        ("description", "none", NOTHING),
    ],
)
def test_a_meta_element_speaks_to_all_or_to_one(name: str, content: str, wishes: Wishes) -> None:
    assert robots_meta.meta(name, content, "ExampleBot") == wishes


@pytest.mark.parametrize(
    ("values", "wishes"),
    [
        ([], NOTHING),
        (["noindex"], NOINDEX),
        (["noindex, nofollow"], NONE),
        (["noindex", "nofollow"], NONE),
        (["otherbot: noindex, nofollow"], NOTHING),
        (["ExampleBot: noindex, nofollow"], NONE),
        (["otherbot: noindex, examplebot: nofollow"], NOFOLLOW),
        (["nofollow, otherbot: noindex"], NOFOLLOW),
        (["otherbot: noindex", "nofollow"], NOFOLLOW),
        (["*: none"], NONE),
        (["max-snippet: 20, nofollow"], NOFOLLOW),
        (["unavailable_after: Fri, 25 Jun 2010 15:00:00 PST, nofollow"], NOFOLLOW),
        (["otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"], NOTHING),
        ([" , ,:, : x"], NOTHING),
    ],
    ids=str,
)
def test_a_header_speaks_to_all_or_to_the_name_before_it(values: list[str], wishes: Wishes) -> None:
    assert robots_meta.header(values, "ExampleBot") == wishes


def test_wishes_add_up() -> None:
    assert NOINDEX | NOFOLLOW | Wishes(noarchive=True) == Wishes(True, True, True)
