"""Key sets over the wire, and everything that a directory can do wrong."""

import asyncio
import gzip
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import keyhouse
import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from keyhouse import Answer, House

from crawler.serve import reader
from crawler.serve.reader import NoKeySet, Reach, Reader
from signing import algorithms, directory, keys
from signing.verifier import Reason

KEY = keys.generate(algorithms.ED25519).public_key
SECOND = keys.generate(algorithms.ML_DSA_44).public_key
SET = directory.key_set([KEY])
UNAVAILABLE, MALFORMED = Reason.DIRECTORY_UNAVAILABLE, Reason.DIRECTORY_MALFORMED


@asynccontextmanager
async def reading(
    reach: Reach | None = None, resolver: AbstractResolver | None = None, seconds: float = 5.0
) -> AsyncIterator[Reader]:
    made = Reader(reach or keyhouse.reach(), resolver, seconds)
    try:
        yield made
    finally:
        await made.close()


def respond(
    body: bytes = SET, *, status: int = 200, type: str = directory.MEDIA_TYPE, **fields: str
) -> Answer:
    async def answer(_: web.Request) -> web.Response:
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        return web.Response(body=body, status=status, headers={"Content-Type": type, **headers})

    return answer


async def drip(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": directory.MEDIA_TYPE})
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.01)


async def endless(request: web.Request) -> web.StreamResponse:
    """Blanks for ever, in chunks: no Content-Length warns of them."""
    response = web.StreamResponse(headers={"Content-Type": directory.MEDIA_TYPE})
    await response.prepare(request)
    while True:
        await response.write(b" " * 4096)


async def silent(_: web.Request) -> web.Response:
    await asyncio.sleep(60)
    raise AssertionError("nobody waits so long")


async def hang_up(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@pytest.mark.parametrize(
    ("answer", "lifetime"),
    [
        pytest.param(respond(), None, id="the media type of directories"),
        pytest.param(respond(type="application/jwk-set+json"), None, id="that of key sets"),
        pytest.param(respond(type="application/json; charset=utf-8"), None, id="plain JSON"),
        pytest.param(respond(gzip.compress(SET), Content_Encoding="gzip"), None, id="gzip"),
        pytest.param(respond(Cache_Control="public, max-age=600"), 600.0, id="ten minutes"),
        pytest.param(respond(Cache_Control="max-age=600, no-cache"), 0.0, id="not to be kept"),
        pytest.param(respond(SET.ljust(reader.DECODED)), None, id="as large as may be"),
    ],
)
async def test_a_set_is_read(answer: Answer, lifetime: float | None) -> None:
    async with keyhouse.opened(answer) as house, reading() as reads:
        found = await reads.read(house.url("/keys"))

    assert found.keys.keys == (KEY,)
    assert found.lifetime == lifetime
    assert house.asked == ["/keys"]


async def test_a_set_with_both_algorithms_and_one_that_we_do_not_know_is_read() -> None:
    document = json.loads(directory.key_set([KEY, SECOND]))
    document["keys"].append({"kty": "new", "kid": "x"})
    answer = respond(json.dumps(document).encode())

    async with keyhouse.opened(answer) as house, reading() as reads:
        found = await reads.read(house.url("/keys"))

    assert found.keys.keys == (KEY, SECOND)
    assert len(found.keys.skipped) == 1


BOMB = gzip.compress(SET.ljust(16 * 2**20))
MANY = json.dumps({"keys": [KEY.jwk()] * 11}).encode()


@pytest.mark.parametrize(
    ("answer", "reason", "why"),
    [
        pytest.param(respond(status=404), UNAVAILABLE, "answers 404", id="404"),
        pytest.param(respond(status=503), UNAVAILABLE, "answers 503", id="503"),
        pytest.param(
            respond(status=302, Location="/keys"), UNAVAILABLE, "answers 302", id="redirect"
        ),
        pytest.param(hang_up, UNAVAILABLE, "disconnected", id="no answer"),
        pytest.param(silent, UNAVAILABLE, "within 0.3 s", id="slow to begin"),
        pytest.param(drip, UNAVAILABLE, "within 0.3 s", id="slow to end"),
        pytest.param(respond(type="text/html"), MALFORMED, "text/html", id="HTML"),
        pytest.param(respond(b"<html>"), MALFORMED, "no JWK Set", id="HTML that claims JSON"),
        pytest.param(respond(b'{"kty":"OKP"}'), MALFORMED, "no JWK Set", id="a single key"),
        pytest.param(respond(MANY), MALFORMED, "11 keys", id="too many keys"),
        pytest.param(
            respond(SET.ljust(reader.DECODED + 1)), MALFORMED, "65536 bytes", id="oversize"
        ),
        pytest.param(endless, MALFORMED, "65536 bytes", id="endless"),
        pytest.param(respond(BOMB, Content_Encoding="gzip"), MALFORMED, "65536 bytes", id="bomb"),
        pytest.param(
            respond(gzip.compress(b"") * 60_000, Content_Encoding="gzip"),
            MALFORMED,
            "gzip members",
            id="much that makes nothing",
        ),
        pytest.param(
            respond(gzip.compress(SET)[:-8], Content_Encoding="gzip"),
            MALFORMED,
            "ends early",
            id="torn gzip",
        ),
        pytest.param(
            respond(Content_Encoding="br"), MALFORMED, "not asked for", id="another coding"
        ),
    ],
)
async def test_what_is_no_set_has_its_reason(answer: Answer, reason: Reason, why: str) -> None:
    async with keyhouse.opened(answer) as house, reading(seconds=0.3) as reads:
        with pytest.raises(NoKeySet, match=why) as caught:
            await reads.read(house.url("/keys"))

    assert caught.value.reason is reason
    assert len(house.asked) == 1


def with_port(house: House, host: str) -> str:
    return f"https://{host}:{house.port}/keys"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        pytest.param(lambda house: house.url("/keys"), "loopback", id="a name that leads there"),
        pytest.param(lambda house: with_port(house, "127.0.0.1"), "loopback", id="loopback"),
        pytest.param(lambda house: with_port(house, "[::1]"), "loopback", id="IPv6 loopback"),
        pytest.param(
            lambda house: with_port(house, "[::ffff:127.0.0.1]"), "embedded", id="mapped loopback"
        ),
        pytest.param(lambda _: "https://10.0.0.1/", "private", id="private"),
        pytest.param(lambda _: "https://192.168.1.1/", "private", id="private 192"),
        pytest.param(lambda _: "https://[fc00::1]/", "private", id="unique local"),
        pytest.param(lambda _: "https://169.254.1.1/", "link-local", id="link-local"),
        pytest.param(lambda _: "https://100.64.0.1/", "cgnat", id="CGNAT"),
        pytest.param(lambda _: "https://224.0.0.1/", "multicast", id="multicast"),
        pytest.param(lambda _: "https://169.254.169.254/", "metadata", id="metadata"),
        pytest.param(lambda _: "https://0.0.0.0/", "unspecified", id="unspecified"),
        pytest.param(lambda _: "https://2130706433/", "canonical", id="an address as a number"),
        pytest.param(lambda _: "http://bot.example/keys", "over https", id="plain http"),
        pytest.param(lambda _: "ftp://bot.example/keys", "over https", id="ftp"),
        pytest.param(lambda _: f"https://bot.example/{'a' * 2048}", "2048", id="a long URL"),
        pytest.param(lambda _: "https:///keys", "https:///keys", id="no host"),
    ],
)
async def test_what_must_not_be_asked_is_not(url: Callable[[House], str], why: str) -> None:
    async with keyhouse.opened(respond()) as house, reading(keyhouse.reach(local=False)) as reads:
        with pytest.raises(NoKeySet, match=why) as caught:
            await reads.read(url(house))

    assert caught.value.reason is UNAVAILABLE
    assert house.asked == []


class Fickle(AbstractResolver):
    """Answers each question with the next of its addresses."""

    def __init__(self, *answers: str) -> None:
        self.left = list(answers)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=self.left.pop(0),
                port=port,
                family=socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
        ]

    async def close(self) -> None:
        """Nothing is kept open."""


async def test_a_name_is_resolved_once_and_asked_at_the_address_that_was_checked() -> None:
    """A rebinding name has no second answer to give: whoever checks first and connects later by
    name would ask for one."""
    fickle = Fickle("127.0.0.1", "169.254.169.254")
    async with keyhouse.opened(respond()) as house, reading(resolver=fickle) as reads:
        found = await reads.read(house.url("/keys"))

    assert found.keys.keys == (KEY,)
    assert fickle.left == ["169.254.169.254"]


async def test_each_fetch_checks_anew_where_the_name_leads() -> None:
    fickle = Fickle("127.0.0.1", "169.254.169.254", "127.0.0.1")
    async with keyhouse.opened(respond()) as house, reading(resolver=fickle) as reads:
        await reads.read(house.url("/keys"))
        with pytest.raises(NoKeySet, match="metadata"):
            await reads.read(house.url("/keys"))
        await reads.read(house.url("/keys"))

    assert house.asked == ["/keys"] * 2


async def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    async with keyhouse.opened(respond()) as house, reading(Reach(local=True)) as reads:
        with pytest.raises(NoKeySet, match="certificate") as caught:
            await reads.read(house.url("/keys"))

    assert caught.value.reason is UNAVAILABLE


async def test_a_url_of_the_operators_own_may_be_plain_http() -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=SET, content_type="application/json")

    app = web.Application()
    app.router.add_get("/keys", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with reading(Reach(local=True)) as reads:
        found = await reads.read(f"http://127.0.0.1:{runner.addresses[0][1]}/keys")
    await runner.cleanup()

    assert found.keys.keys == (KEY,)
