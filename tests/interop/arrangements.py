"""The ways in which one or two signatures can stand in a request, in each profile's form."""

import secrets
import time
from enum import StrEnum
from typing import Final

import verifiers

from signing import signer
from signing.label import FIRST_TAG
from signing.message import Message
from signing.profile import Labels, Name, Profile, Second
from signing.signer import Keyring

AUTHORITY: Final = "shop.example"
HOME: Final = "https://bot.example"
SENT: Final = (("Host", AUTHORITY), ("Accept", "*/*"), ("User-Agent", "ExampleBot/1.0"))
# A query that is not there is "?" in the base, and half of all readers get one of the rest wrong.
TARGETS: Final = ("/", "/caf%C3%A9/a%2Fb;c?q=%7E&u=https://x.example/y&empty=")

Fields = list[tuple[str, str]]


class Arrangement(StrEnum):
    """Which signatures there are, what sig2 says of itself, and in which order they stand."""

    ALONE = "alone"
    BOTH = "both"  # as we send them by default
    PUBLISHED = "published"  # both with the same tag
    UNTAGGED = "untagged"  # sig2 without a tag
    SECOND_FIRST = "second-first"
    TWO_LINES = "two-lines"  # of each field, sig1's first


def offered(keyring: Keyring, name: Name, arrangement: Arrangement, target: str) -> Fields:
    """The fields of a request as it would be sent now: these verifiers read the clock."""
    match arrangement:
        case Arrangement.ALONE:
            return signed(keyring, name, target, labels=Labels.FIRST)
        case Arrangement.BOTH:
            return signed(keyring, name, target)
        case Arrangement.PUBLISHED if name is Name.LEGACY:
            return signed(keyring, Name.PUBLISHED, target)
        case Arrangement.PUBLISHED:
            return signed(keyring, name, target, second=Second(tag=FIRST_TAG))
        case Arrangement.UNTAGGED:
            return signed(keyring, name, target, second=Second(tag=""))
        case Arrangement.SECOND_FIRST:
            return [
                (field, ", ".join(reversed(_members(field, value))))
                for field, value in signed(keyring, name, target)
            ]
        case Arrangement.TWO_LINES:
            return [
                (field, member)
                for field, value in signed(keyring, name, target)
                for member in _members(field, value)
            ]


def signed(
    keyring: Keyring,
    name: Name,
    target: str,
    *,
    labels: Labels = Labels.BOTH,
    second: Second | None = None,
) -> Fields:
    """The fields of a GET request in a profile's own arrangement."""
    profile = Profile(name=name, home=HOME, second=second or Second())
    message = Message(method="GET", scheme="https", authority=AUTHORITY, target=target, fields=SENT)
    created = int(time.time()) - 3
    added = signer.sign(message, keyring, profile, created, secrets.token_bytes(64), labels)
    return [*SENT, *added.fields]


def _members(field: str, value: str) -> list[str]:
    if field.lower() not in verifiers.SIGNATURE_FIELDS or value.startswith('"'):
        return [value]
    return [f"{label}={text}" for label, text in verifiers.members(value).items()]
