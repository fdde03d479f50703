"""What the commands share: where things are, and what an exit code needs said."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crawler import configuration
from crawler.problems import Problem
from crawler.settings import Settings

if TYPE_CHECKING:
    from crawler.watch.analysis import Analysis


class Stopped(Problem):
    """A signal ended it; the exit code is the one that shells know that by."""

    def __init__(self, what: str, number: signal.Signals, hint: str | None = None) -> None:
        super().__init__(f"{what} was stopped by {number.name} before its end", hint)
        self.code = 128 + number


def configured(path: Path | None) -> Settings:
    """The settings of that file, else of ./crawler.toml, else of the one in the XDG folder."""
    if path is not None:
        return configuration.load(path)
    here = Path("crawler.toml")
    home = xdg("XDG_CONFIG_HOME", ".config") / "crawler.toml"
    return configuration.load(home if home.exists() and not here.exists() else here)


def print_report(analysis: "Analysis", form: str) -> None:
    from crawler.watch import report as paper

    text = paper.render(analysis, paper.Format(form), paper.terminal(sys.stdout, os.environ))
    sys.stdout.write(text)


def attended(reasons: Sequence[str], *, quiet: bool) -> int:
    """The exit code for these reasons, which are said: all that --quiet prints."""
    for reason in reasons:
        print(f"crawl: attention: {reason}", file=sys.stdout if quiet else sys.stderr)
    return 3 if reasons else 0


def xdg(variable: str, default: str) -> Path:
    """Our folder in one of the XDG base directories; a relative value is ignored, as they ask."""
    base = Path(os.environ.get(variable, ""))
    return (base if base.is_absolute() else Path.home() / default) / "callingcard"
