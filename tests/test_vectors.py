"""Published vectors, through our own modules. They are read where VECTORS says and never copied.

Every case is held to its own expected result, and every file to the number of cases that it is
known to have, so that an empty or a changed file does not pass.
"""

import json
from base64 import b64decode, urlsafe_b64decode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from signing import algorithms, base, fields, jwk, keys, verifier
from signing.algorithms import (
    ECDSA_P256,
    ED25519,
    ML_DSA_44,
    ML_DSA_65,
    ML_DSA_87,
    RSA_PSS_SHA512,
    Algorithm,
)
from signing.base import SignatureParams
from signing.errors import KeyUnreadable
from signing.judgement import Keying, Policy, Reason
from signing.keys import PrivateKey
from signing.message import Message

ML_DSA = pytest.mark.parametrize(
    "algorithm", [ML_DSA_44, ML_DSA_65, ML_DSA_87], ids=lambda algorithm: algorithm.name
)


def load(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def private(members: dict[str, Any]) -> PrivateKey:
    """A key whose published JWK has a name of its own as its kid, which we would refuse."""
    return keys.read_private(json.dumps({**members, "kid": jwk.thumbprint(members)}).encode())


def only_label(signature_input: str, signature: str) -> tuple[SignatureParams, bytes]:
    [(_, member, value)] = fields.pair(
        fields.parse_dictionary(signature_input), fields.parse_dictionary(signature)
    )
    return base.read_params(member), fields.byte_sequence(value, signature)


# RFC 9421 -------------------------------------------------------------------------------------


def test_rfc_9421_b_2_6_is_built_signed_and_verified_byte_for_byte(vectors: Path) -> None:
    vector = load(vectors / "rfc9421" / "b26_ed25519.json")
    request = vector["request"]
    message = Message(
        method=request["method"],
        scheme="https",
        authority=request["headers"]["Host"],
        target=request["target"],
        fields=tuple(request["headers"].items()),
    )
    params, signature = only_label(vector["signature_input"], vector["signature"])
    key = private(vector["jwk"])
    built = base.signature_base(message, params)

    assert built == vector["signature_base"].encode("ascii")
    assert f"sig-b26={params.serialize()}" == vector["signature_input"]
    assert key.keyid == vector["jwk_thumbprint"]
    assert keys.expanded(key.algorithm, key.secret)(built) == signature
    assert key.algorithm.verify(key.public, built, signature)
    assert keys.is_published_test_key(key.keyid)


# RFC 9964 -------------------------------------------------------------------------------------


@ML_DSA
def test_rfc_9964_key_thumbprint_and_jws(vectors: Path, algorithm: Algorithm) -> None:
    vector = load(vectors / "rfc9964" / f"{algorithm.name.upper().replace('-', '_')}.jose.json")
    key = keys.read_private(json.dumps(vector["jwk"]).encode())
    protected, payload, signature = vector["jws"].split(".")
    signed = f"{protected}.{payload}".encode("ascii")
    raw = jwk.decode({"signature": signature}, "signature")

    assert key.algorithm is algorithm
    assert key.secret == bytes.fromhex(vector["priv"])
    assert key.public == bytes.fromhex(vector["raw_public_key"])
    assert key.keyid == vector["jwk"]["kid"]
    assert key.jwk() == vector["jwk"]
    assert signed == bytes.fromhex(vector["raw_to_be_signed"])
    assert raw == bytes.fromhex(vector["raw_signature"])
    assert algorithm.verify(key.public, signed, raw)
    assert algorithm.verify(key.public, signed, keys.expanded(algorithm, key.secret)(signed))
    assert keys.is_published_test_key(key.keyid)


@ML_DSA
def test_rfc_9964_appendix_a(vectors: Path, algorithm: Algorithm) -> None:
    document = load(vectors / "rfc9964" / "rfc9964_appendix_a.json")
    vector = document["vectors"][algorithm.jose[0]]
    key = PrivateKey(algorithm, bytes.fromhex(document["seed_hex"]))
    signed, _, signature = vector["jws"].rpartition(".")
    protected, payload = (urlsafe_b64decode(part + "==") for part in signed.split("."))

    assert key.public == bytes.fromhex(vector["raw_public_key"])
    assert key.keyid == vector["kid"]
    assert json.loads(protected) == {"alg": algorithm.jose[0], "kid": key.keyid}
    assert payload.decode("utf-8") == document["payload"]
    assert algorithm.verify(key.public, signed.encode(), jwk.decode({"s": signature}, "s"))


# ML-DSA in HTTP signatures --------------------------------------------------------------------


@ML_DSA
def test_c2sp_httpsig_pq(vectors: Path, algorithm: Algorithm) -> None:
    document = load(vectors / "httpsig-pq" / "c2sp_httpsig_pq_v1.0.0.json")
    [vector] = [each for each in document["vectors"] if each["algorithm"] == algorithm.name]
    message = Message(
        method="GET",
        scheme="https",
        authority="example.com",
        target="/foo?param=Value&Pet=dog",
        fields=(("Host", "example.com"), ("Date", "Mon, 06 Jul 2026 20:00:00 GMT")),
    )
    name, _, value = vector["serialized_signature_input"].partition(": ")
    params = base.read_params(fields.parse_dictionary(value)["sig1"])
    key = PrivateKey(algorithm, bytes.fromhex(vector["private_key_seed_hex"]))
    built = base.signature_base(message, params)

    assert name == "Signature-Input"
    assert key.public == b64decode(vector["public_key_base64"])
    assert built == b64decode(vector["signature_base_base64"])
    assert len(built) == vector["signature_base_length"]
    assert sha256(built).hexdigest() == vector["signature_base_sha256"]
    assert algorithms.by_name(params.string("alg") or "") is algorithm
    assert algorithm.verify(key.public, built, b64decode(vector["deterministic_signature_base64"]))
    assert algorithm.verify(key.public, built, keys.expanded(algorithm, key.secret)(built))
    assert keys.is_published_test_key(key.keyid)


@pytest.mark.parametrize("name", ["ml-dsa-44", "ml-dsa-65"])
def test_draft_skokan(vectors: Path, name: str) -> None:
    vector = load(vectors / "httpsig-pq" / "draft_skokan_examples.json")[name]
    members = json.loads(vector["key.jwk"])
    lines = dict(line.split(": ", 1) for line in vector["signature-fields.txt"].split("\n"))
    message = Message(
        method="POST",
        scheme="https",
        authority="example.com",
        target="/foo?param=Value&Pet=dog",
        fields=(
            ("Date", "Tue, 20 Apr 2021 02:07:55 GMT"),
            ("Content-Type", "application/json"),
            ("Content-Length", "18"),
        ),
    )
    params, signature = only_label(lines["Signature-Input"], lines["Signature"])
    key = private(members)
    built = base.signature_base(message, params)

    assert key.algorithm.name == params.string("alg") == name
    assert key.secret == b64decode(vector["seed.txt"])
    assert built == vector["signature-base.txt"].encode("ascii")
    assert key.algorithm.verify(key.public, built, signature)
    assert keys.is_published_test_key(key.keyid)


@pytest.mark.parametrize("name", ["ml-dsa-44", "ml-dsa-65"])
def test_a_kid_that_is_no_thumbprint_is_refused_in_our_own_key_file(
    vectors: Path, name: str
) -> None:
    vector = load(vectors / "httpsig-pq" / "draft_skokan_examples.json")[name]

    with pytest.raises(KeyUnreadable, match="'kid' must be its thumbprint"):
        keys.read_private(vector["key.jwk"].encode())


# Web Bot Auth ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_web_bot_auth_architecture(vectors: Path, version: str) -> None:
    cases = load(vectors / "webbotauth" / f"web_bot_auth_architecture_{version}.json")
    ed25519 = [case for case in cases if case["key"]["kty"] == "OKP"]

    for case in ed25519:
        url = urlsplit(case["target_url"])
        agent = case.get("signature_agent")
        message = Message(
            method="GET",
            scheme=url.scheme,
            authority=url.netloc,
            target=url.path,
            fields=(("Signature-Agent", agent),) if agent else (),
        )
        params, signature = only_label(case["signature_input"], case["signature"])
        key = private(case["key"])
        built = base.signature_base(message, params)

        assert f"{case['label']}={params.serialize()}" == case["signature_input"]
        assert params.string("keyid") == key.keyid
        assert params.string("nonce") == case["nonce"]
        assert params.string("tag") == "web-bot-auth"
        assert params.integer("created") == case["created_ms"] // 1000
        assert params.integer("expires") == case["expires_ms"] // 1000
        assert algorithms.by_name(params.string("alg") or "") is key.algorithm is ED25519
        assert ED25519.verify(key.public, built, signature)
        assert keys.expanded(ED25519, key.secret)(built) == signature
    assert len(ed25519) == 2
    assert len(cases) == 4


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_web_bot_auth_architecture_with_rsa(vectors: Path, version: str) -> None:
    cases = load(vectors / "webbotauth" / f"web_bot_auth_architecture_{version}.json")
    rsa = [case for case in cases if case["key"]["kty"] == "RSA"]

    for case in rsa:
        url = urlsplit(case["target_url"])
        agent = case.get("signature_agent")
        message = Message(
            method="GET",
            scheme=url.scheme,
            authority=url.netloc,
            target=url.path,
            fields=(("Signature-Agent", agent),) if agent else (),
        )
        params, signature = only_label(case["signature_input"], case["signature"])
        key = keys.read_public({name: case["key"][name] for name in ("kty", "n", "e")})
        built = base.signature_base(message, params)

        assert params.string("keyid") == key.keyid
        assert keys.is_published_test_key(key.keyid)
        assert algorithms.by_name(params.string("alg") or "") is key.algorithm is RSA_PSS_SHA512
        assert RSA_PSS_SHA512.verify(key.public, built, signature)
        assert not RSA_PSS_SHA512.verify(key.public, built + b"\n", signature)
    assert len(rsa) == 2


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_policy_may_accept_bots_with_rsa_keys(vectors: Path, version: str) -> None:
    cases = load(vectors / "webbotauth" / f"web_bot_auth_architecture_{version}.json")
    (case,) = [one for one in cases if one["key"]["kty"] == "RSA" and one.get("signature_agent")]
    url = urlsplit(case["target_url"])
    message = Message(
        method="GET",
        scheme=url.scheme,
        authority=url.netloc,
        target=url.path,
        fields=(
            ("Signature-Agent", case["signature_agent"]),
            ("Signature-Input", case["signature_input"]),
            ("Signature", case["signature"]),
        ),
    )
    key = keys.read_public({name: case["key"][name] for name in ("kty", "n", "e")})
    accepting = Policy(
        algorithms=frozenset({RSA_PSS_SHA512.name}),
        keying=Keying.LENIENT,
        max_window=4 * 10**9,  # one sample is good for a hundred years
        refused_keyids=frozenset(),
    )

    for policy, reason in (
        (accepting, None),
        (replace(accepting, algorithms=Policy().algorithms), Reason.UNSUPPORTED_ALGORITHM),
        (replace(accepting, refused_keyids=Policy().refused_keyids), Reason.UNKNOWN_KEY),
    ):
        found = verifier.verify(message, lambda *_: key, policy, case["created_ms"] / 1000)

        assert [label.reason for label in found.labels] == [reason]


def test_thumbprints(vectors: Path) -> None:
    cases = load(vectors / "webbotauth" / "thumbprints.json")

    for case in cases:
        members = json.loads(case["jwk"])
        required = json.loads(bytes.fromhex(case["precompute"]))

        assert jwk.thumbprint(members) == jwk.thumbprint(required) == case["thumbprint"]
        assert jwk.decode(case, "thumbprint").hex() == case["sha256"]
    assert [case["name"] for case in cases] == ["rsa", "ed25519"]


# Wycheproof -----------------------------------------------------------------------------------


def test_wycheproof_ed25519(vectors: Path) -> None:
    document = load(vectors / "wycheproof" / "ed25519_test.json")
    checked = 0

    for group in document["testGroups"]:
        public = keys.read_public(group["publicKeyJwk"]).public

        assert public == bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            message, signature = bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"])
            valid = ED25519.verify(public, message, signature)

            assert valid is (case["result"] == "valid"), (case["tcId"], case["comment"])
            checked += 1
    assert checked == document["numberOfTests"] == 151


def test_wycheproof_ecdsa_p256_with_raw_signatures(vectors: Path) -> None:
    document = load(vectors / "wycheproof" / "ecdsa_secp256r1_sha256_p1363_test.json")
    checked = with_jwk = 0

    for group in document["testGroups"]:
        public = bytes.fromhex(group["publicKey"]["uncompressed"])[1:]
        if members := group.get("publicKeyJwk"):
            assert keys.read_public(members).public == public
            with_jwk += 1
        for case in group["tests"]:
            message, signature = bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"])
            valid = ECDSA_P256.verify(public, message, signature)

            assert valid is (case["result"] == "valid"), (case["tcId"], case["comment"])
            checked += 1
    assert checked == document["numberOfTests"] == 262
    assert with_jwk == 103


@pytest.mark.parametrize(
    ("algorithm", "cases", "with_context"),
    [
        pytest.param(ML_DSA_44, 180, 7, id="ml-dsa-44"),
        pytest.param(ML_DSA_65, 210, 7, id="ml-dsa-65"),
    ],
)
def test_wycheproof_ml_dsa_verification(
    vectors: Path, algorithm: Algorithm, cases: int, with_context: int
) -> None:
    file = f"{algorithm.name.replace('-dsa-', 'dsa_')}_verify_test.json"
    document = load(vectors / "wycheproof" / file)
    checked = contexts = 0

    for group in document["testGroups"]:
        public = bytes.fromhex(group["publicKey"])
        for case in group["tests"]:
            message, signature = bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"])
            context = bytes.fromhex(case.get("ctx", ""))
            valid = algorithm.verify(public, message, signature, context)

            assert valid is (case["result"] == "valid"), (case["tcId"], case["comment"])
            if context:
                assert not algorithm.verify(public, message, signature), case["tcId"]
                contexts += 1
            checked += 1
    assert checked == document["numberOfTests"] == cases
    assert contexts == with_context


@pytest.mark.parametrize(
    ("algorithm", "cases", "internal", "wrong_seeds"),
    [
        pytest.param(ML_DSA_44, 86, 8, 3, id="ml-dsa-44"),
        pytest.param(ML_DSA_65, 105, 17, 3, id="ml-dsa-65"),
    ],
)
def test_wycheproof_ml_dsa_seeds_and_their_signatures(
    vectors: Path, algorithm: Algorithm, cases: int, internal: int, wrong_seeds: int
) -> None:
    """Signing is hedged, so theirs are verified, and ours over the same messages as well."""
    file = f"{algorithm.name.replace('-dsa-', 'dsa_')}_sign_seed_test.json"
    document = load(vectors / "wycheproof" / file)
    checked = without_message = refused = 0

    for group in document["testGroups"]:
        seed = bytes.fromhex(group["privateSeed"])
        for case in group["tests"]:
            checked += 1
            if "IncorrectPrivateKeyLength" in case["flags"]:
                for use in (PrivateKey, keys.expanded):
                    with pytest.raises(KeyUnreadable, match="has 32 bytes"):
                        use(algorithm, seed)
                refused += 1
                continue
            public = algorithm.public(seed)
            signature = bytes.fromhex(case["sig"])

            assert public == bytes.fromhex(group["publicKey"]), case["tcId"]
            if "msg" not in case:  # of ML-DSA's inner function, which we neither have nor want
                assert "Internal" in case["flags"]
                without_message += 1
                continue
            message, context = bytes.fromhex(case["msg"]), bytes.fromhex(case.get("ctx", ""))
            valid = algorithm.verify(public, message, signature, context)
            ours = keys.expanded(algorithm, seed)(message)

            assert valid is (case["result"] == "valid"), (case["tcId"], case["comment"])
            assert not (context and algorithm.verify(public, message, signature)), case["tcId"]
            assert algorithm.verify(public, message, ours), case["tcId"]
    assert checked == document["numberOfTests"] == cases
    assert (without_message, refused) == (internal, wrong_seeds)


def test_wycheproof_ml_dsa_signatures_by_expanded_keys(vectors: Path) -> None:
    """There is no signing with expanded keys here; what they signed is verified."""
    document = load(vectors / "wycheproof" / "mldsa_44_sign_noseed_test.json")
    checked = without = 0

    for group in document["testGroups"]:
        for case in group["tests"]:
            # Of ML-DSA's inner function, or by a key that is none.
            if "msg" not in case or case["result"] != "valid":
                without += 1
                continue
            public = bytes.fromhex(group["publicKey"])
            message, signature = bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"])
            context = bytes.fromhex(case.get("ctx", ""))

            assert ML_DSA_44.verify(public, message, signature, context), case["tcId"]
            checked += 1
    assert (checked, without) == (61, 12)


# ACVP -----------------------------------------------------------------------------------------


def test_acvp_ml_dsa_key_generation(vectors: Path) -> None:
    document = load(vectors / "acvp" / "ML-DSA-keyGen-44-65.json")
    checked = 0

    for group in document["testGroups"]:
        algorithm = algorithms.by_jose(group["parameterSet"])
        for case in group["tests"]:
            public = algorithm.public(bytes.fromhex(case["seed"]))

            assert public == bytes.fromhex(case["expected"]["pk"]), case["tcId"]
            checked += 1
    assert checked == 50


def test_acvp_ml_dsa_signature_verification(vectors: Path) -> None:
    document = load(vectors / "acvp" / "ML-DSA-sigVer-44-65-external-pure.json")
    passed = failed = with_context = 0

    for group in document["testGroups"]:
        algorithm = algorithms.by_jose(group["parameterSet"])
        for case in group["tests"]:
            public, message, signature, context = (
                bytes.fromhex(case[name]) for name in ("pk", "message", "signature", "context")
            )
            valid = algorithm.verify(public, message, signature, context)

            assert valid is case["expected"]["testPassed"], case["tcId"]
            if context:
                assert not algorithm.verify(public, message, signature), case["tcId"]
                with_context += 1
            passed, failed = passed + valid, failed + (not valid)
    assert (passed, failed, with_context) == (6, 24, 28)
