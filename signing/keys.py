"""Keys, their names (RFC 7638 thumbprints), and the cache of expanded ones.

Rule of this module: a secret shows in no repr, no pickle, no exception, and in no frame that
a traceback can show. That is why `read_private` lets the exception begin where the bytes are
out of sight, and why nothing that happened before is chained to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NoReturn, SupportsIndex, overload

import msgspec

from signing import jwk as jwks
from signing.algorithms import TABLE, Algorithm, Sign
from signing.errors import AlgorithmUnsupported, KeyUnreadable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_EXPANDED_KEPT: Final = 16  # keys; two sign at a time, the others are rotated ones

# Everybody has the secrets of these: a signature by them says nothing about who made it.
PUBLISHED_TEST_KEYS: Final = frozenset(
    {
        "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",  # RFC 9421, B.1.4: test-key-ed25519
        "ydQXMtvbsOsZyFir-Y7A8t7fKEM1gbKPvyFkdpu4fvI",  # RFC 9421, B.1.3: test-key-ecc-p256
        "oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA",  # RFC 9421, B.1.2: test-key-rsa-pss
        "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",  # RFC 8037, appendix A
        "T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o",  # RFC 9964, appendix A: ML-DSA-44
        "Suiu29qbfuaBaR4Ats-c6XQBePB_OpAxAwcTR_0KXVM",  # ML-DSA-65
        "tRn1JNIkgMsABVQBlXeDHxAIcclh-2IX0UdDEzPt5XU",  # ML-DSA-87
        "vuvZ0cSeZkrEAk59kaY-8kLu82ywbfLJ84NIAZWlwmE",  # C2SP httpsig-pq: ml-dsa-44
        "lFpzhrLvB_ssQCpGeDun4Jlx1txhrgh_fo6OW0CeHwU",  # ml-dsa-65
        "HSH2GosULGMv8i9Fu10X7KGH0dChHZlAS5GIxp_gijw",  # ml-dsa-87
        "C4AUjzzoR75JCgRllrFl5sJLc5xS06uWCZSNOPtPMcQ",  # draft-skokan: test-key-ml-dsa-44
        "wHIBdg6Y4dicCgcUBCEYznzuonQ33PTWoSgKWZZ--Z0",  # test-key-ml-dsa-65
    }
)


class Secret(bytes):
    """Bytes that no repr, str, format or pickle shows; ask for ``hex()`` and mean it.

    Parts of a secret and what it is put together with are secrets too; ``bytes()`` is the way out.
    """

    __slots__ = ()

    @overload
    def __getitem__(self, at: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, at: slice, /) -> "Secret": ...
    def __getitem__(self, at: SupportsIndex | slice, /) -> "int | Secret":
        part = super().__getitem__(at)
        return Secret(part) if isinstance(part, bytes) else part

    def __add__(self, other: "ReadableBuffer", /) -> "Secret":
        return Secret(super().__add__(other))

    def __radd__(self, other: "ReadableBuffer", /) -> "Secret":
        return Secret(bytes(other) + bytes(self))

    def __mul__(self, times: SupportsIndex, /) -> "Secret":
        return Secret(super().__mul__(times))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"<{len(self)} secret bytes>"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a secret is not pickled or copied")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """A public key: ``public`` as in its JWK, ``not_before`` and ``expires`` in Unix seconds.

    ``public`` is the members in a row, of RSA in the form of RFC 3110. ``keyid`` is its
    thumbprint. Raises KeyUnreadable for a wrong length.
    """

    algorithm: Algorithm
    public: bytes = field(repr=False)
    not_before: int | None = None
    expires: int | None = None
    keyid: str = field(init=False, default="")

    def __post_init__(self) -> None:
        members = jwks.public_members(self.algorithm, self.public)
        object.__setattr__(self, "keyid", jwks.thumbprint(members))

    def jwk(self) -> dict[str, str | int]:
        """The JWK for publication: ``kid``, ``use`` and the public members, never a secret."""
        members: dict[str, str | int] = {**jwks.public_members(self.algorithm, self.public)}
        members |= {"kid": self.keyid, "use": "sig"}
        if self.not_before is not None:
            members["nbf"] = self.not_before
        if self.expires is not None:
            members["exp"] = self.expires
        return members


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PrivateKey:
    """A key that signs. ``secret`` is the 32-byte seed (or scalar), the rest follows from it.

    ``not_before`` and ``expires`` are Unix seconds, and stand in ``public_key``. Raises
    KeyUnreadable for a wrong length.
    """

    algorithm: Algorithm
    secret: Secret
    public_key: PublicKey

    def __init__(
        self,
        algorithm: Algorithm,
        secret: bytes,
        *,
        not_before: int | None = None,
        expires: int | None = None,
    ) -> None:
        secret = Secret(secret)  # first, so that no frame from here on shows the bytes
        public = PublicKey(
            algorithm=algorithm,
            public=algorithm.public(secret),
            not_before=not_before,
            expires=expires,
        )
        object.__setattr__(self, "algorithm", algorithm)
        object.__setattr__(self, "secret", secret)
        object.__setattr__(self, "public_key", public)

    def __repr__(self) -> str:
        # A traceback may show the key that its constructor has just refused.
        if (public := getattr(self, "public_key", None)) is None:
            return "<private key, unfinished>"
        return f"<private {self.algorithm.name} key {public.keyid}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a private key is not pickled or copied; write its jwk() to a 0600 file")

    @property
    def public(self) -> bytes:
        """The public key's bytes."""
        return self.public_key.public

    @property
    def keyid(self) -> str:
        """The thumbprint, which is the ``keyid`` of its signatures."""
        return self.public_key.keyid

    def jwk(self) -> dict[str, str | int]:
        """The private JWK for the key file, with its public members. It holds the secret."""
        members = self.public_key.jwk()
        del members["use"]
        return {**members, self.algorithm.private_member: jwks.encode(self.secret)}


def generate(
    algorithm: Algorithm, *, not_before: int | None = None, expires: int | None = None
) -> PrivateKey:
    """A new key from the operating system's randomness, with its moments in Unix seconds."""
    secret = Secret(algorithm.generate())
    return PrivateKey(algorithm, secret, not_before=not_before, expires=expires)


@lru_cache(maxsize=_EXPANDED_KEPT)
def expanded(algorithm: Algorithm, secret: bytes) -> Sign:
    """The function that signs with this secret; the key is expanded once and kept.

    The cache stands at module scope and is keyed by the raw secret, so a rotated key is a
    new entry: nothing goes on signing with a retired one. Raises KeyUnreadable.
    """
    secret = Secret(secret)  # first, as in PrivateKey
    return algorithm.expand(secret)


def is_published_test_key(keyid: str) -> bool:
    """Whether this thumbprint is that of a key whose secret an RFC or a draft has printed.

    For applications to refuse outside tests.
    """
    return keyid in PUBLISHED_TEST_KEYS


def read_public(jwk: Mapping[str, object]) -> PublicKey:
    """The public key of a JWK from somebody's key set.

    Its ``kid`` is not looked at: signatures name the thumbprint, which is computed here.
    Raises AlgorithmUnsupported for a key type or algorithm that we do not know, KeyUnreadable
    for a malformed one, and for one that publishes its own secret.
    """
    if leaked := sorted(jwks.PRIVATE_MEMBERS & jwk.keys()):
        raise KeyUnreadable(f"a public JWK with the private member {leaked[0]!r}")
    if jwk.get("use", "sig") != "sig":
        raise KeyUnreadable("the JWK is not for signatures ('use' is not 'sig')")
    algorithm = jwks.algorithm_of(jwk)
    return PublicKey(
        algorithm=algorithm,
        public=jwks.public_bytes(jwk, algorithm),
        not_before=jwks.seconds(jwk, "nbf"),
        expires=jwks.seconds(jwk, "exp"),
    )


def read_private(data: bytes) -> PrivateKey:
    """The key in a private JWK file (OKP, EC, or AKP with the seed as ``priv``), and its moments.

    Raises KeyUnreadable if it is malformed, of a wrong length or an unknown type, or if its
    public members or its ``kid`` belong to another key.
    """
    outcome = _read_private(data)
    del data  # a traceback may show the locals of the frame that raises
    if isinstance(outcome, KeyUnreadable):
        raise outcome
    return outcome


def _read_private(data: bytes) -> PrivateKey | KeyUnreadable:
    try:
        jwk = msgspec.json.decode(data, type=dict[str, object])
        if "keys" in jwk and "kty" not in jwk:
            return KeyUnreadable("a JWK Set, which is a set of public keys")
        algorithm = jwks.algorithm_of(jwk)
        key = PrivateKey(
            algorithm,
            jwks.decode(jwk, algorithm.private_member),
            not_before=jwks.seconds(jwk, "nbf"),
            expires=jwks.seconds(jwk, "exp"),
        )
        if jwks.public_bytes(jwk, algorithm) != key.public:
            return KeyUnreadable("the public members of the JWK do not belong to its secret")
        if jwk.get("kid", key.keyid) != key.keyid:
            return KeyUnreadable(f"the JWK's 'kid' must be its thumbprint, {key.keyid}, or absent")
    except KeyUnreadable as error:
        return KeyUnreadable(str(error))  # a fresh one: the traceback of this one knows too much
    except AlgorithmUnsupported:  # its message quotes the file, and who knows what stands where
        known = ", ".join(algorithm.jose[0] for algorithm in TABLE if algorithm.signs)
        return KeyUnreadable(f"the JWK's 'kty', 'crv' and 'alg' are none of ours: {known}")
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return KeyUnreadable("not a JWK: one JSON object is wanted")
    return key
