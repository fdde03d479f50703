"""`crawl --once`, with `--demo` and `--dry-run`, and `crawl explain`."""

import asyncio
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from crawler import doubts
from crawler.commands.shared import Stopped, attended, print_report, xdg
from crawler.problems import Problem
from crawler.settings import Settings

if TYPE_CHECKING:
    from crawler.demo.finding import Finding
    from crawler.events import Event
    from crawler.run import Watched


class Unnamed(Problem):
    """Nobody is asked in the name of the example: a site could reach no one."""


def once(
    settings: Settings, names: Sequence[str], *, everything: bool, form: str, quiet: bool
) -> int:
    """Refresh what is due and print the report of this run; the exit code."""
    from crawler import run
    from crawler.watch.analysis import Analysis

    if examples := doubts.examples(settings):
        raise Unnamed(
            f"crawler.toml: {examples[0]}: nobody can look up the keys or write to whoever crawls",
            "say in [bot] who you are; crawl check lists what is left to say",
        )
    analysis = Analysis(origins=names or None)
    told, watched = _progress(analysis.add, quiet=quiet)
    ended = asyncio.run(
        run.once(
            settings,
            names=names,
            everything=everything,
            told=told,
            watched=watched,
            warn=(lambda _: None) if quiet else _warn,
        )
    )
    if not quiet:
        print_report(analysis, form)
    code = attended(ended.attention, quiet=quiet)
    if ended.stopped_by is not None:
        hint = "nothing is lost: the next run goes on from there"
        raise Stopped("the refresh", ended.stopped_by, hint)
    return code


def demo(state: Path | None, *, form: str, quiet: bool) -> int:
    """Crawl the fleet and judge the crawl by what the servers saw; the exit code."""
    from tempfile import TemporaryDirectory

    from crawler.watch.analysis import Analysis

    analysis = Analysis()
    with TemporaryDirectory(prefix="callingcard-") as temporary:
        folder = state if state is not None else Path(temporary)
        findings = asyncio.run(_crawl_fleet(folder, analysis.add, quiet=quiet))
        _keep_log(folder)
    if not quiet:
        print_report(analysis, form)
    for finding in findings:
        print(f"crawl: demo: {finding}", file=sys.stderr)
    if findings:
        print(f"crawl: error: the demo found {len(findings)} faults", file=sys.stderr)
        return 1
    if not quiet:
        print("crawl: the demo's own check passed", file=sys.stderr)
    return 0


def dry_run(settings: Settings, names: Sequence[str], *, everything: bool, form: str) -> int:
    """Say what would be asked, when, with which labels, and what not and why; the exit code."""
    from crawler import plan, preview
    from crawler.watch import layout

    found = asyncio.run(preview.refresh(settings, names, everything=everything))
    if form == "json":
        print(msgspec.json.encode({"planned": found}).decode())
        return 0
    asked = sum(one.at is not None for one in found)
    said = f"{asked} would be asked, {len(found) - asked} not; nothing was sent"
    print(layout.plain((*plan.listing(found), layout.Listing(title=said, lines=()))), end="")
    return 0


def explain(settings: Settings, url: str, form: str) -> int:
    """Say whether a URL may be asked now, and on whose word; the exit code."""
    from crawler import preview

    found = asyncio.run(preview.explained(settings, url))
    if form == "json":
        print(msgspec.json.encode(found).decode())
        return 0
    for line in found.lines():
        print(line)
    return 0


async def _crawl_fleet(
    folder: Path, add: Callable[["Event"], None], *, quiet: bool
) -> "tuple[Finding, ...]":
    """Refresh the fleet, some of it twice; what is to find fault with, by the log on disk."""
    from crawler import run
    from crawler.demo.fleet import Fleet
    from crawler.fetch import journal, logbook

    told, watched = _progress(add, quiet=quiet)
    async with Fleet.start() as fleet:
        settings = fleet.settings(folder)
        for names, everything in ((), False), (fleet.again, True):
            ended = await run.once(
                settings,
                names=names,
                everything=everything,
                told=told,
                watched=watched,
                warn=_warn,
            )
            if ended.stopped_by is not None:
                raise Stopped("the demo", ended.stopped_by)
        events: list[Event] = []
        for line in logbook.read(journal.files(settings.state_directory / "log")):
            if isinstance(line, logbook.Unreadable):
                raise Problem(f"the demo's log cannot be read: {line}")
            events.append(line)
        return fleet.check(events)


def _progress(
    add: Callable[["Event"], None], *, quiet: bool
) -> tuple[Callable[["Event"], None], "Watched | None"]:
    """Who hears the events, and what draws the progress: that only on a terminal."""
    if quiet or not sys.stderr.isatty():
        return add, None
    from rich.console import Console

    from crawler.progress import Progress

    progress = Progress(Console(stderr=True))

    def told(event: "Event") -> None:
        progress.hear(event)
        add(event)

    return told, progress.show


def _warn(text: str) -> None:
    from crawler import diagnostics

    diagnostics.logger().warning(text)


def _keep_log(folder: Path) -> None:
    """Keep a demo's log where `crawl report --demo` finds it."""
    kept = xdg("XDG_STATE_HOME", ".local/state") / "demo"
    if folder.resolve() == kept.resolve():
        return
    try:
        shutil.rmtree(kept / "log", ignore_errors=True)
        shutil.copytree(folder / "log", kept / "log")
    except OSError as error:
        print(f"crawl: the demo's log is not kept: {error}", file=sys.stderr)
