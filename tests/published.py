"""What we publish, as tests set it up and ask for it: by our own server, and by nginx."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import servers
from aiohttp import web
from msgspec import Struct

from crawler.serve import folder, publish, static
from crawler.settings import Bot, Settings
from signing.algorithms import ED25519, by_name
from signing.keys import PrivateKey, generate
from signing.message import Message

AUTHORITY: Final = "bot.example"
WALL: Final = 1_800_000_000.0
CARD: Final = "/.well-known/signature-agent-card"
SETTINGS: Final = Settings(
    base=".",
    bot=Bot(
        product="ExampleBot",
        home="https://bot.example",
        contact="mailto:bot@bot.example",
        purpose="reads <b>twenty</b> sites",
    ),
)


class Answer(Struct, frozen=True, kw_only=True):
    """An answer as it came over the wire, its field lines in their order."""

    status: int
    fields: tuple[tuple[str, str], ...]
    body: bytes

    def field(self, name: str) -> str | None:
        """The value of a field that stands once at most."""
        values = [value for other, value in self.fields if other.lower() == name.lower()]
        assert len(values) < 2, f"{name} stands {len(values)} times"
        return values[0] if values else None

    def without(self, *names: str) -> dict[str, str]:
        """All other fields, their names in lower case."""
        found = {name.lower(): value for name, value in self.fields}
        assert len(found) == len(self.fields), "a field stands twice"
        return {name: found[name] for name in found.keys() - {*names}}

    def to(self, target: str, authority: str = AUTHORITY) -> Message:
        """The same as a message that can be verified, answering a request for that target."""
        request = Message(method="GET", scheme="https", authority=authority, target=target)
        return Message(status=self.status, fields=self.fields, request=request)


class Site(Struct, frozen=True, kw_only=True):
    """Where something of ours is served."""

    address: str
    port: int

    def ask(self, target: str, method: str = "GET", **fields: str) -> Answer:
        """Send one request over a connection of its own; `_` in a field's name stands for `-`."""
        connection = HTTPConnection(self.address, self.port, timeout=30)
        headers = {"Host": AUTHORITY} | {
            name.replace("_", "-"): value for name, value in fields.items()
        }
        try:
            connection.request(method, target, headers=headers)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        return Answer(status=response.status, fields=tuple(response.getheaders()), body=body)

    async def asked(self, target: str, method: str = "GET", **fields: str) -> Answer:
        """As `ask`, for a server that lives in the same loop."""
        return await asyncio.to_thread(self.ask, target, method, **fields)


def keys() -> tuple[PrivateKey, ...]:
    """The key that signs, the next one, and the post-quantum key."""
    return generate(ED25519), generate(ED25519), generate(by_name("ml-dsa-44"))


def documents(held: Sequence[PrivateKey]) -> dict[str, publish.Document]:
    """What is published of these keys, of which the first signs."""
    return publish.documents(SETTINGS, [key.public_key for key in held], [held[0].keyid])


@asynccontextmanager
async def served(held: Sequence[PrivateKey], wall: float = WALL) -> AsyncIterator[Site]:
    """Our own server, as `crawl serve` runs it, at that time."""
    found = documents(held)
    app = publish.application(
        lambda: found, lambda: held, authority=AUTHORITY, wall=lambda: wall, skew=3
    )
    async with running(app) as site:
        yield site


@asynccontextmanager
async def running(app: web.Application) -> AsyncIterator[Site]:
    """An application of ours at a free port."""
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield Site(address="127.0.0.1", port=runner.addresses[0][1])
    finally:
        await runner.cleanup()


@contextmanager
def by_nginx(held: Sequence[PrivateKey], where: Path, wall: float = WALL) -> Iterator[Site]:
    """The files of `crawl publish`, copied to a server that compresses whatever it may."""
    files = static.files(
        documents(held),
        held,
        authority=AUTHORITY,
        term=static.Term(created=int(wall) - 3, expires=int(wall) + 30 * 86_400),
    )
    folder.update(where, files)
    laid = {name: (where / name).read_bytes() for name in files}
    with servers.nginx(
        {"127.0.0.1": laid},
        directives="gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;",
        at={"127.0.0.1": f"include 127.0.0.1/{static.NGINX};"},
    ) as server:
        yield Site(address="127.0.0.1", port=server.port)
