"""Signature-Agent: where a signer says that its keys are, and which value is whose.

Two forms are read. The working group's is a dictionary with one member a label; the older one,
which most of the web still sends, is a single string that speaks for every label.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from signing import fields as sf
from signing.errors import DuplicateMember, FieldUnreadable
from signing.judgement import Keying, Reason
from signing.message import Component, Message

FIELD = "signature-agent"
# One spelling for each: an empty port, 0443 or a dot behind the name would be one more agent, and
# what else a host could contain is for nobody's log or configuration.
AUTHORITY: Final = re.compile(
    r"(?:[\w-]+(?:\.[\w-]+)*+|\[[0-9A-Fa-f:.]+\])(?::[1-9][0-9]{0,4})?", re.ASCII
)
"""The host of an agent, and its port, as it has to be spelled; letters may be of either case."""
_URL: Final = re.compile(r"[!#-;=?-\[\]_a-z~]*")  # what a URL may consist of (RFC 3986, section 2)
_WHOLE = Component(FIELD)


def resolve(
    message: Message, label: str, covered: tuple[Component, ...], keying: Keying
) -> str | Reason:
    """Give the value that speaks for a label, as it was sent, or the reason why there is none.

    The signature has to cover it, else anybody could put another name there.
    """
    value = message.field(FIELD)
    if not value:
        return Reason.SIGNATURE_AGENT_ABSENT
    found = (
        _string(message, covered)
        if value.startswith('"')
        else _member(message, label, covered, keying)
    )
    if isinstance(found, Reason):
        return found
    return _url(found)


def _string(message: Message, covered: tuple[Component, ...]) -> sf.Member | Reason:
    try:
        item = message.item(FIELD)
    except FieldUnreadable:
        return Reason.SIGNATURE_AGENT_UNPARSABLE
    if _keyed(covered):
        return Reason.SIGNATURE_AGENT_MEMBER_MISSING
    return item if _whole(covered) else Reason.MISSING_COMPONENT


def _member(
    message: Message, label: str, covered: tuple[Component, ...], keying: Keying
) -> sf.Member | Reason:
    try:
        members = message.dictionary(FIELD)
    except DuplicateMember:
        # One reader takes the first of the two, the next the last.
        return Reason.SIGNATURE_AGENT_AMBIGUOUS_MEMBER
    except FieldUnreadable:
        return Reason.SIGNATURE_AGENT_UNPARSABLE
    keyed = _keyed(covered)
    if not keyed <= members.keys():
        return Reason.SIGNATURE_AGENT_MEMBER_MISSING
    if keying is Keying.STRICT:
        if label not in members:
            return _none_of(len(members))
        return members[label] if label in keyed else Reason.MISSING_COMPONENT
    if not keyed and not _whole(covered):
        return Reason.MISSING_COMPONENT
    candidates = keyed or set(members)
    if label not in candidates and len(candidates) != 1:
        return _none_of(len(candidates))
    return members[label if label in candidates else candidates.pop()]


def _none_of(members: int) -> Reason:
    if members > 1:
        return Reason.SIGNATURE_AGENT_AMBIGUOUS_MEMBER
    return Reason.SIGNATURE_AGENT_MEMBER_MISSING


def _url(member: sf.Member) -> str | Reason:
    if not isinstance(member, sf.Item) or not isinstance(member.value, str):
        return Reason.SIGNATURE_AGENT_UNPARSABLE
    try:
        url = urlsplit(member.value)
        _ = url.port  # looked at for its ValueError
    except ValueError:
        return Reason.SIGNATURE_AGENT_UNPARSABLE
    if url.scheme not in ("", "https"):
        return Reason.SIGNATURE_AGENT_NOT_HTTPS
    spelled = _URL.fullmatch(member.value) and AUTHORITY.fullmatch(url.netloc)
    if not url.scheme or not spelled or "#" in member.value:
        return Reason.SIGNATURE_AGENT_UNPARSABLE
    return member.value


def _whole(covered: tuple[Component, ...]) -> bool:
    return _WHOLE in covered


def _keyed(covered: tuple[Component, ...]) -> set[str]:
    return {
        value
        for item in covered
        if item.name == FIELD
        for name, value in item.params
        if name == "key" and isinstance(value, str)
    }
