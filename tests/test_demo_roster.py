"""The 21 origins and what is expected of a crawl of them."""

import socket
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from crawler.demo import expectations, roster
from crawler.demo.fleet import Fleet, FolderInUse
from crawler.demo.history import History
from crawler.demo.manners import failing, site
from crawler.demo.reply import Answer, Ask
from crawler.settings import Politeness, Settings


def residents() -> tuple[roster.Resident, ...]:
    return roster.residents(lambda name: f"{name}.localhost:8000")


def test_there_are_21_origins_of_different_names() -> None:
    assert len(set(roster.NAMES)) == 21
    assert tuple(one.name for one in residents()) == roster.NAMES
    assert set(roster.AGAIN) <= set(roster.NAMES)


def test_only_the_page_without_end_has_a_short_deadline() -> None:
    usual = Politeness().deadline

    assert [one.name for one in residents() if one.politeness.deadline < usual] == ["drip"]


def test_something_is_expected_of_each_origin() -> None:
    assert {one.origin for one in expectations.TABLE} == set(roster.NAMES)


@pytest.mark.parametrize(
    "expectation", expectations.TABLE, ids=lambda one: f"{one.origin}: {one.what}"
)
def test_no_expectation_is_met_by_doing_nothing(expectation: expectations.Expectation) -> None:
    assert not expectation.met(History(()))


def test_each_origin_has_a_front_page_that_its_robots_txt_allows_or_a_reason_for_none() -> None:
    without = [
        one.name
        for one in residents()
        if not isinstance(reply := one.manner(Ask(target="/")), Answer) or reply.status != 200
    ]

    assert without == ["strict"]  # nothing is shown to the unsigned


def test_random_failures_of_the_chosen_seed_are_met_and_overcome() -> None:
    manner = next(one.manner for one in residents() if one.name == "failing")
    replies = [manner(Ask(target="/", turn=turn)) for turn in range(1, 6)]

    assert [reply.status for reply in replies if isinstance(reply, Answer)].count(500) >= 2
    assert manner(Ask(target="/robots.txt")) == failing(site({}), share=1.0, seed=0)(
        Ask(target="/robots.txt")
    )


async def test_the_fleets_configuration_has_21_origins_and_keys_of_its_own(tmp_path: Path) -> None:
    async with Fleet.start() as fleet:
        settings = fleet.settings(tmp_path / "new")

    assert len(settings.origins) == 21
    assert len({origin.url for origin in settings.origins}) == 21
    assert settings.state_directory == tmp_path / "new"
    assert sorted(path.name for path in settings.keys_directory.iterdir()) == sorted(
        f"{key.algorithm.name}-{key.keyid}.jwk" for key in fleet.public_keys
    )


async def test_the_fleets_configuration_is_one_that_a_file_could_hold(tmp_path: Path) -> None:
    async with Fleet.start() as fleet:
        settings = fleet.settings(tmp_path)

    assert msgspec.convert(msgspec.to_builtins(settings), Settings) == settings


async def test_a_fleet_that_ends_leaves_no_server_behind(tmp_path: Path) -> None:
    async with Fleet.start() as fleet:
        ports = [int(fleet.authority(name).rpartition(":")[2]) for name in roster.NAMES]
    refused = 0
    for port in ports:
        with socket.socket() as probe:
            refused += probe.connect_ex(("127.0.0.1", port)) != 0

    assert refused == 21


async def test_a_fleet_ends_when_its_crawl_fails() -> None:
    with pytest.raises(RuntimeError, match="a crawl's own mistake"):
        async with Fleet.start():
            raise RuntimeError("a crawl's own mistake")


async def test_a_fleet_that_cannot_listen_says_so() -> None:
    with ExitStack() as stack:
        deaf = {
            name: stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            for name in roster.NAMES
        }
        with pytest.raises(ValueError, match="Stream Socket was expected"):
            async with Fleet(deaf).serving():
                pytest.fail("nobody can listen there")


@pytest.mark.parametrize("left", ["state.db", "log"])
async def test_a_demo_does_not_begin_in_the_state_of_an_earlier_crawl(
    tmp_path: Path, left: str
) -> None:
    (tmp_path / left).mkdir()
    async with Fleet.start() as fleet:
        with pytest.raises(FolderInUse, match="an earlier crawl has left its state here") as found:
            fleet.settings(tmp_path)

    assert found.value.hint == "name an empty folder"
    assert not (tmp_path / "keys").exists()
