"""`crawl verify` and `crawl gate`: what others have signed."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crawler.cli.shell import Command, Format, told


class Scheme(StrEnum):
    HTTPS = "https"
    HTTP = "http"


class Shown(StrEnum):
    POLICY = "policy"
    NGINX = "nginx"
    NGINX_LOCATION = "nginx-location"


def add_to(app: typer.Typer) -> None:
    """Make these commands of `crawl`."""
    app.command(cls=Command)(verify)
    app.command(cls=Command)(gate)


def verify(
    file: Annotated[
        str,
        typer.Argument(metavar="[FILE]", help="A raw HTTP request as it was captured; - reads it."),
    ] = "-",
    keys: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|URL", help="The key set to verify by; without it, those that it names."
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The gate's policy to judge by; without it, any algorithm will do."
        ),
    ] = None,
    scheme: Annotated[Scheme, typer.Option(help="How it was sent.")] = Scheme.HTTPS,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help='Judge as of then: "created", 5m (ago), Unix seconds, or a date and time.',
        ),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How it is printed.")] = Format.TEXT,
) -> None:
    """Say of each signature on a request whether it is good, and what it covers.

    Exit codes: 0 verified; 3 not verified, also where the signature fields cannot be read;
    1 where there is no HTTP request in FILE, or no key set or policy in theirs; 2 usage.
    """
    from crawler.commands import verifying

    with told():
        code = verifying.verify(
            file, keys=keys, policy=policy, scheme=scheme.value, at=at, form=form.value
        )
    raise typer.Exit(code)


def gate(
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="Whom the site lets in; --show prints one."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8090,
    show: Annotated[
        Shown | None,
        typer.Option(help="Print the policy file, or what nginx has to include, and end."),
    ] = None,
) -> None:
    """Verify the requests of a site for the server before it, nginx for example."""
    from crawler.commands import verifying

    with told():
        if show is not None:
            verifying.show(show.value)
        else:
            verifying.gate(policy, host, port)
