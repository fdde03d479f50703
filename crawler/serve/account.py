"""What a verifier found out about a request, for people and for programs: one object, two forms."""

from collections.abc import Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec import Struct

from signing.errors import FieldUnreadable
from signing.keys import is_published_test_key
from signing.message import Message
from signing.verifier import Judgement, Reason, Verification

_DERIVED: Final = ("@method", "@scheme", "@authority", "@path", "@query")
_CONTAINED: Final = MappingProxyType(
    {
        "@target-uri": ("@scheme", "@authority", "@path", "@query"),
        "@request-target": ("@path", "@query"),
    }
)
_ABOUT_ITSELF: Final = frozenset({"signature", "signature-input"})

EXPLAINED: Final = MappingProxyType(
    {
        Reason.TARGET_NOT_COVERED: "it does not cover @authority: it could be meant for any site",
        Reason.MISSING_FIELDS: "created, expires and keyid have to be there, and one is not",
        Reason.EXPIRED: "its time is over; --at created judges it as of the moment it was made",
        Reason.CLOCK_AHEAD: "it was created in the future: one of the two clocks is wrong",
        Reason.WINDOW_TOO_LONG: "it is good for longer than a day",
        Reason.BAD_SIGNATURE: "the signature is not by this key, or not of this request",
        Reason.CONTENT_DIGEST_MISMATCH: "the body is not the one that was signed",
        Reason.MISSING_COMPONENT: "it covers what is not there, or not what it has to: its agent",
        Reason.DUPLICATE_COMPONENT: "it covers one component twice",
        Reason.SIGNATURE_INPUT_UNREADABLE: "Signature-Input cannot be read",
        Reason.SIGNATURE_VALUE_UNREADABLE: "Signature cannot be read: standard base64 is wanted",
        Reason.DUPLICATE_LABEL: "a label stands twice: which signature is whose?",
        Reason.LABEL_MISMATCH: "a label stands in one of Signature-Input and Signature only",
        Reason.SIGNATURE_AGENT_ABSENT: "no Signature-Agent says where the keys are",
        Reason.SIGNATURE_AGENT_AMBIGUOUS_MEMBER: "several Signature-Agent members could be meant",
        Reason.SIGNATURE_AGENT_MEMBER_MISSING: "Signature-Agent has no member for this label",
        Reason.SIGNATURE_AGENT_NOT_HTTPS: "keys are only looked up over https",
        Reason.SIGNATURE_AGENT_UNPARSABLE: "Signature-Agent cannot be read as a URL",
        Reason.UNSUPPORTED_ALGORITHM: "we have no such algorithm, or do not accept it",
        Reason.ALGORITHM_MISMATCH: "alg names another algorithm than the key's",
        Reason.UNKNOWN_KEY: "the key set has no such key, or not now: see its nbf and exp",
        Reason.DIRECTORY_UNAVAILABLE: "the key set cannot be had",
        Reason.DIRECTORY_MALFORMED: "what stands at its place is no key set",
        Reason.REPLAYED: "this very signature was seen before",
        Reason.NO_SIGNATURE: "there is no signature, or none with a tag that bots use",
    }
)
_PUBLISHED: Final = "this is a test key: everybody has its secret"


class Signature(Struct, frozen=True, kw_only=True):
    """One signature; `covered` are component identifiers, `uncovered` what anybody may change."""

    label: str
    outcome: str
    reason: str | None
    explanation: str | None
    agent: str | None
    algorithm: str | None
    keyid: str | None
    tag: str | None
    covered: tuple[str, ...]
    uncovered: tuple[str, ...]


class Account(Struct, frozen=True, kw_only=True):
    """A request: what it was, when it was judged, and each signature on it.

    `passed_over` are labels with other tags, `notes` what went wrong on the way to the keys.
    """

    outcome: str
    reason: str | None
    explanation: str | None
    method: str
    scheme: str
    authority: str
    target: str
    at: str
    signatures: tuple[Signature, ...]
    passed_over: tuple[str, ...]
    notes: tuple[str, ...]


def account(
    verification: Verification, message: Message, content: bytes, at: float, notes: Sequence[str]
) -> Account:
    """Put together what is known of a request; `at` is the moment, in Unix seconds."""
    return Account(
        outcome=verification.outcome,
        reason=verification.reason,
        explanation=None if verification.reason is None else EXPLAINED[verification.reason],
        method=message.method,
        scheme=message.scheme,
        authority=_shown(message.authority),
        target=_shown(message.target),
        at=_written(at),
        signatures=tuple(_signature(one, message, content) for one in verification.labels),
        passed_over=verification.passed_over,
        notes=tuple(notes),
    )


def _written(at: float) -> str:
    """A moment; the bare number where no calendar has it: anybody may sign anything."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"{at:.0f}"


def _shown(text: str) -> str:
    """What a stranger wrote, without bytes that a terminal might obey."""
    return text.encode("ascii", "backslashreplace").decode()


def _signature(one: Judgement, message: Message, content: bytes) -> Signature:
    return Signature(
        label=one.label,
        outcome=one.outcome,
        reason=one.reason,
        explanation=_explanation(one),
        agent=one.agent,
        algorithm=one.algorithm,
        keyid=one.keyid,
        tag=one.tag,
        covered=one.covered,
        uncovered=_uncovered(one, message, content) if one.covered else (),
    )


def _explanation(one: Judgement) -> str | None:
    if one.reason is None:
        return None
    if one.reason is Reason.UNKNOWN_KEY and one.keyid and is_published_test_key(one.keyid):
        return _PUBLISHED
    return EXPLAINED[one.reason]


def _uncovered(one: Judgement, message: Message, content: bytes) -> tuple[str, ...]:
    names = {covered.partition('"')[2].partition('"')[0] for covered in one.covered}
    for whole, parts in _CONTAINED.items():
        names |= set(parts) if whole in names else set()
    derived = [name for name in _DERIVED if name not in names]
    sent = dict.fromkeys(name.lower() for name, _ in message.fields)
    silent = names | _ABOUT_ITSELF | ({"host"} if "@authority" in names else set())
    fields = [name for name in sent if name not in silent]
    body = ["the body"] if content and "content-digest" not in names else []
    return (*derived, *fields, *body)


def created(message: Message) -> float | None:
    """When the newest signature says that it was made, in Unix seconds; None if none says it."""
    try:
        stated = message.dictionary("signature-input").values()
    except FieldUnreadable:
        return None
    found = [dict(one.params).get("created") for one in stated]
    moments = [one for one in found if isinstance(one, int) and not isinstance(one, bool)]
    return float(max(moments)) if moments else None


def as_json(one: Account) -> str:
    """The object as JSON, with a newline at its end."""
    return msgspec.json.format(msgspec.json.encode(one)).decode() + "\n"


def as_text(one: Account) -> str:
    """The same for people."""
    lines = [
        f"{one.outcome}: {one.method} {one.target} at {one.scheme}://{one.authority}, "
        f"judged as of {one.at}"
    ]
    if one.reason is not None:
        lines.append(f"  {one.reason}: {one.explanation}")
    for signature in one.signatures:
        lines += ["", *_told(signature)]
    if one.passed_over:
        lines += ["", f"not judged, for their tags: {', '.join(one.passed_over)}"]
    if one.notes:
        lines += ["", *(f"note: {note}" for note in one.notes)]
    return "\n".join(lines) + "\n"


def _told(one: Signature) -> list[str]:
    reason = f", {one.reason}" if one.reason is not None else ""
    rows = [
        ("why", one.explanation),
        ("agent", one.agent),
        ("key", one.keyid if one.algorithm is None else f"{one.keyid} ({one.algorithm})"),
        ("covers", ", ".join(one.covered)),
        ("leaves open", ", ".join(one.uncovered)),
    ]
    told = [f"  {name:<11} {text}" for name, text in rows if text]
    return [f"{one.label}: {one.outcome}{reason}", *told]
