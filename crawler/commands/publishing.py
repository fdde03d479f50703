"""`crawl serve` and `crawl publish`: the keys, the card and the page for the world."""

import asyncio
import sys
import time
from pathlib import Path

from crawler import configuration
from crawler.problems import Problem, UsageProblem
from crawler.settings import Settings


class NothingToPublish(Problem):
    """No key that a site could verify."""


def serve(settings: Settings, host: str, port: int) -> None:
    """Publish until interrupted. Keys are looked at again when they change."""
    from crawler.serve import site

    asyncio.run(site.run(settings, host, port))


def publish(settings: Settings, folder: Path, authority: str | None, lifetime: str) -> None:
    """Write what `serve` would answer as files, and say until when their signatures are good."""
    from crawler.serve import folder as folders
    from crawler.serve import publish as desk
    from crawler.serve import static
    from crawler.serve.site import PublishedKeys
    from signing.algorithms import ED25519

    home = desk.home_authority(settings)
    where = home if authority is None else _authority(authority)
    keys = PublishedKeys(settings.keys_directory)
    signing = [key for key in keys.current() if key.algorithm is ED25519]
    if not signing:
        raise NothingToPublish(
            f"{settings.keys_directory}: there is no usable Ed25519 key that is not retired",
            "`crawl keys list` says what is the matter, `crawl keys new` makes one",
        )
    created = int(time.time()) - settings.signatures.skew
    documents = keys.documents(settings, where)
    term = static.Term(
        created=created,
        expires=created + _lifetime(lifetime, desk.MAX_AGE),
        ends=static.first_end(documents),
    )
    files = static.files(documents, keys.current(), authority=where, term=term)
    for name in folders.update(folder, files):
        print(f"{'wrote' if name in files else 'removed'} {folder / name}")
    print(
        f"""{where}: {len(signing)} Ed25519 key{"s" * (len(signing) > 1)}, \
signatures expire {static.written(term.expires)}

Next:
  1. Serve {folder} at https://{where}. For nginx, {static.NGINX} in it says how;
     where it does already, reload it now. Netlify and Cloudflare Pages read {static.HEADERS}.
  2. Publish again by {static.written(term.renew)}, and when keys or settings change."""
    )
    if where != home:
        print(
            f"crawl: note: our requests lead to bot.home, {home}; no site that verifies them "
            f"looks at {where}",
            file=sys.stderr,
        )


def _authority(given: str) -> str:
    """The authority as a client puts it into Host: lower case, no default port."""
    from crawler.polite import target

    found = target.sendable(f"https://{given}/")
    if isinstance(found, target.Unsendable) or {*given} & {*"/\\?#"}:
        raise UsageProblem(
            f"--authority {target.shown(given)}: is no host name, with or without a port",
            "for example --authority bot.example",
        )
    return found.authority


def _lifetime(given: str, least: int) -> int:
    """Seconds from `created` to `expires`."""
    try:
        seconds = int(configuration.duration(given))
    except ValueError as error:
        raise UsageProblem(f"--lifetime {given}: {error}", "for example --lifetime 30d") from error
    if seconds <= least:
        raise UsageProblem(
            f"--lifetime {given}: copies are kept for {configuration.written(least)}, so they "
            "would outlive it",
            "for example --lifetime 30d",
        )
    return seconds
