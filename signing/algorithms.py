"""The signature algorithms: one table with their names in HTTP, JOSE and JWK, sizes and functions.

Whoever adds or renames one does it here, and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import mldsa

from signing.errors import AlgorithmUnsupported, KeyUnreadable
from signing.schemes import EcdsaP256, Ed25519, MlDsa, RsaPss, Sign, Signs, Verifies
from signing.sizes import Fixed, Rsa, Sizes

__all__ = [
    "ECDSA_P256",
    "ED25519",
    "ML_DSA_44",
    "ML_DSA_65",
    "ML_DSA_87",
    "POST_QUANTUM",
    "RSA_PSS_SHA512",
    "TABLE",
    "Algorithm",
    "Sign",
    "by_curve",
    "by_jose",
    "by_name",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Algorithm:
    """One signature algorithm. There is one instance each, so identity is equality.

    ``public_members`` name the JWK members that make up the public key; ``private_member`` the
    one that holds the secret (for ML-DSA the seed). ``secret_size`` is in bytes, None for an
    algorithm that is verified only. ``jose`` lists the names that a JWK's ``alg`` may bear, the
    one that we write first.
    """

    name: str
    jose: tuple[str, ...]
    kty: str
    crv: str | None
    public_members: tuple[str, ...]
    private_member: str
    secret_size: int | None
    contexts: bool
    _sizes: Sizes
    _verifies: Verifies
    _signs: Signs | None

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def signs(self) -> bool:
        """Whether there are private keys of it here; the others are verified only."""
        return self._signs is not None

    def generate(self) -> bytes:
        """A new secret from the operating system's randomness. Raises AlgorithmUnsupported."""
        return self._signer().generate()

    def public(self, secret: bytes) -> bytes:
        """The public key of a secret. Raises KeyUnreadable, AlgorithmUnsupported."""
        signer = self._signer()
        self._check_secret(secret)
        return signer.public(secret)

    def expand(self, secret: bytes) -> Sign:
        """The function that signs with this secret, its key expanded once.

        `keys.expanded` remembers it; ask there. Raises KeyUnreadable, AlgorithmUnsupported.
        """
        signer = self._signer()
        self._check_secret(secret)
        return signer.expand(secret)

    def signature_size(self, public: bytes) -> int:
        """The bytes of every signature by this key; RSA's are as long as its modulus.

        Raises KeyUnreadable.
        """
        try:
            return self._sizes.signature(public)
        except ValueError as error:
            raise KeyUnreadable(f"a public key of {self.name} {error}") from error

    def split(self, public: bytes) -> dict[str, bytes]:
        """The JWK members of a public key. Raises KeyUnreadable."""
        try:
            return dict(zip(self.public_members, self._sizes.split(public), strict=True))
        except ValueError as error:
            raise KeyUnreadable(f"a public key of {self.name} {error}") from error

    def join(self, members: Mapping[str, bytes]) -> bytes:
        """The public key of its JWK members, which are all there. Raises KeyUnreadable."""
        parts = tuple(members[name] for name in self.public_members)
        if (found := self._sizes.fault(parts)) is not None:
            name, fault = self.public_members[found[0]], found[1]
            raise KeyUnreadable(f"the JWK's {name!r} {fault} ({self.name})")
        return self._sizes.join(parts)

    def verify(self, public: bytes, message: bytes, signature: bytes, context: bytes = b"") -> bool:
        """Whether the signature is this key's over this message (and context, for ML-DSA).

        A malformed key or signature is no exception but simply not valid.
        Raises AlgorithmUnsupported for a context where the algorithm has none.
        """
        if context and not self.contexts:
            raise AlgorithmUnsupported(f"{self.name} takes no context")
        try:
            if len(signature) != self._sizes.signature(public):
                return False
            self._verifies.verify(public, message, signature, context)
        except (InvalidSignature, ValueError):
            return False
        return True

    def canonical(self, signature: bytes) -> bytes:
        """The same for all forms that anybody can give a valid signature without the key.

        For remembering what was seen. Only ECDSA has two, with s and with the order less s.
        """
        return self._verifies.canonical(signature)

    def _signer(self) -> Signs:
        if self._signs is None:
            raise AlgorithmUnsupported(f"{self.name} is verified only, nothing is signed with it")
        return self._signs

    def _check_secret(self, secret: bytes) -> None:
        if len(secret) != self.secret_size:
            raise KeyUnreadable(
                f"a secret of {self.name} has {self.secret_size} bytes, this one {len(secret)}"
            )


def _ml_dsa(name: str, sizes: Fixed, scheme: MlDsa) -> Algorithm:
    return Algorithm(
        name=name,
        jose=(name.upper(),),
        kty="AKP",
        crv=None,
        public_members=("pub",),
        private_member="priv",
        secret_size=32,
        contexts=True,
        _sizes=sizes,
        _verifies=scheme,
        _signs=scheme,
    )


ED25519: Final = Algorithm(
    name="ed25519",
    jose=("Ed25519", "EdDSA"),  # RFC 9864; RFC 8037, deprecated and everywhere
    kty="OKP",
    crv="Ed25519",
    public_members=("x",),
    private_member="d",
    secret_size=32,
    contexts=False,
    _sizes=Fixed(part=32, size=64),
    _verifies=Ed25519(),
    _signs=Ed25519(),
)
ML_DSA_44: Final = _ml_dsa(
    "ml-dsa-44", Fixed(1312, 2420), MlDsa(mldsa.MLDSA44PrivateKey, mldsa.MLDSA44PublicKey)
)
ML_DSA_65: Final = _ml_dsa(
    "ml-dsa-65", Fixed(1952, 3309), MlDsa(mldsa.MLDSA65PrivateKey, mldsa.MLDSA65PublicKey)
)
ML_DSA_87: Final = _ml_dsa(
    "ml-dsa-87", Fixed(2592, 4627), MlDsa(mldsa.MLDSA87PrivateKey, mldsa.MLDSA87PublicKey)
)
ECDSA_P256: Final = Algorithm(
    name="ecdsa-p256-sha256",
    jose=("ES256",),
    kty="EC",
    crv="P-256",
    public_members=("x", "y"),
    private_member="d",
    secret_size=32,
    contexts=False,
    _sizes=Fixed(part=32, parts=2, size=64),
    _verifies=EcdsaP256(),
    _signs=EcdsaP256(),
)
RSA_PSS_SHA512: Final = Algorithm(
    name="rsa-pss-sha512",
    jose=("PS512",),
    kty="RSA",
    crv=None,
    public_members=("n", "e"),
    private_member="d",
    secret_size=None,
    contexts=False,
    _sizes=Rsa(),
    _verifies=RsaPss(),
    _signs=None,
)

TABLE: Final = (ED25519, ML_DSA_44, ML_DSA_65, ML_DSA_87, ECDSA_P256, RSA_PSS_SHA512)
POST_QUANTUM: Final = tuple(algorithm for algorithm in TABLE if algorithm.kty == "AKP")
_BY_NAME: Final = {algorithm.name: algorithm for algorithm in TABLE}
_BY_JOSE: Final = {name: algorithm for algorithm in TABLE for name in algorithm.jose}
# AKP keys say their algorithm instead: the type alone names none (RFC 9964).
_BY_CURVE: Final = {
    (algorithm.kty, algorithm.crv or ""): algorithm
    for algorithm in TABLE
    if algorithm not in POST_QUANTUM
}


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
