"""Signs a request: three fields, sig1 in front, sig2 beside it and never over it.

Neither signature covers the other's fields, so whoever takes sig2 out leaves sig1 valid. The
text around the signatures comes ready from `profile`; what varies is put in here, and a test
holds the result to the generic way (`base.signature_base`, `SignatureParams.serialize`) byte by
byte. Being fast must never mean signing something that the generic way would refuse, so method,
authority and target are looked at first.
"""

import re
from base64 import b64encode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Final

from signing import algorithms, keys
from signing.budget import Cost
from signing.errors import AlgorithmUnsupported, ComponentUnavailable
from signing.keys import PrivateKey
from signing.label import Label
from signing.message import Message
from signing.profile import Labels, NonceForm, Profile

FIELDS: Final = ("Signature-Agent", "Signature-Input", "Signature")
NONCE_SIZE: Final = 64  # bytes; older libraries insist on it

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_AUTHORITY: Final = re.compile(r"[0-9A-Za-z._~!$&'()*+,;=%:\[\]-]+")
_ORIGIN_FORM: Final = re.compile(r"/[!-\"$-~]*")  # visible ASCII but "#", which is never sent
_NONCES: Final = {
    NonceForm.BASE64: re.compile(r"[0-9A-Za-z+/]{85}[AQgw]=="),
    NonceForm.BASE64URL: re.compile(r"[0-9A-Za-z_-]{85}[AQgw]"),
}
_FRAMES: Final = sum(len(name) + len(": \r\n") for name in FIELDS)
_OURS: Final = frozenset(name.lower() for name in FIELDS)
# Ten digits: from 2001 to 2286. `cost` could not be exact without a first and a last second.
_FIRST_SECOND: Final = 1_000_000_000
_LAST_SECOND: Final = 9_999_999_999


@dataclass(frozen=True, slots=True)
class Keyring:
    """The keys that sign: Ed25519 first, ML-DSA second where there is one.

    Raises AlgorithmUnsupported for keys in each other's place.
    """

    first: PrivateKey
    second: PrivateKey | None = None

    def __post_init__(self) -> None:
        if self.first.algorithm is not algorithms.ED25519:
            raise AlgorithmUnsupported(
                f"the first key is {self.first.algorithm.name}, not {algorithms.ED25519.name}"
            )
        if self.second is not None and self.second.algorithm not in algorithms.POST_QUANTUM:
            raise AlgorithmUnsupported(
                f"the second key is {self.second.algorithm.name}, none of "
                + ", ".join(algorithm.name for algorithm in algorithms.POST_QUANTUM)
            )


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """The fields to add to a request, in this order, one line each.

    `labels` are the signatures in them, `size` the bytes that they add to the head.
    """

    fields: tuple[tuple[str, str], ...]
    labels: tuple[str, ...]
    size: int


def sign(
    message: Message,
    keyring: Keyring,
    profile: Profile,
    created: int,
    nonce: bytes | str,
    labels: Labels = Labels.BOTH,
) -> SignedRequest:
    """Sign a request in one profile's form; without a second key, with sig1 alone.

    `created` is in whole Unix seconds of ten digits, already set back by the skew; `nonce` has
    64 random bytes, raw or encoded as the profile has it, and is left out of forms without one.
    Raises ComponentUnavailable for a response, a method, authority or target that cannot be sent
    (origin-form in visible ASCII only), and for a message that carries one of the three fields
    already; AlgorithmUnsupported if the second key is not what the profile announces; ValueError
    for another `created` or `nonce`.
    """
    _check(message)
    if not (isinstance(created, int) and _FIRST_SECOND <= created <= _LAST_SECOND - 86_400):
        raise ValueError(f"created {created!r} is not in whole Unix seconds of ten digits")
    expires = created + profile.lifetime
    encoded = _encode(nonce, profile.nonce_form)
    lines = "".join([f"{item.identifier}: {message.component(item)}\n" for item in profile.target])
    signed = []
    for label, key in _signers(keyring, profile, labels):
        params = label.write(created, expires, key.keyid, encoded)
        base = f'{lines}{label.agent_line}"@signature-params": {params}'.encode("ascii")
        signature = keys.expanded(key.algorithm, key.secret)(base)
        signed.append((label.name, params, b64encode(signature).decode("ascii")))
    return _assemble(profile, signed)


def cost(keyring: Keyring, profile: Profile) -> Cost:
    """Count the bytes that the three fields will have, for `budget.plan`; nothing is signed.

    Exact, since created, expires, nonce, keyid and the signatures have fixed lengths.
    Raises AlgorithmUnsupported if the second key is not what the profile announces.
    """
    filler = "0" * len(_encode(bytes(NONCE_SIZE), profile.nonce_form))
    dummies = [
        (
            label.name,
            label.write(_FIRST_SECOND, _FIRST_SECOND, key.keyid, filler),
            b64encode(bytes(key.algorithm.signature_size(key.public))).decode("ascii"),
        )
        for label, key in _signers(keyring, profile, Labels.BOTH)
    ]
    first = _assemble(profile, dummies[:1]).size
    return Cost(first=first, second=_assemble(profile, dummies).size - first)


def _check(message: Message) -> None:
    if message.status is not None:
        raise ComponentUnavailable('"@method"', "a response has none; only requests are signed")
    for identifier, pattern, text in (
        ('"@method"', _TOKEN, message.method),
        ('"@authority"', _AUTHORITY, message.authority),
        ('"@path"', _ORIGIN_FORM, message.target),
    ):
        if not pattern.fullmatch(text):
            raise ComponentUnavailable(identifier, f"{text!a} cannot be sent as it is")
    for name, _ in message.fields:
        if name.lower() in _OURS:
            raise ComponentUnavailable(
                f'"{name.lower()}"', "the request has it already; sign each attempt from scratch"
            )


def _encode(nonce: bytes | str, form: NonceForm) -> str:
    if isinstance(nonce, bytes):
        if form is NonceForm.BASE64:
            nonce = b64encode(nonce).decode("ascii")
        else:
            nonce = urlsafe_b64encode(nonce).rstrip(b"=").decode("ascii")
    if not isinstance(nonce, str) or not _NONCES[form].fullmatch(nonce):
        raise ValueError(f"the nonce is not {NONCE_SIZE} bytes, or not in {form}")
    return nonce


def _signers(
    keyring: Keyring, profile: Profile, labels: Labels
) -> tuple[tuple[Label, PrivateKey], ...]:
    first, second = profile.labels
    if labels is Labels.FIRST or keyring.second is None:
        return ((first, keyring.first),)
    if keyring.second.algorithm.name != profile.second.algorithm:
        raise AlgorithmUnsupported(
            f"the second key is {keyring.second.algorithm.name}, "
            f"the profile announces {profile.second.algorithm}"
        )
    return ((first, keyring.first), (second, keyring.second))


def _assemble(profile: Profile, signed: list[tuple[str, str, str]]) -> SignedRequest:
    agent = profile.agent(Labels.BOTH if len(signed) > 1 else Labels.FIRST)
    inputs = ", ".join([f"{name}={params}" for name, params, _ in signed])
    values = ", ".join([f"{name}=:{signature}:" for name, _, signature in signed])
    return SignedRequest(
        fields=((FIELDS[0], agent), (FIELDS[1], inputs), (FIELDS[2], values)),
        labels=tuple([name for name, _, _ in signed]),
        size=_FRAMES + len(agent) + len(inputs) + len(values),
    )
