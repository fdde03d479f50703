"""What a verifier can say about a message, the policy that it says it by, and the closed reasons.

The outcomes are those of draft-ietf-webbotauth-httpsig-protocol, appendix C.1: *invalid* where a
check failed, *unverified* where there was not enough to decide. A reason belongs to one of the
two for good, since whoever acts on the outcome would read the pair as a rejection.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from signing import algorithms
from signing.keys import PUBLISHED_TEST_KEYS, PublicKey

_NAMES: Final = frozenset(algorithm.name for algorithm in algorithms.TABLE)


class Outcome(StrEnum):
    """What became of a signature, or of a message."""

    VERIFIED = "verified"
    INVALID = "invalid"
    UNVERIFIED = "unverified"


class Reason(StrEnum):
    """Why something is not verified."""

    TARGET_NOT_COVERED = "target-not-covered"  # what the policy requires, @authority first
    MISSING_FIELDS = "missing-fields"  # created, expires or keyid
    EXPIRED = "expired"
    CLOCK_AHEAD = "clock-ahead"
    WINDOW_TOO_LONG = "window-too-long"
    BAD_SIGNATURE = "bad-signature"
    CONTENT_DIGEST_MISMATCH = "content-digest-mismatch"
    MISSING_COMPONENT = "missing-component"  # covered and not there, or there and not covered
    DUPLICATE_COMPONENT = "duplicate-component"
    SIGNATURE_INPUT_UNREADABLE = "signature-input-unreadable"  # or more in it than is read
    SIGNATURE_VALUE_UNREADABLE = "signature-value-unreadable"
    DUPLICATE_LABEL = "duplicate-label"
    LABEL_MISMATCH = "label-mismatch"
    SIGNATURE_AGENT_ABSENT = "signature-agent-absent"
    SIGNATURE_AGENT_AMBIGUOUS_MEMBER = "signature-agent-ambiguous-member"
    SIGNATURE_AGENT_MEMBER_MISSING = "signature-agent-member-missing"
    SIGNATURE_AGENT_NOT_HTTPS = "signature-agent-not-https"
    SIGNATURE_AGENT_UNPARSABLE = "signature-agent-unparsable"
    UNSUPPORTED_ALGORITHM = "unsupported-algorithm"
    ALGORITHM_MISMATCH = "algorithm-mismatch"
    UNKNOWN_KEY = "unknown-key"
    DIRECTORY_UNAVAILABLE = "directory-unavailable"
    DIRECTORY_MALFORMED = "directory-malformed"
    REPLAYED = "replayed"
    NO_SIGNATURE = "no-signature"  # none at all, or none with a tag of the policy

    @property
    def outcome(self) -> Outcome:
        """INVALID, or UNVERIFIED for what could not be decided."""
        return Outcome.UNVERIFIED if self in _UNDECIDED else Outcome.INVALID


_UNDECIDED: Final = frozenset(
    {
        Reason.NO_SIGNATURE,
        Reason.SIGNATURE_AGENT_ABSENT,
        Reason.UNSUPPORTED_ALGORITHM,
        Reason.UNKNOWN_KEY,
        Reason.DIRECTORY_UNAVAILABLE,
        Reason.DIRECTORY_MALFORMED,
    }
)


class Keying(StrEnum):
    """Which member of a Signature-Agent dictionary belongs to a label."""

    STRICT = "strict"  # the one named like the label, covered by ;key (-01, section 5.2.2)
    LENIENT = "lenient"  # else the only one that is covered, whatever its name


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a verifier asks of a signature.

    `tags` select the labels that are judged. `max_window` (expires less created) and `skew` (how
    far ahead created may lie) are seconds. `required` are derived components; `@target-uri`
    stands for those that it contains. `second_alg` is one more spelling of `alg` for the one
    ML-DSA algorithm among `algorithms`; empty is none. `refused_keyids` are not even looked up:
    all test keys whose secrets are published, unless a test says otherwise.
    What a stranger's request may cost has an end: a message with more labels for us than
    `max_labels` is SIGNATURE_INPUT_UNREADABLE, and so is a label that covers more components than
    `max_covered`.
    Raises ValueError for negative numbers, and for a `second_alg` that names another algorithm or
    could stand for none or for several; AlgorithmUnsupported for an unknown one in `algorithms`.
    """

    tags: frozenset[str] = frozenset({"web-bot-auth", "web-bot-auth-pq"})
    max_window: int = 86_400
    skew: int = 5
    required: frozenset[str] = frozenset({"@authority"})
    algorithms: frozenset[str] = frozenset({algorithms.ED25519.name, algorithms.ML_DSA_44.name})
    second_alg: str = ""
    keying: Keying = Keying.STRICT
    max_labels: int = 8
    max_covered: int = 64
    refused_keyids: frozenset[str] = PUBLISHED_TEST_KEYS

    def __post_init__(self) -> None:
        if min(self.max_window, self.skew, self.max_labels, self.max_covered) < 0:
            raise ValueError("max_window, skew, max_labels and max_covered cannot be negative")
        second = [name for name in self.algorithms if algorithms.by_name(name).kty == "AKP"]
        if not self.second_alg or self.second_alg in second:
            return
        if self.second_alg in _NAMES:
            raise ValueError(
                f"second_alg {self.second_alg!r} names another algorithm, no ML-DSA of this policy"
            )
        if len(second) != 1:
            raise ValueError(
                f"second_alg {self.second_alg!r} has to stand for one ML-DSA algorithm, "
                f"the policy has {len(second)}"
            )

    def knows(self, alg: str) -> bool:
        """Whether an `alg` parameter names anything that this policy accepts."""
        return alg in self.algorithms or alg == self.second_alg != ""

    def agrees(self, alg: str | None, key: PublicKey) -> bool:
        """Whether an `alg` parameter goes with a key; none goes with any (RFC 9421, 3.3.7)."""
        if alg is None or alg == key.algorithm.name:
            return True
        # The constructor saw to it that a token stands for one algorithm.
        stands = key.algorithm.kty == "AKP" and key.algorithm.name in self.algorithms
        return stands and alg == self.second_alg != "" and alg not in _NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is known about one signature.

    `agent` is the Signature-Agent value that names its signer, `algorithm` the key's,
    `covered` the component identifiers; each is None or empty where the judge did not get so far.
    """

    label: str
    reason: Reason | None = None
    keyid: str | None = None
    agent: str | None = None
    algorithm: str | None = None
    tag: str | None = None
    covered: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """VERIFIED without a reason, what the reason says otherwise."""
        return Outcome.VERIFIED if self.reason is None else self.reason.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What is known about a message.

    One good signature verifies it, whatever its neighbours are (RFC 9421, section 7.2.6).
    `reason` stands where the message as a whole was refused, or nothing in it was for us.
    `passed_over` are the labels whose tag the policy does not name.
    """

    outcome: Outcome
    labels: tuple[Judgement, ...] = ()
    reason: Reason | None = None
    passed_over: tuple[str, ...] = ()


class ReplayKey(NamedTuple):
    """What a signature is remembered by: its nonce, or a digest of it where it has none."""

    agent: str
    keyid: str
    token: str


KeyLookup = Callable[[str, str], PublicKey | Reason]
Seen = Callable[[ReplayKey, int], bool]
