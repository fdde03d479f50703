"""What can go wrong in signing: one class for each thing that a caller does differently.

No message here ever carries key bytes; those about keys name members and lengths only.
"""


class SigningError(Exception):
    """Something about a signature, a key or a field could not be used."""


class FieldUnreadable(SigningError):
    """A structured field does not parse, or a value in it has another type than it must have."""


class DuplicateMember(FieldUnreadable):
    """A dictionary names one member twice.

    RFC 9651 lets the last one win; for labels that is a door, since another reader may take
    the first. ``key`` is the member's name.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"member {key!r} stands twice in the dictionary")
        self.key = key


class LabelMismatch(FieldUnreadable):
    """A label stands in one of Signature-Input and Signature only. ``label`` is its name."""

    def __init__(self, label: str, field: str) -> None:
        super().__init__(f"label {label!r} stands only in {field}")
        self.label = label


class FieldUnwritable(SigningError):
    """A value has no form as a structured field: not ASCII, out of range, a wrong key."""


class ComponentUnavailable(SigningError):
    """The signature base cannot be built. ``component`` is the identifier at fault."""

    def __init__(self, component: str, why: str) -> None:
        super().__init__(f"component {component}: {why}")
        self.component = component


class AlgorithmUnsupported(SigningError):
    """No entry of the algorithms table bears that name, or it cannot do what is asked."""


class KeyUnreadable(SigningError):
    """A key that cannot be used: malformed, of a wrong length, or at odds with itself."""


class KeySetUnreadable(SigningError):
    """A key set that cannot be used as a whole: not JSON, no ``keys``, or too many of them."""


class CardUnusable(SigningError):
    """A Signature Agent Card that nobody would accept: its URLs are not what they must be."""


class CoverageImpossible(SigningError):
    """Requests cannot cover what is asked for.

    ``at`` is the place in the list, None for the list as a whole; ``why`` and ``remedy`` are for
    whoever wrote it.
    """

    def __init__(self, at: int | None, why: str, remedy: str) -> None:
        super().__init__(f"{why}; {remedy}")
        self.at = at
        self.why = why
        self.remedy = remedy
