"""Keys: their JWKs, their names (RFC 7638 thumbprints), and the cache of expanded ones.

Rule of this module: a secret shows in no repr, no pickle, no exception, and in no frame that
a traceback can show. That is why `read_private` lets the exception begin where the bytes are
out of sight, and why nothing that happened before is chained to it.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from types import MappingProxyType
from typing import Final, NoReturn, SupportsIndex

import msgspec

from signing import algorithms
from signing.algorithms import Algorithm, Sign
from signing.errors import AlgorithmUnsupported, KeyUnreadable, SigningError

# RFC 7638, section 3.2; RFC 8037, appendix A.3; RFC 9964.
_IN_THUMBPRINT: Final = MappingProxyType(
    {
        "OKP": ("crv", "kty", "x"),
        "AKP": ("alg", "kty", "pub"),
        "EC": ("crv", "kty", "x", "y"),
        "RSA": ("e", "kty", "n"),
    }
)
_PRIVATE_MEMBERS: Final = frozenset({"d", "priv", "p", "q", "dp", "dq", "qi", "oth", "k"})
_EXPANDED_KEPT: Final = 16  # keys; two are in use, the others are those of rotations and tests


class Secret(bytes):
    """Bytes that no repr, str, format or pickle shows; ask with ``bytes.hex`` and mean it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} secret bytes>"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a secret is not pickled or copied")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """A public key: ``public`` as in its JWK, ``not_before`` and ``expires`` in Unix seconds.

    ``keyid`` is its thumbprint. Raises KeyUnreadable for a wrong length.
    """

    algorithm: Algorithm
    public: bytes = field(repr=False)
    not_before: int | None = None
    expires: int | None = None
    keyid: str = field(init=False)

    def __post_init__(self) -> None:
        if len(self.public) != self.algorithm.public_size:
            raise KeyUnreadable(
                f"a public key of {self.algorithm.name} has {self.algorithm.public_size} bytes, "
                f"this one {len(self.public)}"
            )
        object.__setattr__(self, "keyid", thumbprint(_members(self.algorithm, self.public)))

    def jwk(self) -> dict[str, str | int]:
        """The JWK for publication: ``kid``, ``use`` and the public members, never a secret."""
        jwk: dict[str, str | int] = {**_members(self.algorithm, self.public)}
        jwk |= {"kid": self.keyid, "use": "sig"}
        if self.not_before is not None:
            jwk["nbf"] = self.not_before
        if self.expires is not None:
            jwk["exp"] = self.expires
        return jwk


@dataclass(frozen=True, slots=True, init=False)
class PrivateKey:
    """A key that signs. ``secret`` is the 32-byte seed (or scalar), the rest follows from it.

    Raises KeyUnreadable for a wrong length.
    """

    algorithm: Algorithm
    secret: Secret = field(repr=False)
    public_key: PublicKey = field(repr=False)

    def __init__(self, algorithm: Algorithm, secret: bytes) -> None:
        secret = Secret(secret)  # first, so that no frame below shows the bytes
        public = PublicKey(algorithm=algorithm, public=algorithm.public(secret))
        object.__setattr__(self, "algorithm", algorithm)
        object.__setattr__(self, "secret", secret)
        object.__setattr__(self, "public_key", public)

    def __repr__(self) -> str:
        return f"<private {self.algorithm.name} key {self.keyid}>"

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

    def jwk(self) -> dict[str, str]:
        """The private JWK for the key file, with its public members. It holds the secret."""
        members = _members(self.algorithm, self.public)
        return {**members, "kid": self.keyid, self.algorithm.private_member: _encode(self.secret)}


def generate(algorithm: Algorithm) -> PrivateKey:
    """A new key from the operating system's randomness."""
    return PrivateKey(algorithm, algorithm.generate())


@lru_cache(maxsize=_EXPANDED_KEPT)
def expanded(algorithm: Algorithm, secret: bytes) -> Sign:
    """The function that signs with this secret; the key is expanded once and kept.

    The cache stands at module scope and is keyed by the raw secret, so a rotated key is a
    new entry: nothing goes on signing with a retired one. Raises KeyUnreadable.
    """
    return algorithm.expand(Secret(secret))


def thumbprint(jwk: Mapping[str, object]) -> str:
    """The SHA-256 thumbprint of a JWK, base64url without padding (RFC 7638).

    Raises AlgorithmUnsupported for a key type that we have no rule for, KeyUnreadable for a
    member that is missing.
    """
    kty = _text(jwk, "kty")
    if (names := _IN_THUMBPRINT.get(kty)) is None:
        raise AlgorithmUnsupported(f"keys of type {kty!r} are not supported")
    return _encode(sha256(msgspec.json.encode({name: _text(jwk, name) for name in names})).digest())


def read_public(jwk: Mapping[str, object]) -> PublicKey:
    """The public key of a JWK from somebody's key set.

    Its ``kid`` is not looked at: signatures name the thumbprint, which is computed here.
    Raises AlgorithmUnsupported for a key type or algorithm that we do not know, KeyUnreadable
    for a malformed one, and for one that publishes its own secret.
    """
    if leaked := sorted(_PRIVATE_MEMBERS & jwk.keys()):
        raise KeyUnreadable(f"a public JWK with the private member {leaked[0]!r}")
    if jwk.get("use", "sig") != "sig":
        raise KeyUnreadable("the JWK is not for signatures ('use' is not 'sig')")
    algorithm = _algorithm(jwk)
    return PublicKey(
        algorithm=algorithm,
        public=_public(jwk, algorithm),
        not_before=_seconds(jwk, "nbf"),
        expires=_seconds(jwk, "exp"),
    )


def read_private(data: bytes) -> PrivateKey:
    """The key in a private JWK file (OKP, EC, or AKP with the seed as ``priv``).

    Raises KeyUnreadable if it is malformed, of a wrong length, or if its public members or
    its ``kid`` belong to another key.
    """
    outcome = _private(data)
    del data  # a traceback shows the locals of the frame that raises
    if isinstance(outcome, KeyUnreadable):
        raise outcome
    return outcome


def _private(data: bytes) -> PrivateKey | KeyUnreadable:
    try:
        jwk = msgspec.json.decode(data, type=dict[str, object])
        algorithm = _algorithm(jwk)
        key = PrivateKey(algorithm, _decode(jwk, algorithm.private_member))
        if _public(jwk, algorithm) != key.public:
            return KeyUnreadable("the public members of the JWK do not belong to its secret")
        if jwk.get("kid", key.keyid) != key.keyid:
            return KeyUnreadable(f"the JWK's kid is not its thumbprint, {key.keyid}")
    except SigningError as error:
        return KeyUnreadable(str(error))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return KeyUnreadable("the file is not a JWK: a JSON object is wanted")
    return key


def _algorithm(jwk: Mapping[str, object]) -> Algorithm:
    kty = _text(jwk, "kty")
    if kty == "AKP":
        found = algorithms.by_jose(_text(jwk, "alg"))
    else:
        found = algorithms.by_curve(kty, _text(jwk, "crv") if "crv" in jwk else "")
    if found.kty != kty or jwk.get("alg", found.jose[0]) not in found.jose:
        raise KeyUnreadable("the JWK's 'alg' does not go with its 'kty' and 'crv'")
    return found


def _members(algorithm: Algorithm, public: bytes) -> dict[str, str]:
    size = len(public) // len(algorithm.public_members)
    named = {"kty": algorithm.kty}
    if algorithm.crv is None:
        named["alg"] = algorithm.jose[0]
    else:
        named["crv"] = algorithm.crv
    for index, name in enumerate(algorithm.public_members):
        named[name] = _encode(public[index * size : (index + 1) * size])
    return named


def _public(jwk: Mapping[str, object], algorithm: Algorithm) -> bytes:
    parts = [_decode(jwk, name) for name in algorithm.public_members]
    size = algorithm.public_size // len(parts)
    if any(len(part) != size for part in parts):
        raise KeyUnreadable(
            f"a public key of {algorithm.name} has {algorithm.public_size} bytes, "
            f"this one {sum(map(len, parts))}"
        )
    return b"".join(parts)


def _text(jwk: Mapping[str, object], name: str) -> str:
    value = jwk.get(name)
    if not isinstance(value, str):
        raise KeyUnreadable(f"the JWK has no text member {name!r}")
    return value


def _seconds(jwk: Mapping[str, object], name: str) -> int | None:
    value = jwk.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise KeyUnreadable(f"the JWK's {name!r} is no number of seconds")


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _decode(jwk: Mapping[str, object], name: str) -> bytes:
    text = _text(jwk, name)
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        data = b""
    # One key has one spelling: padding, line breaks and stray bits would change the thumbprint.
    if not data or _encode(data) != text:
        raise KeyUnreadable(f"the JWK's {name!r} is not base64url without padding")
    return data
