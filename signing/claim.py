"""What the labels of a request say of themselves, every part of the type that it must have."""

from typing import NamedTuple

from signing import fields as sf
from signing.base import SignatureParams, read_params
from signing.covered import Covered
from signing.errors import (
    ComponentUnavailable,
    DuplicateMember,
    FieldUnreadable,
    LabelMismatch,
)
from signing.judgement import Policy, Reason
from signing.message import Message


class Ready(NamedTuple):
    """What follows from a claim and its message, where it was found while they were read."""

    agent: str  # the Signature-Agent value that speaks for the label
    base: bytes


class Claim(NamedTuple):
    """The parameters of a signature, and its bytes. Moments are Unix seconds."""

    covered: Covered
    signature: bytes
    created: int
    expires: int
    keyid: str
    alg: str | None
    nonce: str | None
    source: SignatureParams | Ready


class Claims(NamedTuple):
    """What a request has for us: label, tag and claim of each signature, and the other labels."""

    ours: list[tuple[str, str, Claim | Reason]]
    passed_over: list[str]


def read(message: Message, policy: Policy) -> Claims | Reason:
    """The claims of a request, or why nobody can say which value belongs to which label."""
    pairs = _pairs(message)
    if isinstance(pairs, Reason):
        return pairs
    tagged = [(label, _tag(stated), stated, value) for label, stated, value in pairs]
    passed_over = [label for label, tag, _, _ in tagged if tag not in policy.tags]
    if len(pairs) - len(passed_over) > policy.max_labels:
        return Reason.SIGNATURE_INPUT_UNREADABLE
    texts = sf.own_texts(message.field("signature") or "", message.dictionary("signature"))
    ours = [
        (label, tag, _claim(stated, value, texts[label], policy))
        for label, tag, stated, value in tagged
        if tag is not None and tag in policy.tags
    ]
    return Claims(ours, passed_over)


def _pairs(message: Message) -> tuple[tuple[str, sf.Member, sf.Member], ...] | Reason:
    """Each label with what it states and its value. Doubt about the pairing is the message's."""
    try:
        stated = message.dictionary("signature-input")
    except DuplicateMember:
        return Reason.DUPLICATE_LABEL
    except FieldUnreadable:
        return Reason.SIGNATURE_INPUT_UNREADABLE
    try:
        return sf.pair(stated, message.dictionary("signature"))
    except DuplicateMember:
        return Reason.DUPLICATE_LABEL
    except LabelMismatch:
        return Reason.LABEL_MISMATCH
    except FieldUnreadable:
        return Reason.SIGNATURE_VALUE_UNREADABLE


def _tag(stated: sf.Member) -> str | None:
    tag = dict(stated.params).get("tag")
    return tag if isinstance(tag, str) else None


def _claim(stated: sf.Member, value: sf.Member, text: str, policy: Policy) -> Claim | Reason:
    if isinstance(stated, sf.InnerList) and len(stated.items) > policy.max_covered:
        return Reason.SIGNATURE_INPUT_UNREADABLE
    if _covers_twice(stated):
        return Reason.DUPLICATE_COMPONENT
    try:
        params = read_params(stated)
        created, expires = params.integer("created"), params.integer("expires")
        keyid, alg, nonce = (params.string(name) for name in ("keyid", "alg", "nonce"))
    except FieldUnreadable:
        return Reason.SIGNATURE_INPUT_UNREADABLE
    except ComponentUnavailable:
        return Reason.MISSING_COMPONENT
    if created is None or expires is None or keyid is None:
        return Reason.MISSING_FIELDS
    try:
        signature = sf.byte_sequence(value, text)
    except FieldUnreadable:
        return Reason.SIGNATURE_VALUE_UNREADABLE
    covered = Covered(params.covered)
    return Claim(covered, signature, created, expires, keyid, alg, nonce, params)


def _covers_twice(stated: sf.Member) -> bool:
    if not isinstance(stated, sf.InnerList):
        return False
    # The order of a component's parameters makes it no other component (RFC 9421, section 2).
    identities = {(item.value, frozenset(item.params)) for item in stated.items}
    return len(identities) < len(stated.items)
