"""What each command does: between the command line and the rooms behind it."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from errno import EEXIST
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from crawler import configuration, doubts, shipped
from crawler.fetch import keyfiles
from crawler.problems import OriginUnknown, Problem, UsageProblem
from crawler.settings import Settings

if TYPE_CHECKING:
    from crawler.demo.finding import Finding
    from crawler.events import Event
    from crawler.run import Watched
    from crawler.watch.analysis import Analysis


class Stopped(Problem):
    """A signal ended it; the exit code is the one that shells know that by."""

    def __init__(self, what: str, number: signal.Signals, hint: str | None = None) -> None:
        super().__init__(f"{what} was stopped by {number.name} before its end", hint)
        self.code = 128 + number


class Unnamed(Problem):
    """Nobody is asked in the name of the example: a site could reach no one."""


class WriteRefused(Problem):
    """A file that stands already is not written over."""


def configured(path: Path | None) -> Settings:
    """The settings of that file, else of ./crawler.toml, else of the one in the XDG folder."""
    if path is not None:
        return configuration.load(path)
    here = Path("crawler.toml")
    home = _xdg("XDG_CONFIG_HOME", ".config") / "crawler.toml"
    return configuration.load(home if home.exists() and not here.exists() else here)


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
        _print_report(analysis, form)
    code = _attended(ended.attention, quiet=quiet)
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
        _print_report(analysis, form)
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


def report(
    settings: Settings | None, names: Sequence[str], *, since: str | None, form: str, quiet: bool
) -> int:
    """Print what the log says, without settings the last demo's; the exit code."""
    import time

    from crawler.fetch import journal, logbook
    from crawler.watch import analysis, moments
    from crawler.watch import report as paper

    try:
        start = None if since is None else moments.since(since, time.time())
    except moments.MomentUnreadable as error:
        raise UsageProblem(f"--since: {error}", error.hint) from error
    directory = (last_demo() if settings is None else settings.state_directory) / "log"
    files = journal.files(directory)
    if not files:
        raise Problem(f"{directory}: there is no log yet", "crawl --once writes one")
    found = analysis.fold(logbook.read(files), since=start, origins=names or None)
    configured = () if settings is None else (origin.name for origin in settings.origins)
    known = found.names.union(configured)
    for name in names:
        if name not in known:
            raise OriginUnknown(name, sorted(known))
    if not quiet:
        _print_report(found, form)
    return _attended(paper.attention(found.findings()), quiet=quiet)


def init(folder: Path) -> None:
    """Write both configuration files and make the keys; whatever is there already stays."""
    paths = [folder / name for name in shipped.CONFIG]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            if path.exists():
                raise FileExistsError(EEXIST, "is there already", path)
        for path in paths:
            with path.open("x", encoding="utf-8") as file:
                file.write(shipped.text(path.name))
            print(f"wrote {path}")
    except FileExistsError as error:
        raise WriteRefused(
            f"{error.filename}: is there already", "edit it, or name another folder"
        ) from error
    except OSError as error:
        raise WriteRefused(f"{error.filename or folder}: {error.strerror}") from error
    settings = configuration.load(folder / "crawler.toml")
    keys_new(settings)
    config = f" --config {folder / 'crawler.toml'}" if folder != Path() else ""
    print(
        f"""
Next:
  1. Edit {folder / "crawler.toml"}: [bot] says who you are, home is your https origin.
  2. Edit {folder / "origins.toml"}: the origins that are refreshed.
  3. Publish what `crawl serve{config}` serves at your home, over https:
       /.well-known/http-message-signatures-directory   the Ed25519 key, which sites verify
       /                                                the same set
       /.well-known/bot-pq-jwks.json                    the ML-DSA key
       /bot                                             the page for people
  4. crawl check{config}
  5. crawl --once --dry-run{config}"""
    )


def check(settings: Settings) -> int:
    """Say in one line that the configuration is fine; what is not was raised before.

    What of it is still the example's is noted on stderr, and what will never be asked needs
    attention; the exit code.
    """
    from crawler.fetch.keyring import Keys

    held = Keys(settings.keys_directory, settings.signatures.second.algorithm).current(0.0)
    origins = len(settings.origins)
    code = _attended(doubts.barred(settings), quiet=False)
    second = f"; sig2 cannot be sent: {held.degraded}" if held.degraded else ""
    fine = "fine" if code == 0 else "readable"
    print(
        f"{fine}: {settings.bot.product}, {origins} origin{'s' * (origins != 1)}, "
        f"signing with {held.keyring.first.keyid}{second}"
    )
    for example in doubts.examples(settings):
        print(
            f"crawl: note: crawler.toml: {example}; --once asks nobody until it is yours",
            file=sys.stderr,
        )
    return code


def keys_new(settings: Settings) -> None:
    """Make a key of each algorithm and say where it lies, and what is left to do where it waits."""
    folder = settings.keys_directory
    state = folder / keyfiles.STATE
    stated = state.exists()
    made = keyfiles.add(folder, ("ed25519", settings.signatures.second.algorithm))
    waiting = [file for file in made if file.standing is not keyfiles.Standing.SIGNING]
    for file in made:
        print(f"made {file.path}" + (": published, does not sign yet" if file in waiting else ""))
    if not waiting:
        return
    there = keyfiles.listing(folder)
    signing = [file for file in there if file.standing is keyfiles.Standing.SIGNING]
    replaced = {file.algorithm.name for file in waiting}
    old = [file.keyid for file in signing if file.algorithm.name in replaced]
    new = [file.keyid for file in signing if file.algorithm.name not in replaced]
    new += [file.keyid for file in waiting]
    retired = [file.keyid for file in there if file.standing is keyfiles.Standing.RETIRED]
    did = "is left as it is" if stated else "is written"
    print(
        f"""{state} {did}: what signed before signs on.

Next:
  1. Publish: a running `crawl serve` does already.
  2. Wait a day: that is how long sites may keep the key set of before.
  3. Sign with the new; no restart is needed. In {state}:
       signing = {_toml(new)}"""
    )
    if old:
        print(
            f"""  4. Publish the old no more, a day later. In {state}:
       retired = {_toml([*retired, *old])}"""
        )


def _toml(keyids: Sequence[str]) -> str:
    """A list of thumbprints as state.toml has it."""
    return msgspec.json.encode(keyids).decode().replace(",", ", ")


def keys_list(settings: Settings, form: str) -> None:
    """Each key file: identifier, algorithm, standing, path, and the problem where there is one."""
    rows = [
        {
            "keyid": file.keyid,
            "algorithm": file.algorithm.name,
            "standing": str(file.standing),
            "file": os.fsencode(file.path).decode("utf-8", "replace"),  # JSON knows no bytes
            "problem": file.problem,
        }
        for file in keyfiles.listing(settings.keys_directory)
    ]
    if form == "json":
        print(msgspec.json.encode({"keys": rows}).decode())
        return
    head = {"keyid": "keyid", "algorithm": "algorithm", "standing": "standing", "file": "file"}
    for row in (head, *rows):
        problem = f"  {row['problem']}" if row.get("problem") else ""
        print(
            f"{row['keyid']:<43}  {row['algorithm']:<10}  {row['standing']:<9}  "
            f"{row['file']}{problem}"
        )


def serve(settings: Settings, host: str, port: int) -> None:
    """Publish until interrupted. Keys are looked at again when they change."""
    from crawler.serve import site

    asyncio.run(site.run(settings, host, port))


def last_demo() -> Path:
    """The folder that keeps the last demo's log."""
    folder = _xdg("XDG_STATE_HOME", ".local/state") / "demo"
    if not (folder / "log").is_dir():
        raise UsageProblem(f"{folder}: no demo has run yet", "crawl --once --demo")
    return folder


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


def _print_report(analysis: "Analysis", form: str) -> None:
    from crawler.watch import report as paper

    text = paper.render(analysis, paper.Format(form), paper.terminal(sys.stdout, os.environ))
    sys.stdout.write(text)


def _attended(reasons: Sequence[str], *, quiet: bool) -> int:
    """The exit code for these reasons, which are said: all that --quiet prints."""
    for reason in reasons:
        print(f"crawl: attention: {reason}", file=sys.stdout if quiet else sys.stderr)
    return 3 if reasons else 0


def _keep_log(folder: Path) -> None:
    """Keep a demo's log where `crawl report --demo` finds it."""
    kept = _xdg("XDG_STATE_HOME", ".local/state") / "demo"
    if folder.resolve() == kept.resolve():
        return
    try:
        shutil.rmtree(kept / "log", ignore_errors=True)
        shutil.copytree(folder / "log", kept / "log")
    except OSError as error:
        print(f"crawl: the demo's log is not kept: {error}", file=sys.stderr)


def _xdg(variable: str, default: str) -> Path:
    """Our folder in one of the XDG base directories; a relative value is ignored, as they ask."""
    base = Path(os.environ.get(variable, ""))
    return (base if base.is_absolute() else Path.home() / default) / "callingcard"
