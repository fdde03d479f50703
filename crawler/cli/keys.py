"""`crawl keys`: the keys that sign."""

from typing import Annotated

import typer

from crawler.cli.shell import Command, ConfigOption, Format, Group, told

app = typer.Typer(
    name="keys", cls=Group, help="The keys that sign our requests.", no_args_is_help=True
)


@app.command("new", cls=Command)
def keys_new(config: ConfigOption = None) -> None:
    """Make an Ed25519 and an ML-DSA key."""
    from crawler.commands import keys
    from crawler.commands.shared import configured

    with told():
        keys.new(configured(config))


@app.command("list", cls=Command)
def keys_list(
    config: ConfigOption = None,
    form: Annotated[Format, typer.Option("--format", help="How it is printed.")] = Format.TEXT,
) -> None:
    """List the keys: identifier, algorithm, standing, file."""
    from crawler.commands import keys
    from crawler.commands.shared import configured

    with told():
        keys.show_all(configured(config), form)
