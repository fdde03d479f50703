"""`crawl keys new`, `list` and `show`: what keys there are, and what becomes of each."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from crawler import configuration
from crawler.fetch import keychange, keyfiles, keystate
from crawler.fetch.keyfolder import KeyFile
from crawler.fetch.keylife import Standing
from crawler.problems import UsageProblem
from crawler.settings import Settings
from signing import algorithms
from signing.algorithms import ED25519, Algorithm

_BECOMES = {
    Standing.SIGNING: "signs from",
    Standing.PUBLISHED: "is published only from",
    Standing.RETIRED: "is dropped at",
}


class Next(Struct, frozen=True, kw_only=True):
    """What a key becomes, and when: seconds since 1970."""

    at: float
    standing: Standing

    def __str__(self) -> str:
        return f"{_BECOMES[self.standing]} {keystate.shown(self.at)}"


class Row(Struct, frozen=True, kw_only=True):
    """What `list` and `show` say of a key. Moments are seconds since 1970."""

    keyid: str
    algorithm: str
    standing: Standing
    file: str
    problem: str
    next: Next | None
    since: float | None  # from when on it was to sign, where that is stated
    not_before: int | None
    ends: float | None  # neither signs nor is published from then on


class Shown(Row, frozen=True, kw_only=True):
    """The same with the JWK that is published of it, where it is."""

    jwk: dict[str, str | int] | None


def new(
    settings: Settings,
    names: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
) -> None:
    """Make a key of each algorithm and say where it lies, and what is left to do where it waits."""
    now = time.time()
    not_before = None if since is None else moment("--valid-from", since, now)
    expires = None if until is None else moment("--valid-until", until, now)
    if expires is not None and expires <= max(now, not_before or now):
        raise UsageProblem(f"--valid-until {until}: the key would never be valid")
    made = keychange.add(
        settings.keys_directory,
        [
            keyfiles.made(algorithm, not_before=not_before, expires=expires)
            for algorithm in asked(settings, names)
        ],
        now,
    )
    for file in made:
        print(f"made {file.path}: {becoming(file)}")
    say_what_is_left(file for file in made if file.standing is Standing.PUBLISHED)


def show_all(settings: Settings, form: str) -> None:
    """Each key file: identifier, algorithm, standing, what comes next, path, and any problem."""
    rows = [_row(file) for file in keyfiles.listing(settings.keys_directory, time.time())]
    if form == "json":
        print(msgspec.json.encode({"keys": rows}).decode())
        return
    print(f"{'keyid':<43}  {'algorithm':<10}  {'standing':<9}  next")
    for row in rows:
        named = f"{row.algorithm}-{row.keyid}.jwk"
        file = Path(row.file).name
        about = [*_ahead(row), "" if file == named else f"its file is {file}", row.problem]
        first, *more = [text for text in about if text] or [""]
        print(f"{row.keyid:<43}  {row.algorithm:<10}  {row.standing:<9}  {first}".rstrip())
        for text in more:
            print(f"{'':<66}  {text}")
    where = os.fsencode(settings.keys_directory).decode("utf-8", "replace")
    print(f"\nThe files are {where}/ALGORITHM-KEYID.jwk")


def show(settings: Settings, begin: str, form: str) -> None:
    """All that is public about one key."""
    there = keyfiles.listing(settings.keys_directory, time.time())
    file = keychange.find(there, begin)
    published = None if file.standing is Standing.RETIRED else file.public
    row = _row(file)
    shown = Shown(
        **{name: getattr(row, name) for name in row.__struct_fields__},
        jwk=None if published is None else published.jwk(),
    )
    if form == "json":
        print(msgspec.json.encode(shown).decode())
        return
    told: list[tuple[str, object]] = [
        ("keyid", shown.keyid),
        ("algorithm", shown.algorithm),
        ("standing", shown.standing),
        ("signs since" if shown.standing is Standing.SIGNING else "to sign from", shown.since),
        ("valid from", shown.not_before),
        ("ends", shown.ends),
        ("next", shown.next or "nothing is planned"),
        ("file", shown.file),
        ("problem", shown.problem or None),
    ]
    for name, value in told:
        if value is not None:
            moment = keystate.shown(value) if isinstance(value, int | float) else value
            print(f"{name:<13} {moment}")
    if shown.jwk is not None:
        print(f"published as  {msgspec.json.encode(shown.jwk).decode()}")


def asked(settings: Settings, names: Sequence[str]) -> tuple[Algorithm, ...]:
    """The algorithms of `--algorithm`; without one, those of sig1 and sig2."""
    able = {one.name: one for one in algorithms.TABLE if one is ED25519 or one.kty == "AKP"}
    *others, last = able
    for name in names:
        if name not in able:
            raise UsageProblem(
                f"--algorithm {name}: requests are signed with {', '.join(others)} or {last} keys"
            )
    found = [able[name] for name in names]
    both = (ED25519, algorithms.by_name(settings.signatures.second.algorithm))
    return tuple(dict.fromkeys(found or both))


def moment(option: str, text: str, now: float) -> int:
    """Seconds since 1970 of a date, of a time (UTC unless it says otherwise), or of "90d" from now.

    Raises UsageProblem.
    """
    text = text.strip()
    try:
        if text[-1:].isalpha() and text[-1:] != "Z":
            return int(now + configuration.duration(text))
        found = datetime.fromisoformat(text)
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError) as error:
        raise UsageProblem(
            f"{option} {text}: no moment", "for example 90d, 2027-03-01 or 2027-03-01T06:00"
        ) from error


def becoming(file: KeyFile) -> str:
    """What a key is used for, and what comes next."""
    is_now = {
        Standing.SIGNING: "signs",
        Standing.PUBLISHED: "published, does not sign yet",
        Standing.RETIRED: "retired",
    }[file.standing]
    change = file.change
    if change is None:
        return is_now
    return f"{is_now}, {Next(at=change.at, standing=change.standing)}"


def say_what_is_left(waiting: Iterable[KeyFile]) -> None:
    """Name the command that makes keys sign that are only published and wait for nothing."""
    to = "".join(f" --to {file.keyid}" for file in waiting if file.signs_from is None)
    if to:
        print(
            f"""
Next: publish (a running `crawl serve` does already), then
  crawl keys rotate{to}
has it sign in a day, when sites know the new key set, and drops the old one a day later."""
        )


def _ahead(row: Row) -> Iterator[str]:
    """What becomes of a key: the next thing, and its end where that is another."""
    if row.next is not None:
        yield str(row.next)
        if row.next.standing is not Standing.RETIRED and row.ends is not None:
            yield str(Next(at=row.ends, standing=Standing.RETIRED))


def _row(file: KeyFile) -> Row:
    change, public = file.change, file.public
    finite = file.ends is not None and file.ends > 0
    return Row(
        keyid=file.keyid,
        algorithm=file.algorithm.name,
        standing=file.standing,
        file=os.fsencode(file.path).decode("utf-8", "replace"),  # JSON knows no bytes
        problem=file.problem,
        next=Next(at=change.at, standing=change.standing) if change is not None else None,
        since=file.since,
        not_before=public.not_before if public is not None else None,
        ends=file.ends if finite else None,
    )
