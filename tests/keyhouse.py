"""Somebody's home on loopback, over https, where key sets are published well or badly."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from crawler.serve.reader import Reach
from signing import directory, signer
from signing.keys import PublicKey
from signing.message import Message
from signing.profile import Labels, Name, Profile
from signing.signer import Keyring

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
NOW = 1_800_000_000


@cache
def certificate() -> bytes:
    """A certificate for every name below localhost, with its key, that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = [x509.DNSName(f"{one}.localhost") for one in ("bot", "other", "third")]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def authority() -> str:
    """The certificate alone, as clients are told to trust it."""
    return certificate().decode().partition("-----BEGIN PRIVATE KEY-----")[0]


def reach(*, local: bool = True) -> Reach:
    """Clients that trust the certificate; `local` ones reach loopback too."""
    return Reach(local=local, trust=ssl.create_default_context(cadata=authority()))


def published(keys: Iterable[PublicKey], **fields: str) -> Answer:
    """The answer that it should be."""
    body = directory.key_set(keys)

    async def answer(_: web.Request) -> web.Response:
        headers = {"Content-Type": directory.MEDIA_TYPE, **fields}
        return web.Response(body=body, headers=headers)

    return answer


@dataclass(kw_only=True)
class House:
    """A running home: what it answers can change, whatever is asked is written down."""

    answer: Answer
    port: int = 0
    asked: list[str] = field(default_factory=list)
    rung: asyncio.Event = field(default_factory=asyncio.Event)

    async def reached(self, times: int) -> None:
        """Wait until so many requests have come."""
        while len(self.asked) < times:
            self.rung.clear()
            await self.rung.wait()

    def url(self, path: str = "", name: str = "bot") -> str:
        return f"https://{name}.localhost:{self.port}{path}"


@asynccontextmanager
async def opened(answer: Answer) -> AsyncIterator[House]:
    """Publish on a free port of 127.0.0.1 while the context lasts."""
    house = House(answer=answer)

    async def door(request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request, web.Request)
        house.asked.append(request.path_qs)
        house.rung.set()
        return await house.answer(request)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        file = Path(folder, "server.pem")
        file.write_bytes(certificate())
        context.load_cert_chain(file)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", door)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        house.port = runner.addresses[0][1]
        yield house
    finally:
        await runner.cleanup()


def signed(
    keyring: Keyring,
    home: str,
    *,
    profile: Name = Name.BRIDGE,
    labels: Labels = Labels.BOTH,
    authority: str = "shop.example",
    scheme: str = "https",
    target: str = "/page?q=1",
    created: int = NOW,
    nonce: bytes = bytes(64),
) -> Message:
    """A request as our crawler signs it."""
    fields = (("Host", authority), ("Accept", "*/*"), ("User-Agent", "ExampleBot/1.0"))
    bare = Message(method="GET", scheme=scheme, authority=authority, target=target, fields=fields)
    form = Profile(name=profile, home=home)
    added = signer.sign(bare, keyring, form, created, nonce, labels)
    return Message(
        method="GET",
        scheme=scheme,
        authority=authority,
        target=target,
        fields=(*fields, *added.fields),
    )
