"""What is asked of a directory by whom a bot is enrolled with, rule by rule.

The rules are those of Cloudflare's page on Web Bot Auth, "Host a key directory"; both our own
server's answer and a static one's keep them.
"""

import re
from base64 import b64decode, urlsafe_b64decode
from pathlib import Path

import msgspec
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from published import AUTHORITY, WALL, Answer, by_nginx, keys, served
from servers import NGINX, NGINX_MISSING

from crawler.configuration import SettingsError, load
from signing import directory, fields

WELL_KNOWN = "/.well-known/http-message-signatures-directory"
HELD = keys()


@pytest.fixture(params=["crawl serve", "crawl publish behind nginx"])
async def answer(request: pytest.FixtureRequest, tmp_path: Path) -> Answer:
    if request.param == "crawl serve":
        async with served(HELD) as site:
            return await site.asked(WELL_KNOWN)
    if NGINX is None:
        pytest.skip(NGINX_MISSING)
    with by_nginx(HELD, tmp_path) as site:
        return site.ask(WELL_KNOWN)


def stated(answer: Answer) -> dict[str, dict[str, object]]:
    """The parameters of each label."""
    members = fields.parse_dictionary(answer.field("Signature-Input") or "")
    return {label: dict(member.params) for label, member in members.items()}


def listed(answer: Answer) -> list[dict[str, str]]:
    return msgspec.json.decode(answer.body, type=dict[str, list[dict[str, str]]])["keys"]


def test_it_stands_at_the_well_known_path_without_a_redirect(answer: Answer) -> None:
    assert directory.WELL_KNOWN == WELL_KNOWN
    assert answer.status == 200
    assert answer.field("Location") is None


def test_it_stands_at_an_https_home_only(tmp_path: Path) -> None:
    (tmp_path / "crawler.toml").write_text(
        '[bot]\nproduct = "B"\nhome = "http://bot.example"\ncontact = "mailto:b@bot.example"\n'
    )
    (tmp_path / "origins.toml").write_text('[[origin]]\nname = "o"\nurl = "https://o.example/"\n')

    with pytest.raises(SettingsError, match="not an https origin"):
        load(tmp_path / "crawler.toml")


def test_its_media_type_is_exactly_the_one_asked_for(answer: Answer) -> None:
    assert answer.field("Content-Type") == ("application/http-message-signatures-directory+json")


def test_it_is_a_key_set_of_ed25519_keys_with_what_is_read_of_them(answer: Answer) -> None:
    assert [(key["kty"], key["crv"], len(key["x"])) for key in listed(answer)] == [
        ("OKP", "Ed25519", 43)
    ] * 2
    assert not any("=" in key["x"] for key in listed(answer))


def test_no_private_member_stands_in_it(answer: Answer) -> None:
    assert not any({"d", "priv"} & key.keys() for key in listed(answer))


def test_there_is_one_signature_for_each_key(answer: Answer) -> None:
    assert [one["keyid"] for one in stated(answer).values()] == [
        key["kid"] for key in listed(answer)
    ]
    assert len(fields.parse_dictionary(answer.field("Signature") or "")) == 2


def test_the_tag_is_that_of_a_directory(answer: Answer) -> None:
    assert {one["tag"] for one in stated(answer).values()} == {"http-message-signatures-directory"}


def test_the_keyid_is_the_thumbprint_of_a_key_in_it(answer: Answer) -> None:
    published = directory.read_key_set(answer.body, most=10)

    for one in stated(answer).values():
        keyid = one["keyid"]
        assert isinstance(keyid, str)
        assert published.find(keyid) is not None


def test_created_is_past_and_expires_to_come(answer: Answer) -> None:
    for one in stated(answer).values():
        created, expires = one["created"], one["expires"]
        assert isinstance(created, int)
        assert isinstance(expires, int)
        assert created <= WALL < expires


def test_a_copy_that_is_kept_as_long_as_it_may_be_is_still_signed(answer: Answer) -> None:
    kept = re.search(r"max-age=(\d+)", answer.field("Cache-Control") or "")

    assert kept is not None
    for one in stated(answer).values():
        expires = one["expires"]
        assert isinstance(expires, int)
        assert expires >= WALL + 3600 + int(kept[1])  # fetched an hour after it was signed


def test_the_authority_of_the_request_is_covered(answer: Answer) -> None:
    for one in fields.parse_dictionary(answer.field("Signature-Input") or "").values():
        assert isinstance(one, fields.InnerList)
        assert ("@authority", (("req", True),)) in [(item.value, item.params) for item in one.items]


def test_each_signature_is_good_by_the_letter_of_rfc_9421(answer: Answer) -> None:
    """The base is written out here, and nothing of `signing` is asked."""
    public = {key["kid"]: key["x"] for key in listed(answer)}
    inputs = (answer.field("Signature-Input") or "").split(", sig")
    values = re.findall(r"(\w+)=:([^:]+):", answer.field("Signature") or "")
    for said, (label, value) in zip(inputs, values, strict=True):
        params = said.partition("=")[2]
        keyid = re.findall(r'keyid="([^"]+)"', params)[0]
        base = (
            f'"@authority";req: {AUTHORITY}\n'
            f'"content-digest": {answer.field("Content-Digest")}\n'
            f'"@signature-params": {params}'
        )
        Ed25519PublicKey.from_public_bytes(_base64url(public[keyid])).verify(
            _base64(value), base.encode()
        )
        with pytest.raises(InvalidSignature):
            Ed25519PublicKey.from_public_bytes(_base64url(public[keyid])).verify(
                _base64(value), base.replace(AUTHORITY, "thief.example").encode()
            )
        assert label


def test_ml_dsa_does_not_sign_it(answer: Answer) -> None:
    pq = HELD[2]

    assert pq.keyid not in (answer.field("Signature-Input") or "")
    assert len(answer.field("Signature") or "") < 300


def _base64(text: str) -> bytes:
    return b64decode(text, validate=True)


def _base64url(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
