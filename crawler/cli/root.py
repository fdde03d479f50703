"""The `crawl` command itself: a refresh, and what an operator asks of it."""

import gc
import os
import sys
from contextlib import suppress
from enum import StrEnum
from errno import EPIPE
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from crawler import streams
from crawler.cli import keys, publishing, verifying
from crawler.cli.shell import Command, ConfigOption, Format, Group, OriginOption, complain, told

EPILOG = (
    "Exit codes: 0 fine, 1 our error, 2 usage, 3 the operator's attention is needed, "
    "4 another run is active; 130 and 143: stopped by SIGINT or SIGTERM."
)

_WRITTEN_AS = {"everything": "all", "form": "format"}  # parameters that are not called like it

app = typer.Typer(
    name="crawl",
    cls=Group,
    help="A polite crawler that signs each request twice and watches what that costs.",
    epilog=EPILOG,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(keys.app)


class ReportFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def main() -> None:
    """Run the command line; what is wrong with it is said as all problems are."""
    streams.prepare()
    gc.set_threshold(20_000)  # a start makes many objects and no garbage: 40 ms of looking for it
    try:
        code = app(standalone_mode=False)
        print(end="", flush=True)
    except TyperException as error:
        _complain_of_usage(error)
        sys.exit(2)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except OSError as error:
        _give_up_writing(error)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _complain_of_usage(error: TyperException) -> None:
    """Say what is wrong with a command line; without a word there, help has been printed."""
    said = str(getattr(error, "format_message", error.__str__)())
    context = getattr(error, "ctx", None)
    if said:
        path = context.command_path if context is not None else "crawl"
        complain(said[:1].lower() + said[1:].rstrip("."), f"{path} --help")


def _give_up_writing(error: OSError) -> None:
    """Say that the answer could not be written, unless whoever reads it has seen enough."""
    with suppress(AttributeError, OSError, ValueError):  # what is left would be tried again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno != EPIPE:
        complain(f"{error.filename or 'the answer'} cannot be written: {error.strerror}")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"crawl {version('callingcard')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def crawl(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Refresh what is due, then end.")] = False,
    config: ConfigOption = None,
    origin: OriginOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Ask for every page, due or not; robots and pace stay.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and why not; send nothing.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Crawl a fleet of 21 origins on this machine.")
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="DIR", help="With --demo: keep its state there."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How the result is printed.")] = (
        Format.TEXT
    ),
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing unless attention is needed.")
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback does it
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Refresh the configured origins, or run one of the commands."""
    if context.invoked_subcommand is not None:
        _nothing_stands_before(context, context.invoked_subcommand)
        return
    if not once:
        asked = [name for name in context.params if _is_written(context, name)]
        flag = f"--{_WRITTEN_AS.get(asked[0], asked[0]).replace('_', '-')}" if asked else ""
        problem = f"{flag} goes with --once" if asked else "nothing to do"
        complain(problem, "crawl --once refreshes what is due; crawl --help lists the rest")
        raise typer.Exit(2)
    if demo and (config or origin or everything or dry_run):
        complain("--demo brings its own origins", "leave out --config, --origin, --all, --dry-run")
        raise typer.Exit(2)
    if dry_run and quiet:
        complain("--dry-run does nothing but print", "leave out --quiet")
        raise typer.Exit(2)
    if state is not None and not demo:
        complain("--state goes with --demo", "crawler.toml names the state: [state] directory")
        raise typer.Exit(2)
    from crawler.commands import refreshing
    from crawler.commands.shared import configured

    with told(quiet=quiet):
        if demo:
            code = refreshing.demo(state, form=form, quiet=quiet)
        elif dry_run:
            code = refreshing.dry_run(
                configured(config), origin or [], everything=everything, form=form
            )
        else:
            code = refreshing.once(
                configured(config),
                origin or [],
                everything=everything,
                form=form,
                quiet=quiet,
            )
    raise typer.Exit(code)


def _nothing_stands_before(context: typer.Context, command: str) -> None:
    """Refuse options that stand before a command: it would not see them."""
    for name in context.params:
        if _is_written(context, name):
            complain(
                "an option stands before the command",
                f"options come after it: crawl {command} --help lists them",
            )
            raise typer.Exit(2)


def _is_written(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


@app.command(cls=Command)
def init(
    folder: Annotated[Path, typer.Argument(help="Where the files go.")] = Path(),
) -> None:
    """Write crawler.toml and origins.toml, make keys, and say what to publish where."""
    from crawler.commands import setup

    with told():
        setup.init(folder)


@app.command(cls=Command)
def check(config: ConfigOption = None) -> None:
    """Validate both configuration files and the keys."""
    from crawler.commands import setup
    from crawler.commands.shared import configured

    with told():
        code = setup.check(configured(config))
    raise typer.Exit(code)


@app.command(cls=Command)
def report(
    config: ConfigOption = None,
    origin: OriginOption = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help='"7d", "12h", 2026-11-01, or a date and time.'),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="The last demo's log.")] = False,
    form: Annotated[ReportFormat, typer.Option("--format", help="How it is printed.")] = (
        ReportFormat.TEXT
    ),
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing unless attention is needed.")
    ] = False,
) -> None:
    """Read the log: per origin requests, answers, waits, and what signing cost."""
    from crawler.commands import reporting
    from crawler.commands.shared import configured

    with told():
        settings = None if demo else configured(config)
        code = reporting.report(settings, origin or [], since=since, form=form, quiet=quiet)
    raise typer.Exit(code)


@app.command(cls=Command)
def explain(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="With scheme and host, of an origin that is configured."
        ),
    ],
    config: ConfigOption = None,
    form: Annotated[Format, typer.Option("--format", help="How it is printed.")] = Format.TEXT,
) -> None:
    """Say whether a URL may be asked now, and on whose word."""
    from crawler.commands import refreshing
    from crawler.commands.shared import configured

    with told():
        code = refreshing.explain(configured(config), url, form)
    raise typer.Exit(code)


publishing.add_to(app)
verifying.add_to(app)
