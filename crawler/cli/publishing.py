"""`crawl serve` and `crawl publish`: what is published, by us or by a web server."""

from pathlib import Path
from typing import Annotated

import typer

from crawler.cli.shell import Command, ConfigOption, told


def add_to(app: typer.Typer) -> None:
    """Make these commands of `crawl`."""
    app.command(cls=Command)(serve)
    app.command(cls=Command)(publish)


def serve(
    config: ConfigOption = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8080,
) -> None:
    """Publish the key directory, the post-quantum keys, the card and the /bot page."""
    from crawler.commands import publishing
    from crawler.commands.shared import configured

    with told():
        publishing.serve(configured(config), host, port)


def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go.")],
    authority: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="Host that will serve them; by default that of home."),
    ] = None,
    lifetime: Annotated[
        str, typer.Option(metavar="DURATION", help="How long the signatures are good.")
    ] = "30d",
    config: ConfigOption = None,
) -> None:
    """Write what serve publishes as files for a web server, with signatures that expire."""
    from crawler.commands import publishing
    from crawler.commands.shared import configured

    with told():
        publishing.publish(configured(config), folder, authority, lifetime)
