"""What the operator asked for, as frozen values. `crawler.configuration` reads them from files.

Durations are seconds, sizes bytes. Unknown settings are refused while reading.
"""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from msgspec import Meta, Struct, field

from signing import algorithms, profile

_QUIET = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)(?: +(\S+))?")

Seconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
SECOND_ALGORITHMS = tuple(algorithm.name for algorithm in algorithms.POST_QUANTUM)

COMPONENTS = tuple(item.name for item in profile.WHOLE_TARGET)


class ProfileName(StrEnum):
    AUTO = "auto"
    BRIDGE = "bridge"
    IETF_01 = "ietf-01"
    IETF_00 = "ietf-00"
    LEGACY = "legacy"
    PUBLISHED = "published"


class Second(StrEnum):
    """When sig2 is sent."""

    WATCH = "watch"
    ALWAYS = "always"
    NEVER = "never"


class ScopeKind(StrEnum):
    HOST = "host"
    DOMAIN = "domain"
    ADDRESS = "address"


class Unreachable(StrEnum):
    """What an unreachable robots.txt leaves in force."""

    STRICT = "strict"
    LAST_GOOD = "last-good"


class Follow(StrEnum):
    NOTHING = "nothing"
    LINKS = "links"


class NonceForm(StrEnum):
    BASE64 = "base64"
    BASE64URL = "base64url"


class _Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Bot(_Table, frozen=True, kw_only=True):
    """Who we say that we are."""

    product: Annotated[str, Meta(min_length=1, max_length=64)]
    version: str = "1.0"
    home: str
    contact: str
    purpose: str = ""

    @property
    def user_agent(self) -> str:
        """The User-Agent: product first (RFC 9309, 2.2.1), then where to read about us."""
        return f"{self.product}/{self.version} (+{self.home}/bot; {self.contact})"

    @property
    def address(self) -> str | None:
        """What From says: the contact's address, None where there is none that can be sent."""
        address = unquote(self.contact.removeprefix("mailto:").partition("?")[0])
        mail = self.contact.startswith("mailto:")
        return address if mail and address.isascii() and address.isprintable() else None

    @property
    def always_sent(self) -> tuple[str, ...]:
        """The fields, in lower case, that stand on each request before it is signed."""
        fields = ("accept", "accept-encoding", "host", "user-agent")
        return fields if self.address is None else (*fields, "from")


class SecondSignature(_Table, frozen=True, kw_only=True):
    """How sig2 looks on the wire; an empty `alg` sends none."""

    label: str = "sig2"
    algorithm: str = algorithms.ML_DSA_44.name
    tag: str = "web-bot-auth-pq"
    alg: str = algorithms.ML_DSA_44.name


class Signatures(_Table, frozen=True, kw_only=True):
    profile: ProfileName = ProfileName.AUTO
    lifetime: Annotated[int, Meta(ge=1, le=86400)] = 60
    skew: Annotated[int, Meta(ge=0, le=3600)] = 3
    nonce: NonceForm = NonceForm.BASE64
    components: tuple[str, ...] = COMPONENTS
    keys: str = "keys"
    sig2: Second = Second.WATCH
    second: SecondSignature = SecondSignature()


class Publish(_Table, frozen=True, kw_only=True):
    combined: bool = False
    card: str = "/.well-known/signature-agent-card"


class Card(_Table, frozen=True, kw_only=True):
    """What the Signature Agent Card says beside what [bot] and [politeness] say already."""

    purpose: str = ""
    targeted_content: str = ""
    ips_uri: str = ""


class Politeness(Struct, frozen=True, kw_only=True):
    """How an origin is treated; durations in seconds, sizes in bytes.

    It also stands in the log, where a later version may have more fields: unknown ones are ignored.
    """

    scope: ScopeKind = ScopeKind.HOST
    min_delay: Seconds = 5.0
    delay_factor: Seconds = 5.0
    max_delay: Seconds = 300.0
    max_crawl_delay: Seconds = 300.0
    max_retry_after: Seconds = 86400.0
    freeze: Annotated[tuple[Seconds, ...], Meta(min_length=1)] = (3600.0, 86400.0, 604800.0)
    daily_requests: Annotated[int, Meta(ge=1)] = 1000
    unreachable_robots: Unreachable = Unreachable.STRICT
    header_limit: Annotated[int, Meta(ge=256)] = 8190
    body_limit: Annotated[int, Meta(ge=1)] = 10_485_760
    deadline: Annotated[float, Meta(gt=0)] = 60.0
    min_rate: Count = 100
    types: tuple[str, ...] = (
        "text/html",
        "application/xhtml+xml",
        "text/plain",
        "application/xml",
        "text/xml",
        "application/rss+xml",
        "application/atom+xml",
        "application/feed+json",
        "application/json",
    )
    quiet: str = ""
    min_interval: Seconds = 3600.0
    max_interval: Seconds = 2_592_000.0
    full_fetch: Seconds = 2_592_000.0


class State(_Table, frozen=True, kw_only=True):
    directory: str = "state"


class Origin(_Table, frozen=True, kw_only=True):
    """One configured web origin with its effective politeness."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    url: str
    start: Annotated[tuple[str, ...], Meta(min_length=1)] = ("/",)
    follow: tuple[Follow, ...] = (Follow.NOTHING,)
    pages: Annotated[int, Meta(ge=1)] = 50
    depth: Count = 2
    schedule: str | None = None
    every: Seconds | None = None
    profile: ProfileName
    sig2: Second
    sig2_set: bool = False
    components: tuple[str, ...] = COMPONENTS
    cookie: str | None = None
    allow_private: bool = False
    politeness: Politeness = field(default_factory=Politeness)

    def __repr__(self) -> str:
        return f"Origin(name={self.name!r}, url={self.url!r})"


class Settings(_Table, frozen=True, kw_only=True):
    """Both files, as one value. `base` is the folder that relative paths start from."""

    base: str
    bot: Bot
    signatures: Signatures = Signatures()
    publish: Publish = Publish()
    card: Card = Card()
    state: State = State()
    origins: tuple[Origin, ...] = ()

    @property
    def keys_directory(self) -> Path:
        return Path(self.base, self.signatures.keys)

    @property
    def state_directory(self) -> Path:
        return Path(self.base, self.state.directory)


def quiet_hours(value: str) -> tuple[int, int, ZoneInfo]:
    """The first and last minute after midnight, and the zone, of "22:00-06:00 Europe/Prague"."""
    match = _QUIET.fullmatch(value)
    if match is None:
        raise ValueError(f'{value!r} is not like "22:00-06:00 Europe/Prague"')
    try:
        zone = ZoneInfo(match[5] or "UTC")
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"{match[5]!r} is not a known time zone") from error
    return int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4]), zone
