"""crawler.toml and origins.toml, read and checked once.

Every mistake is a `SettingsError` with the file, the path inside it and what to try. Durations are
written as seconds or as "90s", "5m", "6h", "30d".
"""

import difflib
import json
import re
import tomllib
from datetime import UTC, datetime
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from crawler.polite import target
from crawler.polite.target import Target
from crawler.problems import Problem
from crawler.settings import (
    SECOND_ALGORITHMS,
    Bot,
    Card,
    Origin,
    Politeness,
    ProfileName,
    Publish,
    Second,
    Settings,
    Signatures,
    State,
    quiet_hours,
)
from signing import coverable, directory, label
from signing.errors import CoverageImpossible
from signing.profile import FIXED, SECOND_KEYS_PATH, Name

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)")
_DURATION_KEYS = {"freeze", "min_interval", "max_interval", "full_fetch", "every"}
_SECONDS = ("min_delay", "max_delay", "max_crawl_delay", "max_retry_after", "deadline")
_LONGEST = 10 * 365 * 86400  # seconds; longer, a calendar ends before the moment that it leads to
_LARGEST = 2**53  # the last whole number that every reader of our log can tell from the next
_TOKEN = re.compile(r"[A-Za-z_-]+")
_CARD = re.compile(r"/(?:\.well-known/)?[\w~-][\w.~-]*(?:/[\w~-][\w.~-]*)*", re.ASCII)
_PUBLISHED = (  # by `crawl serve`, and as files by `crawl publish`
    "/bot",
    "/bot.html",
    "/index.html",
    "/nginx-snippet.conf",
    "/_headers",
    SECOND_KEYS_PATH,
    directory.WELL_KNOWN,
)
_UNKNOWN = re.compile(r"unknown field `(.+?)`")
_MISSING = re.compile(r"missing required field `(.+?)`")
_TYPES = re.compile(r"expected `(.+?)`(.*?)(?:, got `(.+?)`)?", re.IGNORECASE)
_NO_CHOICE = re.compile(r"invalid enum value (.+)", re.IGNORECASE)
_IN_WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "a table",
    "str": "text",
}
_FIRST = {  # what a required setting looks like; an example has no default to show
    "bot": "[bot] says who you are; `crawl init` writes one",
    "product": 'for example product = "ExampleBot"',
    "home": 'for example home = "https://bot.example"',
    "contact": 'for example contact = "mailto:bot@bot.example"',
    "name": 'for example name = "example"',
    "url": 'for example url = "https://example.com/"',
}
_DURATION_HINT = 'write seconds, or for example "90s", "6h", "30d"'
_QUIET_HINT = 'for example quiet = "22:00-06:00 Europe/Prague"; without a zone it is UTC'
_URL_HINTS = {
    target.Reason.USER_INFO: "take out what stands before the @; it is never sent",
    target.Reason.BAD_NAME: "write the name as its owner registered it, or its xn-- form",
}
_WRITES_ONE = "`crawl init` writes one, --config names another"
_T = TypeVar("_T")


class SettingsError(Problem):
    """A configuration that cannot be used: `place` names file and path, `hint` what to try."""

    def __init__(self, place: str, problem: str, hint: str | None = None) -> None:
        super().__init__(f"{place}: {problem}", hint)
        self.place = place
        self.problem = problem


class _Manners(Politeness, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    bot: Bot
    signatures: Signatures = Signatures()
    publish: Publish = Publish()
    card: Card = Card()
    politeness: _Manners = _Manners()
    state: State = State()


_OWN = [
    item.encode_name
    for item in msgspec.structs.fields(Origin)
    if item.encode_name not in ("politeness", "sig2_set")
]


def load(path: Path) -> Settings:
    """Read crawler.toml at `path` and origins.toml beside it.

    All that is relative is so to the folder of `path`. Where that is a symbolic link it is the
    link's own folder: what the link leads to may be shared, versioned or read-only, no place for
    keys and state.

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
        _named_origin(table, main, defaults, f"{beside.name}: origin[{index}]")
        for index, table in enumerate(tables)
    )
    _check_distinct(origins, beside.name)
    return Settings(
        base=str(path.parent.resolve()),
        bot=main.bot,
        signatures=main.signatures,
        publish=main.publish,
        card=main.card,
        state=main.state,
        origins=origins,
    )


def document(path: Path, kind: type[_T], missing: str) -> _T:
    """Another TOML file as a value of `kind`, a Struct; mistakes are said as those of crawler.toml.

    `missing` is what to try where there is no such file. Raises SettingsError.
    """
    return _convert(_read(path, missing), kind, path.name)


def duration(value: object) -> float:
    """Seconds of a number or of "90s", "5m", "6h", "30d", "2w".

    Raises ValueError for what is neither, or is longer than ten years.
    """
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        return _of_a_calendar(float(match[1]) * _UNITS[match[2] or "s"])
    if isinstance(value, int) and not isinstance(value, bool):
        return _of_a_calendar(value)
    if isinstance(value, float) and isfinite(value):
        return _of_a_calendar(value)
    shown = repr(value) if isinstance(value, str) else str(value).lower()
    raise ValueError(f"{shown} is not a duration")


def _of_a_calendar(seconds: float) -> float:
    if seconds > _LONGEST:  # compared as it is: a whole number may be too long for a float
        raise ValueError(f"longer than ten years ({written(_LONGEST)})")
    return float(seconds)


def written(seconds: float) -> str:
    """A duration as people write it, in the longest unit up to days that leaves no rest."""
    unit = next(unit for unit in ("d", "h", "m", "s") if unit == "s" or not seconds % _UNITS[unit])
    return f"{seconds / _UNITS[unit]:.15g}{unit}"


def _read(path: Path, missing: str = _WRITES_ONE) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SettingsError(str(path), "there is no such file", missing) from error
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
        if (unknown := _UNKNOWN.search(problem)) is not None:
            path, problem = f"{path}.{unknown[1]}".lstrip("."), "unknown setting"
        if (missing := _MISSING.search(problem)) is not None:
            path = f"{path}.{missing[1]}".lstrip(".")
            raise SettingsError(_at(place, path), "is missing", _FIRST.get(missing[1])) from error
        raise SettingsError(_at(place, path), _in_words(problem), _hint(path, kind)) from error


def _in_words(problem: str) -> str:
    """What is wrong, with types as people who write TOML know them."""
    if (choice := _NO_CHOICE.fullmatch(problem)) is not None:
        return f"{choice[1]} is none of the choices"
    if (types := _TYPES.fullmatch(problem)) is None:
        return problem[:1].lower() + problem[1:]
    said = f"{_type_in_words(types[1])}{types[2]} is expected"
    return f"{said}, not {_type_in_words(types[3])}" if types[3] else said


def _type_in_words(names: str) -> str:
    return " or ".join(_IN_WORDS.get(name, name) for name in names.split(" | ") if name != "null")


def _at(place: str, path: str) -> str:
    """The place with a path inside it: a file and a path, or a deeper path."""
    if not path:
        return place
    return f"{place}.{path}" if ": " in place else f"{place}: {path}"


def _hint(path: str, kind: type[Any]) -> str | None:
    """What may be written there: a choice, an example, or the name that was meant."""
    named: type[Any] = kind
    for part in path.split("."):
        fields = {item.encode_name: item for item in msgspec.structs.fields(named)}
        field = fields.get(part.partition("[")[0])
        if field is None:
            close = difflib.get_close_matches(part, [*fields], n=1)
            return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(fields)}"
        if get_origin(field.type) is Literal:
            return f"one of {', '.join(get_args(field.type))}"
        for inner in (field.type, *get_args(field.type)):
            if isinstance(inner, type) and issubclass(inner, StrEnum):
                return f"one of {', '.join(inner)}"
        deeper = [
            inner
            for inner in (field.type, *get_args(field.type))
            if isinstance(inner, type) and issubclass(inner, Struct)
        ]
        if not deeper:
            name = part.partition("[")[0]
            return _example(name, field.default) or _FIRST.get(name)
        named = deeper[0]
    return None


def _example(name: str, default: object) -> str | None:
    """The line that says what is in force without it."""
    if name in _DURATION_KEYS:
        every = default if isinstance(default, tuple) else (default or 21600.0,)
        default = tuple(written(one) for one in every if isinstance(one, float))
        default = default if name == "freeze" else default[0]
    if default == ():  # none is in force, and that is no example of a list
        return f'for example {name} = ["…"]'
    if isinstance(default, bool | int | float | str | tuple):
        return f"for example {name} = {json.dumps(default)}"
    return None


def _with_seconds(table: dict[str, Any], place: str) -> dict[str, Any]:
    """The table with each duration as a number."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found[key] = _with_seconds(value, _at(place, key))
        elif isinstance(value, float) and not isfinite(value):
            raise SettingsError(_at(place, key), f"{value} is without end")
        elif isinstance(value, int) and abs(value) > _LARGEST:
            raise SettingsError(_at(place, key), "is too large a number")
        elif key in _DURATION_KEYS:
            try:
                found[key] = (
                    [duration(item) for item in value]
                    if isinstance(value, list)
                    else duration(value)
                )
            except ValueError as error:
                raise SettingsError(_at(place, key), str(error), _DURATION_HINT) from error
        else:
            found[key] = value
    return found


def _named_origin(table: object, main: _File, defaults: dict[str, Any], place: str) -> Origin:
    """The origin of a table; a mistake in it is said with the origin's name, where it has one."""
    try:
        return _origin(table, main, defaults, place)
    except SettingsError as error:
        name = table.get("name") if isinstance(table, dict) else None
        if not isinstance(name, str) or not name.isprintable():
            raise
        raise SettingsError(f"{error.place} ({name[:64]})", error.problem, error.hint) from error


def _origin(table: object, main: _File, defaults: dict[str, Any], place: str) -> Origin:
    if not isinstance(table, dict):
        raise SettingsError(place, "is not a table", "each origin starts with [[origin]]")
    names = [item.encode_name for item in msgspec.structs.fields(Politeness)]
    own = {key: value for key, value in table.items() if key not in names}
    manners = {key: value for key, value in table.items() if key in names}
    for key in own.keys() - {*_OWN}:
        close = difflib.get_close_matches(key, [*_OWN, *names], n=1)
        raise SettingsError(
            f"{place}.{key}",
            f"unknown setting {key!r}",
            f"did you mean {close[0]!r}?" if close else f"known are {', '.join((*_OWN, *names))}",
        )
    politeness = _convert({**defaults, **manners}, _Manners, place)
    _check_politeness(politeness, place)
    if isinstance(own.get("follow"), str):
        own["follow"] = [own["follow"]]
    shared = main.signatures
    chosen = {
        "profile": shared.profile,
        "sig2": shared.sig2,
        "components": shared.components,
        **own,
    }
    origin = _convert({**chosen, "sig2_set": "sig2" in own}, Origin, place)
    origin = msgspec.structs.replace(origin, politeness=politeness)
    if "components" in own:
        _check_components(origin.components, origin.profile, main.bot, f"{place}.components")
    if "accept" in origin.components and not "".join(politeness.types).isascii():
        raise SettingsError(f"{place}.types", "only ASCII can be signed, and Accept is covered")
    return _check_origin(origin, place)


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
            f"{target.shown(bot.home)!r} is not an https origin",
            "keys are only looked up over https, for example https://bot.example",
        )
    if home.path or home.query or home.fragment or "@" in home.netloc:
        raise SettingsError(
            f"{place}: bot.home",
            f"{target.shown(bot.home)!r} is more than an origin",
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
    if second.algorithm not in SECOND_ALGORITHMS:
        raise SettingsError(
            f"{place}: signatures.second.algorithm",
            f"{second.algorithm!r} is not one of {', '.join(SECOND_ALGORITHMS)}",
        )
    try:
        label.Second(label=second.label, algorithm=second.algorithm, tag=second.tag, alg=second.alg)
    except ValueError as error:
        raise SettingsError(f"{place}: signatures.second", str(error)) from error
    if main.signatures.components != Signatures().components:
        chosen = main.signatures
        where = f"{place}: signatures.components"
        _check_components(chosen.components, chosen.profile, bot, where)
    _check_card(main, place)
    for name, text in (
        ("signatures.keys", main.signatures.keys),
        ("state.directory", main.state.directory),
    ):
        if not text or "\0" in text:
            raise SettingsError(
                f"{place}: {name}",
                f"{text!r} is no directory",
                "name one, relative to this file or from the root",
            )
    _check_politeness(main.politeness, f"{place}: politeness")


def _check_components(names: tuple[str, ...], form: ProfileName, bot: Bot, place: str) -> None:
    if Name(form.value) in FIXED:
        raise SettingsError(
            place,
            f"what the {form} profile covers is part of its form",
            "take it out, or choose another profile",
        )
    try:
        coverable.components(names, bot.always_sent)
    except CoverageImpossible as error:
        at = "" if error.at is None else f"[{error.at}]"
        raise SettingsError(f"{place}{at}", error.why, error.remedy) from error


def _check_card(main: _File, place: str) -> None:
    path, ips = main.publish.card, main.card.ips_uri
    if not _CARD.fullmatch(path):
        raise SettingsError(
            f"{place}: publish.card",
            f"{path!r} is no path that the card can stand at",
            "letters, digits and - . _ ~ between slashes; no part begins with a dot",
        )
    for other in _PUBLISHED:  # one of them may be a file where the other needs a folder
        if f"{path}/".startswith(f"{other}/") or other.startswith(f"{path}/"):
            raise SettingsError(
                f"{place}: publish.card",
                f"{path!r} is in the way of {other}, which is published, too",
                _example("card", Publish().card),
            )
    if ips and (not ips.startswith("https://") or not isinstance(target.sendable(ips), Target)):
        raise SettingsError(
            f"{place}: card.ips_uri",
            f"{target.shown(ips)!r} is not an https URL",
            "for example https://bot.example/ips.json",
        )


def _check_politeness(politeness: Politeness, place: str) -> None:
    if politeness.quiet:
        try:
            first, last, _ = quiet_hours(politeness.quiet)
        except ValueError as error:
            raise SettingsError(f"{place}.quiet", str(error), _QUIET_HINT) from error
        if first == last:  # neither never nor always can be meant for certain
            problem = f"{politeness.quiet!r} ends as it begins"
            raise SettingsError(f"{place}.quiet", problem, 'quiet = "" has no quiet hours')
    for name in _SECONDS:
        try:
            _of_a_calendar(getattr(politeness, name))
        except ValueError as error:
            raise SettingsError(f"{place}.{name}", str(error)) from error
    if politeness.max_interval < politeness.min_interval:
        raise SettingsError(
            f"{place}.max_interval", "is shorter than min_interval", "raise it or lower the other"
        )


def _check_origin(origin: Origin, place: str) -> Origin:
    """The origin with its URL as it is sent."""
    home = target.sendable(origin.url)
    if isinstance(home, target.Unsendable):
        raise SettingsError(
            f"{place}.url",
            f"{home.url!r} cannot be asked for: {home}",
            _URL_HINTS.get(home.reason, "for example https://example.com/"),
        )
    for index, page in enumerate(origin.start):
        found = target.joined(home.url, page)
        if isinstance(found, target.Unsendable) or found.origin != home.origin:
            raise SettingsError(
                f"{place}.start[{index}]",
                f"{target.shown(page)!r} is not a path of {home.origin}",
                "begin it with one /; another host is an origin of its own",
            )
    if origin.profile is ProfileName.PUBLISHED and origin.sig2 is Second.NEVER:
        raise SettingsError(
            f"{place}.sig2",
            "the published profile always sends both signatures",
            'choose another profile, or sig2 = "watch"',
        )
    if origin.schedule is not None and origin.every is not None:
        raise SettingsError(f"{place}.every", "stands beside a schedule", "keep one of the two")
    if origin.schedule is not None:
        _check_schedule(origin.schedule, place)
    if origin.cookie is not None and (
        not origin.cookie.isascii() or not origin.cookie.isprintable()
    ):
        raise SettingsError(f"{place}.cookie", "only printable ASCII can be sent")
    return msgspec.structs.replace(origin, url=home.url)


def _check_schedule(expression: str, place: str) -> None:
    from cronsim import CronSim, CronSimError

    try:
        if len(expression.split()) == 6:  # cronsim would read seconds, and ask each second
            raise CronSimError("Seconds are not known")
        CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise SettingsError(
            f"{place}.schedule",
            f"{expression!r} is not a cron expression: {error}",
            'five fields: minute, hour, day, month, weekday; for example "0 */6 * * *"',
        ) from error


def _check_distinct(origins: tuple[Origin, ...], place: str) -> None:
    names: dict[str, int] = {}
    urls: dict[str, int] = {}
    for index, origin in enumerate(origins):
        for seen, what in ((names.get(origin.name), "name"), (urls.get(origin.url), "url")):
            if seen is not None:
                raise SettingsError(
                    f"{place}: origin[{index}].{what}",
                    f"the same {what} stands in origin[{seen}] ({origins[seen].name})",
                    "each origin stands once; join their start lists",
                )
        names[origin.name] = index
        urls[origin.url] = index
