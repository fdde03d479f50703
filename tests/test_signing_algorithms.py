"""One table for all algorithms: its names, sizes and functions agree with each other."""

import ast
from hashlib import shake_256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from signing import algorithms
from signing.algorithms import (
    ECDSA_P256,
    ED25519,
    ML_DSA_44,
    ML_DSA_65,
    ML_DSA_87,
    RSA_PSS_SHA512,
    TABLE,
    Algorithm,
)
from signing.errors import AlgorithmUnsupported, KeyUnreadable
from signing.keys import PrivateKey, generate

SIGNING = tuple(algorithm for algorithm in TABLE if algorithm.signs)
EACH = pytest.mark.parametrize("algorithm", SIGNING, ids=lambda algorithm: algorithm.name)
IN_TABLE = pytest.mark.parametrize("algorithm", TABLE, ids=lambda algorithm: algorithm.name)
PSS = padding.PSS(padding.MGF1(hashes.SHA512()), 64)
ML_DSA = (ML_DSA_44, ML_DSA_65, ML_DSA_87)


def test_the_table_has_these_names_and_no_other() -> None:
    names = {algorithm.name: (algorithm.jose[0], algorithm.kty) for algorithm in TABLE}

    assert names == {
        "ed25519": ("Ed25519", "OKP"),
        "ml-dsa-44": ("ML-DSA-44", "AKP"),
        "ml-dsa-65": ("ML-DSA-65", "AKP"),
        "ml-dsa-87": ("ML-DSA-87", "AKP"),
        "ecdsa-p256-sha256": ("ES256", "EC"),
        "rsa-pss-sha512": ("PS512", "RSA"),
    }
    assert {algorithm.name for algorithm in SIGNING} == names.keys() - {"rsa-pss-sha512"}


def test_no_other_module_of_the_library_spells_the_name_of_an_algorithm() -> None:
    """So that one that is added or renamed is added or renamed in the table, and nowhere else."""
    names = {name for algorithm in TABLE for name in (algorithm.name, *algorithm.jose)}
    table = Path(algorithms.__file__)
    spelled = [
        (module.name, node.value)
        for module in [*table.parent.glob("*.py"), table.parents[1] / "crawler" / "settings.py"]
        if module != table
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    ]

    assert spelled == []


@IN_TABLE
def test_each_name_leads_to_its_algorithm(algorithm: Algorithm) -> None:
    assert algorithms.by_name(algorithm.name) is algorithm
    assert all(algorithms.by_jose(name) is algorithm for name in algorithm.jose)
    if algorithm.kty != "AKP":
        assert algorithms.by_curve(algorithm.kty, algorithm.crv or "") is algorithm


def test_the_deprecated_jose_name_of_ed25519_is_known_too() -> None:
    assert algorithms.by_jose("EdDSA") is ED25519


@pytest.mark.parametrize("name", ["ED25519", "hmac-sha256", "rsa-v1_5-sha256", "ML-DSA-44", ""])
def test_an_unknown_http_name_is_unsupported_and_the_known_ones_are_said(name: str) -> None:
    with pytest.raises(AlgorithmUnsupported, match="known: ed25519, ml-dsa-44"):
        algorithms.by_name(name)


@pytest.mark.parametrize("name", ["ed25519", "HS256", "none", ""])
def test_an_unknown_jose_name_is_unsupported(name: str) -> None:
    with pytest.raises(AlgorithmUnsupported, match="JOSE name"):
        algorithms.by_jose(name)


@pytest.mark.parametrize(
    ("kty", "crv", "message"),
    [
        pytest.param("OKP", "Ed448", "'OKP' with the curve 'Ed448'", id="another curve"),
        pytest.param("oct", "", "'oct' are not", id="no curve"),
        pytest.param("AKP", "", "'AKP' are not", id="AKP goes by alg alone"),
    ],
)
def test_an_unknown_curve_is_unsupported(kty: str, crv: str, message: str) -> None:
    with pytest.raises(AlgorithmUnsupported, match=message):
        algorithms.by_curve(kty, crv)


def test_a_long_unknown_name_does_not_flood_the_message() -> None:
    with pytest.raises(AlgorithmUnsupported) as caught:
        algorithms.by_name("x" * 60_000)

    assert len(str(caught.value)) < 200


@EACH
def test_sizes_are_those_of_real_keys_and_signatures(algorithm: Algorithm) -> None:
    secret = algorithm.generate()

    assert len(secret) == algorithm.secret_size
    assert algorithm.join(algorithm.split(algorithm.public(secret))) == algorithm.public(secret)
    assert len(algorithm.expand(secret)(b"message")) == algorithm.signature_size(
        algorithm.public(secret)
    )


@EACH
def test_each_generated_key_is_another(algorithm: Algorithm) -> None:
    assert algorithm.generate() != algorithm.generate()


@EACH
def test_a_signature_verifies_for_its_own_key_and_message_only(algorithm: Algorithm) -> None:
    secret, other = algorithm.generate(), algorithm.generate()
    public = algorithm.public(secret)
    signature = algorithm.expand(secret)(b"message")

    assert algorithm.verify(public, b"message", signature)
    assert not algorithm.verify(public, b"massage", signature)
    assert not algorithm.verify(algorithm.public(other), b"message", signature)


@EACH
def test_one_flipped_bit_anywhere_makes_a_signature_invalid(algorithm: Algorithm) -> None:
    secret = bytes(range(32))
    public, signature = algorithm.public(secret), algorithm.expand(secret)(b"message")

    for index in {0, 31, 32, 63, len(signature) // 2, len(signature) - 1}:
        flipped = bytearray(signature)
        flipped[index] ^= 1

        assert not algorithm.verify(public, b"message", bytes(flipped))


@EACH
@pytest.mark.parametrize("change", [-1, 1])
def test_a_signature_of_another_length_is_invalid_wherever_the_byte_is(
    algorithm: Algorithm, change: int
) -> None:
    secret = bytes(range(1, 33))
    public, signature = algorithm.public(secret), algorithm.expand(secret)(b"message")

    for at in {0, 32, len(signature) // 2, len(signature)}:
        other = signature[:at] + b"\0" + signature[at:] if change > 0 else signature[: at - 1]

        assert algorithm.verify(public, b"message", other) is False
    assert algorithm.verify(public, b"message", signature)


def test_a_p256_signature_with_a_zero_before_s_is_invalid_though_the_number_is_the_same() -> None:
    secret = bytes(range(1, 33))
    public, signature = ECDSA_P256.public(secret), ECDSA_P256.expand(secret)(b"message")
    padded = signature[:32] + b"\0" + signature[32:]

    assert len(padded) == 65
    assert ECDSA_P256.verify(public, b"message", padded) is False


def _mirrored(signature: bytes) -> bytes:
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    return signature[:32] + (order - int.from_bytes(signature[32:])).to_bytes(32)


def test_the_two_forms_of_a_p256_signature_are_one_to_remember() -> None:
    secret = bytes(range(1, 33))
    public, signature = ECDSA_P256.public(secret), ECDSA_P256.expand(secret)(b"message")
    mirrored = _mirrored(signature)

    assert ECDSA_P256.verify(public, b"message", mirrored)
    assert ECDSA_P256.canonical(mirrored) == ECDSA_P256.canonical(signature)
    assert ECDSA_P256.canonical(signature) in {signature, mirrored}


@EACH
def test_a_canonical_signature_verifies_and_another_signature_has_another(
    algorithm: Algorithm,
) -> None:
    secret = bytes(range(1, 33))
    first, second = (algorithm.expand(secret)(message) for message in (b"first", b"second"))

    assert algorithm.verify(algorithm.public(secret), b"first", algorithm.canonical(first))
    assert algorithm.canonical(first) != algorithm.canonical(second)


@IN_TABLE
@settings(max_examples=25)
@given(public=st.binary(max_size=80), signature=st.binary(max_size=80), message=st.binary())
def test_bytes_of_any_length_are_invalid_and_no_exception(
    algorithm: Algorithm, public: bytes, signature: bytes, message: bytes
) -> None:
    assert not algorithm.verify(public, message, signature)


@EACH
@settings(max_examples=25)
@given(seed=st.binary(max_size=8))
def test_noise_of_the_right_lengths_is_invalid_and_no_exception(
    algorithm: Algorithm, seed: bytes
) -> None:
    real = algorithm.public(bytes(range(1, 33)))
    public = shake_256(seed).digest(len(real))
    signature = shake_256(seed + b"s").digest(algorithm.signature_size(real))

    assert not algorithm.verify(public, b"message", signature)


@pytest.mark.parametrize("algorithm", ML_DSA, ids=lambda algorithm: algorithm.name)
def test_ml_dsa_signatures_are_hedged_so_two_of_them_differ(algorithm: Algorithm) -> None:
    sign = algorithm.expand(bytes(32))
    first, second = sign(b"message"), sign(b"message")

    assert first != second
    assert algorithm.verify(algorithm.public(bytes(32)), b"message", first)
    assert algorithm.verify(algorithm.public(bytes(32)), b"message", second)


@pytest.mark.parametrize("algorithm", ML_DSA, ids=lambda algorithm: algorithm.name)
def test_a_signature_without_a_context_is_invalid_with_one(algorithm: Algorithm) -> None:
    public, signature = algorithm.public(bytes(32)), algorithm.expand(bytes(32))(b"message")

    assert algorithm.verify(public, b"message", signature, b"")
    assert not algorithm.verify(public, b"message", signature, b"context")
    assert not algorithm.verify(public, b"message", signature, bytes(256))


@pytest.mark.parametrize(
    "algorithm", [ED25519, ECDSA_P256, RSA_PSS_SHA512], ids=lambda algorithm: algorithm.name
)
def test_a_context_where_there_is_none_is_refused_and_not_ignored(algorithm: Algorithm) -> None:
    with pytest.raises(AlgorithmUnsupported, match="takes no context"):
        algorithm.verify(b"", b"message", bytes(64), b"context")


@EACH
@pytest.mark.parametrize("size", [0, 31, 33, 2560])
def test_a_secret_of_a_wrong_length_is_unreadable(algorithm: Algorithm, size: int) -> None:
    for use in (algorithm.public, algorithm.expand):
        with pytest.raises(KeyUnreadable, match=f"has 32 bytes, this one {size}$"):
            use(bytes(size))


@pytest.mark.parametrize(
    "secret", [bytes(32), b"\xff" * 32], ids=["zero", "past the order of the curve"]
)
def test_a_p256_secret_that_is_no_scalar_is_unreadable(secret: bytes) -> None:
    for use in (ECDSA_P256.public, ECDSA_P256.expand):
        with pytest.raises(KeyUnreadable, match="no scalar of P-256"):
            use(secret)


def test_a_p256_point_off_the_curve_verifies_nothing() -> None:
    signature = ECDSA_P256.expand(bytes(31) + b"\1")(b"message")

    assert not ECDSA_P256.verify(b"\1" * 64, b"message", signature)


def rsa_key(bits: int, exponent: int = 65_537) -> tuple[rsa.RSAPrivateKey, bytes]:
    """A private key of the library, and the public one as we have it."""
    key = rsa.generate_private_key(exponent, bits)
    numbers = key.public_key().public_numbers()
    modulus = numbers.n.to_bytes(bits // 8)
    return key, RSA_PSS_SHA512.join({"n": modulus, "e": exponent.to_bytes(3).lstrip(b"\0")})


@pytest.mark.parametrize(
    ("bits", "exponent"),
    [
        pytest.param(2048, 65_537, id="the smallest"),
        pytest.param(2304, 3, id="a small exponent"),
        pytest.param(3072, 65_537, id="larger"),
    ],
)
def test_an_rsa_signature_is_as_long_as_the_modulus_of_its_key(bits: int, exponent: int) -> None:
    key, public = rsa_key(bits, exponent)
    signature = key.sign(b"message", PSS, hashes.SHA512())

    assert RSA_PSS_SHA512.signature_size(public) == len(signature) == bits // 8
    assert RSA_PSS_SHA512.verify(public, b"message", signature)
    assert not RSA_PSS_SHA512.verify(public, b"massage", signature)
    assert not RSA_PSS_SHA512.verify(public, b"message", signature[:-1])
    assert not RSA_PSS_SHA512.verify(public, b"message", signature + b"\0")
    assert not RSA_PSS_SHA512.verify(public, b"message", bytes(len(signature)))
    assert RSA_PSS_SHA512.canonical(signature) == signature


@pytest.mark.parametrize(
    ("scheme", "hashed"),
    [
        pytest.param(
            padding.PSS(padding.MGF1(hashes.SHA512()), 32), hashes.SHA512(), id="another salt"
        ),
        pytest.param(
            padding.PSS(padding.MGF1(hashes.SHA256()), 64), hashes.SHA512(), id="another mask"
        ),
        pytest.param(
            padding.PSS(padding.MGF1(hashes.SHA512()), 64), hashes.SHA256(), id="another hash"
        ),
        pytest.param(padding.PKCS1v15(), hashes.SHA512(), id="another padding"),
    ],
)
def test_an_rsa_signature_of_another_scheme_is_invalid(
    scheme: padding.PSS | padding.PKCS1v15, hashed: hashes.SHA512 | hashes.SHA256
) -> None:
    key, public = rsa_key(2048)

    assert not RSA_PSS_SHA512.verify(public, b"message", key.sign(b"message", scheme, hashed))


def test_an_algorithm_that_is_verified_only_says_so() -> None:
    for use in (
        RSA_PSS_SHA512.generate,
        lambda: RSA_PSS_SHA512.public(bytes(32)),
        lambda: RSA_PSS_SHA512.expand(bytes(32)),
        lambda: PrivateKey(RSA_PSS_SHA512, bytes(32)),
        lambda: generate(RSA_PSS_SHA512),
    ):
        with pytest.raises(AlgorithmUnsupported, match="rsa-pss-sha512 is verified only"):
            use()


@IN_TABLE
@pytest.mark.parametrize("size", [0, 1, 31, 4096])
def test_a_public_key_of_a_wrong_length_says_what_is_wanted(
    algorithm: Algorithm, size: int
) -> None:
    for use in (algorithm.split, algorithm.signature_size):
        with pytest.raises(KeyUnreadable, match=f"a public key of {algorithm.name} has "):
            use(bytes(size))


@IN_TABLE
def test_an_algorithm_shows_itself_by_its_name(algorithm: Algorithm) -> None:
    assert repr(algorithm) == f"<{algorithm.name}>"
