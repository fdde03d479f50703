"""What we publish, fetched from a real server on loopback."""

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import AsyncIterator

import aiohttp
import msgspec
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from published import AUTHORITY, CARD, WALL, running, served

from crawler.serve import publish, static
from crawler.settings import Bot, Origin, ProfileName, Publish, Second, Settings
from signing import digest, directory
from signing.algorithms import ED25519, by_name
from signing.base import read_params, signature_base
from signing.fields import byte_sequence, parse_dictionary
from signing.keys import PrivateKey, generate
from signing.message import Message

PATHS = (directory.WELL_KNOWN, "/", publish.PQ_KEYS, CARD, "/bot")
NAMES = ("ed25519", "ml-dsa-44", "ml-dsa-65")


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


@pytest.mark.parametrize("path", PATHS)
async def test_head_has_every_field_of_get(keys: tuple[PrivateKey, PrivateKey], path: str) -> None:
    async with served(keys) as at:
        got, head = await at.asked(path), await at.asked(path, "HEAD")

    assert (head.status, head.body) == (200, b"")
    assert head.without("date") == got.without("date")
    assert head.field("Content-Length") == str(len(got.body))


@pytest.mark.parametrize("path", PATHS)
async def test_each_document_states_its_digest(
    keys: tuple[PrivateKey, PrivateKey], path: str
) -> None:
    async with served(keys) as at:
        answer = await at.asked(path, Accept_Encoding="gzip")

    assert digest.agrees(answer.field("Content-Digest") or "", answer.body)
    assert answer.field("Content-Encoding") is None
    assert "no-transform" in (answer.field("Cache-Control") or "")


@pytest.mark.parametrize("path", PATHS)
async def test_an_unchanged_document_is_not_sent_again(
    keys: tuple[PrivateKey, PrivateKey], path: str
) -> None:
    async with served(keys) as at:
        got = await at.asked(path)
        etag = got.field("ETag")
        again = await at.asked(path, If_None_Match=f'"x", W/{etag}')
        whole = [
            await at.asked(path, If_None_Match='"x"'),
            await at.asked(path, If_Modified_Since="Fri, 01 Jan 2100 00:00:00 GMT"),
        ]
        failed = await at.asked(path, If_Match='"x"')

    assert (again.status, again.body) == (304, b"")
    assert again.without("date") == got.without("date", "content-type", "content-length")
    assert [answer.status for answer in whole] == [200, 200]
    assert failed.status == 412


async def test_scripts_of_other_origins_may_ask(keys: tuple[PrivateKey, PrivateKey]) -> None:
    async with served(keys) as at:
        answer = await at.asked(publish.PQ_KEYS, "OPTIONS", Origin="https://tool.example")

    assert (answer.status, answer.body) == (204, b"")
    assert [answer.field(name) for name, _ in publish.PREFLIGHT] == [
        value for _, value in publish.PREFLIGHT
    ]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"])
async def test_nothing_else_is_done_with_it(
    keys: tuple[PrivateKey, PrivateKey], method: str
) -> None:
    async with served(keys) as at:
        answer = await at.asked("/bot", method)

    assert answer.status == 405
    assert {*(answer.field("Allow") or "").replace(" ", "").split(",")} == {
        "GET",
        "HEAD",
        "OPTIONS",
    }


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST"])
@pytest.mark.parametrize("path", ["/keys", "/bot/", "/.well-known/", "/..%2fkeys", "*"])
async def test_nothing_else_is_there(
    keys: tuple[PrivateKey, PrivateKey], method: str, path: str
) -> None:
    async with served(keys) as at:
        answer = await at.asked(path, method)

    assert answer.status in (400, 404)
    assert answer.field("Signature") is None


async def test_the_card_names_the_url_that_it_is_fetched_from(
    keys: tuple[PrivateKey, PrivateKey],
) -> None:
    async with served(keys) as at:
        answer = await at.asked(CARD)

    card = msgspec.json.decode(answer.body)
    assert answer.field("Content-Type") == "application/json"
    assert card["client_id"] == f"https://{AUTHORITY}{CARD}"
    assert card["jwks_uri"] == f"https://{AUTHORITY}{directory.WELL_KNOWN}"


async def test_a_signature_is_made_anew_in_time_and_with_new_keys() -> None:
    clock, held = [WALL], [generate(ED25519)]

    def found() -> dict[str, publish.Document]:
        return publish.documents(settings(), [key.public_key for key in held], [])

    app = publish.application(
        found, lambda: held, authority=AUTHORITY, wall=lambda: clock[0], skew=3
    )
    async with running(app) as at:
        first = await at.asked("/")
        clock[0] += 3599
        same = await at.asked("/")
        clock[0] += 1
        later = await at.asked("/")
        clock[0] -= 7200
        earlier = await at.asked("/")
        held.append(generate(ED25519))
        with_another = await at.asked("/")
        held.clear()
        with_none = await at.asked("/")

    said = [answer.field("Signature-Input") or "" for answer in (first, same, later, earlier)]
    assert said[0] == said[1]
    assert [
        f";created={int(WALL) + shift};" in text
        for text, shift in zip(said, (-3, -3, 3597, -3603), strict=True)
    ] == [True] * 4
    assert (with_another.field("Signature") or "").count("sig") == 2
    assert with_none.body == b'{"keys":[]}'
    assert with_none.field("Signature") is None
    assert digest.agrees(with_none.field("Content-Digest") or "", with_none.body)


def test_ml_dsa_signs_no_directory_even_where_its_key_stands_in_it(
    keys: tuple[PrivateKey, PrivateKey],
) -> None:
    found = publish.documents(settings(combined=True), [key.public_key for key in keys], [])

    fields = dict(
        publish.signed(found[directory.WELL_KNOWN], keys, authority=AUTHORITY, created=1, expires=2)
    )

    assert keys[1].keyid.encode() in found[directory.WELL_KNOWN].body
    assert keys[1].keyid not in fields["Signature-Input"]
    assert list(parse_dictionary(fields["Signature"])) == ["sig1"]


@given(seeds=st.lists(st.binary(min_size=32, max_size=32), min_size=2, max_size=4), data=st.data())
def test_no_document_and_no_field_ever_has_a_secret(
    seeds: list[bytes], data: st.DataObject
) -> None:
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=len(seeds), max_size=len(seeds)))
    held = [PrivateKey(by_name(name), seed) for name, seed in zip(names, seeds, strict=True)]
    found = publish.documents(
        settings(combined=data.draw(st.booleans())), [key.public_key for key in held], []
    )
    term = static.Term(created=1, expires=100_000)

    files = static.files(found, held, authority=AUTHORITY, term=term)

    everything = b"\n".join(files.values())
    for seed in seeds:
        for spelled in (
            seed,
            seed.hex().encode(),
            b64encode(seed).rstrip(b"="),
            urlsafe_b64encode(seed).rstrip(b"="),
        ):
            assert spelled not in everything
    assert not re.search(rb'"(d|priv)"', everything)


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
