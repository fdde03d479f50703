"""Addresses that are not asked, whatever leads there."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pytest
from capture import CapturingServer, capturing
from crawling import Ended, Operator
from scripted import moved, page, site

from crawler.events import Deferred, FetchRecord, Kind, Outcome, RunFinished, Skipped, Stage, Why

DECIMAL: Final = 127 << 24 | 2  # 127.0.0.2 in another spelling
METADATA: Final = "http://169.254.169.254/"
ANOTHER: Final = "http://169.254.170.2/latest/"


@dataclass(frozen=True, kw_only=True)
class World:
    """Servers on loopback, some of them admitted, and a crawl that is over."""

    doors: Mapping[str, CapturingServer]
    operator: Operator
    ended: Ended

    def records(self, name: str) -> list[FetchRecord]:
        return self.operator.records(name)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ExitStack() as stack:

        def opened(address: str, **pages: str) -> CapturingServer:
            table = {f"/{name}": moved(where) for name, where in pages.items()}
            return stack.enter_context(capturing(site({"/": page(), **table}), address))

        closed = opened("127.0.0.2")
        named = opened("127.0.0.1")
        everywhere = opened("0.0.0.0")
        gate = opened(
            "127.0.0.3",
            closed=closed.url("/behind"),
            metadata=ANOTHER,
            port=f"http://127.0.0.3:{closed.port}/",
            decimal=f"http://{DECIMAL}:{closed.port}/behind",
        )
        private: dict[str, bool] = {"allow_private": False}
        operator = Operator(
            folder=tmp_path_factory.mktemp("addresses"),
            origins={
                "closed": {"url": closed.url(), **private},
                "named": {"url": f"http://shop.localhost:{named.port}/", **private},
                "mapped": {"url": f"http://[::ffff:127.0.0.2]:{closed.port}/", **private},
                "metadata": {"url": METADATA},
                "any": {"url": f"http://0.0.0.0:{everywhere.port}/"},
                "gate": {
                    "url": gate.url(),
                    "start": ["/closed", "/metadata", "/port", "/decimal", "/"],
                },
            },
        )
        ended = operator.crawl("--once")
        doors = {"closed": closed, "named": named, "any": everywhere, "gate": gate}
        yield World(doors=doors, operator=operator, ended=ended)


REFUSED = [
    pytest.param("closed", "127.0.0.2 is loopback", id="loopback without the operator's word"),
    pytest.param("named", "127.0.0.1 is loopback", id="a name that leads there"),
    pytest.param("mapped", "::ffff:7f00:2 is embedded", id="mapped into IPv6"),
    pytest.param("metadata", "169.254.169.254 is metadata", id="metadata with the operator's word"),
    pytest.param("any", "0.0.0.0 is unspecified", id="no address with the operator's word"),
]


@pytest.mark.parametrize(("name", "detail"), REFUSED)
def test_a_refused_address_is_a_record_of_nothing_sent(
    world: World, name: str, detail: str
) -> None:
    records = [one for one in world.records(name) if not one.via]

    assert [one.kind for one in records] == [Kind.ROBOTS]
    assert {(one.outcome, one.stage) for one in records} == {(Outcome.NOT_SENT, Stage.ADDRESS)}
    assert {one.detail for one in records} == {detail}
    assert {(one.labels, one.header_bytes, one.address) for one in records} == {((), 0, None)}


@pytest.mark.parametrize(("name", "detail"), REFUSED)
def test_and_the_origins_turn_ends_with_it(world: World, name: str, detail: str) -> None:
    told = {one.why: one.detail for one in world.operator.logged(Deferred, name)}

    assert told.keys() == {Why.ROBOTS_UNREACHABLE}
    remedy = "allow_private = true admits it" if "loopback" in detail else "nothing admits it"
    assert told[Why.ROBOTS_UNREACHABLE].endswith(f"/robots.txt: {detail}; {remedy}")


@pytest.mark.parametrize(("name", "detail"), REFUSED)
def test_the_operator_is_told_once_and_what_would_help(
    world: World, name: str, detail: str
) -> None:
    (said,) = [line for line in world.ended.said.splitlines() if f" {name}: " in line]

    assert world.ended.code == 3
    assert said.startswith(f"crawl: attention: {name}: not asked ({detail}; ")


@pytest.mark.parametrize("name", ["closed", "named", "any"])
def test_no_server_behind_one_hears_of_us(world: World, name: str) -> None:
    assert world.doors[name].requests == []


def test_the_run_counts_as_requests_what_the_servers_heard(world: World) -> None:
    (finished,) = world.operator.logged(RunFinished)

    assert finished.requests == sum(len(door.requests) for door in world.doors.values())


def test_a_redirect_to_an_origin_without_that_word_ends_at_the_address(world: World) -> None:
    assert world.doors["closed"].requests == []
    assert Kind.PAGE not in {one.kind for one in world.records("closed")}


def test_redirects_to_addresses_of_no_origin_are_recorded_and_not_followed(world: World) -> None:
    skipped = {one.url: one.why for one in world.operator.logged(Skipped, "gate")}

    port = world.doors["closed"].port

    assert skipped == {
        ANOTHER: Why.ELSEWHERE,
        f"http://127.0.0.3:{port}/": Why.ELSEWHERE,
        f"http://{DECIMAL}:{port}/behind": Why.UNSENDABLE,
    }


def test_the_admitted_origin_itself_is_asked(world: World) -> None:
    targets = [request.target for request in world.doors["gate"].requests]

    assert targets == ["/robots.txt", "/closed", "/metadata", "/port", "/decimal", "/"]
    assert world.records("gate")[-1].status == 200
