"""The usual request, read at a fraction of the usual cost.

Nearly every request spells its three fields in the one way that signers write them, and has its
agent, its labels and what they cover in common with the one before. Such a request is read here.
For every other the answer is None, and the verifier reads it in the general way: whether it is
merely another spelling, or wrong, is never decided here, so there are no reasons in this module.
What is read equals what the general way reads; the tests hold the two against each other.
"""

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable
from functools import lru_cache
from operator import methodcaller
from typing import Final, NamedTuple

from signing import agent
from signing import fields as sf
from signing.base import read_params
from signing.claim import Claim, Claims, Ready
from signing.covered import Covered
from signing.errors import SigningError
from signing.judgement import Keying, Policy, Reason
from signing.message import Component, Message, derivation

_KEY: Final = r"[a-z*][a-z0-9_.*-]*+"
# A number or a string in its one spelling: no leading zero, no escape.
_VALUE: Final = r'(?:0|[1-9][0-9]{0,14}+|"[ !#-\[\]-~]*+")'
_STATED: Final = re.compile(rf"(, |)({_KEY})=\(([^()]*+)\)((?:;{_KEY}={_VALUE})*+)(?![^,])")
_PARAMETER: Final = re.compile(r';([^=]*+)=("[^"]*+"|[0-9]++)')
_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_FIELDS: Final = ("signature-input", "signature", agent.FIELD)
# Within these the three fields have fewer pieces than `reading.MOST_PIECES`: no need to count.
_LONGEST_INPUT: Final = 1024  # characters
_LONGEST_AGENT: Final = 256  # characters
_MOST_LABELS: Final = 8
_KEPT: Final = 256  # shapes, most of some 3 KB


class _Shape(NamedTuple):
    """What requests have in common that name the same agent and cover the same components.

    The base is there but for what the message itself has to say, in the order of `say`.
    """

    covered: Covered
    agent: str
    say: tuple[Callable[[Message], str | None], ...]
    base: str


def read(message: Message, policy: Policy) -> Claims | None:
    """All labels of a usual request, those that are ours with their claims; else None."""
    if (sent := _sent(message)) is None:
        return None
    stated, signed, line = sent
    *values, rest = signed.split(":")  # what stands before a value, the value, and so on
    if rest or len(values) % 2 or len(values) > 2 * _MOST_LABELS:
        return None
    found, labels, at = Claims([], []), set[str](), 0
    for before, base64 in zip(values[::2], values[1::2], strict=True):
        if (match := _STATED.match(stated, at)) is None:
            return None
        at = match.end()
        comma, label, listed, given = match.groups()
        pairs = _PARAMETER.findall(given)
        params: dict[str, str] = dict(pairs)
        twice = label in labels or len(params) < len(pairs)
        if twice or before != f"{comma}{label}=" or bool(comma) != bool(labels):
            return None
        if not _is_canonical(base64):
            return None
        labels.add(label)
        tag = params.get("tag", "0")
        if tag.isdigit() or tag[1:-1] not in policy.tags:
            if not _is_list(listed):
                return None
            found.passed_over.append(label)
            continue
        shape = _shape(line, label, listed, policy.keying)
        if shape is None or len(shape.covered) > policy.max_covered:
            return None
        base = _base(message, shape, f"({listed}){given}")
        claim = None if base is None else _claim(shape, params, base64, base)
        if claim is None:
            return None
        found.ours.append((label, tag[1:-1], claim))
    return found if at == len(stated) and len(found.ours) <= policy.max_labels else None


def _sent(message: Message) -> tuple[str, str, str] | None:
    """Signature-Input, Signature and Signature-Agent, each of one line."""
    sent = {name.lower(): line for name, line in message.fields}
    stated, signed = sent.get("signature-input"), sent.get("signature")
    line = sent.get(agent.FIELD)
    if stated is None or signed is None or line is None or message.status is not None:
        return None
    if len(sent) < len(message.fields):
        names = [name.lower() for name, _ in message.fields]
        if any(names.count(name) > 1 for name in _FIELDS):
            return None
    short = len(stated) <= _LONGEST_INPUT and len(line) <= _LONGEST_AGENT
    return (stated, signed, line) if short and signed.isascii() else None


def _is_canonical(base64: str) -> bool:
    """Whether this ASCII text is what encoding its bytes gives; faster than doing so."""
    padding = base64.encode("ascii").translate(None, _ALPHABET).decode("ascii")
    if len(base64) % 4 or padding not in ("", "=", "==") or not base64.endswith(padding):
        return False
    end = base64[-4:]  # where stray bits may be
    return b2a_base64(a2b_base64(end), newline=False).decode("ascii") == end


def _claim(shape: _Shape, params: dict[str, str], base64: str, base: bytes) -> Claim | None:
    created, expires = params.get("created", ""), params.get("expires", "")
    keyid, alg, nonce = params.get("keyid", ""), params.get("alg", ""), params.get("nonce", "")
    if not (created.isdigit() and expires.isdigit() and keyid):
        return None
    if keyid.isdigit() or alg.isdigit() or nonce.isdigit():
        return None
    return Claim(
        shape.covered,
        a2b_base64(base64),
        int(created),
        int(expires),
        keyid[1:-1],
        alg[1:-1] if alg else None,
        nonce[1:-1] if nonce else None,
        Ready(shape.agent, base),
    )


def _base(message: Message, shape: _Shape, params: str) -> bytes | None:
    said = [text for say in shape.say if (text := say(message)) is not None]
    together = "".join(said)
    # Where a space may stand in a value is for `Message.component` to know.
    plain = together.isascii() and together.isprintable() and " " not in together
    if not plain or len(said) < len(shape.say):
        return None
    return f"{shape.base % tuple(said)}{params}".encode("ascii")


@lru_cache(_KEPT)
def _is_list(listed: str) -> bool:
    """Whether this may stand between brackets: of a label that is passed over, too."""
    try:
        return bool(sf.parse_dictionary(f"x=({listed})"))
    except SigningError:
        return False


@lru_cache(_KEPT)
def _shape(line: str, label: str, listed: str, keying: Keying) -> _Shape | None:
    """All of it as the general way has it, from the same functions."""
    alone = Message(
        method="GET", scheme="https", authority="a", target="/", fields=((agent.FIELD, line),)
    )
    say: list[Callable[[Message], str | None]] = []
    base = ""
    try:
        params = read_params(sf.parse_dictionary(f"x=({listed})")["x"])
        for item in params.covered:
            if item.name == agent.FIELD:
                value = alone.component(item).replace("%", "%%")
            elif sayer := _sayer(item):
                say.append(sayer)
                value = "%s"
            else:
                return None
            base += f"{item.identifier.replace('%', '%%')}: {value}\n"
    except SigningError:
        return None
    url = agent.resolve(alone, label, params.covered, keying)
    if isinstance(url, Reason) or params.serialize() != f"({listed})":
        return None
    return _Shape(Covered(params.covered), url, tuple(say), f'{base}"@signature-params": ')


def _sayer(item: Component) -> Callable[[Message], str | None] | None:
    """What gives a component that is no parsed field, unchecked."""
    if item.params or item.name == "content-digest":
        return None
    return derivation(item.name) if item.name[0] == "@" else methodcaller("field", item.name)
