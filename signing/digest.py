"""Content-Digest: what a message says about its own body (RFC 9530)."""

from collections.abc import Callable, Mapping
from hashlib import sha256, sha512
from types import MappingProxyType
from typing import Final

from signing import fields as sf

# RFC 9530, section 5: all others of the registry are insecure, or none of a content.
_HASHES: Final = MappingProxyType[str, Callable[[bytes], bytes]](
    {
        "sha-256": lambda body: sha256(body).digest(),
        "sha-512": lambda body: sha512(body).digest(),
    }
)


def content_digest(body: bytes) -> str:
    """The value of Content-Digest for these bytes, as they are sent: SHA-256."""
    return sf.serialize_dictionary({"sha-256": sf.Item(_HASHES["sha-256"](body))})


def agrees(value: str, body: bytes) -> bool:
    """Whether a Content-Digest is that of the body: every hash that we know, and one at least.

    Raises FieldUnreadable.
    """
    return matches(sf.parse_dictionary(value), value, body)


def matches(members: Mapping[str, sf.Member], value: str, body: bytes) -> bool:
    """As `agrees`, for a field that is parsed already. Raises FieldUnreadable."""
    texts = sf.own_texts(value, members)
    known = members.keys() & _HASHES
    return bool(known) and all(
        sf.byte_sequence(members[name], texts[name]) == _HASHES[name](body) for name in known
    )
