"""Where redirects lead a crawl, and where not."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import pytest
from capture import CapturingServer, capturing
from crawling import Ended, Operator
from scripted import moved, page, robots, site

from crawler.events import Deferred, Skipped, Why

SLOW: Final = 0.5  # seconds between two requests to the host that others redirect to
HOPS: Final = 10


@dataclass(frozen=True, kw_only=True)
class World:
    """All servers by name, one of them nobody's origin, and a crawl that is over."""

    doors: Mapping[str, CapturingServer]
    operator: Operator
    ended: Ended

    def targets(self, name: str) -> list[str]:
        return [request.target for request in self.doors[name].requests]

    def skipped(self, name: str) -> list[tuple[Why, str]]:
        return [(one.why, one.url) for one in self.operator.logged(Skipped, name)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ExitStack() as stack:
        doors: dict[str, CapturingServer] = {}

        def url(name: str, target: str) -> str:
            return doors[name].url(target)

        def opened(name: str, **known: object) -> None:
            address = f"127.0.0.{len(doors) + 1}"
            doors[name] = stack.enter_context(capturing(site(**known), address))  # type: ignore[arg-type]

        chain = {f"/{hop}": moved(f"/{hop + 1}") for hop in range(20)}
        opened("stranger", pages={"/": page()})
        opened(
            "target",
            pages={"/": page(), "/new": page(), "/shared.txt": robots("Disallow: /closed")},
            robots_txt=robots("Disallow: /secret"),
        )
        opened("source", pages={"/": moved(url("target", "/new"), 301), "/b": page()})
        opened("forbidden", pages={"/": moved(url("target", "/secret"))})
        opened("leaving", pages={"/": moved(url("stranger", "/"))})
        opened("loop", pages={"/a": moved("/b"), "/b": moved("/a")})
        opened("chain", pages=chain)
        opened("odd", pages={"/": moved("ftp://127.0.0.1/file")})
        opened(
            "inside",
            pages={"/rules": robots("Disallow: /closed"), "/": page(), "/closed": page()},
            robots_txt=moved("/rules"),
        )
        opened("robots-leaving", pages={"/": page()}, robots_txt=moved(url("stranger", "/r.txt")))
        opened(
            "robots-elsewhere",
            pages={"/": page(), "/closed": page()},
            robots_txt=moved(url("target", "/shared.txt")),
        )
        opened("robots-loop", pages={"/": page()}, robots_txt=moved("/robots.txt"))
        more: dict[str, dict[str, object]] = {
            "source": {"start": ["/", "/b"], "cookie": "consent=yes"},
            "target": {"min_delay": SLOW},
            "loop": {"start": ["/a"]},
            "chain": {"start": ["/0"], "pages": 50},
            "inside": {"start": ["/", "/closed"]},
            "robots-elsewhere": {"start": ["/", "/closed"], "cookie": "consent=no"},
            "robots-loop": {"max_delay": 1.0},
        }
        operator = Operator(
            folder=tmp_path_factory.mktemp("redirects"),
            origins={
                name: {"url": door.url(), **more.get(name, {})}
                for name, door in doors.items()
                if name != "stranger"
            },
        )
        yield World(doors=doors, operator=operator, ended=operator.crawl("--once"))


def test_a_redirect_to_another_origin_is_asked_there_as_one_of_its_pages(world: World) -> None:
    (hop,) = [one for one in world.operator.pages("target") if one.via]

    assert hop.url == world.doors["target"].url("/new")
    assert hop.via == (world.doors["source"].url("/"),)
    assert (hop.scope, hop.status) == (world.doors["target"].address, 200)


def test_and_in_the_pace_of_that_host(world: World) -> None:
    times = [request.at for request in world.doors["target"].requests]

    assert len(times) >= 3
    assert min(after - before for before, after in pairwise(times)) >= SLOW


def test_each_hop_has_a_signature_of_its_own_and_no_cookie_of_where_it_came_from(
    world: World,
) -> None:
    (hop,) = [one for one in world.doors["target"].requests if one.target == "/new"]
    (before,) = [one for one in world.doors["source"].requests if one.target == "/"]

    assert hop.field("Host") == f"{world.doors['target'].address}:{world.doors['target'].port}"
    assert hop.field("Signature-Input") != before.field("Signature-Input")
    assert hop.field("Signature") != before.field("Signature")
    assert (before.field("Cookie"), hop.field("Cookie")) == ("consent=yes", None)


def test_what_the_other_host_forbids_is_not_asked_through_a_redirect(world: World) -> None:
    assert "/secret" not in world.targets("target")
    assert (Why.ROBOTS, world.doors["target"].url("/secret")) in world.skipped("target")


def test_a_redirect_to_a_stranger_is_recorded_and_not_followed(world: World) -> None:
    assert world.targets("leaving") == ["/robots.txt", "/"]
    assert world.skipped("leaving") == [(Why.ELSEWHERE, world.doors["stranger"].url("/"))]
    assert world.doors["stranger"].requests == []


def test_a_loop_ends_where_it_closes(world: World) -> None:
    assert world.targets("loop") == ["/robots.txt", "/a", "/b"]
    assert world.skipped("loop") == [(Why.REDIRECT_LOOP, world.doors["loop"].url("/a"))]


def test_a_chain_ends_after_ten_hops(world: World) -> None:
    targets = world.targets("chain")

    assert targets == ["/robots.txt", *(f"/{hop}" for hop in range(HOPS + 1))]
    assert world.skipped("chain") == [
        (Why.REDIRECT_LIMIT, world.doors["chain"].url(f"/{HOPS + 1}"))
    ]


def test_a_redirect_to_what_cannot_be_asked_is_recorded(world: World) -> None:
    assert world.targets("odd") == ["/robots.txt", "/"]
    assert [why for why, _ in world.skipped("odd")] == [Why.UNSENDABLE]


def test_a_robots_txt_that_moved_on_its_own_host_is_in_force(world: World) -> None:
    assert world.targets("inside") == ["/robots.txt", "/rules", "/"]
    assert [why for why, _ in world.skipped("inside")] == [Why.ROBOTS]


def test_a_robots_txt_that_moved_to_another_origin_is_asked_there_and_in_force_here(
    world: World,
) -> None:
    asked = [one for one in world.operator.records("target") if one.behalf == "robots-elsewhere"]

    assert "/shared.txt" in world.targets("target")
    assert {one.field("Cookie") for one in world.doors["target"].requests} == {None}
    assert {one.field("Cookie") for one in world.doors["robots-elsewhere"].requests} == {
        "consent=no"
    }
    assert [(one.scope, one.status) for one in asked] == [(world.doors["target"].address, 200)]
    assert world.targets("robots-elsewhere") == ["/robots.txt", "/"]
    assert [why for why, _ in world.skipped("robots-elsewhere")] == [Why.ROBOTS]


def test_a_robots_txt_that_moved_to_a_stranger_closes_the_site_and_calls_for_attention(
    world: World,
) -> None:
    deferred = [one.why for one in world.operator.logged(Deferred, "robots-leaving")]

    assert world.targets("robots-leaving") == ["/robots.txt"]
    assert deferred == [Why.ROBOTS_ELSEWHERE]
    assert world.ended.code == 3
    assert len(world.ended.warnings("attention: robots-leaving: robots-elsewhere")) == 1


def test_a_robots_txt_in_a_loop_cannot_be_had(world: World) -> None:
    deferred = [one.why for one in world.operator.logged(Deferred, "robots-loop")]

    assert set(world.targets("robots-loop")) == {"/robots.txt"}
    assert deferred == [Why.ROBOTS_UNREACHABLE]


def test_every_request_that_came_is_in_the_log(world: World) -> None:
    came = sorted(
        door.url(request.target) for door in world.doors.values() for request in door.requests
    )
    sent = [one for one in world.operator.records() if one.header_bytes]

    assert sorted(one.url for one in sent) == came
