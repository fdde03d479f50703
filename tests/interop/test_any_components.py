"""Signatures over any components, ours and theirs: each side accepts what the other signs."""

import secrets
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import verifiers
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, MappingKeyResolver
from http_message_signatures.algorithms import ED25519
from multidict import CIMultiDict
from verifiers import BotgateProfile

from signing import algorithms, coverable, keys, signature, signer
from signing.base import SignatureParams
from signing.message import Component, Message
from signing.profile import Labels, Name, Profile
from signing.signer import Keyring

KEY = keys.generate(algorithms.ED25519)
RESOLVER = MappingKeyResolver(
    public_keys={KEY.keyid: Ed25519PublicKey.from_public_bytes(KEY.public)},
    private_keys={KEY.keyid: Ed25519PrivateKey.from_private_bytes(bytes(KEY.secret))},
)
REQUEST = Message(
    method="POST",
    scheme="https",
    authority="shop.example",
    target="/caf%C3%A9/a%2Fb;c?q=%7E&u=https://x.example/y&empty=&plus=a+b&odd=~'!*()",
    fields=(
        ("Host", "shop.example"),
        ("Accept", "text/html ,  */*;q=0.10"),
        ("Cache-Control", " max-age=60,  no-cache "),
        ("Example-Dict", "  a=1,    b=2;x=1;y=2,   c=(a   b   c), d"),
        ("Example-Header", "value, with, lots"),
        ("Example-Header", "of, commas"),
        ("User-Agent", "ExampleBot/1.0"),
        ("X-Empty", ""),
    ),
)
RESPONSE = Message(status=201, fields=(("Location", "/a/1"), ("Age", " 007 ")), request=REQUEST)
OF_REQUESTS = (
    *(Component(name) for name in ("@method", "@target-uri", "@authority", "@scheme", "@path")),
    *(Component(name) for name in ("@request-target", "@query", "accept", "x-empty")),
    *(Component("@query-param", (("name", name),)) for name in ("q", "u", "empty", "plus", "odd")),
    *(Component(name, (("sf", True),)) for name in ("accept", "cache-control")),
    *(Component("example-dict", (("key", key),)) for key in "abcd"),
    Component("example-header", (("bs", True),)),
    Component("example-header"),
)
OF_RESPONSES = (
    Component("@status"),
    Component("location"),
    Component("age", (("sf", True),)),
    *(Component(item.name, (*item.params, ("req", True))) for item in OF_REQUESTS),
)


def theirs(message: Message) -> SimpleNamespace:
    """The message as http-message-signatures takes it."""
    headers = CIMultiDict(message.fields)
    if message.status is None:
        url = f"{message.scheme}://{message.authority}{message.target}"
        return SimpleNamespace(method=message.method, url=url, headers=headers)
    assert message.request is not None
    return SimpleNamespace(
        status_code=message.status, headers=headers, request=theirs(message.request)
    )


BOTH = pytest.mark.parametrize(
    ("message", "covered"),
    [
        pytest.param(REQUEST, OF_REQUESTS, id="request"),
        pytest.param(RESPONSE, OF_RESPONSES, id="response"),
    ],
)


@BOTH
def test_http_message_signatures_verifies_what_we_sign(
    message: Message, covered: tuple[Component, ...]
) -> None:
    now = int(time.time())
    params = SignatureParams(
        covered, (("created", now), ("expires", now + 60), ("keyid", KEY.keyid), ("tag", "t"))
    )
    made = signature.written([signature.sign(message, KEY, params, "any")])

    (result,) = HTTPMessageVerifier(signature_algorithm=ED25519, key_resolver=RESOLVER).verify(
        theirs(replace(message, fields=(*message.fields, *made))), expect_tag="t"
    )

    assert result.label == "any"
    assert len(result.covered_components) == len(covered) + 1  # and the parameters


@BOTH
def test_we_verify_what_http_message_signatures_signs(
    message: Message, covered: tuple[Component, ...]
) -> None:
    signed = theirs(message)
    HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=RESOLVER).sign(
        signed,
        key_id=KEY.keyid,
        label="theirs",
        covered_component_ids=[item.identifier for item in covered],
    )

    (found,) = signature.read(replace(message, fields=tuple(signed.headers.items())))

    assert found.label == "theirs"
    assert found.params.covered == covered
    assert found.fault(message, KEY.public_key) is None


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("@method", "@authority", "@path", "@query", "user-agent"), id="a field more"),
        pytest.param(("@query", "@path", "@method", "@authority"), id="another order"),
        pytest.param(
            ("accept", "@method", "@scheme", "@authority", "@path", "@query", "@target-uri"),
            id="all of the target",
        ),
    ],
)
def test_a_request_that_covers_what_somebody_chose_is_accepted(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    sent = (("Host", "shop.example"), ("User-Agent", "ExampleBot/1.0"), ("Accept", "*/*"))
    url = "https://shop.example/a?b=1"
    covered = coverable.components(names, ("accept", "user-agent"))
    message = Message(
        method="GET", scheme="https", authority="shop.example", target="/a?b=1", fields=sent
    )
    signed = signer.sign(
        message,
        Keyring(KEY),
        Profile(name=Name.BRIDGE, home="https://bot.example", covered=covered),
        int(time.time()) - 3,
        secrets.token_bytes(64),
        Labels.FIRST,
    )
    fields = [*sent, *signed.fields]

    verifiers.first_by_message_signatures("GET", url, fields, KEY.public)
    complaints = verifiers.first_by_botgate(
        "GET", url, fields, KEY.public, BotgateProfile.IETF, tmp_path
    )

    assert complaints == []
