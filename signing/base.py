"""The signature base: the exact bytes that both sides sign and verify (RFC 9421, section 2.5)."""

from dataclasses import dataclass, field

from signing import fields as sf
from signing.errors import ComponentUnavailable, FieldUnreadable
from signing.message import Component, Message


@dataclass(frozen=True, slots=True)
class SignatureParams:
    """What one signature covers, and its parameters; the order of both is kept.

    Raises ComponentUnavailable for a component that stands twice, FieldUnwritable for a
    parameter that has no form as a structured field.
    """

    covered: tuple[Component, ...]
    params: sf.Params = ()
    _text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        seen = set()
        for item in self.covered:
            # Parameters are a set here: ;req;key="a" and ;key="a";req name the same component.
            same = (item.name, frozenset(item.params))
            if same in seen:
                raise ComponentUnavailable(item.identifier, "covered twice")
            seen.add(same)
        covered = " ".join(item.identifier for item in self.covered)
        object.__setattr__(self, "_text", f"({covered}){sf.serialize_params(self.params)}")

    def serialize(self) -> str:
        """The inner list as it stands in Signature-Input and at the end of the base."""
        return self._text

    def string(self, name: str) -> str | None:
        """A parameter that must be an sf-string, None if absent. Raises FieldUnreadable."""
        value = dict(self.params).get(name)
        if value is None or isinstance(value, str):
            return value
        raise FieldUnreadable(f"parameter {name!r} is no string")

    def integer(self, name: str) -> int | None:
        """A parameter that must be an sf-integer, None if absent. Raises FieldUnreadable."""
        value = dict(self.params).get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise FieldUnreadable(f"parameter {name!r} is no integer")


def read_params(member: sf.Member) -> SignatureParams:
    """The parameters that one member of Signature-Input states.

    Raises FieldUnreadable if it is not an inner list of strings, ComponentUnavailable for an
    identifier that no message can have or that stands twice.
    """
    if not isinstance(member, sf.InnerList):
        raise FieldUnreadable("the member of Signature-Input is no inner list")
    return SignatureParams(tuple(_component(item) for item in member.items), member.params)


def signature_base(message: Message, params: SignatureParams) -> bytes:
    """Build the signature base.

    There is no newline after the last line: with one, only our own verifier would agree.
    Raises ComponentUnavailable if the message lacks what is covered.
    """
    lines = [f"{item.identifier}: {message.component(item)}" for item in params.covered]
    lines.append(f'"@signature-params": {params.serialize()}')
    return "\n".join(lines).encode("ascii")


def _component(item: sf.Item) -> Component:
    if not isinstance(item.value, str):
        raise FieldUnreadable("a covered component is no string")
    params: list[tuple[str, str | bool]] = []
    for name, value in item.params:
        if not isinstance(value, str | bool):
            raise ComponentUnavailable(ascii(item.value), f"unknown parameter {name!r}")
        params.append((name, value))
    return Component(item.value, tuple(params))
