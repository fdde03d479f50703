"""What each command does: between the command line and the rooms behind it."""

import asyncio
import os
from pathlib import Path

import msgspec

from crawler import configuration, shipped
from crawler.fetch import keyfiles
from crawler.problems import Problem, UsageProblem
from crawler.settings import Settings


class WriteRefused(Problem):
    """A file that stands already is not written over."""


def configured(path: Path | None) -> Settings:
    """The settings of that file, else of ./crawler.toml, else of the one in the XDG folder."""
    if path is not None:
        return configuration.load(path)
    here = Path("crawler.toml")
    home = _xdg("XDG_CONFIG_HOME", ".config") / "crawler.toml"
    return configuration.load(home if home.exists() and not here.exists() else here)


def init(folder: Path) -> None:
    """Write both configuration files and make the keys; whatever is there already stays."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("crawler.toml", "origins.toml"):
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(shipped.text(name))
            print(f"wrote {folder / name}")
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


def check(settings: Settings) -> None:
    """Say in one line that the configuration is fine; what is not was raised before."""
    from crawler.fetch.keyring import Keys

    held = Keys(settings.keys_directory, settings.signatures.second.algorithm).current(0.0)
    origins = len(settings.origins)
    second = f"; sig2 cannot be sent: {held.degraded}" if held.degraded else ""
    print(
        f"fine: {settings.bot.product}, {origins} origin{'s' * (origins != 1)}, "
        f"signing with {held.keyring.first.keyid}{second}"
    )


def keys_new(settings: Settings) -> None:
    """Make a key of each algorithm and say where it lies."""
    for algorithm in ("ed25519", settings.signatures.second.algorithm):
        path = keyfiles.create(settings.keys_directory, algorithm)
        print(f"made {path}")


def keys_list(settings: Settings, form: str) -> None:
    """Each key file: identifier, algorithm, standing, path, and the problem where there is one."""
    rows = [
        {
            "keyid": file.keyid,
            "algorithm": file.algorithm.name,
            "standing": str(file.standing),
            "file": str(file.path),
            "problem": file.problem,
        }
        for file in keyfiles.listing(settings.keys_directory)
    ]
    if form == "json":
        print(msgspec.json.encode({"keys": rows}).decode())
        return
    for row in rows:
        problem = f"  {row['problem']}" if row["problem"] else ""
        print(
            f"{row['keyid']}  {row['algorithm']:<10}  {row['standing']:<9}  {row['file']}{problem}"
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


def _xdg(variable: str, default: str) -> Path:
    """Our folder in one of the XDG base directories; a relative value is ignored, as they ask."""
    base = Path(os.environ.get(variable, ""))
    return (base if base.is_absolute() else Path.home() / default) / "callingcard"
