"""What every command's line shares: options, help, and how a problem is said."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

ANOTHER_RUN = 4


class Command(TyperCommand):
    """A command whose help shows a flag as it is written, without `<bool>` beside it."""

    def get_params(self, ctx: Any) -> list[Any]:  # typer keeps their types to itself
        return _bare(super().get_params(ctx))


class Group(TyperGroup):
    """The same of commands."""

    def get_params(self, ctx: Any) -> list[Any]:  # typer keeps their types to itself
        return _bare(super().get_params(ctx))


def _bare(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


def _origins(context: typer.Context, incomplete: str) -> list[str]:
    """The configured origins whose names begin so; none where the configuration has a mistake."""
    from crawler.commands.shared import configured
    from crawler.problems import Problem

    config = context.params.get("config")
    try:
        settings = configured(Path(config) if config else None)
    except Problem:
        return []
    return [one.name for one in settings.origins if one.name.startswith(incomplete)]


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="By default ./crawler.toml, else the one in ~/.config/callingcard.",
    ),
]
OriginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--origin",
        "-o",
        metavar="NAME",
        help="Only this origin; may be repeated.",
        autocompletion=_origins,
    ),
]


@contextmanager
def told(*, quiet: bool = False) -> Iterator[None]:
    """Turn what an operator can mend into two lines on stderr and an exit code.

    With --quiet an active run is none of them: cron would mail whenever one takes its time.
    """
    try:
        yield
    except Exception as error:
        from crawler.problems import Problem

        if not isinstance(error, Problem):
            raise
        if not (quiet and error.code == ANOTHER_RUN):
            complain(str(error), error.hint)
        raise typer.Exit(error.code) from None


def complain(problem: str, hint: str | None = None) -> None:
    """Say what is wrong and what to try, on stderr."""
    typer.echo(f"crawl: error: {problem}", err=True)
    if hint:
        typer.echo(f"crawl: hint: {hint}", err=True)
