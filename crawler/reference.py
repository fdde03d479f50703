"""README's reference of settings and events, told by the types themselves.

    python -m crawler.reference [README.md]

writes both between README's markers. What a setting means is the comment beside it in the shipped
configuration, what a field of an event means the comment beside it in crawler/events.py.
"""

import inspect
import json
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import get_args

from msgspec import NODEFAULT, Struct
from msgspec import inspect as types

from crawler import configuration, events, settings, shipped

_EVENTS: tuple[type[Struct], ...] = get_args(events.Event)
_SECTIONS: tuple[tuple[str, type[Struct]], ...] = (
    ("bot", settings.Bot),
    ("signatures", settings.Signatures),
    ("signatures.second", settings.SecondSignature),
    ("publish", settings.Publish),
    ("card", settings.Card),
    ("politeness", settings.Politeness),
    ("state", settings.State),
    ("origin", settings.Origin),
)
_NOT_WRITTEN = {"signatures.second", "origin.sig2_set", "origin.politeness"}
_MEANING = {  # where the configuration shows an example, or names the choices only
    "signatures.profile": "the form of the signatures; `auto` follows each origin's last answer",
    "signatures.second.algorithm": "how sig2 is made: ml-dsa-44, ml-dsa-65 or ml-dsa-87",
    "origin.follow": "how pages are found beyond `start`; one name, or a list",
    "origin.schedule": "when it is due, as a cron expression in UTC; instead of `every`",
    "origin.every": "how often it is due; neither this nor `schedule`: at each `--once`",
    "origin.profile": "as in [signatures], for this origin",
    "origin.sig2": "as in [signatures], for this origin",
    "origin.components": "as in [signatures], for this origin",
}
_SAID = {  # of a field that has the same name and sense in several events, or says it by its name
    "address": "that the request went to",
    "agent": "the User-Agent",
    "allow_private": "whether a private address is admitted",
    "answer": "what the answer counts as (RFC 9309, section 2.3.1)",
    "attempt": "1 for the first, 2 for the next try of the same page",
    "changed": "whether it is another copy than before",
    "content_type": "media type",
    "cookie": "whether one is sent; its value is never logged",
    "cookie_bytes": "of the head",
    "cpu": "seconds that the process used",
    "depth": "links away from a start page",
    "detail": "the same in words",
    "digest": "sha-256",
    "elapsed": "seconds",
    "error": "its type and place, without its message",
    "etag": "validator, as it came",
    "follow": "how pages are found",
    "group": "of robots.txt, that decided",
    "id": "of the request: run, lane, number",
    "keyid": "thumbprint of the key (RFC 7638)",
    "kept": "path of what was kept aside",
    "kind": "what was asked for",
    "label": "that it signs under",
    "last_modified": "validator, as it came",
    "location": "where a redirect leads",
    "longest_line": "of the head",
    "origin": "its name in origins.toml",
    "outcome": "what became of it",
    "pages": "that a refresh asks for at most",
    "politeness": "what is in force for it",
    "previous": "digest of the copy before",
    "problem": "what was the matter",
    "profile": "form of the signatures",
    "profile_reason": "why `auto` chose it",
    "quota_reset": "seconds until the quota is full again (RateLimit)",
    "reason": "why",
    "records": "how many were folded",
    "requests": "that left",
    "retry_after": "seconds",
    "robots": "sha-256 of the robots copy that decided",
    "rule": "of robots.txt, that decided",
    "run": "identifier of the run",
    "scope": "within which one request at a time is made",
    "second_tag": "sig2's tag",
    "seconds": "by how much",
    "server": "the Server field",
    "sig2": "when sig2 is sent",
    "status": "HTTP status",
    "stopped": "whether by a signal",
    "until": "seconds since 1970",
    "url": "that this is about",
    "version": "of the program",
    "wall": "what the wall clock said",
    "why": "the reason",
    "wire_bytes": "of the body, as received",
}
_DEFAULT = dict.fromkeys(
    ("origin.profile", "origin.sig2", "origin.components"), "that of [signatures]"
)
_WRITTEN = re.compile(r"(?:# )?(\w+) = .*?\s# ?(.+)")
_TEXT = re.compile(r"(?:# )?\w+ = \[?\"")
_SECTION = re.compile(r"(?:# )?\[+([\w.]+)\]+")
_FIELD = re.compile(r"^    (\w+): .*?  # (.+)$", re.MULTILINE)


def settings_table() -> str:
    """Each setting of both files: name, type, default, meaning. KeyError where one has none."""
    comments, durations = _shipped()
    rows = [_row("setting", "type", "default", "meaning"), _row(*["---"] * 4)]
    for name, field in _settings():
        type_ = _written_type(field.type)
        if name in durations:
            type_ = type_.replace("number", "duration")
        default = _DEFAULT.get(name) or _default(field, is_duration=name in durations)
        rows.append(_row(f"`{name}`", type_, default, _MEANING.get(name) or comments[name]))
    others = "each setting of [politeness], for this origin"
    rows.append(_row("`origin.…`", "", "that of [politeness]", others))
    return "\n".join(rows)


def events_table() -> str:
    """Each event with its fields, then what the types are. KeyError for one without meaning."""
    rows = [_row("event, field", "type", "default", "meaning"), _row(*["---"] * 4)]
    named: dict[str, type[Enum]] = {}
    for kind in _EVENTS:
        told = inspect.cleandoc(kind.__doc__ or "").partition("\n")[0]
        rows.append(_row(f"**{kind.__struct_config__.tag}**", "", "", told))
        meanings = dict(_FIELD.findall(inspect.getsource(kind)))
        for field in _fields(kind):
            if (name := field.encode_name) != "at":
                default = _default(field, is_duration=False)
                type_ = _logged_type(field.type, named)
                rows.append(_row(f"`{name}`", type_, default, meanings.get(name) or _SAID[name]))
    rows += ["", _row("type", "values"), _row("---", "---")]
    for name, enum in sorted(named.items()):
        rows.append(_row(name, _values(enum)))
    return "\n".join(rows)


def refreshed(readme: str) -> str:
    """README with both tables as they are now. ValueError where it lacks a marker."""
    for name, table in (("settings", settings_table()), ("events", events_table())):
        before, begin, rest = readme.partition(f"<!-- {name} -->")
        _, end, after = rest.partition(f"<!-- /{name} -->")
        if not end:
            raise ValueError(f"there is no <!-- {name} --> … <!-- /{name} -->")
        readme = f"{before}{begin}\n{table}\n{end}{after}"
    return readme


def _shipped() -> tuple[dict[str, str], set[str]]:
    """The comment beside each shipped setting; those numbers that are written with a unit."""
    comments: dict[str, str] = {}
    durations: set[str] = set()
    numbers = {name for name, field in _settings() if "number" in _written_type(field.type)}
    for file in shipped.CONFIG:
        section = ""
        for line in shipped.text(file).splitlines():
            if found := _SECTION.match(line):
                section = found[1]
            elif found := _WRITTEN.match(line):
                name = f"{section}.{found[1]}"
                comments.setdefault(name, found[2])
                if name in numbers and _TEXT.match(line):
                    durations.add(name)
    return comments, durations


def _settings() -> Iterator[tuple[str, types.Field]]:
    for section, kind in _SECTIONS:
        for field in _fields(kind):
            if (name := f"{section}.{field.encode_name}") not in _NOT_WRITTEN:
                yield name, field


def _fields(kind: type[Struct]) -> tuple[types.Field, ...]:
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)  # noqa: S101 - of a Struct it is
    return info.fields


def _written_type(type_: types.Type) -> str:
    """The type of a setting as an operator writes it."""
    match type_:
        case types.StrType():
            return "text"
        case types.BoolType():
            return "true or false"
        case types.IntType() | types.FloatType():
            least, most = type_.ge, type_.le
            name = "whole number" if isinstance(type_, types.IntType) else "number"
            if type_.gt is not None:
                return f"{name} above {type_.gt}"
            if least is not None and most is not None:
                return f"{name}, {least} to {most}"
            return f"{name}, at least {least}" if least else name
        case types.EnumType():
            return _values(type_.cls)
        case types.VarTupleType():
            return f"list of {_written_type(type_.item_type)}"
        case types.UnionType():
            return " or ".join(
                _written_type(one) for one in type_.types if not isinstance(one, types.NoneType)
            )
        case _:
            raise TypeError(f"no setting is a {type_}")


def _logged_type(type_: types.Type, named: dict[str, type[Enum]]) -> str:
    """The type of a field as JSON has it; enumerations by their name, which `named` collects."""
    match type_:
        case types.StrType():
            return "text"
        case types.BoolType():
            return "true or false"
        case types.IntType():
            return "whole number"
        case types.FloatType():
            return "number"
        case types.NoneType():
            return "null"
        case types.EnumType():
            named[type_.cls.__name__] = type_.cls
            return type_.cls.__name__
        case types.VarTupleType():
            return f"list of {_logged_type(type_.item_type, named)}"
        case types.DictType():
            return f"names and {_logged_type(type_.value_type, named)}"
        case types.StructType():
            fields = [
                f"`{field.encode_name}` ({_logged_type(field.type, named)})"
                for field in type_.fields
            ]
            if type_.cls is settings.Politeness:
                return "[politeness] of the settings"
            return ", ".join(fields)
        case types.UnionType():
            return " or ".join(_logged_type(one, named) for one in type_.types)
        case _:
            raise TypeError(f"no field of an event is a {type_}")


def _default(field: types.Field, *, is_duration: bool) -> str:
    if field.required:
        return "required"
    value = field.default if field.default is not NODEFAULT else field.default_factory()
    if value is None:
        return "none"
    return f"`{_written(value, is_duration=is_duration)}`"


def _written(value: object, *, is_duration: bool) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_written(item, is_duration=is_duration) for item in value)}]"
    if is_duration and isinstance(value, float):
        return f'"{configuration.written(value)}"'
    return json.dumps(value, default=str)


def _values(enum: type[Enum]) -> str:
    return ", ".join(f"`{member.value}`" for member in enum)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    readme = Path(sys.argv[1] if len(sys.argv) > 1 else "README.md")
    readme.write_text(refreshed(readme.read_text(encoding="utf-8")), encoding="utf-8")
