"""Keys as PEM: PKCS#8 for private ones (RFC 5958), SubjectPublicKeyInfo for public ones (RFC 5280).

An ML-DSA key file holds the seed, the expanded key, or both (RFC 9881, section 6). We write the
seed, which is all there is to know, and read each form that has it: OpenSSL 3.5 writes both.

Rule of this module, as of `keys`: no exception and no frame of a traceback shows a secret.
"""

import re
from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from types import MappingProxyType
from typing import Final, TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mldsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
    load_der_public_key,
)

from signing.algorithms import ECDSA_P256, ED25519, ML_DSA_44, ML_DSA_65, ML_DSA_87, Algorithm
from signing.errors import AlgorithmUnsupported, KeyUnreadable
from signing.keys import PrivateKey, PublicKey, Secret

_Private: TypeAlias = (
    ed25519.Ed25519PrivateKey
    | mldsa.MLDSA44PrivateKey
    | mldsa.MLDSA65PrivateKey
    | mldsa.MLDSA87PrivateKey
)
_Public: TypeAlias = (
    ed25519.Ed25519PublicKey
    | mldsa.MLDSA44PublicKey
    | mldsa.MLDSA65PublicKey
    | mldsa.MLDSA87PublicKey
)

MARK: Final = b"-----BEGIN "
DECRYPT: Final = "`openssl pkcs8 -topk8 -nocrypt -in FILE -out NEW`"

_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Kind:
    """The library's classes for an algorithm whose keys are raw bytes; `open` takes a secret."""

    private: type[_Private]
    open: Callable[[bytes], _Private]
    public: type[_Public]


_KINDS: Final = MappingProxyType(
    {
        ED25519: _Kind(
            ed25519.Ed25519PrivateKey,
            ed25519.Ed25519PrivateKey.from_private_bytes,
            ed25519.Ed25519PublicKey,
        ),
        ML_DSA_44: _Kind(
            mldsa.MLDSA44PrivateKey, mldsa.MLDSA44PrivateKey.from_seed_bytes, mldsa.MLDSA44PublicKey
        ),
        ML_DSA_65: _Kind(
            mldsa.MLDSA65PrivateKey, mldsa.MLDSA65PrivateKey.from_seed_bytes, mldsa.MLDSA65PublicKey
        ),
        ML_DSA_87: _Kind(
            mldsa.MLDSA87PrivateKey, mldsa.MLDSA87PrivateKey.from_seed_bytes, mldsa.MLDSA87PublicKey
        ),
    }
)
_CURVE: Final = ec.SECP256R1()  # of ECDSA_P256, whose keys are a number and a point
# The object identifier of each as DER (RFC 8410, section 3; RFC 9881, section 2).
_IDENTIFIERS: Final = MappingProxyType(
    {
        bytes.fromhex("06032b6570"): ED25519,
        bytes.fromhex("0609608648016503040311"): ML_DSA_44,
        bytes.fromhex("0609608648016503040312"): ML_DSA_65,
        bytes.fromhex("0609608648016503040313"): ML_DSA_87,
    }
)
_WHAT_IT_IS: Final = MappingProxyType(
    {
        "ENCRYPTED PRIVATE KEY": f"the key is encrypted; {DECRYPT} decrypts it",
        "EC PRIVATE KEY": f"a key in OpenSSL's older form; {DECRYPT} makes PKCS#8 of it",
        "RSA PRIVATE KEY": "an RSA key, with which nothing is signed here",
        "OPENSSH PRIVATE KEY": "a key in OpenSSH's form; PKCS#8 is wanted (-----BEGIN PRIVATE KEY)",
        "PUBLIC KEY": "a public key, where a private one is wanted",
        "CERTIFICATE": "a certificate, where a private key is wanted",
    }
)


def write_private(key: PrivateKey) -> Secret:
    """The key as unencrypted PKCS#8, for a file of mode 0600. It holds the secret.

    Raises AlgorithmUnsupported for an algorithm that has no PEM here.
    """
    opened = (
        ec.derive_private_key(int.from_bytes(key.secret), _CURVE)
        if key.algorithm is ECDSA_P256
        else _kind(key.algorithm).open(key.secret)
    )
    return Secret(opened.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def write_public(key: PublicKey) -> bytes:
    """The key as SubjectPublicKeyInfo; its moments have no place there.

    Raises KeyUnreadable for a point that is not on the curve, AlgorithmUnsupported.
    """
    try:
        opened = (
            ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, b"\x04" + key.public)
            if key.algorithm is ECDSA_P256
            else _kind(key.algorithm).public.from_public_bytes(key.public)
        )
    except ValueError as error:
        raise KeyUnreadable(f"no public key of {key.algorithm.name}") from error
    return opened.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def read_private(data: bytes) -> PrivateKey:
    """The private key in a PEM file, which may hold other blocks, too (EC PARAMETERS).

    Raises KeyUnreadable for an encrypted one, one of an algorithm that is not ours, one that has
    the expanded ML-DSA key alone, and for whatever is malformed.
    """
    outcome = _read_private(data)
    del data  # a traceback may show the locals of the frame that raises
    if isinstance(outcome, KeyUnreadable):
        raise outcome
    return outcome


def read_public(data: bytes) -> PublicKey:
    """The public key in a PEM file. Raises KeyUnreadable."""
    blocks = [body for label, body in _blocks(data) if label == "PUBLIC KEY"]
    del data  # somebody may have given a private one
    if len(blocks) != 1:
        raise KeyUnreadable(f"one PUBLIC KEY block is wanted, {len(blocks)} are there")
    try:
        opened = load_der_public_key(_decoded(blocks[0]))
    except (ValueError, UnsupportedAlgorithm):
        raise KeyUnreadable("no SubjectPublicKeyInfo of an algorithm of ours") from None
    if isinstance(opened, ec.EllipticCurvePublicKey) and opened.curve.name == _CURVE.name:
        point = opened.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return PublicKey(algorithm=ECDSA_P256, public=point[1:])
    for algorithm, kind in _KINDS.items():
        if isinstance(opened, kind.public):
            return PublicKey(algorithm=algorithm, public=opened.public_bytes_raw())
    raise KeyUnreadable(f"no key of ours; known: {_known()}")


def _read_private(data: bytes) -> PrivateKey | KeyUnreadable:
    try:
        return _private(data)
    except KeyUnreadable as error:
        return KeyUnreadable(str(error))  # a fresh one: the traceback of this one knows too much


def _private(data: bytes) -> PrivateKey:
    blocks = _blocks(data)
    private = [body for label, body in blocks if label == "PRIVATE KEY"]
    if len(private) > 1:
        raise KeyUnreadable(f"{len(private)} private keys; one is wanted")
    if not private:
        said = next((_WHAT_IT_IS[label] for label, _ in blocks if label in _WHAT_IT_IS), None)
        raise KeyUnreadable(said or "no PEM: a block -----BEGIN PRIVATE KEY----- is wanted")
    der = _decoded(private[0])
    key = _opened(der)
    point = b"\x04" if key.algorithm is ECDSA_P256 else b""
    # the second version (RFC 5958) may have the public key at the end: a bit string, as [1]
    for tag, bits in _parts(_parts(der)[0][1]):
        if tag in (0x81, 0xA1) and bits != b"\0" + point + key.public:
            raise KeyUnreadable("the public key in it does not belong to its secret")
    return key


def _opened(der: bytes) -> PrivateKey:
    try:
        opened = load_der_private_key(der, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return _other_form(der)
    if isinstance(opened, ec.EllipticCurvePrivateKey) and opened.curve.name == _CURVE.name:
        return PrivateKey(ECDSA_P256, opened.private_numbers().private_value.to_bytes(32))
    for algorithm, kind in _KINDS.items():
        if isinstance(opened, kind.private):
            return PrivateKey(algorithm, opened.private_bytes_raw())
    raise KeyUnreadable(f"no key of ours; known: {_known()}")


def _other_form(der: bytes) -> PrivateKey:
    """The key of a PKCS#8 structure that the library does not read.

    It knows neither the second version, which has the public key in it, nor of ML-DSA more than
    the seed alone.
    """
    match _parts(der):
        case [(0x30, inner)]:
            outer = _parts(inner)
        case _:
            raise KeyUnreadable("no PKCS#8 structure")
    match outer:
        case [(0x02, _), (0x30, identifier), (0x04, key), *_] if identifier in _IDENTIFIERS:
            algorithm = _IDENTIFIERS[identifier]
        case _:
            raise KeyUnreadable(f"no PKCS#8 key of an algorithm of ours; known: {_known()}")
    match _parts(key):
        case [(0x04, seed)] if algorithm is ED25519:
            return PrivateKey(algorithm, seed)
        case [(0x80, seed)] if algorithm is not ED25519:
            return PrivateKey(algorithm, seed)
        case [(0x04, _)]:
            raise KeyUnreadable(
                f"only the expanded {algorithm.name} key is there, and no seed can be had of it; "
                "export the key with its seed from where it was made, or make a new one"
            )
        case [(0x30, both)] if algorithm is not ED25519:
            pair = _parts(both)
        case _:
            raise KeyUnreadable(f"no {algorithm.name} key")
    match pair:
        case [(0x04, seed), (0x04, expanded)]:
            made = PrivateKey(algorithm, seed)
        case _:
            raise KeyUnreadable(f"no {algorithm.name} key")
    # FIPS 204, algorithm 24: rho, K, tr; rho begins the public key, tr is its hash.
    begins, hashed = expanded[:32], expanded[64:128]
    if begins != made.public[:32] or hashed != shake_256(made.public).digest(64):
        raise KeyUnreadable(f"the seed and the expanded {algorithm.name} key are of two keys")
    return made


def _blocks(data: bytes) -> Sequence[tuple[str, bytes]]:
    return [(label.decode("ascii"), body) for label, body in _BLOCK.findall(data)]


def _decoded(body: bytes) -> bytes:
    try:
        return b64decode(b"".join(body.split()), validate=True)
    except NoBase64:
        raise KeyUnreadable("what stands between BEGIN and END is not base64") from None


def _parts(der: bytes) -> list[tuple[int, bytes]]:
    """The elements of a DER structure: tag and content. Raises KeyUnreadable."""
    parts, at = [], 0
    while at < len(der):
        head = der[at : at + 2]
        size, start = head[-1], at + 2
        if size & 0x80:  # the long form: how many bytes the length has
            width = size & 0x7F
            size, start = int.from_bytes(der[start : start + width]), start + width
        if len(head) < 2 or start + size > len(der):
            raise KeyUnreadable("cut short, or not DER")
        parts.append((head[0], der[start : start + size]))
        at = start + size
    return parts


def _kind(algorithm: Algorithm) -> _Kind:
    if (found := _KINDS.get(algorithm)) is None:
        raise AlgorithmUnsupported(f"{algorithm.name} keys have no PEM here; known: {_known()}")
    return found


def _known() -> str:
    return ", ".join(algorithm.name for algorithm in (*_KINDS, ECDSA_P256))
