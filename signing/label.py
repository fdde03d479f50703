"""One signature of a profile: its label, what it covers and says, serialized once.

The parameters stand in the order created, expires, keyid, alg, nonce, tag, the one that deployed
bots use. sig1 always says `alg="ed25519"`: every verifier that we tried accepts it, and one that
falls back on this parameter when nobody tells it the algorithm has nothing without it.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from signing import algorithms
from signing import fields as sf
from signing.base import SignatureParams
from signing.message import Component

FIRST_LABEL: Final = "sig1"
FIRST_TAG: Final = "web-bot-auth"

_SF_KEY: Final = re.compile(r"[a-z*][a-z0-9_.*-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Second:
    """How sig2 looks on the wire; an empty `tag` or `alg` sends none.

    Raises ValueError for a label that is no structured-field key or is sig1's own, for text that
    cannot be sent, and for an `alg` that names another algorithm; AlgorithmUnsupported for an
    unknown algorithm.
    """

    label: str = "sig2"
    algorithm: str = algorithms.ML_DSA_44.name
    tag: str = "web-bot-auth-pq"
    alg: str = algorithms.ML_DSA_44.name

    def __post_init__(self) -> None:
        if not _SF_KEY.fullmatch(self.label) or self.label == FIRST_LABEL:
            raise ValueError(
                f"{self.label!r} cannot label the second signature: a lower-case letter or '*', "
                f"then lower-case letters, digits and '_-.*', other than {FIRST_LABEL!r}"
            )
        if algorithms.by_name(self.algorithm) not in algorithms.POST_QUANTUM:
            choice = ", ".join(algorithm.name for algorithm in algorithms.POST_QUANTUM)
            raise ValueError(f"{self.algorithm} is no post-quantum algorithm; those are {choice}")
        for name, text in (("tag", self.tag), ("alg", self.alg)):
            if not (text.isascii() and text.isprintable()):
                raise ValueError(f"the second signature's {name} {text!r} is not printable ASCII")
        known = {algorithm.name for algorithm in algorithms.TABLE}
        if self.alg in known and self.alg != self.algorithm:
            raise ValueError(f"alg {self.alg!r} names another algorithm than {self.algorithm!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One signature of a profile, all of its text ready but what varies."""

    name: str
    covered: tuple[Component, ...]
    agent: str  # the value of the signature-agent component, the last that it covers
    alg: str
    tag: str
    nonced: bool  # with a nonce of ours, which varies
    nonce: str = ""  # one that was asked for instead
    agent_line: str = field(init=False, repr=False)
    _opening: str = field(init=False, repr=False)
    _before_nonce: str = field(init=False, repr=False)
    _closing: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        alg = sf.serialize_params((("alg", self.alg),)) if self.alg else ""
        tag = sf.serialize_params((("tag", self.tag),)) if self.tag else ""
        asked = sf.serialize_params((("nonce", self.nonce),)) if self.nonce else ""
        for name, text in (
            ("agent_line", f"{self.covered[-1]}: {self.agent}\n"),
            ("_opening", f"{SignatureParams(self.covered).serialize()};created="),
            ("_before_nonce", f'{alg};nonce="'),
            ("_closing", f'"{tag}' if self.nonced else f"{alg}{asked}{tag}"),
        ):
            object.__setattr__(self, name, text)

    def write(self, created: int, expires: int, keyid: str, nonce: str) -> str:
        """The inner list of Signature-Input, as strict serialization would write it.

        `keyid` and `nonce` must be base64 of either alphabet: nothing is escaped here.
        """
        start = f'{self._opening}{created};expires={expires};keyid="{keyid}"'
        if self.nonced:
            return f"{start}{self._before_nonce}{nonce}{self._closing}"
        return start + self._closing
