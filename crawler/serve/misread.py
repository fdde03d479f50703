"""Where signature fields cannot be read: the reader's own words, for who has to mend them."""

from typing import Final

from signing import fields as sf
from signing.errors import FieldUnreadable
from signing.message import Message
from signing.verifier import Reason, Verification

_UNREADABLE: Final = frozenset(
    {
        Reason.SIGNATURE_INPUT_UNREADABLE,
        Reason.SIGNATURE_VALUE_UNREADABLE,
        Reason.LABEL_MISMATCH,
    }
)
_CUT: Final = "the capture ends before the empty line that ends a head: it looks cut off"


def notes(message: Message, verification: Verification, *, whole: bool) -> list[str]:
    """What is wrong with the fields of signatures that could not be read, and at which position.

    Positions count the characters of a field's value from 0. `whole` says whether the head had an
    end; without one, that may be why.
    """
    reasons = {verification.reason, *(one.reason for one in verification.labels)}
    if not reasons & _UNREADABLE:
        return []
    unread = {
        one.label for one in verification.labels if one.reason is Reason.SIGNATURE_VALUE_UNREADABLE
    }
    return [*_found(message, unread), *([] if whole else [_CUT])]


def _found(message: Message, unread: set[str]) -> list[str]:
    found = []
    for name in ("Signature-Input", "Signature"):
        try:
            message.dictionary(name.lower())
        except FieldUnreadable as error:
            found.append(f"{name}: {error}")
    if found:
        return found
    stated, values = (message.dictionary(name) for name in ("signature-input", "signature"))
    try:
        sf.pair(stated, values)
    except FieldUnreadable as error:
        return [str(error)]
    texts = sf.own_texts(message.field("signature") or "", values)
    for label in values:
        try:
            if label in unread:
                sf.byte_sequence(values[label], texts[label])
        except FieldUnreadable as error:
            found.append(f"Signature, {label}: {error}")
    return found
