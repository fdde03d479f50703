"""A site behind a real nginx with the shipped snippets, and `crawl gate` beside it.

Requests go over a plain socket: what a forger sends is what no client library would.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

import keyhouse
from capture import Answer, Captured, CapturingServer, capturing, respond
from servers import nginx

from crawler import shipped
from signing import algorithms, directory, keys
from signing.message import Message
from signing.profile import Labels, Name
from signing.signer import Keyring

ADDRESS: Final = "127.0.0.1"
HOME: Final = "https://bot.example"
TARGET: Final = "/caf%C3%A9/a%2Fb;c?q=%7E&u=https://x.example/y&empty="
CRAWL: Final = str(Path(sys.executable).with_name("crawl"))
RING = Keyring(keys.generate(algorithms.ED25519), keys.generate(algorithms.ML_DSA_44))
STRANGERS = Keyring(keys.generate(algorithms.ED25519), keys.generate(algorithms.ML_DSA_44))
NONCES = count()
KNOWN: Final = """
[site]
scheme = "http"
[[agent]]
origin = "https://bot.example"
keys = ["bot.json"]
"""


@dataclass(frozen=True, kw_only=True)
class Guarded:
    """A site behind nginx: where it is asked, and what reaches it."""

    port: int
    site: CapturingServer

    @property
    def authority(self) -> str:
        return f"{ADDRESS}:{self.port}"

    def signed(
        self,
        ring: Keyring = RING,
        target: str = TARGET,
        labels: Labels = Labels.BOTH,
        profile: Name = Name.BRIDGE,
        authority: str = "",
    ) -> Message:
        return keyhouse.signed(
            ring,
            HOME,
            profile=profile,
            labels=labels,
            authority=authority or self.authority,
            scheme="http",
            target=target,
            created=int(time.time()) - 3,
            nonce=next(NONCES).to_bytes(64),
        )

    def ask(self, message: Message, more: Sequence[tuple[str, str]] = (), body: str = "") -> "Got":
        """Send a request as it stands, with more fields."""
        fields = [*message.fields, *more]
        return self.say(f"{message.method} {message.target} HTTP/1.1", fields, body)

    def say(self, line: str, fields: Sequence[tuple[str, str]], body: str = "") -> "Got":
        """Send a request line and fields, whatever they are."""
        before = len(self.site.requests)
        named = [*fields, ("Connection", "close")]
        lines = [line, *(f"{name}: {value}" for name, value in named)]
        with socket.create_connection((ADDRESS, self.port), timeout=10) as wire:
            wire.sendall(("\r\n".join(lines) + "\r\n\r\n" + body).encode("latin-1"))
            data = b""
            while piece := wire.recv(65536):
                data += piece
        head, _, text = data.decode("latin-1").partition("\r\n\r\n")
        status = int(head.split(" ")[1])
        told = [line.partition(": ")[::2] for line in head.split("\r\n")[1:]]
        arrived = self.site.requests[before:]
        return Got(
            status=status,
            fields={name.lower(): value for name, value in told},
            text=text,
            arrived=arrived[0] if arrived else None,
        )


@dataclass(frozen=True, kw_only=True)
class Got:
    """An answer, and the request as it reached the site, if it did."""

    status: int
    fields: dict[str, str]
    text: str
    arrived: Captured | None

    def told(self, name: str) -> str | None:
        """What the site was told by a field."""
        assert self.arrived is not None
        return self.arrived.field(name)


def bare(guarded: Guarded, target: str = "/") -> Message:
    """A request of somebody who signs nothing."""
    authority = guarded.authority
    fields = (("Host", authority),)
    return Message(method="GET", scheme="http", authority=authority, target=target, fields=fields)


def page(_: Captured) -> Answer:
    return respond(200, ("Content-Type", "text/html"), body=b"page")


@contextmanager
def gate_at_work(folder: Path, policy: str) -> Iterator[int]:
    """The port of `crawl gate` with this policy, in a folder that has the agent's keys."""
    assert RING.second is not None
    (folder / "gate.toml").write_text(policy)
    keys_of_bot = directory.key_set([RING.first.public_key, RING.second.public_key])
    (folder / "bot.json").write_bytes(keys_of_bot)
    process = subprocess.Popen(
        [CRAWL, "gate", "--policy", str(folder / "gate.toml"), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout as said:
        try:
            yield int(said.readline().rpartition(":")[2].partition("/")[0])
        finally:
            process.terminate()
            assert process.wait(10) == 0


@contextmanager
def guarded_by(
    folder: Path,
    policy: str,
    site_answers: Callable[[Captured], Answer] = page,
    *,
    locations: str = "",
    directives: str = "",
) -> Iterator[Guarded]:
    """A site behind nginx, behind a gate with this policy."""
    with ExitStack() as stack:
        site = stack.enter_context(capturing(site_answers, ADDRESS))
        port = stack.enter_context(gate_at_work(folder, policy))
        yield stack.enter_context(behind(site, port, locations, directives))


@contextmanager
def behind(
    site: CapturingServer, port: int, locations: str = "", directives: str = ""
) -> Iterator[Guarded]:
    """Both shipped snippets in an nginx, as they say; only the gate's port is another.

    More `locations` of the server may name `$site` for a proxy_pass with all that belongs to it;
    `directives` stand in the http block.
    """
    snippet = shipped.text("gate-nginx.conf")
    assert snippet.count("127.0.0.1:8090") == 1
    passed_on = f"""
        {shipped.text("gate-nginx-location.conf")}
        proxy_set_header Host $http_host;
        proxy_pass http://{ADDRESS}:{site.port};
    """
    at = f"""
    {snippet.replace("127.0.0.1:8090", f"127.0.0.1:{port}")}
    location / {{ {passed_on} }}
    location /file {{ }}
    {locations.replace("$site", passed_on)}
    """
    files = {
        "file": b"a file",
        "folder/index.html": b"an index",
        "missing.html": b"not here",
        "empty/x/y": b"",
    }
    with nginx({ADDRESS: files}, at={ADDRESS: at}, directives=directives) as server:
        yield Guarded(port=server.port, site=site)
