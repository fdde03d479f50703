"""What we publish, fetched from a real server on loopback."""

from collections.abc import AsyncIterator

import aiohttp
import msgspec
import pytest
from aiohttp import web

from crawler.serve import publish
from crawler.settings import Bot, Origin, ProfileName, Publish, Second, Settings
from signing import directory
from signing.algorithms import ED25519, by_name
from signing.base import read_params, signature_base
from signing.fields import byte_sequence, parse_dictionary
from signing.keys import PrivateKey, generate
from signing.message import Message

WALL = 1_800_000_000.0
AUTHORITY = "bot.example"


def settings(
    *,
    combined: bool = False,
    profile: ProfileName = ProfileName.AUTO,
    sig2: Second = Second.WATCH,
) -> Settings:
    origin = Origin(name="example", url="https://example.com/", profile=profile, sig2=sig2)
    bot = Bot(
        product="ExampleBot",
        home="https://bot.example",
        contact="mailto:bot@bot.example",
        purpose="reads <b>twenty</b> sites",
    )
    return Settings(base=".", bot=bot, publish=Publish(combined=combined), origins=(origin,))


@pytest.fixture(scope="module")
def keys() -> tuple[PrivateKey, PrivateKey]:
    return generate(ED25519), generate(by_name("ml-dsa-44"))


@pytest.fixture
async def site(keys: tuple[PrivateKey, PrivateKey]) -> AsyncIterator[str]:
    found = publish.documents(settings(), [key.public_key for key in keys], [keys[0].keyid])
    app = publish.application(
        lambda: found, lambda: keys[:1], authority=AUTHORITY, wall=lambda: WALL
    )
    runner = web.AppRunner(app)
    await runner.setup()
    server = web.TCPSite(runner, "127.0.0.1", 0)
    await server.start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}"
    await runner.cleanup()


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        pytest.param(directory.WELL_KNOWN, directory.MEDIA_TYPE, id="well-known"),
        pytest.param("/", publish.JWK_SET, id="bare origin, for bridge"),
    ],
)
async def test_the_ed25519_set_stands_alone_and_without_private_members(
    site: str, keys: tuple[PrivateKey, PrivateKey], path: str, media_type: str
) -> None:
    async with aiohttp.ClientSession() as session, session.get(site + path) as answer:
        body = await answer.read()

    found = msgspec.json.decode(body)["keys"]
    assert answer.status == 200
    assert answer.headers["Content-Type"] == media_type
    assert [key["kid"] for key in found] == [keys[0].keyid]
    assert not {"d", "priv"} & found[0].keys()
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Cache-Control"] == "public, max-age=86400, no-transform"


async def test_the_directory_is_signed_for_our_home_whatever_host_was_asked(
    site: str, keys: tuple[PrivateKey, PrivateKey]
) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(site + directory.WELL_KNOWN, headers={"Host": "evil.example"}) as answer,
    ):
        fields = tuple(answer.headers.items())

    ((label, stated),) = parse_dictionary(answer.headers["Signature-Input"]).items()
    ((_, value),) = parse_dictionary(answer.headers["Signature"]).items()
    params = read_params(stated)
    request = Message(
        method="GET", scheme="https", authority=AUTHORITY, target=directory.WELL_KNOWN, fields=()
    )
    response = Message(
        method="GET",
        scheme="https",
        authority=AUTHORITY,
        target=directory.WELL_KNOWN,
        fields=fields,
        status=200,
        request=request,
    )
    base = signature_base(response, params)
    assert label
    assert ED25519.verify(keys[0].public, base, byte_sequence(value, answer.headers["Signature"]))


async def test_the_post_quantum_keys_have_a_set_of_their_own(
    site: str, keys: tuple[PrivateKey, PrivateKey]
) -> None:
    async with aiohttp.ClientSession() as session, session.get(site + publish.PQ_KEYS) as answer:
        found = msgspec.json.decode(await answer.read())["keys"]

    assert answer.headers["Content-Type"] == publish.JWK_SET
    assert [(key["kty"], key["kid"]) for key in found] == [("AKP", keys[1].keyid)]
    assert "Signature" not in answer.headers


async def test_the_bot_page_escapes_what_the_operator_wrote(site: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(site + "/bot") as answer:
        text = await answer.text()

    assert "reads &lt;b&gt;twenty&lt;/b&gt; sites" in text
    assert "mailto:bot@bot.example" in text
    assert "<script" not in text


async def test_an_unchanged_document_is_not_sent_again(site: str) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(site + "/bot") as first:
            etag = first.headers["ETag"]
        async with session.get(site + "/bot", headers={"If-None-Match": f'"x", W/{etag}'}) as again:
            body = await again.read()
        async with session.head(site + "/bot") as head:
            length = head.headers["Content-Length"]

    assert (again.status, body, again.headers["ETag"]) == (304, b"", etag)
    assert int(length) > 1000


async def test_nothing_else_is_there(site: str) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(site + "/keys") as missing:
            pass
        async with session.post(site + "/bot") as post:
            pass

    assert (missing.status, post.status) == (404, 405)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(settings(combined=True), id="by setting"),
        pytest.param(settings(profile=ProfileName.PUBLISHED), id="by the published profile"),
        pytest.param(
            settings(profile=ProfileName.LEGACY, sig2=Second.ALWAYS), id="by legacy with sig2"
        ),
        pytest.param(
            settings(profile=ProfileName.AUTO, sig2=Second.ALWAYS), id="by what auto may choose"
        ),
    ],
)
def test_a_combined_set_holds_both_keys_ed25519_first(
    keys: tuple[PrivateKey, PrivateKey], asked: Settings
) -> None:
    found = publish.documents(asked, [key.public_key for key in keys], [])

    listed = msgspec.json.decode(found[directory.WELL_KNOWN].body)["keys"]
    assert [key["kty"] for key in listed] == ["OKP", "AKP"]


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(settings(profile=profile, sig2=sig2), id=f"{profile}, sig2 {sig2}")
        for profile, sig2 in (
            (ProfileName.LEGACY, Second.WATCH),
            (ProfileName.AUTO, Second.WATCH),
            (ProfileName.AUTO, Second.NEVER),
            (ProfileName.BRIDGE, Second.ALWAYS),
            (ProfileName.IETF_01, Second.ALWAYS),
            (ProfileName.IETF_00, Second.ALWAYS),
        )
    ],
)
def test_no_akp_key_stands_in_the_set_where_sig2_has_a_place_of_its_own(
    keys: tuple[PrivateKey, PrivateKey], asked: Settings
) -> None:
    found = publish.documents(asked, [key.public_key for key in keys], [])

    listed = msgspec.json.decode(found[directory.WELL_KNOWN].body)["keys"]
    assert [key["kty"] for key in listed] == ["OKP"]
