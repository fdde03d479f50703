"""Which links a crawl follows, how far, and how many."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pytest
from capture import Answer, CapturingServer, capturing, respond
from crawling import Operator
from scripted import page, site

from crawler.events import Deferred, Why

ELSEWHERE: Final = (
    "/",
    "/other/",
    "../above",
    "/docs/../dotted",
    "/docs/%2e%2e/encoded",
    "//127.0.0.99/docs/host",
    "https://127.0.0.1/docs/scheme",
    "ftp://127.0.0.1/docs/file",
    "mailto:desk@site.example",
    "javascript:void(0)",
    "#top",
)
SITES: Final[dict[str, Mapping[str, Answer]]] = {
    "folder": {
        "/docs/": page("a", "/docs/b?x=1&amp;y=2", "./c", "a#part", "a", "/docs/", *ELSEWHERE),
    },
    "depth": {
        "/": page("/1"),
        "/1": page("/2"),
        "/2": page("/3"),
        "/3": page("/4"),
    },
    "limit": {"/": page(*(f"/{number}" for number in range(30)))},
    "nothing": {"/": page("/a", "/b")},
    "nofollow": {
        "/": page(
            "/link",
            '<a href="/rel" rel="noopener nofollow">no</a>',
            '<a href="/either" rel="nofollow">no</a>',
            "/either",
            "/meta",
            "/own-meta",
            "/header",
            "/own-header",
            "/others-header",
        ),
        "/meta": page("/from-meta", head='<meta name="robots" content="noindex, nofollow">'),
        "/own-meta": page("/from-own-meta", head='<meta name="examplebot" content="none">'),
        "/header": page("/from-header", X_Robots_Tag="nofollow"),
        "/own-header": page("/from-own-header", X_Robots_Tag="ExampleBot: nofollow"),
        "/others-header": page("/from-others-header", X_Robots_Tag="otherbot: nofollow"),
    },
    "base": {"/": page("leaf", head='<base href="/tree/">')},
    "plain-text": {"/": respond(200, ("Content-Type", "text/plain"), body=b'<a href="/a">a</a>')},
}
MORE: Final[dict[str, Mapping[str, object]]] = {
    "depth": {"depth": 2},
    "limit": {"pages": 4},
    "nothing": {"follow": "nothing"},
}


@dataclass(frozen=True, kw_only=True)
class World:
    """All servers by name, and a crawl that is over."""

    doors: Mapping[str, CapturingServer]
    operator: Operator

    def pages(self, name: str) -> Sequence[str]:
        """The targets that were asked for, robots.txt apart."""
        targets = [request.target for request in self.doors[name].requests]
        assert targets[0] == "/robots.txt"
        return targets[1:]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ExitStack() as stack:
        doors = {
            name: stack.enter_context(capturing(site(pages), f"127.0.0.{number}"))
            for number, (name, pages) in enumerate(SITES.items(), start=1)
        }
        operator = Operator(
            folder=tmp_path_factory.mktemp("links"),
            origins={
                name: {
                    "url": door.url("/docs/" if name == "folder" else "/"),
                    "start": ["/docs/" if name == "folder" else "/"],
                    "follow": "links",
                    **MORE.get(name, {}),
                }
                for name, door in doors.items()
            },
        )
        ended = operator.crawl("--once")
        assert (ended.code, ended.said) == (0, "")
        yield World(doors=doors, operator=operator)


def test_links_below_the_origins_folder_are_asked_once_each_as_they_are_written(
    world: World,
) -> None:
    assert world.pages("folder") == ["/docs/", "/docs/a", "/docs/b?x=1&y=2", "/docs/c"]


def test_links_are_followed_as_deep_as_configured(world: World) -> None:
    depths = {one.url: one.depth for one in world.operator.records("depth")[1:]}
    door = world.doors["depth"]

    assert depths == {door.url("/"): 0, door.url("/1"): 1, door.url("/2"): 2}
    assert world.pages("depth") == ["/", "/1", "/2"]


def test_a_refresh_asks_for_no_more_pages_than_configured_and_says_so(world: World) -> None:
    deferred = [one.why for one in world.operator.logged(Deferred, "limit")]

    assert world.pages("limit") == ["/", "/0", "/1", "/2"]
    assert deferred == [Why.PAGE_LIMIT]


@pytest.mark.parametrize("name", ["nothing", "plain-text"])
def test_no_link_is_followed_where_none_is_to_be_or_what_looks_like_one_is_text(
    world: World, name: str
) -> None:
    assert world.pages(name) == ["/"]


def test_what_asks_not_to_be_followed_is_not(world: World) -> None:
    pages = world.pages("nofollow")

    assert set(pages) == {
        "/",
        "/link",
        "/either",
        "/meta",
        "/own-meta",
        "/header",
        "/own-header",
        "/others-header",
        "/from-others-header",
    }
    assert len(pages) == len(set(pages))


def test_links_are_relative_to_the_base_that_a_page_names(world: World) -> None:
    assert world.pages("base") == ["/", "/tree/leaf"]


def test_what_the_next_run_is_left_with_comes_first_in_it(world: World) -> None:
    ended = world.operator.crawl("--once", "--origin", "limit")

    assert ended.code == 0
    assert world.pages("limit")[4:] == ["/3", "/4", "/5", "/6"]
