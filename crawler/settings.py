"""What the operator asked for: crawler.toml and origins.toml, checked once and frozen.

Every mistake is a `SettingsError` with the file, the path inside it and what to try. Durations are
written as seconds or as "90s", "5m", "6h", "30d" and are seconds here.
"""

import difflib
import re
import tomllib
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct, field

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)")
_DURATION_KEYS = {"freeze", "min_interval", "max_interval", "full_fetch", "every"}
_QUIET = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)(?: +(\S+))?")
_LABEL = re.compile(r"[a-z*][a-z0-9_.*-]*")
_TOKEN = re.compile(r"[A-Za-z_-]+")
_UNKNOWN = re.compile(r"unknown field `(.+?)`")
_SECOND_ALGORITHMS = ("ml-dsa-44", "ml-dsa-65", "ml-dsa-87")

Seconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
_T = TypeVar("_T")


class SettingsError(Exception):
    """A configuration that cannot be used: `place` names file and path, `hint` what to try."""

    def __init__(self, place: str, problem: str, hint: str | None = None) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem
        self.hint = hint


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


class SecondSignature(_Table, frozen=True, kw_only=True):
    """How sig2 looks on the wire; an empty `alg` sends none."""

    label: str = "sig2"
    algorithm: str = "ml-dsa-44"
    tag: str = "web-bot-auth-pq"
    alg: str = "ml-dsa-44"


class Signatures(_Table, frozen=True, kw_only=True):
    profile: ProfileName = ProfileName.AUTO
    lifetime: Annotated[int, Meta(ge=1, le=86400)] = 60
    skew: Annotated[int, Meta(ge=0, le=3600)] = 3
    nonce: NonceForm = NonceForm.BASE64
    keys: str = "keys"
    sig2: Second = Second.WATCH
    second: SecondSignature = SecondSignature()


class Publish(_Table, frozen=True, kw_only=True):
    combined: bool = False
    card: str = "/.well-known/signature-agent-card"


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


class _Manners(Politeness, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


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
    cookie: str | None = None
    allow_private: bool = False
    politeness: Politeness = field(default_factory=Politeness)

    def __repr__(self) -> str:
        return f"Origin(name={self.name!r}, url={self.url!r})"


_OWN = {item.encode_name for item in msgspec.structs.fields(Origin)} - {"politeness", "sig2_set"}


class Settings(_Table, frozen=True, kw_only=True):
    """Both files, as one value. `base` is the folder that relative paths start from."""

    base: str
    bot: Bot
    signatures: Signatures = Signatures()
    publish: Publish = Publish()
    state: State = State()
    origins: tuple[Origin, ...] = ()

    @property
    def keys_directory(self) -> Path:
        return Path(self.base, self.signatures.keys)

    @property
    def state_directory(self) -> Path:
        return Path(self.base, self.state.directory)


class _File(_Table, frozen=True, kw_only=True):
    bot: Bot
    signatures: Signatures = Signatures()
    publish: Publish = Publish()
    politeness: _Manners = _Manners()
    state: State = State()


def load(path: Path) -> Settings:
    """Read crawler.toml at `path` and origins.toml beside it.

    Raises SettingsError for the first thing that is wrong, with its place and a hint.
    """
    document = _read(path)
    main = _convert(document, _File, path.name)
    _check_main(main, path.name)
    beside = path.with_name("origins.toml")
    listed = _read(beside)
    for key in listed.keys() - {"origin"}:
        raise SettingsError(
            f"{beside.name}: {key}", "unknown setting", "each origin starts with [[origin]]"
        )
    tables = listed.get("origin", [])
    if not isinstance(tables, list) or not tables:
        raise SettingsError(beside.name, "no origin is configured", "add an [[origin]] table")
    defaults = {**document.get("politeness", {})}
    origins = tuple(
        _origin(table, main, defaults, f"{beside.name}: origin[{index}]")
        for index, table in enumerate(tables)
    )
    _check_distinct(origins, beside.name)
    return Settings(
        base=str(path.resolve().parent),
        bot=main.bot,
        signatures=main.signatures,
        publish=main.publish,
        state=main.state,
        origins=origins,
    )


def duration(value: object) -> float:
    """Seconds of a number or of "90s", "5m", "6h", "30d", "2w"; ValueError where it is neither."""
    if isinstance(value, bool):
        raise ValueError('a duration is a number of seconds or like "6h"')
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        return float(match[1]) * _UNITS[match[2] or "s"]
    raise ValueError(
        f'{value!r} is not a duration; write seconds or for example "90s", "6h", "30d"'
    )


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


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SettingsError(
            str(path), "there is no such file", "`crawl init` writes one, --config names another"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(str(path), f"cannot be read: {error}") from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(path.name, f"is not TOML: {error}") from error


def _convert(table: dict[str, Any], kind: type[_T], place: str) -> _T:
    try:
        return msgspec.convert(_with_seconds(table, place), kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at ")
        path = where.strip("`").removeprefix("$").removeprefix(".")
        raise SettingsError(
            f"{place}: {path}" if path else place, _plain(problem), _hint(problem, kind)
        ) from error


def _plain(problem: str) -> str:
    unknown = _UNKNOWN.search(problem)
    return f"unknown setting {unknown[1]!r}" if unknown else problem[:1].lower() + problem[1:]


def _hint(problem: str, kind: type[Any]) -> str | None:
    unknown = _UNKNOWN.search(problem)
    if unknown is None:
        return None
    close = difflib.get_close_matches(unknown[1], _known(kind), n=1)
    return f"did you mean {close[0]!r}?" if close else None


def _known(kind: type[Any]) -> list[str]:
    names: list[str] = []
    for item in msgspec.structs.fields(kind):
        names.append(item.encode_name)
        if isinstance(item.type, type) and issubclass(item.type, Struct):
            names.extend(_known(item.type))
    return names


def _with_seconds(table: dict[str, Any], place: str) -> dict[str, Any]:
    """The table with each duration as a number."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found[key] = _with_seconds(value, f"{place}: {key}")
        elif key in _DURATION_KEYS:
            try:
                found[key] = (
                    [duration(item) for item in value]
                    if isinstance(value, list)
                    else duration(value)
                )
            except ValueError as error:
                raise SettingsError(f"{place}: {key}", str(error)) from error
        else:
            found[key] = value
    return found


def _origin(table: object, main: _File, defaults: dict[str, Any], place: str) -> Origin:
    if not isinstance(table, dict):
        raise SettingsError(place, "is not a table", "each origin starts with [[origin]]")
    names = {item.encode_name for item in msgspec.structs.fields(Politeness)}
    own = {key: value for key, value in table.items() if key not in names}
    manners = {key: value for key, value in table.items() if key in names}
    for key in own.keys() - _OWN:
        close = difflib.get_close_matches(key, [*_OWN, *names], n=1)
        raise SettingsError(
            f"{place}.{key}",
            f"unknown setting {key!r}",
            f"did you mean {close[0]!r}?" if close else None,
        )
    politeness = _convert({**defaults, **manners}, _Manners, place)
    _check_politeness(politeness, place)
    if isinstance(own.get("follow"), str):
        own["follow"] = [own["follow"]]
    chosen = {"profile": main.signatures.profile, "sig2": main.signatures.sig2, **own}
    origin = _convert({**chosen, "sig2_set": "sig2" in own}, Origin, place)
    origin = msgspec.structs.replace(origin, politeness=politeness)
    _check_origin(origin, place)
    return origin


def _check_main(main: _File, place: str) -> None:
    bot, second = main.bot, main.signatures.second
    if not _TOKEN.fullmatch(bot.product):
        raise SettingsError(
            f"{place}: bot.product",
            f"{bot.product!r} is not a product token",
            "letters, - and _ only (RFC 9309, section 2.2.1)",
        )
    home = urlsplit(bot.home)
    if home.scheme != "https" or not home.hostname:
        raise SettingsError(
            f"{place}: bot.home",
            f"{bot.home!r} is not an https origin",
            "keys are only looked up over https, for example https://bot.example",
        )
    if home.path or home.query or home.fragment or "@" in home.netloc:
        raise SettingsError(
            f"{place}: bot.home",
            f"{bot.home!r} is more than an origin",
            f"write https://{home.hostname} without a path",
        )
    if not bot.contact.startswith(("mailto:", "https://")):
        raise SettingsError(
            f"{place}: bot.contact",
            f"{bot.contact!r} is not a contact",
            "a site owner writes there: mailto:… or https://…",
        )
    for name, text in (
        ("home", bot.home),
        ("contact", bot.contact),
        ("version", bot.version),
    ):
        if not text.isascii() or not text.isprintable() or " " in text:
            raise SettingsError(f"{place}: bot.{name}", "only printable ASCII can be sent")
    if not _LABEL.fullmatch(second.label) or second.label == "sig1":
        raise SettingsError(
            f"{place}: signatures.second.label",
            f"{second.label!r} cannot be the second label",
            "lower-case letters and digits, not sig1 (RFC 8941, section 3.1.2)",
        )
    if second.algorithm not in _SECOND_ALGORITHMS:
        raise SettingsError(
            f"{place}: signatures.second.algorithm",
            f"{second.algorithm!r} is not one of {', '.join(_SECOND_ALGORITHMS)}",
        )
    for name, text in (("tag", second.tag), ("alg", second.alg)):
        if not text.isascii() or not text.isprintable():
            raise SettingsError(
                f"{place}: signatures.second.{name}", "only printable ASCII can be sent"
            )
    _check_politeness(main.politeness, f"{place}: politeness")


def _check_politeness(politeness: Politeness, place: str) -> None:
    if politeness.quiet:
        try:
            quiet_hours(politeness.quiet)
        except ValueError as error:
            raise SettingsError(f"{place}.quiet", str(error)) from error
    if politeness.max_interval < politeness.min_interval:
        raise SettingsError(
            f"{place}.max_interval", "is shorter than min_interval", "raise it or lower the other"
        )


def _check_origin(origin: Origin, place: str) -> None:
    try:
        parts = urlsplit(origin.url)
        _ = parts.port
    except ValueError as error:
        raise SettingsError(f"{place}.url", f"{origin.url!r} is not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(
            f"{place}.url",
            f"{origin.url!r} is not an http(s) URL",
            "for example https://example.com/",
        )
    if "@" in parts.netloc:
        raise SettingsError(
            f"{place}.url", "has user info, which is never sent", "take out what stands before @"
        )
    for index, page in enumerate(origin.start):
        if not page.startswith("/") or page.startswith("//"):
            raise SettingsError(
                f"{place}.start[{index}]",
                f"{page!r} is not a path of {origin.url}",
                "begin it with one /",
            )
    if origin.schedule is not None and origin.every is not None:
        raise SettingsError(f"{place}.every", "stands beside a schedule", "keep one of the two")
    if origin.schedule is not None:
        _check_schedule(origin.schedule, place)
    if origin.cookie is not None and (
        not origin.cookie.isascii() or not origin.cookie.isprintable()
    ):
        raise SettingsError(f"{place}.cookie", "only printable ASCII can be sent")


def _check_schedule(expression: str, place: str) -> None:
    from cronsim import CronSim, CronSimError

    try:
        CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise SettingsError(
            f"{place}.schedule",
            f"{expression!r} is not a cron expression: {error}",
            'five fields: minute, hour, day, month, weekday; for example "0 */6 * * *"',
        ) from error


def _check_distinct(origins: tuple[Origin, ...], place: str) -> None:
    names: dict[str, int] = {}
    urls: dict[tuple[str, str | None, int | None, str], int] = {}
    for index, origin in enumerate(origins):
        parts = urlsplit(origin.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        key = (parts.scheme, parts.hostname, port, parts.path or "/")
        for seen, what in ((names.get(origin.name), "name"), (urls.get(key), "url")):
            if seen is not None:
                raise SettingsError(
                    f"{place}: origin[{index}].{what}",
                    f"the same {what} stands in origin[{seen}]",
                    "each origin stands once; join their start lists",
                )
        names[origin.name] = index
        urls[key] = index
