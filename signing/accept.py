"""What a server asks to be signed (RFC 9421, section 5), and whether it gets it.

Whoever answers us may ask for anything, also on behalf of somebody else: to sign what it likes
with a key that it names would make an oracle of us. So it may choose which parts of our own next
request to it sig1 covers, and a nonce, and nothing more: the tag is ours, the host stays bound,
key and algorithm are those that sign anyway, and what is a secret between two others (Cookie,
Authorization) or speaks of a body (we send none) is refused.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from signing import coverable
from signing import fields as sf
from signing.algorithms import ED25519
from signing.errors import CoverageImpossible, FieldUnreadable
from signing.label import FIRST_TAG
from signing.message import Component

LONGEST: Final = 4096  # characters of the field that are looked at
LONGEST_NONCE: Final = 256
MOST_PIECES: Final = 128  # `fields.pieces`; a wish for two signatures has some 30

_SECRET: Final = frozenset({"cookie", "authorization", "proxy-authorization"})
_BODY: Final = ("content-", "repr-digest", "digest", "transfer-encoding", "trailer")
_KNOWN: Final = frozenset({"created", "expires", "nonce", "alg", "keyid", "tag"})
_AGENT: Final = "signature-agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What sig1 of the next request is to look like: its label, what it covers, its nonce.

    `covered` is without Signature-Agent, which the profile adds in its own form. `nonce` is None
    where the server leaves it to us. `keyid` is the key that it may be granted with.
    """

    label: str
    covered: tuple[Component, ...]
    nonce: str | None
    keyid: str

    def __str__(self) -> str:
        nonce = "" if self.nonce is None else ", with its nonce"
        return f"{self.label} over {', '.join(item.name for item in self.covered)}{nonce}"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing of it is granted: a reason for each signature that was asked for."""

    why: str

    def __str__(self) -> str:
        return self.why


class _No(Exception):
    """Why one signature that was asked for is not given."""


def decide(field: str, *, keyid: str, second_label: str, sent: Collection[str]) -> Wish | Refused:
    """Decide on the value of Accept-Signature, its lines joined: the first wish that is granted.

    `keyid` is the key of sig1, `second_label` what sig2 is called, `sent` the fields, in lower
    case, that stand on each request when it is signed.
    """
    if len(field) > LONGEST or sf.pieces(field) > MOST_PIECES:
        return Refused("longer than anybody's who means it")
    try:
        asked = sf.parse_dictionary(field)
    except FieldUnreadable as error:
        return Refused(f"cannot be read: {error}")
    refused = []
    for label, member in asked.items():
        try:
            return _wish(label, member, keyid, second_label, sent)
        except _No as error:
            refused.append(f"{label}: {error}")
    return Refused("; ".join(refused) or "asks for no signature")


def _wish(
    label: str, member: sf.Member, keyid: str, second_label: str, sent: Collection[str]
) -> Wish:
    if not isinstance(member, sf.InnerList):
        raise _No("is no list of components")
    params = dict(member.params)
    if not _is(params.get("tag"), FIRST_TAG):
        raise _No(f"its tag is not {FIRST_TAG}")
    if label == second_label:
        raise _No("that is the label of our second signature")
    for name in params.keys() - _KNOWN:
        raise _No(f"parameter {name!r} is none that we know")
    for name in ("created", "expires"):
        if params.get(name, True) is not True:
            raise _No(f"{name!r} has a value, which is for us to choose")
    for name, own, what in (("keyid", keyid, "key"), ("alg", ED25519.name, "algorithm")):
        if not (params.get(name, True) is True or _is(params[name], own)):
            raise _No(f"the {what} is not that of our first signature")
    return Wish(
        label=label, covered=_covered(member, sent), nonce=_nonce(params.get("nonce")), keyid=keyid
    )


def _covered(member: sf.InnerList, sent: Collection[str]) -> tuple[Component, ...]:
    names: list[str] = []
    for item in member.items:
        name = item.value
        if not isinstance(name, str):
            raise _No("a component is no string")
        if name in _SECRET:
            raise _No(f"{name!r} is not for a signature that others may see")
        if name.startswith(_BODY):
            raise _No(f"{name!r} speaks of a body, we send none")
        if name == _AGENT:
            continue
        if item.params:
            raise _No(f"{name!r} is asked for with parameters")
        names.append(name)
    try:
        return coverable.components(names, sent)
    except CoverageImpossible as error:
        raise _No(error.why) from error


def _is(value: sf.BareItem | None, text: str) -> bool:
    return isinstance(value, str) and value == text  # a token with the same letters is another


def _nonce(asked: sf.BareItem | None) -> str | None:
    if asked is None or asked is True:
        return None
    if not isinstance(asked, str) or not 0 < len(asked) <= LONGEST_NONCE:
        raise _No(f"the nonce is no text of 1 to {LONGEST_NONCE} characters")
    return asked
