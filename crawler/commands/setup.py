"""`crawl init` and `crawl check`: the configuration."""

import sys
import time
from errno import EEXIST
from pathlib import Path

from crawler import configuration, doubts, shipped
from crawler.commands import keys
from crawler.commands.shared import attended
from crawler.problems import Problem
from crawler.settings import Settings


class WriteRefused(Problem):
    """A file that stands already is not written over."""


def init(folder: Path) -> None:
    """Write both configuration files and make the keys; whatever is there already stays."""
    paths = [folder / name for name in shipped.CONFIG]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            if path.exists():
                raise FileExistsError(EEXIST, "is there already", path)
        for path in paths:
            with path.open("x", encoding="utf-8") as file:
                file.write(shipped.text(path.name))
            print(f"wrote {path}")
    except FileExistsError as error:
        raise WriteRefused(
            f"{error.filename}: is there already", "edit it, or name another folder"
        ) from error
    except OSError as error:
        raise WriteRefused(f"{error.filename or folder}: {error.strerror}") from error
    settings = configuration.load(folder / "crawler.toml")
    keys.new(settings)
    config = f" --config {folder / 'crawler.toml'}" if folder != Path() else ""
    print(
        f"""
Next:
  1. Edit {folder / "crawler.toml"}: [bot] says who you are, home is your https origin.
  2. Edit {folder / "origins.toml"}: the origins that are refreshed.
  3. Publish what `crawl serve{config}` serves at your home, over https; where another
     server is to do it, `crawl publish{config} DIR` writes the files:
       /.well-known/http-message-signatures-directory   the Ed25519 key, which sites verify
       /                                                the same set
       /.well-known/bot-pq-jwks.json                    the ML-DSA key
       /.well-known/signature-agent-card                who you are, for programs
       /bot                                             the page for people
  4. crawl check{config}
  5. crawl --once --dry-run{config}"""
    )


def check(settings: Settings) -> int:
    """Say in one line that the configuration is fine; what is not was raised before.

    What of it is still the example's is noted on stderr, and what will never be asked needs
    attention; the exit code.
    """
    from crawler.fetch.keyring import Keys

    held = Keys(settings.keys_directory, settings.signatures.second.algorithm).current(time.time())
    origins = len(settings.origins)
    code = attended(doubts.barred(settings), quiet=False)
    second = f"; sig2 cannot be sent: {held.degraded}" if held.degraded else ""
    fine = "fine" if code == 0 else "readable"
    print(
        f"{fine}: {settings.bot.product}, {origins} origin{'s' * (origins != 1)}, "
        f"signing with {held.keyring.first.keyid}{second}"
    )
    for example in doubts.examples(settings):
        print(
            f"crawl: note: crawler.toml: {example}; --once asks nobody until it is yours",
            file=sys.stderr,
        )
    return code
