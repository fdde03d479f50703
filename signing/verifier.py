"""Judges the signatures of a request (RFC 9421, section 3.2; Web Bot Auth -01).

Values in, values out: keys, the time and the memory of what was seen come in as arguments, and a
message that is full of garbage is an outcome. Each label is judged for itself; only what makes
it doubtful which value belongs to which label refuses the message as a whole. What costs nothing
comes first, the lookup of the key after it, and what only a true signer may cause, the entry in
the replay memory, last.
"""

from hashlib import sha256
from typing import Final, NamedTuple

from signing import agent, digest, usual
from signing import claim as claims
from signing.base import signature_base
from signing.claim import Claim, Ready
from signing.covered import Covered
from signing.errors import ComponentUnavailable, FieldUnreadable
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
from signing.message import Message

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
    "overall",
    "verify",
]

_BOUND_DIGESTS: Final = frozenset({None, "sha-256", "sha-512"})  # None: the whole field is covered


class _Case(NamedTuple):
    """All that a judge may look at."""

    message: Message
    content: bytes | None
    lookup: KeyLookup
    seen: Seen | None
    policy: Policy
    now: float


def verify(
    message: Message,
    lookup: KeyLookup,
    policy: Policy,
    now: float,
    seen: Seen | None = None,
    content: bytes | None = b"",
) -> Verification:
    """Judge a request by every label whose tag the policy names.

    `lookup` gives the key for a Signature-Agent value, as it was sent, and a keyid: never for a
    keyid alone, since anybody may publish anybody's key. That a bare origin implies the
    well-known path is for `lookup` to know. Where it has no key it answers UNKNOWN_KEY,
    DIRECTORY_UNAVAILABLE or DIRECTORY_MALFORMED. `now` is Unix seconds. `seen` records a replay
    key until a Unix second and says whether it was there already, in one step; it is asked for
    good signatures only. `content` is the body, for a covered Content-Digest; with None nobody
    compares it, which is then up to whoever has the body.

    Raises only what `lookup` and `seen` raise.
    """
    found = usual.read(message, policy) or claims.read(message, policy)
    if isinstance(found, Reason):
        return Verification(outcome=found.outcome, reason=found)
    case = _Case(message, content, lookup, seen, policy, now)
    judged = tuple([_judge(case, label, tag, claim) for label, tag, claim in found.ours])
    return Verification(
        outcome=overall(judged),
        labels=judged,
        reason=None if judged else Reason.NO_SIGNATURE,
        passed_over=tuple(found.passed_over),
    )


def overall(labels: tuple[Judgement, ...]) -> Outcome:
    """What a message is by its labels: one good signature is enough."""
    outcomes = [one.outcome for one in labels]
    if Outcome.VERIFIED in outcomes:
        return Outcome.VERIFIED
    return Outcome.INVALID if Outcome.INVALID in outcomes else Outcome.UNVERIFIED


def _judge(case: _Case, label: str, tag: str, claim: Claim | Reason) -> Judgement:
    if isinstance(claim, Reason):
        return Judgement(label=label, tag=tag, reason=claim)
    url, key, reason = _found(case, label, claim)
    return Judgement(
        label=label,
        reason=reason,
        keyid=claim.keyid,
        agent=url,
        algorithm=None if key is None else key.algorithm.name,
        tag=tag,
        covered=claim.covered.identifiers,
    )


def _found(
    case: _Case, label: str, claim: Claim
) -> tuple[str | None, PublicKey | None, Reason | None]:
    """Who signs, the key, and what is wrong, each as far as one gets."""
    if reason := _untimely(claim, case):
        return None, None, reason
    if not case.policy.required <= claim.covered.bound:
        return None, None, Reason.TARGET_NOT_COVERED
    if claim.alg is not None and not case.policy.knows(claim.alg):
        return None, None, Reason.UNSUPPORTED_ALGORITHM
    source = claim.source
    if isinstance(source, Ready):
        url, base = source
    else:
        found = agent.resolve(case.message, label, claim.covered, case.policy.keying)
        if isinstance(found, Reason):
            return None, None, found
        url = found
        try:
            base = signature_base(case.message, source)
        except ComponentUnavailable:
            return url, None, Reason.MISSING_COMPONENT
    key = _key(case, url, claim.keyid)
    if isinstance(key, Reason):
        return url, None, key
    return url, key, _fault(case, url, claim, key, base)


def _untimely(claim: Claim, case: _Case) -> Reason | None:
    if claim.created > case.now + case.policy.skew:
        return Reason.CLOCK_AHEAD
    if claim.expires <= case.now or claim.expires <= claim.created:
        return Reason.EXPIRED
    if claim.expires - claim.created > case.policy.max_window:
        return Reason.WINDOW_TOO_LONG
    return None


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


def _fault(case: _Case, url: str, claim: Claim, key: PublicKey, base: bytes) -> Reason | None:
    if key.algorithm.name not in case.policy.algorithms:
        return Reason.UNSUPPORTED_ALGORITHM
    if not case.policy.agrees(claim.alg, key):
        return Reason.ALGORITHM_MISMATCH
    if not key.algorithm.verify(key.public, base, claim.signature):
        return Reason.BAD_SIGNATURE
    if claim.covered.digests and not _content_agrees(case, claim.covered):
        return Reason.CONTENT_DIGEST_MISMATCH
    # Last, so that only the signer itself can fill the memory.
    if case.seen is None:
        return None
    token = claim.nonce or sha256(key.algorithm.canonical(claim.signature)).hexdigest()
    again = case.seen(ReplayKey(url, claim.keyid, token), claim.expires)
    return Reason.REPLAYED if again else None


def _content_agrees(case: _Case, covered: Covered) -> bool:
    if not covered.digests & _BOUND_DIGESTS:
        return False  # a hash that nobody can check is covered, the one that can be is not
    if case.content is None:
        return True
    try:
        stated = case.message.dictionary("content-digest")
        return digest.matches(stated, case.message.field("content-digest") or "", case.content)
    except FieldUnreadable:
        return False
