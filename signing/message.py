"""An HTTP message as signatures see it, and the value of each of its components (RFC 9421, 2).

What cannot be had is an error and never skipped: a base with a hole would verify elsewhere.
Names and parameters that are not in the tables below (``@query-param``, ``;sf``, ``;bs``,
``;tr``) are refused; verifiers differ on them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from signing import fields as sf
from signing.errors import ComponentUnavailable, FieldUnreadable, FieldUnwritable
from signing.reading import Reading

_NAME: Final = re.compile(r"@?[a-z0-9!#$%&'*+.^_`|~-]+")
_ABSOLUTE: Final = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_DEFAULT_PORT: Final = MappingProxyType({"http": ":80", "https": ":443"})


@dataclass(frozen=True, slots=True)
class Component:
    """One component identifier: a name in lower case and its parameters, in their order.

    ``identifier`` (and ``str()``) is the sf-item: ``"signature-agent";key="sig1"``.
    Raises ComponentUnavailable for a name or a parameter that no message could have.
    """

    name: str
    params: tuple[tuple[str, str | bool], ...] = ()
    identifier: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name == "@signature-params":
            raise ComponentUnavailable(ascii(self.name), "no name of a component, in lower case")
        try:
            identifier = sf.serialize_member(sf.Item(self.name, self.params))
        except FieldUnwritable as error:
            raise ComponentUnavailable(ascii(self.name), str(error)) from error
        object.__setattr__(self, "identifier", identifier)

    def __str__(self) -> str:
        return self.identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A request, or a response (with ``status``, and the ``request`` that it answers).

    ``target`` is the request target exactly as it is sent, ``authority`` what Host or
    :authority says. Field values are text; what is not ASCII cannot be covered.
    Raises ComponentUnavailable for a request without a method, an http(s) scheme or a host.
    """

    method: str = ""
    scheme: str = ""
    authority: str = ""
    target: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    status: int | None = None
    request: "Message | None" = None
    _reading: Reading = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_reading", Reading(self.fields))
        if self.status is not None:
            return
        if not self.method:
            raise ComponentUnavailable('"@method"', "the request has none")
        if self.scheme.lower() not in _DEFAULT_PORT:
            raise ComponentUnavailable('"@scheme"', "neither http nor https")
        if not self.authority or "@" in self.authority:
            raise ComponentUnavailable('"@authority"', "no host, or a host with user info")

    def field(self, name: str) -> str | None:
        """The value of a field, given in lower case; None if it is absent.

        Lines are trimmed, unfolded, and joined with ``, `` (RFC 9421, section 2.1).
        """
        return self._reading.value(name)

    def dictionary(self, name: str) -> Mapping[str, sf.Member]:
        """The members of a dictionary field, given in lower case; none if it is absent.

        Raises DuplicateMember and FieldUnreadable, also where more would be parsed of this message
        than `reading.MOST_PIECES`.
        """
        return self._reading.dictionary(name)

    def item(self, name: str) -> sf.Item:
        """The one item of a field, given in lower case. Raises FieldUnreadable as `dictionary`."""
        return self._reading.item(name)

    def component(self, item: Component) -> str:
        """The value of one component, as it stands in the signature base after the colon.

        Raises ComponentUnavailable.
        """
        value = self._value(item)
        # Printable ASCII is the common case; a tab inside a field is legal too.
        if value.isascii() and (value.isprintable() or value.replace("\t", "").isprintable()):
            return value
        raise ComponentUnavailable(item.identifier, "not ASCII, or a control character in it")

    def _value(self, item: Component) -> str:
        message, key = self, None
        for name, value in item.params:
            if name == "req" and value is True:
                if self.request is None:
                    raise ComponentUnavailable(item.identifier, "there is no request to look at")
                message = self.request
            elif name == "key" and isinstance(value, str):
                key = value
            else:
                raise ComponentUnavailable(item.identifier, f"unknown parameter {name!r}")
        if item.name.startswith("@"):
            if key is not None:
                raise ComponentUnavailable(item.identifier, "a derived component has no members")
            return message._derived(item)
        found = message.field(item.name)
        if found is None:
            raise ComponentUnavailable(item.identifier, "the message has no such field")
        return found if key is None else message._member(item, key)

    def _member(self, item: Component, key: str) -> str:
        try:
            member = self._reading.member(item.name, key)
        except FieldUnreadable as error:
            raise ComponentUnavailable(item.identifier, f"no dictionary: {error}") from error
        if member is None:
            raise ComponentUnavailable(item.identifier, "the dictionary has no such member")
        return member

    def _derived(self, item: Component) -> str:
        if item.name == "@status" and self.status is not None:
            return str(self.status)
        derive = _DERIVED.get(item.name)
        if derive is None or self.status is not None:
            raise ComponentUnavailable(item.identifier, "this message does not have it")
        return derive(self)


def _authority(message: Message) -> str:
    host = message.authority.lower()
    return host.removesuffix(_DEFAULT_PORT[message.scheme.lower()]).removesuffix(":")


def _origin_form(message: Message) -> str:
    target = _ABSOLUTE.sub("", message.target).partition("#")[0]
    return "" if target == "*" else target


def _path(message: Message) -> str:
    return _origin_form(message).partition("?")[0] or "/"


def _query(message: Message) -> str:
    return "?" + _origin_form(message).partition("?")[2]


def _target_uri(message: Message) -> str:
    origin = _origin_form(message)
    path = origin if origin.startswith("/") else f"/{origin}"
    return f"{message.scheme.lower()}://{_authority(message)}{path}"


_DERIVED: Final[Mapping[str, Callable[[Message], str]]] = MappingProxyType(
    {
        "@method": lambda message: message.method,
        "@authority": _authority,
        "@scheme": lambda message: message.scheme.lower(),
        "@target-uri": _target_uri,
        "@request-target": lambda message: message.target,
        "@path": _path,
        "@query": _query,
    }
)
