"""Keys as PEM: read by others, read from others, and no secret where an error shows."""

import shutil
import subprocess
import traceback
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace
from hashlib import shake_256
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, mldsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from hypothesis import given
from hypothesis import strategies as st
from jwcrypto import jwk  # type: ignore[import-untyped]

from signing import keys, pem
from signing.algorithms import (
    ECDSA_P256,
    ED25519,
    ML_DSA_44,
    ML_DSA_65,
    ML_DSA_87,
    Algorithm,
)
from signing.errors import AlgorithmUnsupported, KeyUnreadable
from signing.keys import PrivateKey, PublicKey

Written = (
    ed25519.Ed25519PrivateKey
    | ec.EllipticCurvePrivateKey
    | mldsa.MLDSA44PrivateKey
    | mldsa.MLDSA65PrivateKey
    | mldsa.MLDSA87PrivateKey
)

Making = Callable[[], Written]
SEED: Final = bytes(range(100, 132))
SPELLINGS: Final = (
    SEED.hex(),
    urlsafe_b64encode(SEED).decode().rstrip("="),
    repr(SEED)[2:-1],
    b64encode(SEED).decode().rstrip("="),
)
ML_DSA: Final = {ML_DSA_44: 0x11, ML_DSA_65: 0x12, ML_DSA_87: 0x13}
ALL: Final = (ED25519, ECDSA_P256, *ML_DSA)
EACH: Final = pytest.mark.parametrize("algorithm", ALL, ids=lambda algorithm: algorithm.name)
EACH_ML_DSA: Final = pytest.mark.parametrize(
    "algorithm", ML_DSA, ids=lambda algorithm: algorithm.name
)


def tlv(tag: int, content: bytes) -> bytes:
    """One DER element."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(length))) + length + content


def armoured(der: bytes, label: str = "PRIVATE KEY") -> bytes:
    """PEM of these bytes."""
    body = b64encode(der).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", "")).encode()


def ml_dsa(algorithm: Algorithm, choice: bytes) -> bytes:
    """PKCS#8 of an ML-DSA key whose private part is this DER (RFC 9881, section 6)."""
    identifier = bytes.fromhex("06096086480165030403") + bytes((ML_DSA[algorithm],))
    return armoured(tlv(0x30, b"\x02\x01\x00" + tlv(0x30, identifier) + tlv(0x04, choice)))


def expanded(public: bytes, size: int = 2560) -> bytes:
    """Something like the expanded key of this public one: rho, K, tr, and the rest."""
    return (public[:32] + bytes(32) + shake_256(public).digest(64)).ljust(size, b"\1")


def both(seed: bytes, public: bytes) -> bytes:
    """The seed and the expanded key, as OpenSSL 3.5 writes them by default."""
    return tlv(0x30, tlv(0x04, seed) + tlv(0x04, expanded(public)))


def shown(error: BaseException) -> str:
    """What a traceback with the locals of each of our frames says, with all that is chained."""
    frames = traceback.TracebackException.from_exception(error, capture_locals=True)
    chained = (error.__cause__, error.__context__)
    frames.stack[:] = [frame for frame in frames.stack if "/signing/" in frame.filename]
    return "".join(frames.format()) + "".join(shown(each) for each in chained if each is not None)


@EACH
def test_a_private_key_comes_back_from_its_pem(algorithm: Algorithm) -> None:
    key = keys.generate(algorithm)

    written = pem.write_private(key)

    assert pem.read_private(written) == key
    assert bytes(written).startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert "BEGIN" not in repr(written)


@EACH
def test_a_public_key_comes_back_from_its_pem(algorithm: Algorithm) -> None:
    key = PrivateKey(algorithm, SEED).public_key

    assert pem.read_public(pem.write_public(key)) == key


@EACH
def test_cryptography_reads_what_is_written_and_signs_with_it(algorithm: Algorithm) -> None:
    key = PrivateKey(algorithm, SEED)

    read = load_pem_private_key(pem.write_private(key), None)
    public = load_pem_public_key(pem.write_public(key.public_key))

    assert read.public_key() == public
    if isinstance(read, ed25519.Ed25519PrivateKey | mldsa.MLDSA44PrivateKey):
        assert algorithm.verify(key.public, b"m", read.sign(b"m"))


@EACH
def test_what_cryptography_writes_is_read(algorithm: Algorithm) -> None:
    made: dict[Algorithm, Making] = {
        ED25519: ed25519.Ed25519PrivateKey.generate,
        ECDSA_P256: lambda: ec.generate_private_key(ec.SECP256R1()),
        ML_DSA_44: mldsa.MLDSA44PrivateKey.generate,
        ML_DSA_65: mldsa.MLDSA65PrivateKey.generate,
        ML_DSA_87: mldsa.MLDSA87PrivateKey.generate,
    }
    key = made[algorithm]()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    read = pem.read_private(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    assert pem.write_public(read.public_key) == public
    assert pem.read_public(public) == read.public_key


@EACH
def test_jwcrypto_reads_what_is_written_and_names_it_as_we_do(algorithm: Algorithm) -> None:
    key = PrivateKey(algorithm, SEED)

    private = jwk.JWK(**key.jwk())
    public = jwk.JWK(**key.public_key.jwk())

    assert private.thumbprint() == public.thumbprint() == key.keyid
    assert public.has_private is False
    assert keys.read_private(private.export_private().encode()) == key
    assert keys.read_public(public.export_public(as_dict=True)) == key.public_key


def openssl(*arguments: str | Path, data: bytes | None = None) -> bytes:
    """What the system's `openssl` says; where there is none, the test is skipped."""
    if (program := shutil.which("openssl")) is None:
        pytest.skip("no openssl: apt-get install openssl")
    done = subprocess.run(
        [program, *map(str, arguments)], input=data, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_openssl_reads_an_ed25519_key_and_we_read_its(tmp_path: Path) -> None:
    key = PrivateKey(ED25519, SEED)
    file = tmp_path / "key.pem"
    file.write_bytes(pem.write_private(key))

    public = openssl("pkey", "-in", file, "-pubout")
    made = pem.read_private(openssl("genpkey", "-algorithm", "ed25519"))

    assert public == pem.write_public(key.public_key)
    assert made.algorithm is ED25519


def test_the_command_that_is_named_decrypts_a_key(tmp_path: Path) -> None:
    key = PrivateKey(ED25519, SEED)
    encrypted, plain = tmp_path / "encrypted.pem", tmp_path / "plain.pem"
    encrypted.write_bytes(
        openssl("pkcs8", "-topk8", "-passout", "pass:x", data=pem.write_private(key))
    )
    with pytest.raises(KeyUnreadable, match="encrypted") as caught:
        pem.read_private(encrypted.read_bytes())
    command = str(caught.value).split("`")[1].split()[1:]
    named = {"FILE": str(encrypted), "NEW": str(plain)}
    openssl(*(named.get(word, word) for word in command), "-passin", "pass:x")

    assert pem.read_private(plain.read_bytes()) == key


@EACH_ML_DSA
def test_an_ml_dsa_key_with_its_seed_and_the_expanded_key_is_read(algorithm: Algorithm) -> None:
    key = PrivateKey(algorithm, SEED)

    assert pem.read_private(ml_dsa(algorithm, both(SEED, key.public))) == key
    assert pem.read_private(ml_dsa(algorithm, tlv(0x80, SEED))) == key


@pytest.mark.parametrize(
    ("algorithm", "identifier", "choice"),
    [
        pytest.param(ED25519, "06032b6570", tlv(0x04, SEED), id="ed25519"),
        pytest.param(ML_DSA_65, "0609608648016503040312", tlv(0x80, SEED), id="ml-dsa-65"),
    ],
)
def test_a_key_with_its_public_key_beside_it_is_read(
    algorithm: Algorithm, identifier: str, choice: bytes
) -> None:
    key = PrivateKey(algorithm, SEED)
    named = tlv(0x30, bytes.fromhex(identifier))
    inner = b"\x02\x01\x01" + named + tlv(0x04, choice)
    whole = armoured(tlv(0x30, inner + tlv(0x81, b"\0" + key.public)))  # RFC 8410, section 7

    other = tlv(0x81, b"\0" + PrivateKey(algorithm, SEED[::-1]).public)

    assert pem.read_private(whole) == key
    with pytest.raises(KeyUnreadable, match="does not belong to its secret"):
        pem.read_private(armoured(tlv(0x30, inner + other)))


def test_other_blocks_beside_the_key_are_no_matter() -> None:
    key = PrivateKey(ECDSA_P256, SEED)
    beside = armoured(b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", "EC PARAMETERS")

    assert pem.read_private(b"of 2026\n" + beside + pem.write_private(key)) == key


OURS: Final = PrivateKey(ML_DSA_44, SEED)
PLAIN: Final = bytes(pem.write_private(OURS))


def written(key: ed448.Ed448PrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


ED = tlv(0x30, bytes.fromhex("06032b6570"))

UNREADABLE: Final = [
    pytest.param(
        armoured(tlv(0x30, b"\x02\x01\x01" + ED + tlv(4, tlv(0x30, b"")))),
        "no ed25519 key",
        id="ed25519 with a sequence",
    ),
    pytest.param(b"", "no PEM", id="nothing"),
    pytest.param(b"-----BEGIN PRIVATE KEY-----\nMC4C", "no PEM", id="no end"),
    pytest.param(PLAIN.replace(b"M", b"!"), "not base64", id="no base64"),
    pytest.param(PLAIN + PLAIN, "2 private keys", id="two keys"),
    pytest.param(armoured(b""), "no PKCS#8", id="an empty block"),
    pytest.param(armoured(b"\x30"), "cut short", id="half an element"),
    pytest.param(armoured(b"\x30\x20\x00"), "cut short", id="a length without content"),
    pytest.param(armoured(tlv(0x30, b"\x02\x01\x00")), "no PKCS#8 key", id="a version alone"),
    pytest.param(
        ml_dsa(ML_DSA_44, tlv(0x04, expanded(OURS.public))), "only the expanded", id="expanded"
    ),
    pytest.param(ml_dsa(ML_DSA_44, tlv(0x04, SEED)), "only the expanded", id="a seed without [0]"),
    pytest.param(ml_dsa(ML_DSA_44, tlv(0x02, SEED)), "no ml-dsa-44 key", id="a number"),
    pytest.param(ml_dsa(ML_DSA_44, tlv(0x30, tlv(4, SEED))), "no ml-dsa-44 key", id="one of both"),
    pytest.param(
        ml_dsa(ML_DSA_44, both(SEED[:31], OURS.public)), "32 bytes, this one 31", id="short seed"
    ),
    pytest.param(
        ml_dsa(ML_DSA_44, both(SEED, b"\7" + OURS.public[1:])), "of two keys", id="another's rho"
    ),
    pytest.param(
        ml_dsa(ML_DSA_44, both(SEED, OURS.public[:-1] + b"\7")), "of two keys", id="another's tr"
    ),
    pytest.param(written(ed448.Ed448PrivateKey.generate()), "no key of ours", id="Ed448"),
    pytest.param(written(ec.generate_private_key(ec.SECP384R1())), "no key of ours", id="P-384"),
    pytest.param(
        ec.generate_private_key(ec.SECP256R1()).private_bytes(
            Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
        ),
        "openssl pkcs8",
        id="an older form",
    ),
    pytest.param(
        ed25519.Ed25519PrivateKey.generate().private_bytes(
            Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
        ),
        "OpenSSH",
        id="of OpenSSH",
    ),
    pytest.param(
        ed25519.Ed25519PrivateKey.generate().private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")
        ),
        "encrypted; `openssl pkcs8",
        id="encrypted",
    ),
    pytest.param(pem.write_public(OURS.public_key), "a public key", id="public"),
]


@pytest.mark.parametrize(("data", "message"), UNREADABLE)
def test_a_pem_that_cannot_be_used_says_why_and_shows_no_secret(data: bytes, message: str) -> None:
    with pytest.raises(KeyUnreadable, match=message) as caught:
        pem.read_private(data)

    said = shown(caught.value)
    assert not any(spelling[:16] in said for spelling in SPELLINGS)
    assert caught.value.__context__ is None


@given(st.integers(0, len(PLAIN) - 1), st.integers(0, 255))
def test_no_change_of_a_byte_makes_an_error_show_the_secret(at: int, byte: int) -> None:
    changed = PLAIN[:at] + bytes((byte,)) + PLAIN[at + 1 :]

    try:
        pem.read_private(changed)
    except KeyUnreadable as error:
        assert not any(spelling[:16] in shown(error) for spelling in SPELLINGS)  # noqa: PT017


@given(st.binary(max_size=200))
def test_nothing_in_a_pem_raises_another_exception(der: bytes) -> None:
    for data in (der, armoured(der)):
        with pytest.raises(KeyUnreadable):
            pem.read_private(data)
    for data in (der, armoured(der, "PUBLIC KEY")):
        with pytest.raises(KeyUnreadable):
            pem.read_public(data)


def test_a_public_pem_of_another_algorithm_is_refused() -> None:
    other = ed448.Ed448PrivateKey.generate().public_key()
    data = other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    with pytest.raises(KeyUnreadable, match="known: ed25519, ml-dsa-44"):
        pem.read_public(data)


def test_a_private_pem_is_no_public_one_and_shows_no_secret() -> None:
    with pytest.raises(KeyUnreadable, match="one PUBLIC KEY block is wanted, 0") as caught:
        pem.read_public(PLAIN)

    assert not any(spelling[:16] in shown(caught.value) for spelling in SPELLINGS)


def test_a_point_beside_the_curve_has_no_pem() -> None:
    with pytest.raises(KeyUnreadable, match="no public key of ecdsa-p256-sha256"):
        pem.write_public(PublicKey(algorithm=ECDSA_P256, public=bytes(64)))


def test_an_algorithm_without_pem_is_said() -> None:
    other = replace(ED25519, name="ed25519-other")

    with pytest.raises(AlgorithmUnsupported, match="ed25519-other keys have no PEM"):
        pem.write_public(PublicKey(algorithm=other, public=bytes(32)))
