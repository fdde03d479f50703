"""What the fuzzer feeds: bytes to the parsers, the key sets and the verifier, and seeds for it.

The first byte chooses where the rest goes. A request is lines: method, host, target, then the
fields. Only what is declared may be raised.
"""

from base64 import b64encode
from contextlib import suppress
from typing import Final

from general import generally

from signing import digest, usual
from signing import fields as sf
from signing.algorithms import ED25519, ML_DSA_44
from signing.base import read_params, signature_base
from signing.directory import key_set, read_key_set
from signing.errors import ComponentUnavailable, FieldUnreadable, KeySetUnreadable
from signing.keys import PrivateKey, PublicKey
from signing.message import Message
from signing.profile import Name, Profile
from signing.signer import Keyring, sign
from signing.verifier import Keying, Policy, Reason, verify

FIRST: Final = PrivateKey(ED25519, bytes(range(32)))
SECOND: Final = PrivateKey(ML_DSA_44, bytes(range(32)))
KEYS: Final = {key.keyid: key.public_key for key in (FIRST, SECOND)}
CREATED: Final = 1_800_000_000


def feed(data: bytes) -> None:
    """Put it through. Raises what nobody declared, and AssertionError."""
    kind, rest = data[:1] or b"\0", data[1:]
    match kind[0] % 4:
        case 0:
            fields(rest)
        case 1:
            keys(rest)
        case 2:
            request(rest, Keying.STRICT)
        case _:
            request(rest, Keying.LENIENT)


def fields(data: bytes) -> None:
    """Structured fields, digests and what a member of Signature-Input states."""
    text = data.decode("utf-8", "surrogateescape")
    with suppress(FieldUnreadable):
        sf.serialize_member(sf.parse_item(text))
    with suppress(FieldUnreadable):
        digest.agrees(text, b"")
    try:
        members = sf.parse_dictionary(text)
    except FieldUnreadable:
        return
    texts = sf.own_texts(text, members)
    assert texts.keys() == members.keys()
    for name, member in members.items():
        assert sf.parse_dictionary(texts[name].strip(" \t")) == {name: member}
        with suppress(FieldUnreadable):
            value = sf.byte_sequence(member, texts[name])
            assert f"=:{b64encode(value).decode()}:" in texts[name]
        with suppress(FieldUnreadable, ComponentUnavailable):
            stated = sf.parse_dictionary(f"x={read_params(member).serialize()}")
            assert stated == {"x": member}


def keys(data: bytes) -> None:
    """Key sets."""
    with suppress(KeySetUnreadable):
        assert len(read_key_set(data, most=10).keys) <= 10


def request(data: bytes, keying: Keying) -> None:
    """A request, read in both ways and judged; by a lookup that has all keys everywhere."""
    method, host, target, *lines = (
        data.decode("utf-8", "surrogateescape").split("\n")[:64] + [""] * 3
    )
    sent = [line.partition(": ")[::2] for line in lines if line]
    try:
        message = Message(
            method=method, scheme="https", authority=host, target=target, fields=tuple(sent)
        )
    except ComponentUnavailable:
        return
    policy = Policy(keying=keying)
    read = usual.read(message, policy)
    assert read is None or read == generally(message, policy)

    def lookup(_: str, keyid: str) -> PublicKey | Reason:
        return KEYS.get(keyid, Reason.UNKNOWN_KEY)

    found = verify(message, lookup, policy, CREATED + 3.0, lambda *_: False, b"")
    for judged in found.labels:
        if judged.reason is None:
            stated = read_params(message.dictionary("signature-input")[judged.label])
            assert signature_base(message, stated) in SIGNED


REQUEST: Final = Message(
    method="GET",
    scheme="https",
    authority="shop.example",
    target="/a%2Fb?x=1",
    fields=(("Host", "shop.example"), ("Accept", "*/*")),
)


def _heads() -> list[tuple[Message, bytes]]:
    found = []
    for name in Name:
        if name is not Name.AUTO:
            profile = Profile(name=name, home="https://bot.example")
            made = sign(REQUEST, Keyring(FIRST, SECOND), profile, CREATED, bytes(64)).fields
            lines = [f"{field}: {value}" for field, value in (*REQUEST.fields, *made)]
            head = "\n".join([REQUEST.method, REQUEST.authority, REQUEST.target, *lines])
            message = Message(
                method="GET",
                scheme="https",
                authority=REQUEST.authority,
                target=REQUEST.target,
                fields=(*REQUEST.fields, *made),
            )
            found.append((message, head.encode()))
    return found


_HEADS: Final = _heads()
# All that our keys ever signed: whatever verifies has to be one of these.
SIGNED: Final = frozenset(
    signature_base(message, read_params(stated))
    for message, _ in _HEADS
    for stated in message.dictionary("signature-input").values()
)
SEEDS: Final = (
    *(kind + head for _, head in _HEADS for kind in (b"\2", b"\3")),
    *(b"\0" + value.encode() for message, _ in _HEADS for _, value in message.fields),
    b"\1" + key_set([FIRST.public_key, SECOND.public_key]),
    b"\0" + digest.content_digest(b"").encode(),
)
