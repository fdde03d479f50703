"""Key sets: what we publish, what others publish, and the signature of a directory's response."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from signing import keys, signature
from signing.algorithms import ED25519
from signing.base import SignatureParams
from signing.digest import content_digest
from signing.errors import KeySetUnreadable, KeyUnreadable, SigningError
from signing.keys import PrivateKey, PublicKey
from signing.message import Component, Message

WELL_KNOWN: Final = "/.well-known/http-message-signatures-directory"
MEDIA_TYPE: Final = "application/http-message-signatures-directory+json"
TAG: Final = "http-message-signatures-directory"
# The authority binds the response to the host that was asked, the digest to the keys in it.
COVERED: Final = (Component("@authority", (("req", True),)), Component("content-digest"))


@dataclass(frozen=True, slots=True)
class KeySet:
    """The usable keys of a set in its order, and one line for each entry that is none."""

    keys: tuple[PublicKey, ...]
    skipped: tuple[str, ...] = ()

    def find(self, keyid: str) -> PublicKey | None:
        """The key with this thumbprint, if it is there."""
        return next((key for key in self.keys if key.keyid == keyid), None)


def key_set(published: Iterable[PublicKey]) -> bytes:
    """A JWK Set (RFC 7517) as UTF-8 JSON, the same bytes for the same keys.

    Ed25519 keys come first, otherwise the order is the caller's: the active key first, since
    some verifiers take ``keys[0]``. A key that is given twice stands once.
    """
    unique = {key.keyid: key for key in published}.values()
    ordered = sorted(unique, key=lambda key: key.algorithm is not ED25519)
    return msgspec.json.encode({"keys": [key.jwk() for key in ordered]})


def read_key_set(data: bytes, *, most: int) -> KeySet:
    """The keys of somebody's JWK Set; entries that we cannot use are skipped and named.

    ``most`` is the number of entries that are tolerated; the size of ``data`` is for the
    caller to bound. Raises KeySetUnreadable.
    """
    try:
        entries = msgspec.json.decode(data, type=_Document).keys
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise KeySetUnreadable(f"no JWK Set: {error}") from error
    if len(entries) > most:
        raise KeySetUnreadable(f"{len(entries)} keys in one set, {most} are tolerated")
    usable: list[PublicKey] = []
    skipped: list[str] = []
    for index, entry in enumerate(entries):
        try:
            usable.append(keys.read_public(_jwk(entry)))
        except SigningError as error:
            skipped.append(f"keys[{index}]: {error}")
    return KeySet(tuple(usable), tuple(skipped))


def signed_fields(
    body: bytes, active: Iterable[PrivateKey], *, authority: str, created: int, expires: int
) -> tuple[tuple[str, str], ...]:
    """Content-Digest, Signature-Input and Signature of a directory's response.

    One label for each Ed25519 key (``sig1``, ``sig2``, …), proving that whoever serves
    ``authority`` holds the secrets; other keys do not sign, ML-DSA would take 3.2 KB each.
    ``created`` and ``expires`` are Unix seconds. Raises ComponentUnavailable for an authority
    that is none, FieldUnwritable where no key signs.
    """
    digest = ("Content-Digest", content_digest(body))
    request = Message(method="GET", scheme="https", authority=authority, target=WELL_KNOWN)
    response = Message(status=200, fields=(digest,), request=request)
    signers = [key for key in active if key.algorithm is ED25519]
    signed = [
        signature.sign(
            response,
            key,
            SignatureParams(
                COVERED,
                (("created", created), ("expires", expires), ("keyid", key.keyid), ("tag", TAG)),
            ),
            f"sig{number}",
        )
        for number, key in enumerate(signers, start=1)
    ]
    return (digest, *signature.written(signed))


class _Document(msgspec.Struct):
    keys: list[object]


def _jwk(entry: object) -> dict[str, object]:
    try:
        return msgspec.convert(entry, dict[str, object])
    except msgspec.ValidationError as error:
        raise KeyUnreadable("no JSON object") from error
