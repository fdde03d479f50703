"""Verifiers that nobody here wrote accept both parts of what we sign, in every profile.

Which of them accepts the two together, test_matrix.py asks.
"""

from pathlib import Path

import pytest
import verifiers
from arrangements import AUTHORITY, TARGETS, Fields
from arrangements import signed as signed_for
from cryptography.exceptions import InvalidSignature as RefusedByCryptography
from http_message_signatures import InvalidSignature as RefusedByMessageSignatures
from pqcrypto import InvalidSignatureError as RefusedByPqcrypto  # type: ignore[import-untyped]
from verifiers import BotgateProfile

from signing import algorithms, keys
from signing.profile import Name, Second
from signing.signer import Keyring

TARGET = TARGETS[1]
URL = f"https://{AUTHORITY}{TARGET}"

PROFILES = [name for name in Name if name is not Name.AUTO]
BOTGATE = [
    (Name.BRIDGE, BotgateProfile.IETF),
    (Name.IETF_01, BotgateProfile.IETF),
    (Name.IETF_00, BotgateProfile.IETF),
    (Name.LEGACY, BotgateProfile.CLOUDFLARE),
    (Name.PUBLISHED, BotgateProfile.CLOUDFLARE),
]


@pytest.fixture(scope="module")
def keyring() -> Keyring:
    return Keyring(keys.generate(algorithms.ED25519), keys.generate(algorithms.ML_DSA_44))


def signed(keyring: Keyring, name: Name, second: Second | None = None) -> Fields:
    return signed_for(keyring, name, TARGET, second=second)


@pytest.mark.parametrize(("name", "profile"), BOTGATE)
def test_taking_sig2_out_leaves_sig1_valid(
    keyring: Keyring, name: Name, profile: BotgateProfile, tmp_path: Path
) -> None:
    fields = verifiers.alone(signed(keyring, name), "sig1")

    verifiers.first_by_message_signatures("GET", URL, fields, keyring.first.public)
    complaints = verifiers.first_by_botgate(
        "GET", URL, fields, keyring.first.public, profile, tmp_path
    )

    assert verifiers.labels(fields) == ["sig1"]
    assert complaints == []


@pytest.mark.parametrize("name", PROFILES)
def test_two_sources_of_ml_dsa_accept_sig2(keyring: Keyring, name: Name) -> None:
    fields = signed(keyring, name)
    assert keyring.second is not None

    verifiers.second_by_cryptography("GET", URL, fields, keyring.second.public)
    verifiers.second_by_pqcrypto("GET", URL, fields, keyring.second.public)

    expected_tag = "web-bot-auth" if name is Name.PUBLISHED else "web-bot-auth-pq"
    stated = verifiers.parameters(fields, "sig2")
    assert stated["keyid"] == keyring.second.keyid
    assert (stated["alg"], stated["tag"]) == ("ml-dsa-44", expected_tag)
    assert "nonce" not in stated


def test_sig2_stands_under_the_label_that_was_asked_for(keyring: Keyring) -> None:
    fields = signed(keyring, Name.BRIDGE, second=Second(label="pq", alg="", tag=""))
    assert keyring.second is not None

    verifiers.second_by_cryptography("GET", URL, fields, keyring.second.public, label="pq")

    assert verifiers.parameters(fields, "pq").keys() == {"created", "expires", "keyid"}


@pytest.mark.parametrize("name", PROFILES)
def test_each_of_them_refuses_another_authority(
    keyring: Keyring, name: Name, tmp_path: Path
) -> None:
    elsewhere = URL.replace(AUTHORITY, "other.example")
    fields = [("Host", "other.example"), *signed(keyring, name)[1:]]
    first = verifiers.alone(fields, "sig1")
    assert keyring.second is not None

    with pytest.raises(RefusedByMessageSignatures):
        verifiers.first_by_message_signatures("GET", elsewhere, first, keyring.first.public)
    with pytest.raises(RefusedByCryptography):
        verifiers.second_by_cryptography("GET", elsewhere, fields, keyring.second.public)
    with pytest.raises(RefusedByPqcrypto):
        verifiers.second_by_pqcrypto("GET", elsewhere, fields, keyring.second.public)
    profile = dict(BOTGATE)[name]

    complaints = verifiers.first_by_botgate(
        "GET", elsewhere, first, keyring.first.public, profile, tmp_path
    )

    assert "sig1: invalid" in complaints


@pytest.mark.parametrize("changed", ["POST", "path", "query"])
def test_the_whole_target_is_bound_where_it_is_covered(keyring: Keyring, changed: str) -> None:
    fields = signed(keyring, Name.BRIDGE)
    method = "POST" if changed == "POST" else "GET"
    url = {"path": URL.replace("a%2Fb", "a/b"), "query": URL + "1"}.get(changed, URL)
    assert keyring.second is not None

    with pytest.raises(RefusedByMessageSignatures):
        verifiers.first_by_message_signatures(method, url, fields, keyring.first.public)
    with pytest.raises(RefusedByCryptography):
        verifiers.second_by_cryptography(method, url, fields, keyring.second.public)
