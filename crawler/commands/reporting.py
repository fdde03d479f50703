"""`crawl report`: what the log says."""

from collections.abc import Sequence
from pathlib import Path

from crawler.commands.shared import attended, print_report, xdg
from crawler.problems import OriginUnknown, Problem, UsageProblem
from crawler.settings import Settings


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
        print_report(found, form)
    return attended(paper.attention(found.findings()), quiet=quiet)


def last_demo() -> Path:
    """The folder that keeps the last demo's log."""
    folder = xdg("XDG_STATE_HOME", ".local/state") / "demo"
    if not (folder / "log").is_dir():
        raise UsageProblem(f"{folder}: no demo has run yet", "crawl --once --demo")
    return folder
