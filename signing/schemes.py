"""What the library does for each algorithm; it says InvalidSignature or ValueError.

All of them come from `cryptography`. ML-DSA is pure, and its signatures are hedged: two over
the same message differ, so nobody may compare them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol, TypeAlias

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mldsa, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from signing.errors import KeyUnreadable
from signing.sizes import Rsa

Sign: TypeAlias = Callable[[bytes], bytes]

# SEC 2, section 2.4.2
_P256_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

_MlDsaPrivate: TypeAlias = (
    mldsa.MLDSA44PrivateKey | mldsa.MLDSA65PrivateKey | mldsa.MLDSA87PrivateKey
)
_MlDsaPublic: TypeAlias = mldsa.MLDSA44PublicKey | mldsa.MLDSA65PublicKey | mldsa.MLDSA87PublicKey


_OPENED_KEPT: Final = 256  # keys of each algorithm; the largest take some 10 KB
_opened_ed25519 = lru_cache(_OPENED_KEPT)(ed25519.Ed25519PublicKey.from_public_bytes)


class Verifies(Protocol):
    """One algorithm's verification, for keys and signatures of the right lengths."""

    def canonical(self, signature: bytes) -> bytes: ...
    def verify(
        self, public: bytes, message: bytes, signature: bytes, context: bytes, /
    ) -> None: ...


class Signs(Verifies, Protocol):
    """One algorithm's keys and signatures."""

    def generate(self) -> bytes: ...
    def public(self, secret: bytes) -> bytes: ...
    def expand(self, secret: bytes) -> Sign: ...


class Ed25519:
    def generate(self) -> bytes:
        return ed25519.Ed25519PrivateKey.generate().private_bytes_raw()

    def public(self, secret: bytes) -> bytes:
        key = ed25519.Ed25519PrivateKey.from_private_bytes(secret)
        return key.public_key().public_bytes_raw()

    def expand(self, secret: bytes) -> Sign:
        return ed25519.Ed25519PrivateKey.from_private_bytes(secret).sign

    def canonical(self, signature: bytes) -> bytes:
        return signature

    def verify(self, public: bytes, message: bytes, signature: bytes, _: bytes, /) -> None:
        _opened_ed25519(public).verify(signature, message)


@dataclass(frozen=True, slots=True)
class MlDsa:
    private: type[_MlDsaPrivate]
    open: type[_MlDsaPublic]

    def generate(self) -> bytes:
        return self.private.generate().private_bytes_raw()

    def public(self, secret: bytes) -> bytes:
        return self.private.from_seed_bytes(secret).public_key().public_bytes_raw()

    def expand(self, secret: bytes) -> Sign:
        return self.private.from_seed_bytes(secret).sign

    def canonical(self, signature: bytes) -> bytes:
        return signature

    def verify(self, public: bytes, message: bytes, signature: bytes, context: bytes, /) -> None:
        _opened_ml_dsa(self.open, public).verify(signature, message, context)


class EcdsaP256:
    """r || s instead of DER (RFC 9421, section 3.3.4); the public key is x || y, as in the JWK."""

    _curve: Final = ec.SECP256R1()
    _hash: Final = ec.ECDSA(hashes.SHA256())

    def generate(self) -> bytes:
        key = ec.generate_private_key(self._curve)
        return key.private_numbers().private_value.to_bytes(32)

    def public(self, secret: bytes) -> bytes:
        numbers = self._private(secret).public_key().public_numbers()
        return numbers.x.to_bytes(32) + numbers.y.to_bytes(32)

    def expand(self, secret: bytes) -> Sign:
        key = self._private(secret)

        def sign(message: bytes) -> bytes:
            r, s = decode_dss_signature(key.sign(message, self._hash))
            return r.to_bytes(32) + s.to_bytes(32)

        return sign

    def canonical(self, signature: bytes) -> bytes:
        s = int.from_bytes(signature[32:])
        return signature[:32] + min(s, _P256_ORDER - s).to_bytes(32)

    def verify(self, public: bytes, message: bytes, signature: bytes, _: bytes, /) -> None:
        key = ec.EllipticCurvePublicKey.from_encoded_point(self._curve, b"\x04" + public)
        r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:])
        key.verify(encode_dss_signature(r, s), message, self._hash)

    def _private(self, secret: bytes) -> ec.EllipticCurvePrivateKey:
        try:
            return ec.derive_private_key(int.from_bytes(secret), self._curve)
        except ValueError as error:
            raise KeyUnreadable("the secret is no scalar of P-256") from error


class RsaPss:
    """SHA-512 for the message and for MGF1, 64 bytes of salt (RFC 9421, section 3.3.1).

    Verified only: nobody has a reason to begin with it, and many have keys already.
    """

    _sizes: Final = Rsa()
    _hash: Final = hashes.SHA512()
    _padding: Final = padding.PSS(padding.MGF1(_hash), 64)

    def canonical(self, signature: bytes) -> bytes:
        return signature

    def verify(self, public: bytes, message: bytes, signature: bytes, _: bytes, /) -> None:
        modulus, exponent = map(int.from_bytes, self._sizes.split(public))
        key = rsa.RSAPublicNumbers(exponent, modulus).public_key()
        key.verify(signature, message, self._padding, self._hash)


@lru_cache(_OPENED_KEPT)
def _opened_ml_dsa(kind: type[_MlDsaPublic], public: bytes) -> _MlDsaPublic:
    """The library's key, whose first use costs as much as a verification."""
    return kind.from_public_bytes(public)
