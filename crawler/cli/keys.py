"""`crawl keys`: the keys that sign."""

from enum import StrEnum
from typing import Annotated

import typer

from crawler.cli.shell import Command, ConfigOption, Format, Group, told

app = typer.Typer(
    name="keys", cls=Group, help="The keys that sign our requests.", no_args_is_help=True
)


class KeyFormat(StrEnum):
    JWK = "jwk"
    PEM = "pem"


AlgorithmOption = Annotated[
    list[str] | None,
    typer.Option(
        "--algorithm",
        metavar="NAME",
        help="ed25519, ml-dsa-44, -65 or -87; may be repeated. By default those of sig1 and sig2.",
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How it is printed.")]
KeyArgument = Annotated[str, typer.Argument(metavar="KEYID", help="A thumbprint or its beginning.")]


@app.command("new", cls=Command)
def keys_new(
    config: ConfigOption = None,
    algorithm: AlgorithmOption = None,
    valid_from: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Not before; for example 2027-03-01, or 1d from now."),
    ] = None,
    valid_until: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="From then on it neither signs nor is published."),
    ] = None,
) -> None:
    """Make a key of each algorithm; beside one that signs it is only published."""
    from crawler.commands import keys
    from crawler.commands.shared import configured

    with told():
        keys.new(configured(config), algorithm or (), valid_from, valid_until)


@app.command("list", cls=Command)
def keys_list(config: ConfigOption = None, form: FormatOption = Format.TEXT) -> None:
    """List the keys: identifier, algorithm, standing, what comes next, file."""
    from crawler.commands import keys
    from crawler.commands.shared import configured

    with told():
        keys.show_all(configured(config), form)


@app.command("show", cls=Command)
def keys_show(
    keyid: KeyArgument, config: ConfigOption = None, form: FormatOption = Format.TEXT
) -> None:
    """Show all that is public about one key."""
    from crawler.commands import keys
    from crawler.commands.shared import configured

    with told():
        keys.show(configured(config), keyid, form)


@app.command("rotate", cls=Command)
def keys_rotate(
    config: ConfigOption = None,
    algorithm: AlgorithmOption = None,
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="KEYID", help="A key that is there, instead of a new one."),
    ] = None,
    wait: Annotated[
        str, typer.Option(metavar="TIME", help="How long the new key is only published.")
    ] = "1d",
    keep: Annotated[
        str, typer.Option(metavar="TIME", help="How long the old key is published after that.")
    ] = "1d",
    form: FormatOption = Format.TEXT,
) -> None:
    """Put a new key in the place of the one that signs: publish, sign with, drop."""
    from crawler.commands import rotation
    from crawler.commands.shared import configured

    with told():
        rotation.rotate(configured(config), algorithm or (), to or (), wait, keep, form)


@app.command("retire", cls=Command)
def keys_retire(keyid: KeyArgument, config: ConfigOption = None) -> None:
    """Let a key neither sign nor be published, from now on."""
    from crawler.commands import rotation
    from crawler.commands.shared import configured

    with told():
        rotation.retire(configured(config), keyid)


@app.command("import", cls=Command)
def keys_import(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A private JWK or PKCS#8 PEM; - for stdin.")
    ],
    config: ConfigOption = None,
) -> None:
    """Take a private key in; beside one that signs it is only published."""
    from crawler.commands import transfer
    from crawler.commands.shared import configured

    with told():
        transfer.take(configured(config), file)


@app.command("export", cls=Command)
def keys_export(
    keyid: Annotated[
        str | None, typer.Argument(metavar="[KEYID]", help="By default all that are published.")
    ] = None,
    config: ConfigOption = None,
    form: Annotated[
        KeyFormat, typer.Option("--format", help="JWK (public: JWK Set) or PEM (PKCS#8, SPKI).")
    ] = KeyFormat.JWK,
    output: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A new file; by default, or with -, stdout."),
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="The private key, in a file that is yours alone.")
    ] = False,
) -> None:
    """Write public keys, or with --private a private one."""
    from crawler.commands import transfer
    from crawler.commands.shared import configured

    with told():
        write = transfer.give_private if private else transfer.give
        write(configured(config), keyid, form=form, output=output)
