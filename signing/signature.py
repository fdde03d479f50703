"""One signature over any message, in no profile: to sign with any key, and to check (RFC 9421, 3).

`signer` and `verifier` are for requests of bots. This is for all else: responses, other
components, parameters and labels. Time is the caller's: `created` and `expires` are only written
and read here, and so is the question whether a key may be trusted.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from signing import fields as sf
from signing import keys
from signing.base import SignatureParams, read_params, signature_base
from signing.errors import (
    AlgorithmUnsupported,
    ComponentUnavailable,
    FieldUnreadable,
    FieldUnwritable,
)
from signing.judgement import Reason
from signing.keys import PrivateKey, PublicKey
from signing.message import Message


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature as it stands in the two fields: its label, what it states, its bytes.

    Raises FieldUnwritable for a label that is no structured-field key.
    """

    label: str
    params: SignatureParams
    value: bytes = field(repr=False)

    def __post_init__(self) -> None:
        sf.serialize_dictionary({self.label: sf.Item(True)})

    def fault(self, message: Message, key: PublicKey) -> Reason | None:
        """Why this is no signature of the message by this key, None where it is one.

        ALGORITHM_MISMATCH where its `alg` names another algorithm than the key's,
        SIGNATURE_INPUT_UNREADABLE where that is no text, MISSING_COMPONENT where the message lacks
        what is covered, BAD_SIGNATURE. The first of several.
        """
        try:
            if self.params.string("alg") not in (None, key.algorithm.name):
                return Reason.ALGORITHM_MISMATCH
            base = signature_base(message, self.params)
        except FieldUnreadable:
            return Reason.SIGNATURE_INPUT_UNREADABLE
        except ComponentUnavailable:
            return Reason.MISSING_COMPONENT
        return None if key.algorithm.verify(key.public, base, self.value) else Reason.BAD_SIGNATURE


def sign(
    message: Message, key: PrivateKey, params: SignatureParams, label: str = "sig1"
) -> Signature:
    """Sign a request, or a response with the request that it answers.

    What `params` covers and states is up to the caller, in that order; nothing is added.
    Raises ComponentUnavailable if the message lacks what is covered, AlgorithmUnsupported if
    `alg` names another algorithm than the key's, FieldUnwritable for a label that is none or that
    the message has already, FieldUnreadable where one of its two fields, or `alg`, cannot be read.
    """
    if params.string("alg") not in (None, key.algorithm.name):
        raise AlgorithmUnsupported(
            f"alg {params.string('alg')!r:.42} is stated, the key is {key.algorithm.name}"
        )
    if label in {*message.dictionary("signature-input"), *message.dictionary("signature")}:
        raise FieldUnwritable(f"the message has a signature {label!r} already; take another label")
    base = signature_base(message, params)
    return Signature(label, params, keys.expanded(key.algorithm, key.secret)(base))


def written(signatures: Iterable[Signature]) -> tuple[tuple[str, str], tuple[str, str]]:
    """The fields Signature-Input and Signature, to be added to the message as one line each.

    Raises FieldUnwritable for none, and for a label that stands twice.
    """
    values: dict[str, sf.Member] = {}
    inputs: list[str] = []
    for signature in signatures:
        if signature.label in values:
            raise FieldUnwritable(f"label {signature.label!r} stands twice")
        values[signature.label] = sf.Item(signature.value)
        inputs.append(f"{signature.label}={signature.params.serialize()}")
    return ("Signature-Input", ", ".join(inputs)), ("Signature", sf.serialize_dictionary(values))


def read(message: Message) -> tuple[Signature, ...]:
    """The signatures of a message in their order; none where it has neither field.

    Raises FieldUnreadable for fields that do not parse, DuplicateMember for a label that stands
    twice, LabelMismatch for one that stands in one field only, ComponentUnavailable for a component
    that no message can have. `verifier.verify` judges each label for itself instead.
    """
    values = message.dictionary("signature")
    texts = sf.own_texts(message.field("signature") or "", values)
    return tuple(
        Signature(label, read_params(stated), sf.byte_sequence(value, texts[label]))
        for label, stated, value in sf.pair(message.dictionary("signature-input"), values)
    )
