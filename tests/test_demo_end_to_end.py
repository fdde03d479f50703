"""The demo as a person starts it, and crawls that break their word and are found out."""

import os
import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from crawler import run
from crawler.demo import roster
from crawler.demo.finding import Finding, Reason
from crawler.demo.fleet import Fleet
from crawler.events import Event, FetchRecord, RunFinished, decode
from crawler.fetch import keyfiles
from crawler.settings import Settings

CRAWL = str(Path(sys.executable).with_name("crawl"))


def events(folder: Path) -> list[Event]:
    files = sorted(folder.glob("log/*.jsonl"))
    return [decode(line) for file in files for line in file.read_bytes().splitlines()]


async def crawl(fleet: Fleet, settings: Settings, *names: str) -> tuple[Finding, ...]:
    """What the fleet has to say about a refresh of some of its origins."""
    told: list[Event] = []
    await run.once(settings, names=names, told=told.append)
    return tuple(
        one
        for one in fleet.check(told)
        if one.origin in names and one.reason is not Reason.EXPECTATION
    )


def hasty(settings: Settings) -> Settings:
    """The same configuration, by somebody who does not want to wait."""
    hurried = replace(roster.POLITENESS, min_delay=0.0, delay_factor=0.0)
    origins = tuple(replace(origin, politeness=hurried) for origin in settings.origins)
    return replace(settings, origins=origins)


def test_the_demo_refreshes_21_origins_and_finds_no_fault_with_itself(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", CRAWL, "--once", "--demo", "--state", "state"],
        cwd=tmp_path,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "xdg"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    assert all(name in done.stdout for name in roster.NAMES)

    log = events(tmp_path / "state")
    runs = [event for event in log if isinstance(event, RunFinished)]

    assert [run.stopped for run in runs] == [False, False]
    assert {one.origin for one in log if isinstance(one, FetchRecord)} == set(roster.NAMES)
    assert 15 < sum(run.elapsed for run in runs) < 60


async def test_a_crawl_that_keeps_its_word_is_fine(tmp_path: Path) -> None:
    async with Fleet.start() as fleet:
        found = await crawl(fleet, fleet.settings(tmp_path), "types", "single")

    assert found == ()


async def test_a_crawl_in_a_hurry_is_found_out(tmp_path: Path) -> None:
    async with Fleet.start() as fleet:
        found = await crawl(fleet, hasty(fleet.settings(tmp_path)), "types")

    assert {one.reason for one in found} == {Reason.TOO_EARLY}
    assert len(found) == 4  # all but robots.txt, which is the first


async def test_a_crawl_with_another_key_is_found_out(tmp_path: Path) -> None:
    async with Fleet.start() as fleet:
        settings = fleet.settings(tmp_path)
        keyfiles.create(settings.keys_directory, "ml-dsa-44")  # the newest one signs
        found = await crawl(fleet, settings, "moved")

    assert {(one.reason, one.detail) for one in found} == {
        (Reason.BADLY_SIGNED, "sig2: unknown-key")
    }
