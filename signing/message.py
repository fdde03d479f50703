"""An HTTP message as signatures see it, and the value of each of its components (RFC 9421, 2).

What cannot be had is an error and never skipped: a base with a hole would verify elsewhere.
Trailers (``;tr``) cannot: whoever gives us a message does not keep them apart from its fields.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from signing import fields as sf
from signing.errors import ComponentUnavailable, FieldUnreadable, FieldUnwritable
from signing.query import decoded, encoded
from signing.reading import Reading

_NAME: Final = re.compile(r"@?[a-z0-9!#$%&'*+.^_`|~-]+")
_ABSOLUTE: Final = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_HOST_AND_PORT: Final = re.compile(r"(?:\[[^\[\]@]+\]|[^:@\[\]]+)(?::[0-9]*)?")
_DEFAULT_PORT: Final = MappingProxyType({"http": ":80", "https": ":443"})
_WHOLE_SERVER: Final = frozenset({"CONNECT", "OPTIONS"})
_NO_PARAMS: Final[Mapping[str, str]] = MappingProxyType({})
_REQ: Final = frozenset({"req"})
_FLAGS: Final = frozenset({"req", "sf", "bs"})
_TEXTS: Final = frozenset({"key", "name"})
_OF_FIELDS: Final = frozenset({"sf", "bs", "key"})


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
    :authority says. Field values are text, octets that are no UTF-8 as surrogates (PEP 383);
    what is not ASCII can be covered with ``;bs`` only.
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
        if not _HOST_AND_PORT.fullmatch(self.authority):
            raise ComponentUnavailable('"@authority"', "no host, or more than a host and a port")

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
        if value.isascii():
            if value.isprintable():
                if value == value.strip(" ") or item.name[0] != "@":
                    return value
                raise ComponentUnavailable(item.identifier, "it begins or ends with a space")
            # Inside of a field a tab is legal too.
            if item.name[0] != "@" and value.replace("\t", "").isprintable():
                return value
        raise ComponentUnavailable(item.identifier, "not ASCII, or a control character in it")

    def _value(self, item: Component) -> str:
        params = _params(item) if item.params else _NO_PARAMS
        message: Message | None = self.request if "req" in params else self
        if message is None:
            raise ComponentUnavailable(item.identifier, "there is no request to look at")
        if item.name[0] == "@":
            return message._derived(item, params)
        found = message.field(item.name)
        if found is None:
            raise ComponentUnavailable(item.identifier, "the message has no such field")
        return found if params.keys() <= _REQ else message._shaped(item, params)

    def _shaped(self, item: Component, params: Mapping[str, str]) -> str:
        reading = self._reading
        try:
            if "key" not in params:
                return reading.strict(item.name) if "sf" in params else reading.wrapped(item.name)
            member = reading.member(item.name, params["key"])
        except FieldUnreadable as error:
            what = "no dictionary: " if "key" in params else ""
            raise ComponentUnavailable(item.identifier, f"{what}{error}") from error
        except FieldUnwritable as error:
            why = "an empty list or dictionary, which has no strict form"
            raise ComponentUnavailable(item.identifier, why) from error
        if member is None:
            raise ComponentUnavailable(item.identifier, "the dictionary has no such member")
        return member

    def _derived(self, item: Component, params: Mapping[str, str]) -> str:
        if item.name == "@status" and self.status is not None:
            return str(self.status)
        if self.status is None and item.name == "@query-param" and "name" in params:
            return self._parameter(item, params["name"])
        derive = _DERIVED.get(item.name)
        if derive is None or self.status is not None:
            raise ComponentUnavailable(item.identifier, "this message does not have it")
        return derive(self)

    def _parameter(self, item: Component, name: str) -> str:
        """The value of one query parameter, encoded anew (RFC 9421, section 2.2.8)."""
        query = _origin_form(self).partition("?")[2]
        if not query.isascii():
            raise ComponentUnavailable(item.identifier, "the query is not ASCII")
        if (spelled := decoded(name)) is None:
            raise ComponentUnavailable(
                item.identifier, f"the name is not encoded as forms are; try {encoded(name)!r}"
            )
        try:
            values = self._reading.parameters(query).get(spelled, [])
        except FieldUnreadable as error:
            raise ComponentUnavailable(item.identifier, str(error)) from error
        if len(values) != 1:
            why = "stands in it more than once; cover @query" if values else "is not in it"
            raise ComponentUnavailable(item.identifier, f"of the query: {why}")
        return encoded(values[0])


def _params(item: Component) -> dict[str, str]:
    """The parameters of an identifier, those without a value as "", if all go together."""
    params: dict[str, str] = {}
    for name, value in item.params:
        if name == "tr":
            raise ComponentUnavailable(item.identifier, "trailers are not read; take out ;tr")
        if not (value is True if name in _FLAGS else name in _TEXTS and isinstance(value, str)):
            raise ComponentUnavailable(item.identifier, f"unknown parameter {name!r}")
        params[name] = value if isinstance(value, str) else ""
    derived = item.name[0] == "@"
    if derived and (others := params.keys() & _OF_FIELDS):
        raise ComponentUnavailable(item.identifier, f";{min(others)} is for fields")
    if ("name" in params) != (item.name == "@query-param"):
        raise ComponentUnavailable(item.identifier, ";name and @query-param belong together")
    if "bs" in params and params.keys() & {"sf", "key"}:
        # The lines as they came, or what they mean once combined (RFC 9421, section 2.1).
        raise ComponentUnavailable(item.identifier, ";bs goes with neither ;sf nor ;key")
    return params


def _authority(message: Message) -> str:
    host = message.authority.lower()
    return host.removesuffix(_DEFAULT_PORT[message.scheme.lower()]).removesuffix(":")


def _origin_form(message: Message) -> str:
    """Path and query; nothing for `*` and for the authority that CONNECT asks for."""
    if message.target == "*" or message.method == "CONNECT":
        return ""
    target = message.target
    if not target.startswith("/"):
        target = _ABSOLUTE.sub("", target)
    return target.partition("#")[0]


def _path(message: Message) -> str:
    return _origin_form(message).partition("?")[0] or "/"


def _query(message: Message) -> str:
    return "?" + _origin_form(message).partition("?")[2]


def _target_uri(message: Message) -> str:
    path = _origin_form(message)
    # An empty path is "/", but for a request to the server as a whole (RFC 9110, 4.2.3 and 7.1).
    if not path.startswith("/") and message.method not in _WHOLE_SERVER:
        path = f"/{path}"
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


def derivation(name: str) -> Callable[[Message], str] | None:
    """What derives a component of a request from it, unchecked; None for an unknown name."""
    return _DERIVED.get(name)
