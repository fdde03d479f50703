"""Judges the signatures of a request (RFC 9421, section 3.2; Web Bot Auth -01).

Values in, values out: keys, the time and the memory of what was seen come in as arguments, and a
message that is full of garbage is an outcome. Each label is judged for itself; only what makes
it doubtful which value belongs to which label refuses the message as a whole. What costs nothing
comes first, the lookup of the key after it, and what only a true signer may cause, the entry in
the replay memory, last.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from signing import agent, digest
from signing import fields as sf
from signing.base import SignatureParams, read_params, signature_base
from signing.errors import (
    ComponentUnavailable,
    DuplicateMember,
    FieldUnreadable,
    LabelMismatch,
)
from signing.judgement import (
    Judgement,
    Keying,
    KeyLookup,
    Outcome,
    Policy,
    Reason,
    ReplayKey,
    Seen,
    Verification,
)
from signing.keys import PublicKey
from signing.message import Component, Message

__all__ = [
    "Judgement",
    "KeyLookup",
    "Keying",
    "Outcome",
    "Policy",
    "Reason",
    "ReplayKey",
    "Seen",
    "Verification",
    "verify",
]

# What each reader of a target gets out of @target-uri (RFC 9421, section 2.2.2).
_IN_TARGET_URI = frozenset({"@scheme", "@authority", "@path", "@query"})
_BOUND_DIGESTS = frozenset({None, "sha-256", "sha-512"})  # None: the whole field is covered


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """All that a judge may look at."""

    message: Message
    texts: Mapping[str, str]  # of each label in Signature, as it came
    content: bytes
    lookup: KeyLookup
    seen: Seen | None
    policy: Policy
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What a label says of itself, every part of the type that it must have."""

    params: SignatureParams
    signature: bytes
    created: int
    expires: int
    keyid: str
    alg: str | None
    nonce: str | None


def verify(
    message: Message,
    lookup: KeyLookup,
    policy: Policy,
    now: float,
    seen: Seen | None = None,
    content: bytes = b"",
) -> Verification:
    """Judge a request by every label whose tag the policy names.

    `lookup` gives the key for a Signature-Agent value, as it was sent, and a keyid: never for a
    keyid alone, since anybody may publish anybody's key. That a bare origin implies the
    well-known path is for `lookup` to know. Where it has no key it answers UNKNOWN_KEY,
    DIRECTORY_UNAVAILABLE or DIRECTORY_MALFORMED. `now` is Unix seconds. `seen` records a replay
    key until a Unix second and says whether it was there already, in one step; it is asked for
    good signatures only. `content` is the body, for a covered Content-Digest.

    Raises only what `lookup` and `seen` raise.
    """
    pairs = _pairs(message)
    if isinstance(pairs, Reason):
        return Verification(outcome=pairs.outcome, reason=pairs)
    ours = [(label, stated, value) for label, stated, value in pairs if _tag(stated) in policy.tags]
    if len(ours) > policy.max_labels:
        reason = Reason.SIGNATURE_INPUT_UNREADABLE
        return Verification(outcome=reason.outcome, reason=reason)
    case = _Case(
        message=message,
        texts=sf.own_texts(message.field("signature") or "", message.dictionary("signature")),
        content=content,
        lookup=lookup,
        seen=seen,
        policy=policy,
        now=now,
    )
    judged = tuple(_judge(case, label, stated, value) for label, stated, value in ours)
    return Verification(
        outcome=_overall({judgement.outcome for judgement in judged}),
        labels=judged,
        reason=None if judged else Reason.NO_SIGNATURE,
        passed_over=tuple(label for label, stated, _ in pairs if _tag(stated) not in policy.tags),
    )


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


def _overall(outcomes: set[Outcome]) -> Outcome:
    if Outcome.VERIFIED in outcomes:
        return Outcome.VERIFIED
    return Outcome.INVALID if Outcome.INVALID in outcomes else Outcome.UNVERIFIED


def _judge(case: _Case, label: str, stated: sf.Member, value: sf.Member) -> Judgement:
    found = Judgement(label=label, tag=_tag(stated))
    claim = _claim(label, stated, value, case)
    if isinstance(claim, Reason):
        return replace(found, reason=claim)
    covered = claim.params.covered
    found = replace(found, keyid=claim.keyid, covered=tuple(map(str, covered)))
    if reason := _untimely(claim, case) or _unbound(covered, case.policy):
        return replace(found, reason=reason)
    if claim.alg is not None and not case.policy.knows(claim.alg):
        return replace(found, reason=Reason.UNSUPPORTED_ALGORITHM)
    url = agent.resolve(case.message, label, covered, case.policy.keying)
    if isinstance(url, Reason):
        return replace(found, reason=url)
    found = replace(found, agent=url)
    try:
        base = signature_base(case.message, claim.params)
    except ComponentUnavailable:
        return replace(found, reason=Reason.MISSING_COMPONENT)
    key = _key(case, url, claim.keyid)
    if isinstance(key, Reason):
        return replace(found, reason=key)
    found = replace(found, algorithm=key.algorithm.name)
    return replace(found, reason=_fault(case, url, claim, key, base))


def _claim(label: str, stated: sf.Member, value: sf.Member, case: _Case) -> _Claim | Reason:
    if isinstance(stated, sf.InnerList) and len(stated.items) > case.policy.max_covered:
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
        signature = sf.byte_sequence(value, case.texts[label])
    except FieldUnreadable:
        return Reason.SIGNATURE_VALUE_UNREADABLE
    return _Claim(
        params=params,
        signature=signature,
        created=created,
        expires=expires,
        keyid=keyid,
        alg=alg,
        nonce=nonce,
    )


def _covers_twice(stated: sf.Member) -> bool:
    if not isinstance(stated, sf.InnerList):
        return False
    # The order of a component's parameters makes it no other component (RFC 9421, section 2).
    identities = {(item.value, frozenset(item.params)) for item in stated.items}
    return len(identities) < len(stated.items)


def _untimely(claim: _Claim, case: _Case) -> Reason | None:
    if claim.created > case.now + case.policy.skew:
        return Reason.CLOCK_AHEAD
    if claim.expires <= case.now or claim.expires <= claim.created:
        return Reason.EXPIRED
    if claim.expires - claim.created > case.policy.max_window:
        return Reason.WINDOW_TOO_LONG
    return None


def _unbound(covered: tuple[Component, ...], policy: Policy) -> Reason | None:
    names = {item.name for item in covered if not item.params}
    if "@target-uri" in names:
        names |= _IN_TARGET_URI
    return None if policy.required <= names else Reason.TARGET_NOT_COVERED


def _key(case: _Case, url: str, keyid: str) -> PublicKey | Reason:
    if keyid in case.policy.refused_keyids:
        return Reason.UNKNOWN_KEY
    key = case.lookup(url, keyid)
    if isinstance(key, Reason):
        return key
    begun = key.not_before is None or key.not_before <= case.now
    over = key.expires is not None and key.expires <= case.now
    # The thumbprint again: a directory could list one key under another's name.
    return key if key.keyid == keyid and begun and not over else Reason.UNKNOWN_KEY


def _fault(case: _Case, url: str, claim: _Claim, key: PublicKey, base: bytes) -> Reason | None:
    if key.algorithm.name not in case.policy.algorithms:
        return Reason.UNSUPPORTED_ALGORITHM
    if not case.policy.agrees(claim.alg, key):
        return Reason.ALGORITHM_MISMATCH
    if not key.algorithm.verify(key.public, base, claim.signature):
        return Reason.BAD_SIGNATURE
    if not _content_agrees(case, claim.params.covered):
        return Reason.CONTENT_DIGEST_MISMATCH
    # Last, so that only the signer itself can fill the memory.
    token = claim.nonce or sha256(key.algorithm.canonical(claim.signature)).hexdigest()
    if case.seen is not None and case.seen(ReplayKey(url, claim.keyid, token), claim.expires):
        return Reason.REPLAYED
    return None


def _content_agrees(case: _Case, covered: tuple[Component, ...]) -> bool:
    members = {dict(item.params).get("key") for item in covered if item.name == "content-digest"}
    if not members:
        return True
    if not members & _BOUND_DIGESTS:
        return False  # a hash that nobody can check is covered, the one that can be is not
    try:
        stated = case.message.dictionary("content-digest")
        return digest.matches(stated, case.message.field("content-digest") or "", case.content)
    except FieldUnreadable:
        return False
