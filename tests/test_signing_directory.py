"""Key sets are published so that everybody can read them, and read so that nobody can hurt us."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import base, digest, directory, fields
from signing.algorithms import ECDSA_P256, ED25519, ML_DSA_44, TABLE
from signing.directory import KeySet
from signing.errors import ComponentUnavailable, FieldUnwritable, KeySetUnreadable
from signing.keys import PrivateKey
from signing.message import Message

ACTIVE = PrivateKey(ED25519, bytes(range(32)))
NEXT = PrivateKey(ED25519, bytes(range(1, 33)))
PQ = PrivateKey(ML_DSA_44, bytes(range(2, 34)))


def test_ed25519_keys_come_first_and_the_active_one_before_all() -> None:
    document = json.loads(directory.key_set([PQ.public_key, ACTIVE.public_key, NEXT.public_key]))

    assert [key["kid"] for key in document["keys"]] == [ACTIVE.keyid, NEXT.keyid, PQ.keyid]
    assert [key["kty"] for key in document["keys"]] == ["OKP", "OKP", "AKP"]


def test_a_key_set_has_no_secret_and_one_entry_a_key() -> None:
    data = directory.key_set([ACTIVE.public_key, ACTIVE.public_key])

    assert len(json.loads(data)["keys"]) == 1
    assert b'"d"' not in data
    assert b'"priv"' not in data


def test_the_same_keys_give_the_same_bytes() -> None:
    first = directory.key_set([ACTIVE.public_key, PQ.public_key])

    assert first == directory.key_set(iter([ACTIVE.public_key, PQ.public_key]))


def test_a_published_set_reads_back() -> None:
    keys = tuple(
        PrivateKey(algorithm, bytes(range(32))).public_key for algorithm in TABLE if algorithm.signs
    )

    assert directory.read_key_set(directory.key_set(keys), most=10) == KeySet(keys)


def test_a_key_is_found_by_its_thumbprint_whatever_kid_it_claims() -> None:
    lying = {**ACTIVE.public_key.jwk(), "kid": NEXT.keyid}

    found = directory.read_key_set(json.dumps({"keys": [lying]}).encode(), most=1)

    assert found.find(ACTIVE.keyid) == ACTIVE.public_key
    assert found.find(NEXT.keyid) is None


def test_what_cannot_be_used_is_skipped_and_named_and_the_rest_is_kept() -> None:
    entries = [
        {"kty": "RSA", "n": "AQ", "e": "AQAB"},
        ACTIVE.public_key.jwk(),
        {**NEXT.public_key.jwk(), "x": "AQ"},
        "no key at all",
        ACTIVE.jwk(),
        PQ.public_key.jwk(),
    ]

    read = directory.read_key_set(json.dumps({"keys": entries}).encode(), most=10)

    assert read.keys == (ACTIVE.public_key, PQ.public_key)
    assert [line.partition(":")[0] for line in read.skipped] == [
        "keys[0]",
        "keys[2]",
        "keys[3]",
        "keys[4]",
    ]
    assert "'n' must have 2048 to 4096 bits, has 1 (rsa-pss-sha512)" in read.skipped[0]
    assert "no JSON object" in read.skipped[2]
    assert "private member 'd'" in read.skipped[3]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"<html>", id="a page"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{}", id="no keys"),
        pytest.param(b'{"keys":{}}', id="keys is no list"),
        pytest.param(b'{"keys":[]} x', id="something behind it"),
        pytest.param(b'{"keys":[]', id="torn"),
        pytest.param(b'{"keys":["\xff"]}', id="no UTF-8"),
        pytest.param(b"\xef\xbb\xbf{}", id="byte order mark"),
        pytest.param(b'{"keys":' + b"[" * 100_000, id="too deep"),
        pytest.param(b'{"keys":[' + b'{"a":' * 100_000, id="too deep in objects"),
    ],
)
def test_what_is_no_key_set_is_unreadable(data: bytes) -> None:
    with pytest.raises(KeySetUnreadable, match="no JWK Set"):
        directory.read_key_set(data, most=10)


@given(st.one_of(st.binary(), st.text().map(str.encode)))
def test_nothing_that_anybody_serves_raises_another_exception(data: bytes) -> None:
    with pytest.raises(KeySetUnreadable):
        directory.read_key_set(data, most=10)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.lists(JSON, max_size=5))
def test_entries_of_any_shape_are_skipped_one_by_one(entries: list[object]) -> None:
    read = directory.read_key_set(json.dumps({"keys": entries}).encode(), most=5)

    assert read.keys == ()
    assert len(read.skipped) == len(entries)


def test_more_keys_than_are_tolerated_are_refused_as_a_whole() -> None:
    data = directory.key_set([ACTIVE.public_key, NEXT.public_key])

    assert len(directory.read_key_set(data, most=2).keys) == 2
    with pytest.raises(KeySetUnreadable, match="2 keys in one set, 1 are tolerated"):
        directory.read_key_set(data, most=1)


def test_a_directory_is_signed_once_for_each_ed25519_key() -> None:
    body = directory.key_set([ACTIVE.public_key, NEXT.public_key])
    signed = directory.signed_fields(
        body,
        [ACTIVE, PQ, NEXT],
        authority="Bot.example:443",
        created=1_800_000_000,
        expires=1_800_086_400,
    )
    values = dict(signed)
    inputs = fields.parse_dictionary(values["Signature-Input"])
    signatures = fields.parse_dictionary(values["Signature"])
    response = Message(
        status=200,
        fields=signed,
        request=Message(method="GET", scheme="https", authority="bot.example", target="/any"),
    )

    assert list(values) == ["Content-Digest", "Signature-Input", "Signature"]
    assert digest.agrees(values["Content-Digest"], body)
    assert list(inputs) == list(signatures) == ["sig1", "sig2"]
    for (label, member, value), key in zip(
        fields.pair(inputs, signatures), (ACTIVE, NEXT), strict=True
    ):
        params = base.read_params(member)
        text = fields.own_texts(values["Signature"], signatures)[label]
        signature = fields.byte_sequence(value, text)

        assert params.serialize() == (
            '("@authority";req "content-digest");created=1800000000;expires=1800086400;'
            f'keyid="{key.keyid}";tag="http-message-signatures-directory"'
        )
        assert ED25519.verify(key.public, base.signature_base(response, params), signature), label


def test_the_signature_of_a_directory_binds_its_host() -> None:
    values = dict(
        directory.signed_fields(b"{}", [ACTIVE], authority="bot.example", created=1, expires=2)
    )
    params = base.read_params(fields.parse_dictionary(values["Signature-Input"])["sig1"])
    signature = fields.byte_sequence(
        fields.parse_dictionary(values["Signature"])["sig1"], values["Signature"]
    )
    elsewhere = Message(
        status=200,
        fields=tuple(values.items()),
        request=Message(method="GET", scheme="https", authority="thief.example", target="/"),
    )

    assert not ED25519.verify(ACTIVE.public, base.signature_base(elsewhere, params), signature)


@pytest.mark.parametrize("keys", [[], [PQ]], ids=["none", "ML-DSA alone"])
def test_a_directory_without_an_ed25519_key_cannot_be_signed(keys: list[PrivateKey]) -> None:
    with pytest.raises(FieldUnwritable):
        directory.signed_fields(b"{}", keys, authority="bot.example", created=1, expires=2)


def test_an_authority_that_is_none_cannot_be_signed() -> None:
    with pytest.raises(ComponentUnavailable):
        directory.signed_fields(b"{}", [ACTIVE], authority="", created=1, expires=2)


def test_an_ecdsa_key_is_published_and_does_not_sign_the_directory() -> None:
    key = PrivateKey(ECDSA_P256, bytes(range(32)))

    values = dict(
        directory.signed_fields(b"{}", [key, ACTIVE], authority="b.example", created=1, expires=2)
    )

    assert list(fields.parse_dictionary(values["Signature"])) == ["sig1"]
    assert ACTIVE.keyid in values["Signature-Input"]
