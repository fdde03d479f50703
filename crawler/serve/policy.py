"""gate.toml: whom a site lets in. Read and checked once; every mistake is a `SettingsError`."""

import re
import ssl
import stat
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from crawler import configuration
from crawler.configuration import SettingsError
from crawler.serve import naming
from crawler.serve.reader import DECODED, KEYS, Reach
from crawler.serve.replay import ENTRIES
from signing import agent as agents
from signing import algorithms, directory, verifier
from signing.directory import KeySet
from signing.errors import AlgorithmUnsupported, KeySetUnreadable
from signing.verifier import Keying

_KNOWN: Final = tuple(algorithm.name for algorithm in algorithms.TABLE)
_COMPONENTS: Final = (
    "@authority",
    "@method",
    "@path",
    "@query",
    "@request-target",
    "@scheme",
    "@target-uri",
)
_USUAL_PORT: Final = {"https": ":443", "http": ":80"}
_HOST: Final = 'for example hosts = ["shop.example", "localhost:8080"]'
_SPOKEN: Final = re.compile(r"[ !#-\[\]-~]+")  # what a text in a field is without any escape
_LARGEST_CA: Final = 4 * 1024 * 1024  # bytes: a system's own has a quarter of a million
_MISSING: Final = "`crawl gate --show policy > gate.toml` writes one"

_Seconds = Annotated[int, Meta(ge=0)]


class Told(StrEnum):
    """Who learns why a signature is refused. For whoever forges them, reasons are a teacher."""

    NOBODY = "nobody"
    SITE = "site"
    EVERYBODY = "everybody"


class Store(StrEnum):
    """Where signatures that were seen are remembered."""

    MEMORY = "memory"
    SQLITE = "sqlite"
    OFF = "off"


class _Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Site(_Table, frozen=True, kw_only=True):
    """The site itself; `hosts` are in lower case, empty where any will do."""

    scheme: Literal["https", "http"] = "https"
    hosts: tuple[str, ...] = ()


class Admit(_Table, frozen=True, kw_only=True):
    """Whom the site lets in; `require` names algorithms."""

    require: tuple[str, ...] = ()
    unsigned: bool = True
    invalid: bool = False
    unknown: bool = True


class Signatures(_Table, frozen=True, kw_only=True):
    """What a signature has to be like; times are seconds."""

    tags: tuple[str, ...] = ("web-bot-auth", "web-bot-auth-pq")
    components: tuple[str, ...] = ("@authority",)
    max_window: _Seconds = 86_400
    skew: _Seconds = 5
    keying: Keying = Keying.STRICT
    alg: str = ""


class Replay(_Table, frozen=True, kw_only=True):
    """How signatures that were seen are remembered."""

    store: Store = Store.MEMORY
    path: str = "replay.db"
    entries: Annotated[int, Meta(ge=1)] = ENTRIES


class Answers(_Table, frozen=True, kw_only=True):
    """What is said."""

    reasons: Told = Told.SITE


class Discovery(_Table, frozen=True, kw_only=True):
    """Where key sets may lie."""

    private: bool = False
    ca: str = ""


class Agent(_Table, frozen=True, kw_only=True):
    """An agent that the site knows."""

    origin: str
    keys: tuple[str, ...] = ()


class _File(_Table, frozen=True, kw_only=True):
    site: Site = Site()
    admit: Admit = Admit()
    signatures: Signatures = Signatures()
    replay: Replay = Replay()
    answers: Answers = Answers()
    discovery: Discovery = Discovery()
    agent: tuple[Agent, ...] = ()


class Policy(Struct, frozen=True, kw_only=True):
    """A site's policy, and what follows from it.

    `judged_by` is the verifier's part. `known` are the origins of the site's agents, `pinned` the
    key sets of those that have one. `replay_path` is where a shared memory is, `reach` where key
    sets may lie.
    """

    site: Site
    admit: Admit
    answers: Answers
    replay: Replay
    judged_by: verifier.Policy
    known: frozenset[str]
    pinned: Mapping[str, KeySet]
    replay_path: Path
    reach: Reach


def load(path: Path) -> Policy:
    """Read a policy file; paths in it are relative to its folder. Raises SettingsError."""
    return _checked(configuration.document(path, _File, _MISSING), path)


def default() -> Policy:
    """The policy where there is no file."""
    return _checked(_File(), Path("gate.toml"))


def _checked(file: _File, path: Path) -> Policy:
    place, folder = path.name, path.parent
    for index, agent in enumerate(file.agent):
        _check_origin(agent.origin, f"{place}: agent[{index}].origin")
    known = [naming.origin(agent.origin) for agent in file.agent]
    for index, origin in enumerate(known):
        if origin in known[:index]:
            raise SettingsError(
                f"{place}: agent[{index}].origin", f"{origin} stands twice", "join their key sets"
            )
    if not file.admit.unknown and not known:
        raise SettingsError(
            f"{place}: admit.unknown",
            "no agent is known, so that no signature would ever be good for anything",
            "name one by [[agent]], or write unknown = true",
        )
    hosts = tuple(
        _host(host, file.site.scheme, f"{place}: site.hosts[{index}]")
        for index, host in enumerate(file.site.hosts)
    )
    if "\0" in file.replay.path:
        raise SettingsError(
            f"{place}: replay.path",
            f"{file.replay.path!r} is no file name",
            'name a file, for example path = "replay.db"',
        )
    if file.replay.store is Store.SQLITE and not file.replay.path:
        raise SettingsError(
            f"{place}: replay.path", "is empty", 'name a file, for example path = "replay.db"'
        )
    return Policy(
        site=Site(scheme=file.site.scheme, hosts=hosts),
        admit=file.admit,
        answers=file.answers,
        replay=file.replay,
        judged_by=_verifiers(file, place),
        known=frozenset(known),
        pinned={
            origin: _key_set(agent, folder, f"{place}: agent[{index}].keys")
            for index, (origin, agent) in enumerate(zip(known, file.agent, strict=True))
            if agent.keys
        },
        replay_path=folder / file.replay.path,
        reach=_reach(file.discovery, folder, f"{place}: discovery.ca"),
    )


def _verifiers(file: _File, place: str) -> verifier.Policy:
    stated = file.signatures
    if not stated.tags:
        raise SettingsError(
            f"{place}: signatures.tags", "is empty", 'for example tags = ["web-bot-auth"]'
        )
    for index, tag in enumerate(stated.tags):
        _check_spoken(tag, f"{place}: signatures.tags[{index}]", 'tags = ["web-bot-auth"]')
    if stated.alg:
        _check_spoken(stated.alg, f"{place}: signatures.alg", 'alg = "ml-dsa-44"')
    for index, name in enumerate(stated.components):
        if name not in _COMPONENTS:
            raise SettingsError(
                f"{place}: signatures.components[{index}]",
                f"{name!r} is no component that can be demanded",
                f"known are {', '.join(_COMPONENTS)}",
            )
    default = verifier.Policy()
    try:
        return verifier.Policy(
            tags=frozenset(stated.tags),
            max_window=stated.max_window,
            skew=stated.skew,
            # the authority always: a signature that any site could have collected proves nothing
            required=frozenset({"@authority", *stated.components}),
            algorithms=default.algorithms | set(file.admit.require),
            second_alg=stated.alg,
            keying=stated.keying,
        )
    except AlgorithmUnsupported as error:
        raise SettingsError(
            f"{place}: admit.require", str(error), f"known are {', '.join(_KNOWN)}"
        ) from error
    except ValueError as error:
        raise SettingsError(
            f"{place}: signatures.alg", str(error), 'alg = "" has no name beside the registered one'
        ) from error


def _check_spoken(text: str, place: str, example: str) -> None:
    if not _SPOKEN.fullmatch(text):
        raise SettingsError(
            place,
            f"{text!a} cannot stand in a signature",
            f"printable ASCII without quotation marks and backslashes, for example {example}",
        )


def _check_origin(origin: str, place: str) -> None:
    try:
        url = urlsplit(origin)
        _ = url.port  # looked at for its ValueError
        usable = url.scheme == "https" and agents.AUTHORITY.fullmatch(url.netloc)
    except ValueError:
        usable = False
    if not usable or url.path not in ("", "/") or url.query or url.fragment:
        raise SettingsError(
            place, f"{origin!r} is no https origin", 'for example origin = "https://bot.example"'
        )


def _host(host: str, scheme: str, place: str) -> str:
    """The host as a request's authority says it: in lower case, without the usual port."""
    if "*" in host:
        raise SettingsError(
            place, f"{host!r} stands for none: there are no wildcards", f"name each host, {_HOST}"
        )
    try:
        _ = urlsplit(f"//{host}").port  # looked at for its ValueError
        usable = agents.AUTHORITY.fullmatch(host)
    except ValueError:
        usable = None
    if not usable:
        blank = host != host.strip() or " " in host
        raise SettingsError(
            place,
            f"{host!r} is no host",
            f"take the blanks out, {_HOST}" if blank else _HOST,
        )
    return host.lower().removesuffix(_USUAL_PORT[scheme])


def _key_set(agent: Agent, folder: Path, place: str) -> KeySet:
    found: list[KeySet] = []
    for name in agent.keys:
        data = _bytes(folder / name, place, DECODED, folder)
        try:
            read = directory.read_key_set(data, most=KEYS)
        except KeySetUnreadable as error:
            raise SettingsError(
                place, f"{folder / name}: {error}", "a JWK Set is wanted"
            ) from error
        if not read.keys:
            said = "; ".join(read.skipped) or "it is empty"
            raise SettingsError(place, f"{folder / name} has no key that can be used: {said}")
        found.append(read)
    return KeySet(
        tuple(key for one in found for key in one.keys),
        tuple(line for one in found for line in one.skipped),
    )


def _bytes(path: Path, place: str, most: int, folder: Path) -> bytes:
    """All of a file, not more than `most`: it could be a device, and have no end."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise SettingsError(place, f"{path} is no regular file", _relative(folder))
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise SettingsError(place, f"{path}: {error.strerror}", _relative(folder)) from error
    except ValueError as error:  # a NUL in its name
        raise SettingsError(place, f"{str(path)!r} is no file name", _relative(folder)) from error
    if len(data) > most:
        raise SettingsError(place, f"{path} has more than {most} bytes")
    return data


def _relative(folder: Path) -> str:
    return f"a relative path starts at the folder of the policy file, here {folder.absolute()}"


def _reach(stated: Discovery, folder: Path, place: str) -> Reach:
    remedy = "" if stated.private else "[discovery] private = true admits it"
    if not stated.ca:
        return Reach(local=stated.private, remedy=remedy)
    path = folder / stated.ca
    text = _bytes(path, place, _LARGEST_CA, folder).decode("latin-1")
    try:
        if not text:  # which would stand for the system's authorities
            raise ValueError("it is empty")
        trust = ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise SettingsError(place, f"{path}: {error}", "a PEM file is wanted") from error
    return Reach(local=stated.private, remedy=remedy, trust=trust)
