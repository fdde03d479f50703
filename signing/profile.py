"""What each profile sends and covers (draft-ietf-webbotauth-httpsig-protocol-00 and -01).

A profile is one way to lay the card at a door; no single form pleases every receiver. `Profile`
is prepared once for an identity: what stays the same from request to request is serialized here,
and the signer only puts in what varies.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv6Address
from types import MappingProxyType
from typing import Final, NamedTuple

from signing import algorithms
from signing import fields as sf
from signing.accept import Wish
from signing.directory import WELL_KNOWN
from signing.label import FIRST_LABEL, FIRST_TAG, Label, Second
from signing.message import Component

__all__ = [
    "FIXED",
    "SECOND_KEYS_PATH",
    "WHOLE_TARGET",
    "Choice",
    "Labels",
    "Name",
    "NonceForm",
    "Profile",
    "Second",
    "WhenSecond",
    "Why",
    "Wish",
    "choose",
]

SECOND_KEYS_PATH: Final = "/.well-known/bot-pq-jwks.json"
LONGEST_LIFETIME: Final = 86_400  # seconds, RECOMMENDED by both drafts and enforced by verifiers

_AUTHORITY_ALONE: Final = (Component("@authority"),)
# What narrows the use of a captured signature to the request that carried it.
WHOLE_TARGET: Final = tuple(
    Component(name) for name in ("@authority", "@method", "@path", "@query")
)
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOME: Final = re.compile(
    rf"https://(?:(?P<name>{_LABEL}(?:\.{_LABEL})*)|\[(?P<address>[0-9a-f:.]+)\])"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?"
)
_LONGEST_NAME: Final = 253  # RFC 1035, section 2.3.4, without the dot at the end


class Name(StrEnum):
    """The profiles that a person can ask for; AUTO is resolved by `choose`."""

    AUTO = "auto"
    BRIDGE = "bridge"
    IETF_01 = "ietf-01"
    IETF_00 = "ietf-00"
    LEGACY = "legacy"
    PUBLISHED = "published"


class Why(StrEnum):
    """Why a profile was chosen."""

    CONFIGURED = "configured"
    SERVER_IS_CLOUDFLARE = "server-is-cloudflare"
    HAS_CF_RAY = "has-cf-ray"
    NOTHING_SHOWS_CLOUDFLARE = "nothing-shows-cloudflare"


class Choice(NamedTuple):
    """A profile, never AUTO, and the reason for it."""

    name: Name
    reason: Why


class Labels(StrEnum):
    """Which signatures a request carries."""

    FIRST = "first"
    BOTH = "both"


class WhenSecond(StrEnum):
    """When a profile sends sig2, as far as the profile has a say."""

    IF_INSISTED = "if-insisted"  # only where the operator says "always"
    BY_DEFAULT = "by-default"  # unless the operator or the watch says no
    ALWAYS = "always"  # it is part of the form


class NonceForm(StrEnum):
    """How 64 random bytes become text; older libraries read standard base64 only."""

    BASE64 = "base64"
    BASE64URL = "base64url"  # without padding


FIXED: Final = frozenset({Name.LEGACY, Name.PUBLISHED})  # what they cover is part of their form


class _Agent(StrEnum):
    """The forms of Signature-Agent."""

    STRING = "string"
    URLS = "urls"  # the key set's own URL in every member, -01
    ORIGIN = "origin"  # the origin, the well-known path implied; type=jwks_uri elsewhere, -00
    ORIGIN_AND_URL = "origin-and-url"  # sig1 by its origin, sig2 by its URL, no parameters


_AGENTS: Final = MappingProxyType(
    {
        Name.BRIDGE: _Agent.ORIGIN_AND_URL,
        Name.IETF_01: _Agent.URLS,
        Name.IETF_00: _Agent.ORIGIN,
        Name.LEGACY: _Agent.STRING,
        Name.PUBLISHED: _Agent.STRING,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One profile prepared for one identity; keys may rotate under it.

    `home` is the https origin that publishes the key sets, `lifetime` seconds from created to
    expires. Of `second`, PUBLISHED takes the label and the algorithm only: tag and alg belong to
    its form. `covered` is what is covered instead of authority, method, path and query
    (`coverable.components`); `wish` what a server asked for, which goes before it.
    Raises ValueError for AUTO, a home that is no bare https origin, a lifetime outside 1 to 86400,
    `covered` where the form has its own (LEGACY, PUBLISHED), and a wish to PUBLISHED.
    """

    name: Name
    home: str
    lifetime: int = 60
    second: Second = field(default_factory=Second)
    nonce_form: NonceForm = NonceForm.BASE64
    covered: tuple[Component, ...] | None = None
    wish: Wish | None = None
    target: tuple[Component, ...] = field(init=False)
    labels: tuple[Label, Label] = field(init=False)
    _agents: tuple[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.name is Name.AUTO:
            raise ValueError("auto is no form of its own: resolve it with profile.choose")
        if not _is_origin(self.home):
            raise ValueError(
                f"{self.home!r} is no https origin; write for example https://bot.example"
            )
        if not 1 <= self.lifetime <= LONGEST_LIFETIME:
            raise ValueError(f"a lifetime of {self.lifetime} s is not within 1 to 86400")
        if self.covered is not None and self.name in FIXED:
            raise ValueError(f"what {self.name} covers belongs to its form")
        if self.wish is not None and self.name is Name.PUBLISHED:
            raise ValueError(f"{self.name} is one form, which grants no wish")
        text = _AGENTS[self.name] is _Agent.STRING
        members, first = self._members(), self._first_label
        agents = (
            (members[0], members[0])
            if text
            else (
                f"{first}={members[0]}",
                f"{first}={members[0]}, {self.second.label}={members[1]}",
            )
        )
        object.__setattr__(self, "target", self._target())
        object.__setattr__(self, "_agents", agents)
        object.__setattr__(self, "labels", (self._first(members[0]), self._second(members[1])))

    @property
    def directory(self) -> str:
        """The URL of the Ed25519 key set."""
        return self.home + WELL_KNOWN

    @property
    def second_keys(self) -> str:
        """The URL of the post-quantum key set."""
        return self.home + SECOND_KEYS_PATH

    @property
    def when_second(self) -> WhenSecond:
        """Whether this profile sends sig2 of its own accord; the application decides."""
        match self.name:
            case Name.LEGACY:
                return WhenSecond.IF_INSISTED
            case Name.PUBLISHED:
                return WhenSecond.ALWAYS
            case _:
                return WhenSecond.BY_DEFAULT

    def agent(self, labels: Labels) -> str:
        """The value of Signature-Agent."""
        return self._agents[labels is Labels.BOTH]

    def _members(self) -> tuple[str, str]:
        home, directory, second_keys = (
            sf.serialize_string(url) for url in (self.home, self.directory, self.second_keys)
        )
        typed = sf.Item(self.second_keys, (("type", sf.Token("jwks_uri")),))
        return {
            _Agent.STRING: (home, home),
            _Agent.URLS: (directory, second_keys),
            _Agent.ORIGIN: (home, sf.serialize_member(typed)),
            _Agent.ORIGIN_AND_URL: (home, second_keys),
        }[_AGENTS[self.name]]

    @property
    def _first_label(self) -> str:
        return FIRST_LABEL if self.wish is None else self.wish.label

    def _target(self) -> tuple[Component, ...]:
        if self.wish is not None:
            return self.wish.covered
        if self.covered is not None:
            return self.covered
        return _AUTHORITY_ALONE if self.name in FIXED else WHOLE_TARGET

    def _covered(self, label: str) -> tuple[Component, ...]:
        if _AGENTS[self.name] is _Agent.STRING:
            return (*self.target, Component("signature-agent"))
        return (*self.target, Component("signature-agent", (("key", label),)))

    def _first(self, agent: str) -> Label:
        nonce = self.wish.nonce if self.wish is not None else None
        return Label(
            name=self._first_label,
            covered=self._covered(self._first_label),
            agent=agent,
            alg=algorithms.ED25519.name,
            tag=FIRST_TAG,
            nonced=nonce is None and self.name is not Name.PUBLISHED,
            nonce=nonce or "",
        )

    def _second(self, agent: str) -> Label:
        published = self.name is Name.PUBLISHED
        return Label(
            name=self.second.label,
            covered=self._covered(self.second.label),
            agent=agent,
            alg=self.second.algorithm if published else self.second.alg,
            tag=FIRST_TAG if published else self.second.tag,
            nonced=False,
        )


def _is_origin(home: str) -> bool:
    if (parts := _HOME.fullmatch(home)) is None:
        return False
    if parts["address"]:
        try:
            IPv6Address(parts["address"])
        except ValueError:
            return False
    return len(parts["name"] or "") <= _LONGEST_NAME and int(parts["port"] or 443) <= 65_535


def choose(name: Name, server_header: str | None, has_cf_ray: bool) -> Choice:
    """Resolve AUTO by the origin's last answer: its Server field, and whether it had a CF-Ray.

    Cloudflare's production verifier takes the legacy form alone; anybody else gets the bridge,
    also before the first answer (None and False).
    """
    if name is not Name.AUTO:
        return Choice(name, Why.CONFIGURED)
    if (server_header or "").strip().lower().startswith("cloudflare"):
        return Choice(Name.LEGACY, Why.SERVER_IS_CLOUDFLARE)
    if has_cf_ray:
        return Choice(Name.LEGACY, Why.HAS_CF_RAY)
    return Choice(Name.BRIDGE, Why.NOTHING_SHOWS_CLOUDFLARE)
