"""jwcrypto, which nobody here wrote, and our keys: thumbprints, sets, and JWS both ways."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import pytest
from jwcrypto.jwk import JWK, JWKSet  # type: ignore[import-untyped]
from jwcrypto.jws import JWS, InvalidJWSSignature  # type: ignore[import-untyped]

from signing import algorithms, directory, keys
from signing.keys import PrivateKey

ML_DSA: Final = [one for one in algorithms.TABLE if one.kty == "AKP"]
SIGNING: Final = [algorithms.ED25519, *ML_DSA]
PAYLOAD: Final = b"a page, please"


@pytest.fixture(params=SIGNING, ids=lambda one: one.name)
def key(request: pytest.FixtureRequest) -> PrivateKey:
    return keys.generate(request.param)


def theirs(key: PrivateKey) -> JWK:
    return JWK(**key.jwk())


def allowed(jose: str) -> JWS:
    token = JWS(PAYLOAD)
    token.allowed_algs = [jose]
    return token


def unpadded(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def test_the_thumbprint_is_our_keyid(key: PrivateKey) -> None:
    public = JWK(**key.public_key.jwk())

    assert public.thumbprint() == theirs(key).thumbprint() == key.keyid
    assert not public.has_private


def test_a_private_key_has_the_same_public_part_there(key: PrivateKey) -> None:
    exported = theirs(key).export_public(as_dict=True)

    assert keys.read_public(exported).keyid == key.keyid


def test_a_private_key_made_there_is_ours_to_sign_with(key: PrivateKey) -> None:
    made = {
        "OKP": lambda: JWK.generate(kty="OKP", crv="Ed25519"),
        "AKP": lambda: JWK.generate(kty="AKP", alg=key.algorithm.jose[0]),
    }[key.algorithm.kty]()

    read = keys.read_private(made.export().encode())

    assert read.keyid == made.thumbprint()
    assert read.algorithm is key.algorithm


def test_a_key_set_of_both_kinds_is_read_there() -> None:
    ours = [keys.generate(one).public_key for one in SIGNING]

    found = JWKSet.from_json(directory.key_set(ours).decode())

    assert {one.thumbprint() for one in found["keys"]} == {one.keyid for one in ours}


def test_a_jws_signed_there_verifies_here(key: PrivateKey) -> None:
    for jose in key.algorithm.jose:
        token = allowed(jose)
        token.add_signature(theirs(key), None, json.dumps({"alg": jose}), None)
        signed, _, signature = token.serialize(compact=True).rpartition(".")
        value = urlsafe_b64decode(signature + "=" * (-len(signature) % 4))

        assert key.algorithm.verify(key.public, signed.encode(), value)
        assert not key.algorithm.verify(key.public, signed.encode() + b"!", value)


def test_a_jws_signed_here_verifies_there(key: PrivateKey) -> None:
    sign = keys.expanded(key.algorithm, key.secret)
    for jose in key.algorithm.jose:
        signed = f"{unpadded(json.dumps({'alg': jose}).encode())}.{unpadded(PAYLOAD)}"
        token = allowed(jose)

        token.deserialize(f"{signed}.{unpadded(sign(signed.encode()))}", theirs(key))

        assert token.payload == PAYLOAD
        with pytest.raises(InvalidJWSSignature):
            token.deserialize(f"{signed}.{unpadded(sign(b'something else'))}", theirs(key))
