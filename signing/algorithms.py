"""The signature algorithms: one table with their names in HTTP, JOSE and JWK, sizes and functions.

All of them come from `cryptography`. ML-DSA is pure, and its signatures are hedged: two over
the same message differ, so nobody may compare them. RSA is left out on purpose; no bot that
we know signs with it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mldsa
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from signing.errors import AlgorithmUnsupported, KeyUnreadable

Sign: TypeAlias = Callable[[bytes], bytes]

# SEC 2, section 2.4.2
_P256_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

_MlDsaPrivate: TypeAlias = (
    mldsa.MLDSA44PrivateKey | mldsa.MLDSA65PrivateKey | mldsa.MLDSA87PrivateKey
)
_MlDsaPublic: TypeAlias = mldsa.MLDSA44PublicKey | mldsa.MLDSA65PublicKey | mldsa.MLDSA87PublicKey


class _Scheme(Protocol):
    """What the library does for one algorithm; it says InvalidSignature or ValueError."""

    def generate(self) -> bytes: ...
    def public(self, secret: bytes) -> bytes: ...
    def expand(self, secret: bytes) -> Sign: ...
    def canonical(self, signature: bytes) -> bytes: ...
    def verify(
        self, public: bytes, message: bytes, signature: bytes, context: bytes, /
    ) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Algorithm:
    """One signature algorithm. There is one instance each, so identity is equality.

    Sizes are in bytes. ``public_members`` name the JWK members that hold the public key, in
    equal parts; ``private_member`` the one that holds the secret (for ML-DSA the seed).
    ``jose`` lists the names that a JWK's ``alg`` may bear, the one that we write first.
    """

    name: str
    jose: tuple[str, ...]
    kty: str
    crv: str | None
    public_members: tuple[str, ...]
    private_member: str
    public_size: int
    secret_size: int
    signature_size: int
    contexts: bool
    _scheme: _Scheme

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def generate(self) -> bytes:
        """A new secret from the operating system's randomness."""
        return self._scheme.generate()

    def public(self, secret: bytes) -> bytes:
        """The public key of a secret. Raises KeyUnreadable."""
        self._check_secret(secret)
        return self._scheme.public(secret)

    def expand(self, secret: bytes) -> Sign:
        """The function that signs with this secret, its key expanded once. Raises KeyUnreadable.

        `keys.expanded` remembers it; ask there.
        """
        self._check_secret(secret)
        return self._scheme.expand(secret)

    def verify(self, public: bytes, message: bytes, signature: bytes, context: bytes = b"") -> bool:
        """Whether the signature is this key's over this message (and context, for ML-DSA).

        A malformed key or signature is no exception but simply not valid.
        Raises AlgorithmUnsupported for a context where the algorithm has none.
        """
        if context and not self.contexts:
            raise AlgorithmUnsupported(f"{self.name} takes no context")
        if len(public) != self.public_size or len(signature) != self.signature_size:
            return False
        try:
            self._scheme.verify(public, message, signature, context)
        except (InvalidSignature, ValueError):
            return False
        return True

    def canonical(self, signature: bytes) -> bytes:
        """The same for all forms that anybody can give a valid signature without the key.

        For remembering what was seen. Only ECDSA has two, with s and with the order less s.
        """
        return self._scheme.canonical(signature)

    def _check_secret(self, secret: bytes) -> None:
        if len(secret) != self.secret_size:
            raise KeyUnreadable(
                f"a secret of {self.name} has {self.secret_size} bytes, this one {len(secret)}"
            )


class _Ed25519:
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
        ed25519.Ed25519PublicKey.from_public_bytes(public).verify(signature, message)


@dataclass(frozen=True, slots=True)
class _MlDsa:
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
        self.open.from_public_bytes(public).verify(signature, message, context)


class _EcdsaP256:
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


def _ml_dsa(name: str, public_size: int, signature_size: int, scheme: _MlDsa) -> Algorithm:
    return Algorithm(
        name=name,
        jose=(name.upper(),),
        kty="AKP",
        crv=None,
        public_members=("pub",),
        private_member="priv",
        public_size=public_size,
        secret_size=32,
        signature_size=signature_size,
        contexts=True,
        _scheme=scheme,
    )


ED25519: Final = Algorithm(
    name="ed25519",
    jose=("Ed25519", "EdDSA"),  # RFC 9864; RFC 8037, deprecated and everywhere
    kty="OKP",
    crv="Ed25519",
    public_members=("x",),
    private_member="d",
    public_size=32,
    secret_size=32,
    signature_size=64,
    contexts=False,
    _scheme=_Ed25519(),
)
ML_DSA_44: Final = _ml_dsa(
    "ml-dsa-44", 1312, 2420, _MlDsa(mldsa.MLDSA44PrivateKey, mldsa.MLDSA44PublicKey)
)
ML_DSA_65: Final = _ml_dsa(
    "ml-dsa-65", 1952, 3309, _MlDsa(mldsa.MLDSA65PrivateKey, mldsa.MLDSA65PublicKey)
)
ML_DSA_87: Final = _ml_dsa(
    "ml-dsa-87", 2592, 4627, _MlDsa(mldsa.MLDSA87PrivateKey, mldsa.MLDSA87PublicKey)
)
ECDSA_P256: Final = Algorithm(
    name="ecdsa-p256-sha256",
    jose=("ES256",),
    kty="EC",
    crv="P-256",
    public_members=("x", "y"),
    private_member="d",
    public_size=64,
    secret_size=32,
    signature_size=64,
    contexts=False,
    _scheme=_EcdsaP256(),
)

TABLE: Final = (ED25519, ML_DSA_44, ML_DSA_65, ML_DSA_87, ECDSA_P256)
_BY_NAME: Final = {algorithm.name: algorithm for algorithm in TABLE}
_BY_JOSE: Final = {name: algorithm for algorithm in TABLE for name in algorithm.jose}
_BY_CURVE: Final = {(algorithm.kty, algorithm.crv): algorithm for algorithm in TABLE}


def by_name(name: str) -> Algorithm:
    """The algorithm with this name in HTTP (``ed25519``). Raises AlgorithmUnsupported."""
    if (found := _BY_NAME.get(name)) is None:
        raise AlgorithmUnsupported(
            f"no algorithm is named {name!r:.42}; known: {', '.join(_BY_NAME)}"
        )
    return found


def by_jose(name: str) -> Algorithm:
    """The algorithm with this name in JOSE (``ML-DSA-44``). Raises AlgorithmUnsupported."""
    if (found := _BY_JOSE.get(name)) is None:
        raise AlgorithmUnsupported(f"no algorithm has the JOSE name {name!r:.42}")
    return found


def by_curve(kty: str, crv: str) -> Algorithm:
    """The algorithm of a JWK with this key type and curve. Raises AlgorithmUnsupported."""
    if (found := _BY_CURVE.get((kty, crv))) is None:
        curve = f" with the curve {crv!r:.42}" if crv else ""
        raise AlgorithmUnsupported(f"keys of type {kty!r:.42}{curve} are not supported")
    return found
