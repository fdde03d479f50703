"""Which keys of a directory its server holds: the signatures of a directory's response, judged.

Anybody can publish a copy of somebody's keys; only who has the secrets can sign the response for
the host that was asked. Whoever registers a bot by its directory (Cloudflare does) counts no key
without that signature.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from signing import digest, directory
from signing import fields as sf
from signing.base import read_params, signature_base
from signing.errors import ComponentUnavailable, FieldUnreadable
from signing.judgement import Judgement, Reason
from signing.keys import PublicKey
from signing.message import Component, Message

_AUTHORITY: Final = Component("@authority", (("req", True),))
_DIGEST: Final = Component("content-digest")


@dataclass(frozen=True, slots=True)
class _Case:
    """All that a judge may look at."""

    response: Message
    content: bytes
    keys: Mapping[str, PublicKey]
    now: float
    skew: int


def judge(
    response: Message, content: bytes, keys: Iterable[PublicKey], *, now: float, skew: int = 5
) -> tuple[Judgement, ...]:
    """One judgement for each signature whose tag is that of a directory.

    `response` has the request that it answers, `content` is its body, `keys` those read from it.
    `now` is Unix seconds; `created` may lie `skew` seconds ahead. A window has no limit: a static
    server's signatures are made for weeks. Raises FieldUnreadable where it cannot be told which
    value belongs to which label.
    """
    values = response.dictionary("signature")
    texts = sf.own_texts(response.field("signature") or "", values)
    case = _Case(response, content, {key.keyid: key for key in keys}, now, skew)
    return tuple(
        _judge(case, label, stated, value, texts[label])
        for label, stated, value in sf.pair(response.dictionary("signature-input"), values)
        if dict(stated.params).get("tag") == directory.TAG
    )


def _judge(case: _Case, label: str, stated: sf.Member, value: sf.Member, text: str) -> Judgement:
    found = Judgement(label=label, tag=directory.TAG)
    try:
        params = read_params(stated)
        created, expires = params.integer("created"), params.integer("expires")
        keyid, alg = params.string("keyid"), params.string("alg")
        base = signature_base(case.response, params)
    except ComponentUnavailable:
        return replace(found, reason=Reason.MISSING_COMPONENT)
    except FieldUnreadable:
        return replace(found, reason=Reason.SIGNATURE_INPUT_UNREADABLE)
    found = replace(found, keyid=keyid, covered=tuple(map(str, params.covered)))
    if created is None or expires is None or keyid is None:
        return replace(found, reason=Reason.MISSING_FIELDS)
    if created > case.now + case.skew:
        return replace(found, reason=Reason.CLOCK_AHEAD)
    if expires <= case.now or expires <= created:
        return replace(found, reason=Reason.EXPIRED)
    if _AUTHORITY not in params.covered:
        return replace(found, reason=Reason.TARGET_NOT_COVERED)
    key = case.keys.get(keyid)
    if key is None:
        return replace(found, reason=Reason.UNKNOWN_KEY)
    found = replace(found, algorithm=key.algorithm.name)
    if alg is not None and alg != key.algorithm.name:
        return replace(found, reason=Reason.ALGORITHM_MISMATCH)
    try:
        signature = sf.byte_sequence(value, text)
    except FieldUnreadable:
        return replace(found, reason=Reason.SIGNATURE_VALUE_UNREADABLE)
    if not key.algorithm.verify(key.public, base, signature):
        return replace(found, reason=Reason.BAD_SIGNATURE)
    if _DIGEST in params.covered and not _agrees(case.response, case.content):
        return replace(found, reason=Reason.CONTENT_DIGEST_MISMATCH)
    return found


def _agrees(response: Message, content: bytes) -> bool:
    try:
        return digest.agrees(response.field("content-digest") or "", content)
    except FieldUnreadable:
        return False
