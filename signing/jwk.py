"""JSON Web Keys: what their members mean (RFC 7517, 8037, 9964), and their thumbprints (RFC 7638).

Nothing here puts a member's value into a message, except key types and algorithm names.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Final

import msgspec

from signing import algorithms
from signing.algorithms import Algorithm
from signing.errors import AlgorithmUnsupported, KeyUnreadable

# Members of which one would give a secret away (RFC 7518, section 6; RFC 9964).
PRIVATE_MEMBERS: Final = frozenset({"d", "priv", "p", "q", "dp", "dq", "qi", "oth", "k"})

# RFC 7638, section 3.2; RFC 8037, appendix A.3; RFC 9964.
_IN_THUMBPRINT: Final = MappingProxyType(
    {
        "AKP": ("alg", "kty", "pub"),
        "EC": ("crv", "kty", "x", "y"),
        "OKP": ("crv", "kty", "x"),
        "RSA": ("e", "kty", "n"),
    }
)


def thumbprint(jwk: Mapping[str, object]) -> str:
    """The SHA-256 thumbprint of a JWK, base64url without padding.

    Raises AlgorithmUnsupported for a key type that we have no rule for, KeyUnreadable for a
    member that is missing.
    """
    kty = text(jwk, "kty")
    if (names := _IN_THUMBPRINT.get(kty)) is None:
        raise AlgorithmUnsupported(f"keys of type {kty!r:.42} are not supported")
    return encode(sha256(msgspec.json.encode({name: text(jwk, name) for name in names})).digest())


def algorithm_of(jwk: Mapping[str, object]) -> Algorithm:
    """The algorithm of a JWK. Raises AlgorithmUnsupported, or KeyUnreadable if it disagrees.

    An AKP key must say its ``alg`` (RFC 9964): the length of ``pub`` is no name.
    """
    kty = text(jwk, "kty")
    if kty == "AKP":
        found = algorithms.by_jose(text(jwk, "alg"))
    else:
        found = algorithms.by_curve(kty, text(jwk, "crv") if "crv" in jwk else "")
    if found.kty != kty or jwk.get("alg", found.jose[0]) not in found.jose:
        raise KeyUnreadable("the JWK's 'alg' does not go with its 'kty' and 'crv'")
    return found


def public_members(algorithm: Algorithm, public: bytes) -> dict[str, str]:
    """The members that make up a public key, and no other. Raises KeyUnreadable."""
    kind = {"crv": algorithm.crv} if algorithm.crv is not None else {}
    if "alg" in _IN_THUMBPRINT[algorithm.kty]:
        kind["alg"] = algorithm.jose[0]
    parts = {name: encode(part) for name, part in algorithm.split(public).items()}
    return {"kty": algorithm.kty, **kind, **parts}


def public_bytes(jwk: Mapping[str, object], algorithm: Algorithm) -> bytes:
    """The public key in a JWK, its members joined. Raises KeyUnreadable."""
    return algorithm.join({name: decode(jwk, name) for name in algorithm.public_members})


def text(jwk: Mapping[str, object], name: str) -> str:
    """A member that must be there and be text. Raises KeyUnreadable."""
    value = jwk.get(name)
    if not isinstance(value, str):
        raise KeyUnreadable(f"the JWK has no text member {name!r}")
    return value


def seconds(jwk: Mapping[str, object], name: str) -> int | None:
    """A member in Unix seconds, None if absent. Raises KeyUnreadable if it is no integer."""
    value = jwk.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise KeyUnreadable(f"the JWK's {name!r} is no whole number of seconds")


def encode(data: bytes) -> str:
    """Base64url without padding (RFC 7515, section 2)."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode(jwk: Mapping[str, object], name: str) -> bytes:
    """The bytes of a base64url member that must be there. Raises KeyUnreadable.

    One key has one spelling: padding, line breaks and stray bits would change its thumbprint.
    """
    value = text(jwk, name)
    try:
        data = urlsafe_b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        data = b""
    if not data or encode(data) != value:
        raise KeyUnreadable(f"the JWK's {name!r} is not base64url without padding")
    return data
