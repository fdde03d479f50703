"""What a JWK's members mean, and which spellings are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import jwk
from signing.algorithms import (
    ECDSA_P256,
    ED25519,
    ML_DSA_44,
    RSA_PSS_SHA512,
    TABLE,
    Algorithm,
)
from signing.errors import AlgorithmUnsupported, KeyUnreadable

SIGNING = [algorithm for algorithm in TABLE if algorithm.signs]
EACH = pytest.mark.parametrize("algorithm", SIGNING, ids=lambda algorithm: algorithm.name)


def test_the_members_of_each_key_type_are_those_of_its_rfc() -> None:
    assert jwk.public_members(ED25519, bytes(32)) == {"kty": "OKP", "crv": "Ed25519", "x": "A" * 43}
    assert jwk.public_members(ML_DSA_44, bytes(1312)) == {
        "kty": "AKP",
        "alg": "ML-DSA-44",
        "pub": "A" * 1750,
    }
    assert jwk.public_members(ECDSA_P256, bytes(32) + b"\xff" * 32) == {
        "kty": "EC",
        "crv": "P-256",
        "x": "A" * 43,
        "y": "_" * 42 + "8",
    }
    assert jwk.public_members(RSA_PSS_SHA512, b"\3\1\0\1" + b"\xff" * 258) == {
        "kty": "RSA",
        "n": "_" * 344,
        "e": "AQAB",
    }


@EACH
def test_a_public_key_comes_back_from_its_members(algorithm: Algorithm) -> None:
    public = algorithm.public(bytes(range(32)))
    members = jwk.public_members(algorithm, public)

    assert jwk.algorithm_of(members) is algorithm
    assert jwk.public_bytes(members, algorithm) == public


@EACH
def test_each_jose_name_goes_with_its_key_type(algorithm: Algorithm) -> None:
    members = jwk.public_members(algorithm, algorithm.public(bytes(range(32))))

    for name in algorithm.jose:
        assert jwk.algorithm_of({**members, "alg": name}) is algorithm


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"kty": "OKP", "crv": "Ed25519", "alg": "ES256"}, id="alg of another"),
        pytest.param({"kty": "OKP", "crv": "Ed25519", "alg": 1}, id="alg that is a number"),
        pytest.param({"kty": "AKP", "alg": "Ed25519"}, id="AKP with a classical alg"),
        pytest.param({"kty": "RSA", "alg": "RS256"}, id="RSA with another scheme"),
        pytest.param({"kty": "AKP"}, id="AKP without alg"),
        pytest.param({"kty": "AKP", "alg": None}, id="AKP with alg null"),
        pytest.param({"kty": "OKP", "crv": 1}, id="curve that is a number"),
        pytest.param({"crv": "Ed25519"}, id="no type"),
        pytest.param({}, id="nothing"),
    ],
)
def test_an_alg_that_is_wanted_and_absent_or_at_odds_is_unreadable(
    members: dict[str, object],
) -> None:
    with pytest.raises(KeyUnreadable):
        jwk.algorithm_of(members)


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"kty": "oct", "k": "AQ"}, id="symmetric"),
        pytest.param({"kty": "OKP", "crv": "X25519"}, id="a curve for key agreement"),
        pytest.param({"kty": "OKP"}, id="no curve"),
        pytest.param({"kty": "AKP", "alg": "SLH-DSA-SHA2-128s"}, id="another AKP"),
    ],
)
def test_another_key_type_is_unsupported(members: dict[str, object]) -> None:
    with pytest.raises(AlgorithmUnsupported):
        jwk.algorithm_of(members)


def test_a_thumbprint_takes_the_required_members_and_ignores_all_others() -> None:
    members = jwk.public_members(ED25519, bytes(32))

    assert jwk.thumbprint(members) == jwk.thumbprint(
        {"kid": "x", "use": "sig", **members, "d": "x"}
    )
    assert len(jwk.thumbprint(members)) == 43


@pytest.mark.parametrize("missing", ["alg", "kty", "pub"])
def test_a_thumbprint_needs_its_members(missing: str) -> None:
    members = jwk.public_members(ML_DSA_44, bytes(1312))
    del members[missing]

    with pytest.raises(KeyUnreadable, match=f"no text member '{missing}'"):
        jwk.thumbprint(members)


def test_a_thumbprint_of_an_unknown_type_is_unsupported() -> None:
    with pytest.raises(AlgorithmUnsupported, match="'oct' are not supported"):
        jwk.thumbprint({"kty": "oct", "k": "AQ"})


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("AQ==", id="padding"),
        pytest.param("AR", id="stray bits"),
        pytest.param("A", id="an impossible length"),
        pytest.param("A+8/", id="the standard alphabet"),
        pytest.param("AQ\n", id="a line break"),
        pytest.param(" AQ", id="a space"),
        pytest.param("AQ.", id="another character"),
        pytest.param("AÉ", id="not ASCII"),
        pytest.param("", id="nothing"),
    ],
)
def test_a_member_has_one_spelling_only(written: str) -> None:
    with pytest.raises(KeyUnreadable, match="'x' is not base64url without padding"):
        jwk.decode({"x": written}, "x")


@given(st.binary(min_size=1))
def test_bytes_come_back_from_their_spelling(data: bytes) -> None:
    assert jwk.decode({"x": jwk.encode(data)}, "x") == data


@given(st.text())
def test_no_two_spellings_give_the_same_bytes(written: str) -> None:
    try:
        data = jwk.decode({"x": written}, "x")
    except KeyUnreadable:
        return

    assert jwk.encode(data) == written


@pytest.mark.parametrize("value", [None, 1, ["AQ"], True])
def test_a_member_that_is_no_text_is_unreadable(value: object) -> None:
    with pytest.raises(KeyUnreadable, match="no text member 'x'"):
        jwk.decode({"x": value}, "x")


def test_a_public_key_of_a_wrong_length_says_both_lengths() -> None:
    with pytest.raises(KeyUnreadable, match=r"'pub' must have 1312 bytes, has 32 \(ml-dsa-44\)"):
        jwk.public_bytes({"pub": jwk.encode(bytes(32))}, ML_DSA_44)


def test_coordinates_of_unequal_lengths_do_not_make_up_for_each_other() -> None:
    short, long = jwk.encode(bytes(31)), jwk.encode(bytes(33))

    with pytest.raises(KeyUnreadable, match="'x' must have 32 bytes"):
        jwk.public_bytes({"x": short, "y": long}, ECDSA_P256)


@pytest.mark.parametrize("alg", [{}, {"alg": "PS512"}], ids=["no alg", "PS512"])
def test_an_rsa_key_is_one_for_pss_whether_it_says_so_or_not(alg: dict[str, object]) -> None:
    public = b"\3\1\0\1" + b"\xff" * 256
    members = {**jwk.public_members(RSA_PSS_SHA512, public), **alg}

    assert jwk.algorithm_of(members) is RSA_PSS_SHA512
    assert jwk.public_bytes(members, RSA_PSS_SHA512) == public


def test_an_rsa_key_that_is_too_short_says_which_member() -> None:
    with pytest.raises(KeyUnreadable, match="'n' must have 2048 to 4096 bits"):
        jwk.public_bytes({"n": jwk.encode(b"\xff" * 128), "e": "AQAB"}, RSA_PSS_SHA512)


def test_seconds_are_whole_numbers_or_absent() -> None:
    assert jwk.seconds({"exp": 1_800_000_000}, "exp") == 1_800_000_000
    assert jwk.seconds({}, "exp") is None


@pytest.mark.parametrize("value", ["1800000000", 1.5, True, [1]])
def test_other_seconds_are_unreadable(value: object) -> None:
    with pytest.raises(KeyUnreadable, match="'exp' is no whole number of seconds"):
        jwk.seconds({"exp": value}, "exp")
