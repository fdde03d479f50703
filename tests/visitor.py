"""A client with keys of its own, and one origin for it to ask."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from crawler.fetch import keyfiles
from crawler.fetch.client import Client, Received
from crawler.fetch.keyring import Held, Keys
from crawler.fetch.middleware import Seen
from crawler.polite.frontier import FetchTask
from crawler.settings import (
    Bot,
    Origin,
    Politeness,
    ProfileName,
    Second,
    Settings,
    Signatures,
)

BOT = Bot(product="ExampleBot", home="https://bot.example", contact="mailto:bot@bot.example")
SIGNATURES = Signatures()


def origin(url: str, *, politeness: dict[str, Any] | None = None, **known: Any) -> Origin:
    """An origin on loopback, with both signatures in the bridge form unless said otherwise."""
    filled: dict[str, Any] = {
        "name": "one",
        "url": url,
        "profile": ProfileName.BRIDGE,
        "sig2": Second.WATCH,
        "allow_private": True,
        "politeness": Politeness(**(politeness or {})),
    }
    return Origin(**{**filled, **known})


@dataclass(kw_only=True)
class Visitor:
    """A client, the origin that it asks, and what it was told of its keys."""

    client: Client
    origin: Origin
    folder: Path
    ring: Keys
    seen: dict[str, Seen]
    told: list[Held]
    now: Callable[[], float] = time.time

    async def fetch(self, target: str = "/", **known: Any) -> Received:
        """Ask for a target at the origin, or for an absolute URL."""
        url = target if target.startswith("http") else self.origin.url.rstrip("/") + target
        filled: dict[str, Any] = {"id": "run-0-1", "origin": self.origin.name, "scope": "one"}
        return await self.client.fetch(
            FetchTask(**{**filled, "url": url, **known}), self.origin, self.now
        )

    def keyids(self) -> list[str]:
        """The thumbprints of the keys that sign, sig1's first."""
        ring = self.told[-1].keyring
        return [key.keyid for key in (ring.first, ring.second) if key is not None]


@asynccontextmanager
async def visiting(
    asked: Origin,
    folder: Path,
    *,
    signatures: Signatures = SIGNATURES,
    bot: Bot = BOT,
    second_key: bool = True,
    **options: Any,
) -> AsyncIterator[Visitor]:
    """Open a client whose keys stand in a new folder below `folder`."""
    keys = folder / "keys"
    keyfiles.create(keys, "ed25519")
    if second_key:
        keyfiles.create(keys, signatures.second.algorithm)
    ring = Keys(keys, signatures.second.algorithm, look_every=0.0)
    seen: dict[str, Seen] = {}
    told: list[Held] = []
    settings = Settings(base=str(folder), bot=bot, signatures=signatures, origins=(asked,))
    client = Client(settings, ring, seen=seen, keys_changed=told.append, **options)
    async with client:
        yield Visitor(client=client, origin=asked, folder=keys, ring=ring, seen=seen, told=told)


async def until(condition: Callable[[], bool], within: float = 5.0) -> None:
    """Let the loop run until a server in a thread has seen what is waited for."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        await asyncio.sleep(0.001)


def with_second(signatures: Signatures, **known: Any) -> Signatures:
    """The same settings with another second signature."""
    return replace(signatures, second=replace(signatures.second, **known))
