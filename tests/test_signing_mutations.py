"""No request with one byte of what its signature covers changed is taken for the signed one.

What is covered: the method, the host without regard to the case of letters, path and query, the
label's own member of Signature-Agent, what it states in Signature-Input, and its value. All else
may change (RFC 9421, section 7.2.2): blanks between members, the neighbour, other fields. A byte
is put in only where no blank or leading zero could be, which mean nothing in a structured field.
"""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Final

import pytest

from signing.algorithms import ED25519, ML_DSA_44
from signing.errors import ComponentUnavailable
from signing.keys import PrivateKey, PublicKey
from signing.message import Message
from signing.profile import Name, Profile
from signing.signer import Keyring, sign
from signing.verifier import Outcome, Policy, verify

FIRST = PrivateKey(ED25519, bytes(range(32)))
SECOND = PrivateKey(ML_DSA_44, bytes(range(32)))
KEYS = {key.keyid: key.public_key for key in (FIRST, SECOND)}
CREATED = 1_800_000_000
NOW = CREATED + 3.0
REQUEST = Message(
    method="GET",
    scheme="https",
    authority="shop.example:8443",
    target="/a%2Fb/c?x=1&y=2",
    fields=(("Host", "shop.example:8443"), ("Accept", "*/*")),
)
FIELDS: Final = ("Signature-Agent", "Signature-Input", "Signature")
PARTS: Final = ("method", "authority", "path", "query", *FIELDS)
BYTES: Final = [chr(byte) for byte in range(256)]
# Those that a byte of a structured field or a URL may well become.
LIKELY: Final = list('abczAZ0189"=;:,.()%/?#&+-_\\ \t')

Head = dict[str, str]


def apart(message: Message, label: str) -> tuple[Head, Head]:
    """The parts that a label covers, and for its three members what stands before and behind."""
    path, _, query = message.target.partition("?")
    parts = {"method": message.method, "authority": message.authority, "path": path, "query": query}
    around: Head = {}
    for name, value in message.fields[-3:]:
        first, second = value.split(", ")
        own, rest = (first, f"{{}}, {second}") if label == "sig1" else (second, f"{first}, {{}}")
        parts[name], around[name] = own, rest
    return parts, around


def together(parts: Head, around: Head) -> Message:
    fields = tuple((name, around[name].replace("{}", parts[name])) for name in FIELDS)
    return replace(
        REQUEST,
        method=parts["method"],
        authority=parts["authority"],
        target=f"{parts['path']}?{parts['query']}",
        fields=(*REQUEST.fields, *fields),
    )


def mutated(text: str, part: str, random: Random) -> str:
    """The text with one byte exchanged, taken out or put in."""
    at = random.randrange(len(text))
    byte = random.choice(random.choice((BYTES, LIKELY)))
    match random.choice("xxx-+"):
        case "-":
            return text[:at] + text[at + 1 :]
        case "+" if part not in ("Signature-Agent", "Signature-Input"):
            return text[:at] + byte + text[at:]
        case _:
            return text[:at] + byte + text[at + 1 :]


@pytest.mark.parametrize(
    ("label", "tag", "count"),
    [
        pytest.param("sig1", "web-bot-auth", 10_000, id="sig1"),
        pytest.param("sig2", "web-bot-auth-pq", 2_000, id="sig2"),
    ],
)
def test_no_mutation_of_a_covered_byte_verifies(label: str, tag: str, count: int) -> None:
    random = Random(f"mutations of {label}")
    signed = sign(
        REQUEST,
        Keyring(FIRST, SECOND),
        Profile(name=Name.BRIDGE, home="https://bot.example"),
        CREATED,
        bytes(range(64)),
    )
    whole = replace(REQUEST, fields=(*REQUEST.fields, *signed.fields))
    parts, around = apart(whole, label)
    policy = Policy(tags=frozenset({tag}))
    tried, taken = Counter[str](), list[tuple[str, str]]()

    def lookup(_: str, keyid: str) -> PublicKey:
        return KEYS.get(keyid, KEYS[FIRST.keyid if label == "sig1" else SECOND.keyid])

    assert together(parts, around) == whole
    assert verify(whole, lookup, policy, NOW).outcome is Outcome.VERIFIED
    while tried.total() < count:
        part = random.choice(PARTS)
        text = mutated(parts[part], part, random)
        if text == parts[part] or (part == "authority" and text.lower() == parts[part]):
            continue
        tried[part] += 1
        try:
            message = together({**parts, part: text}, around)
        except ComponentUnavailable:  # no method or no host any more
            continue
        if verify(message, lookup, policy, NOW).outcome is Outcome.VERIFIED:
            taken.append((part, text))

    assert taken == []
    assert min(tried[part] for part in PARTS) > count / 10
