"""What a site does with a request, after the verifier has said what it knows of the signatures.

Decides, and sends nothing. Who is named as the agent has signed by all that the policy requires:
good signatures of two strangers are never put together.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from crawler.serve import naming
from crawler.serve.policy import Policy, Told
from signing import algorithms
from signing.verifier import Judgement, Outcome, Reason, Verification

OUTCOME: Final = "X-Bot-Outcome"
AGENT: Final = "X-Bot-Agent"
ALGORITHMS: Final = "X-Bot-Algorithms"
REASON: Final = "X-Bot-Reason"
LABELS: Final = "X-Bot-Labels"
STATUS: Final = "X-Bot-Status"
TOLD: Final = "X-Bot-Told"
WANTED: Final = "Accept-Signature"
FIELDS: Final = (OUTCOME, AGENT, ALGORITHMS, REASON, LABELS, STATUS, TOLD)
"""All that a gate says of a request to the site behind, which trusts them: who puts a gate before
a site takes them out of what a client has sent."""

_UNREADABLE: Final = frozenset(
    {
        Reason.SIGNATURE_INPUT_UNREADABLE,
        Reason.SIGNATURE_VALUE_UNREADABLE,
        Reason.DUPLICATE_LABEL,
        Reason.LABEL_MISMATCH,
        Reason.SIGNATURE_AGENT_UNPARSABLE,
    }
)


# A URL may have these in it; readers of fields take them for the end of a value, or of a text.
_SEPARATORS: Final = str.maketrans({mark: f"%{ord(mark):02X}" for mark in ",;'"})


class Refusal(StrEnum):
    """Why a site is not content with what a verifier has nothing against."""

    SIGNATURE_MISSING = "signature-missing"  # one that the policy requires, beside a good one
    UNKNOWN_AGENT = "unknown-agent"  # none that the policy names
    FOREIGN_HOST = "foreign-host"  # signed for a site that this is not
    UNREADABLE_REQUEST = "unreadable-request"
    REPLAY_UNKNOWN = "replay-unknown"  # the memory of signatures cannot be asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What became of a request; `status` is 200 where it may pass.

    `agent` is the verified signer, by its origin or by the URL of its key set (`naming.name`), and
    `algorithms` what it signed by; nobody's where nobody is. `labels` are all signatures that were
    judged.
    """

    outcome: Outcome
    status: int
    agent: str | None = None
    algorithms: tuple[str, ...] = ()
    reason: Reason | Refusal | None = None
    labels: tuple[Judgement, ...] = ()

    @property
    def admitted(self) -> bool:
        """Whether it may pass."""
        return self.status == 200


def decide(verification: Verification, policy: Policy) -> Ruling:
    """Whether a request may pass, and whose it is.

    A signature that was seen before is the whole request's: whoever sends a captured one again may
    have left out another label of it the first time.
    """
    if any(one.reason is Reason.REPLAYED for one in verification.labels):
        return _turned_away(Reason.REPLAYED, Outcome.INVALID, verification, policy)
    signers = _signers(verification.labels)
    required = set(policy.admit.require)
    able = [agent for agent, good in signers.items() if required <= good.keys()]
    agent = next((one for one in able if one in policy.known), able[0] if able else None)
    if agent is None:
        return _without_agent(verification, policy)
    stranger = not policy.admit.unknown and agent not in policy.known
    return Ruling(
        outcome=Outcome.VERIFIED,
        status=403 if stranger else 200,
        agent=agent,
        algorithms=tuple(signers[agent]),
        reason=Refusal.UNKNOWN_AGENT if stranger else None,
        labels=verification.labels,
    )


def refused(reason: Refusal, status: int) -> Ruling:
    """The ruling on a request whose signatures were not even looked at."""
    return Ruling(outcome=Outcome.INVALID, status=status, reason=reason)


def _signers(labels: tuple[Judgement, ...]) -> dict[str, dict[str, None]]:
    """The algorithms of the good signatures by their agent, in their order."""
    found: dict[str, dict[str, None]] = {}
    for one in labels:
        if one.reason is None and one.agent is not None and one.algorithm is not None:
            found.setdefault(naming.name(one.agent), {})[one.algorithm] = None
    return found


def _without_agent(verification: Verification, policy: Policy) -> Ruling:
    bad = [one.reason for one in verification.labels if one.reason is not None]
    wrong = [reason for reason in bad if reason.outcome is Outcome.INVALID]
    reason = next(iter(wrong or bad), verification.reason)
    if reason is None:
        return _turned_away(Refusal.SIGNATURE_MISSING, Outcome.UNVERIFIED, verification, policy)
    return _turned_away(reason, reason.outcome, verification, policy)


def _turned_away(
    reason: Reason | Refusal, outcome: Outcome, verification: Verification, policy: Policy
) -> Ruling:
    """The ruling on a request that is nobody's; the policy may let it in all the same."""
    passes = policy.admit.invalid if outcome is Outcome.INVALID else policy.admit.unsigned
    return Ruling(
        outcome=outcome,
        status=200 if passes else _status(reason),
        reason=reason,
        labels=verification.labels,
    )


def _status(reason: Reason | Refusal) -> int:
    if reason is Reason.REPLAYED:
        return 429
    return 400 if reason in _UNREADABLE else 403


def site_fields(ruling: Ruling, told: Told, *, unseen: bool = False) -> dict[str, str]:
    """The ruling as fields for the server behind; what is empty is left out.

    Where the body was `unseen`, a label that covers Content-Digest says that it is still to be
    compared.
    """
    fields = {OUTCOME: ruling.outcome.value, STATUS: str(ruling.status)}
    if ruling.agent is not None:
        fields[AGENT] = ruling.agent.translate(_SEPARATORS)
        fields[ALGORITHMS] = ", ".join(ruling.algorithms)
    reasoned = told is not Told.NOBODY
    if ruling.labels:
        fields[LABELS] = ", ".join(
            _label(one, reasoned=reasoned, unseen=unseen) for one in ruling.labels
        )
    if ruling.reason is not None and reasoned:
        fields[REASON] = ruling.reason.value
    if not ruling.admitted and told is Told.EVERYBODY and ruling.reason is not None:
        fields[TOLD] = ruling.reason.value
    return fields


def _label(one: Judgement, *, reasoned: bool, unseen: bool) -> str:
    """A member of a dictionary (RFC 9651); names of labels, algorithms and reasons are its own."""
    alg = f";alg={one.algorithm}" if one.algorithm is not None else ""
    reason = f";reason={one.reason}" if reasoned and one.reason is not None else ""
    digest = any(name.startswith('"content-digest"') for name in one.covered) if unseen else False
    open_ = ";content=unseen" if digest and one.outcome is Outcome.VERIFIED else ""
    return f"{one.label}={one.outcome}{alg}{reason}{open_}"


def wanted(ruling: Ruling, policy: Policy) -> str | None:
    """Accept-Signature (RFC 9421, section 5.1) where a better signature would help; else None."""
    if ruling.status != 403 or ruling.reason in (Refusal.UNKNOWN_AGENT, Refusal.FOREIGN_HOST):
        return None
    return demanded(policy)


def demanded(policy: Policy) -> str:
    """What a signature has to be like, as Accept-Signature says it: a label for each algorithm."""
    names = policy.admit.require or (algorithms.ED25519.name,)
    judged = policy.judged_by
    components = " ".join(f'"{name}"' for name in sorted(judged.required))
    members = []
    for number, name in enumerate(names, start=1):
        second = algorithms.by_name(name).kty == "AKP" and "web-bot-auth-pq" in judged.tags
        usual = "web-bot-auth" if "web-bot-auth" in judged.tags else min(judged.tags)
        label, tag = f"sig{number}", "web-bot-auth-pq" if second else usual
        alg = f';alg="{name}"' if policy.admit.require else ""
        members.append(
            f'{label}=({components} "signature-agent";key="{label}")'
            f';created;expires;keyid{alg};tag="{tag}"'
        )
    return ", ".join(members)
