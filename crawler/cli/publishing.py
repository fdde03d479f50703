"""`crawl serve`: what is published."""

from typing import Annotated

import typer

from crawler.cli.shell import Command, ConfigOption, told


def add_to(app: typer.Typer) -> None:
    """Make these commands of `crawl`."""
    app.command(cls=Command)(serve)


def serve(
    config: ConfigOption = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8080,
) -> None:
    """Publish the key directory, the post-quantum keys and the /bot page."""
    from crawler.commands import publishing
    from crawler.commands.shared import configured

    with told():
        publishing.serve(configured(config), host, port)
