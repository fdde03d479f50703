"""What the signature of a bot's request may cover, beside Signature-Agent, which it always does.

Only what is surely there, the same on each request and read alike by every verifier. So neither
parameters (``;sf``, ``;bs``, ``;key``) nor ``@query-param`` can be chosen, and of the fields those
that are always sent.
"""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from signing.errors import CoverageImpossible
from signing.message import Component

DERIVED: Final = (
    "@authority",
    "@method",
    "@path",
    "@query",
    "@scheme",
    "@target-uri",
    "@request-target",
)
_NEVER: Final = MappingProxyType(
    {
        "@status": ("only a response has a status", "take it out"),
        "@query-param": ("verifiers differ on single parameters", 'cover all with "@query"'),
        "@signature-params": ("every signature covers it anyway", "take it out"),
        "signature-agent": ("every signature covers it anyway", "take it out"),
        "signature": ("each signature stands by itself", "take it out"),
        "signature-input": ("each signature stands by itself", "take it out"),
    }
)
_SOMETIMES: Final = frozenset({"cookie", "if-none-match", "if-modified-since", "from"})


def components(names: Sequence[str], sent: Collection[str]) -> tuple[Component, ...]:
    """The components with these names, in this order.

    `sent` are the fields, in lower case, that stand on each request when it is signed.
    Raises CoverageImpossible for the first name that cannot be covered or stands twice, and for a
    list without @authority: a signature that is good for any host is nobody's.
    """
    for at, name in enumerate(names):
        if (fault := _fault(name, sent)) is not None:
            raise CoverageImpossible(at, *fault)
        if name in names[:at]:
            raise CoverageImpossible(at, f"{name!r} stands twice", "take one out")
    if "@authority" not in names:
        raise CoverageImpossible(
            None, "'@authority' is not in it", "add it: without, a signature is good for any host"
        )
    return tuple(map(Component, names))


def _fault(name: str, sent: Collection[str]) -> tuple[str, str] | None:
    """Why a name cannot be covered, and what to do about it."""
    if name in DERIVED or name in sent:
        return None
    bare = name.partition(";")[0].strip('" ').lower()
    if bare in _NEVER:
        why, remedy = _NEVER[bare]
        return f"{name!r} cannot be covered: {why}", remedy
    known = (*DERIVED, *sorted(sent))
    if bare != name and bare in known:
        return f"{name!r} is not a name alone, in lower case", f'write "{bare}"'
    if name in _SOMETIMES:
        return f"{name!r} is not on every request", f"known are {', '.join(known)}"
    what = "no component" if name.startswith("@") else "no field that we always send"
    close = get_close_matches(bare, known, n=1)
    return (
        f"{name!r} is {what}",
        f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}",
    )
