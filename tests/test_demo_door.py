"""The fleet's doors over the wire: what they write down, and how they answer."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest

from crawler.demo import roster
from crawler.demo.fleet import HOME, Fleet
from crawler.demo.ledger import Entry
from signing import keys
from signing.algorithms import ED25519
from signing.message import Message
from signing.profile import Labels, Name, Profile
from signing.signer import Keyring, sign

FORM = Profile(name=Name.BRIDGE, home=HOME)
FIRST, BOTH = ("sig1",), ("sig1", "sig2")


class Caller:
    """Signs as it is told and speaks to one origin after the other."""

    def __init__(self, fleet: Fleet, keyring: Keyring) -> None:
        self.fleet = fleet
        self.keyring = keyring

    def fields(
        self,
        name: str,
        target: str,
        labels: Labels = Labels.BOTH,
        *,
        form: Profile = FORM,
        nonce: bytes | None = None,
    ) -> tuple[tuple[str, str], ...]:
        message = Message(
            method="GET",
            scheme="http",
            authority=self.fleet.authority(name),
            target=target,
            fields=(),
        )
        fresh = nonce or time.monotonic_ns().to_bytes(64)
        return sign(message, self.keyring, form, int(time.time()) - 3, fresh, labels).fields

    def head(self, name: str, target: str, fields: tuple[tuple[str, str], ...]) -> bytes:
        lines = [f"GET {target} HTTP/1.1", f"Host: {self.fleet.authority(name)}"]
        lines += [f"{key}: {value}" for key, value in fields]
        return "\r\n".join([*lines, "", ""]).encode()

    async def call(
        self, name: str, target: str, fields: tuple[tuple[str, str], ...]
    ) -> tuple[bytes, bytes]:
        """The head and what of the body comes within one read of the connection's end."""
        reader, writer = await self.connect(name)
        try:
            writer.write(self.head(name, target, (*fields, ("Connection", "close"))))
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            return head, body
        finally:
            writer.close()
            await writer.wait_closed()

    async def connect(self, name: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        port = int(self.fleet.authority(name).rpartition(":")[2])
        return await asyncio.open_connection("127.0.0.1", port)

    async def status(self, name: str, target: str, labels: Labels = Labels.BOTH) -> int:
        head, _ = await self.call(name, target, self.fields(name, target, labels))
        return int(head.split()[1])

    def entries(self, name: str) -> list[Entry]:
        return next(ledger.entries for ledger in self.fleet.ledgers if ledger.origin == name)


@pytest.fixture
async def caller(tmp_path: Path) -> AsyncIterator[Caller]:
    async with Fleet.start() as fleet:
        settings = fleet.settings(tmp_path)
        first, second = (
            keys.read_private(next(settings.keys_directory.glob(f"{kind}-*.jwk")).read_bytes())
            for kind in ("ed25519", "ml-dsa-44")
        )
        yield Caller(fleet, Keyring(first, second))


async def until(caller: Caller, holds: Callable[[], bool]) -> None:
    """Return when it holds; each question to the servers' loop gives it a turn."""
    for _ in range(100_000):
        if holds():
            return
        await caller.fleet.cpu()
    pytest.fail("the servers never came so far")


async def test_a_signed_request_is_written_down_as_verified(caller: Caller) -> None:
    fields = caller.fields("plain", "/")
    sent = caller.head("plain", "/", (*fields, ("Connection", "close")))
    await caller.call("plain", "/", fields)
    (entry,) = caller.entries("plain")

    assert (entry.head.labels, entry.head.verified, entry.head.fault) == (BOTH, BOTH, "")
    assert entry.head.algorithms == ("ed25519", "ml-dsa-44")
    assert entry.head.size == len(sent)
    assert entry.head.authority == caller.fleet.authority("plain")
    assert entry.status == 200


@pytest.mark.parametrize("name", [name for name in Name if name is not Name.AUTO])
async def test_each_profile_is_understood(caller: Caller, name: Name) -> None:
    form = Profile(name=name, home=HOME)
    await caller.call("plain", "/", caller.fields("plain", "/", form=form))

    assert caller.entries("plain")[0].head.fault == ""
    assert caller.entries("plain")[0].head.verified == BOTH


async def test_an_unsigned_request_is_a_fault(caller: Caller) -> None:
    await caller.call("plain", "/", ())
    (entry,) = caller.entries("plain")

    assert (entry.head.labels, entry.head.fault) == ((), "it carries no signature")


async def test_a_signature_for_another_path_is_a_fault(caller: Caller) -> None:
    await caller.call("plain", "/page-1", caller.fields("plain", "/"))
    (entry,) = caller.entries("plain")

    assert entry.head.labels == BOTH
    assert entry.head.verified == ()
    assert entry.head.fault == "sig1: bad-signature; sig2: bad-signature"


async def test_a_request_that_is_sent_twice_is_a_fault(caller: Caller) -> None:
    fields = caller.fields("plain", "/")
    await caller.call("plain", "/", fields)
    await caller.call("plain", "/", fields)

    assert caller.entries("plain")[1].head.fault == "sig1: replayed; sig2: replayed"


async def test_fields_that_cannot_be_read_are_a_fault(caller: Caller) -> None:
    await caller.call("plain", "/", (("Signature-Input", "("), ("Signature", "(")))

    assert caller.entries("plain")[0].head.fault == "signature-input-unreadable"


async def test_a_tag_that_is_not_ours_is_a_fault(caller: Caller) -> None:
    fields = tuple(
        (name, value.replace("web-bot-auth-pq", "something"))
        if name == "Signature-Input"
        else (name, value)
        for name, value in caller.fields("plain", "/")
    )
    await caller.call("plain", "/", fields)

    assert caller.entries("plain")[0].head.labels == BOTH
    assert caller.entries("plain")[0].head.fault == "sig2: its tag is none that we know"


async def test_a_request_without_a_host_is_a_fault(caller: Caller) -> None:
    reader, writer = await caller.connect("plain")
    writer.write(b"GET / HTTP/1.0\r\nConnection: close\r\n\r\n")
    await reader.read()
    writer.close()
    await writer.wait_closed()

    assert "no host" in caller.entries("plain")[0].head.fault


async def test_the_doors_know_no_key_before_there_is_one() -> None:
    async with Fleet.start() as fleet:
        stranger = Caller(fleet, Keyring(keys.generate(ED25519)))
        await stranger.call("plain", "/", stranger.fields("plain", "/"))

        assert stranger.entries("plain")[0].head.fault == "sig1: unknown-key"


async def test_a_slow_origin_ends_its_answer_late(caller: Caller) -> None:
    assert await caller.status("slow", "/") == 200

    (entry,) = caller.entries("slow")

    assert entry.ended is not None
    assert entry.ended - entry.arrived >= roster.SLOW


async def test_a_caller_who_leaves_a_slow_origin_leaves_an_entry_without_an_answer(
    caller: Caller,
) -> None:
    _, writer = await caller.connect("slow")
    writer.write(caller.head("slow", "/", caller.fields("slow", "/")))
    await writer.drain()
    await until(caller, lambda: bool(caller.entries("slow")))
    writer.close()
    await writer.wait_closed()
    await until(caller, lambda: caller.entries("slow")[0].ended is not None)
    (entry,) = caller.entries("slow")

    assert (entry.status, entry.ended) == (None, entry.arrived)


async def test_a_drip_goes_on_until_its_caller_leaves(caller: Caller) -> None:
    reader, writer = await caller.connect("drip")
    writer.write(caller.head("drip", "/drip", caller.fields("drip", "/drip")))
    await reader.readuntil(b"\r\n\r\n")
    pieces = [await reader.readuntil(b".") for _ in range(3)]
    writer.close()
    await writer.wait_closed()

    assert len(pieces) == 3
    assert caller.entries("drip")[0].status == 200


async def test_a_reset_comes_before_the_first_byte(caller: Caller) -> None:
    for _ in range(2):
        with pytest.raises(ConnectionResetError):
            await caller.status("reset", "/torn")

    assert await caller.status("reset", "/torn") == 200
    assert [entry.status for entry in caller.entries("reset")] == [None, None, 200]


async def test_a_reset_origin_keeps_no_connection(caller: Caller) -> None:
    reader, writer = await caller.connect("reset")
    writer.write(caller.head("reset", "/", caller.fields("reset", "/")))
    received = await reader.read()  # ends because the server closes
    writer.close()
    await writer.wait_closed()

    assert b"\r\nConnection: close\r\n" in received


@pytest.mark.parametrize(
    ("name", "labels", "status"),
    [
        ("strict", Labels.BOTH, 200),
        ("strict", Labels.FIRST, 403),
        ("single", Labels.BOTH, 401),
        ("single", Labels.FIRST, 200),
        ("small-head", Labels.BOTH, 431),
        ("small-head", Labels.FIRST, 200),
        ("narrow", Labels.BOTH, 200),
        ("robots-503", Labels.BOTH, 200),
        ("retry-after", Labels.BOTH, 200),
    ],
)
async def test_what_signatures_meet_at_a_door(
    caller: Caller, name: str, labels: Labels, status: int
) -> None:
    assert await caller.status(name, "/", labels) == status


async def test_a_cookie_makes_the_head_of_both_signatures_too_large(caller: Caller) -> None:
    cookie = next(one.cookie for one in caller.fleet.residents if one.name == "narrow") or ""
    found = []
    for labels in (Labels.FIRST, Labels.BOTH):
        fields = (*caller.fields("narrow", "/", labels), ("Cookie", cookie))
        head, _ = await caller.call("narrow", "/", fields)
        found.append(int(head.split()[1]))

    assert found == [200, 431]
    assert [entry.head.cookie for entry in caller.entries("narrow")] == [True, True]


async def test_a_page_that_is_known_costs_no_body(caller: Caller) -> None:
    url = f"http://127.0.0.1:{caller.fleet.authority('validators').rpartition(':')[2]}/"
    async with aiohttp.ClientSession() as session:
        async with session.get(url) as first:
            etag = first.headers["ETag"]
        async with session.get(url, headers={"If-None-Match": etag}) as second:
            body = await second.read()

    assert (second.status, body) == (304, b"")
    assert second.headers["ETag"] == etag


async def test_pages_in_other_charsets_link_to_pages_that_are_there(caller: Caller) -> None:
    _, body = await caller.call("charsets", "/", ())

    assert '<a href="/страница">'.encode("windows-1251") in body
    assert await caller.status("charsets", roster.CYRILLIC) == 200
    assert await caller.status("charsets", roster.ACCENTED) == 200
