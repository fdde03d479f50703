"""`crawl verify` and `crawl gate`: judging what others have signed."""

import asyncio
import re
import sys
import time
from pathlib import Path
from typing import Final

from aiohttp import ClientSSLError

from crawler import shipped
from crawler.problems import Problem, UsageProblem
from crawler.serve import account, captured, discovery, misread
from crawler.serve import policy as policies
from crawler.serve.discovery import Directories
from crawler.serve.reader import DECODED, KEYS, NoKeySet, Reach, Reader
from crawler.watch import moments
from signing import algorithms, directory, verifier
from signing.directory import KeySet
from signing.errors import KeySetUnreadable
from signing.keys import PublicKey
from signing.message import Message
from signing.verifier import Outcome, Policy, Reason, Verification

_LARGEST: Final = 16 * 2**20  # bytes of a captured request
_SHOWN: Final = dict(zip(("policy", "nginx", "nginx-location"), shipped.GATE, strict=True))
_ALL: Final = frozenset(algorithm.name for algorithm in algorithms.TABLE)
_DIGITS: Final = re.compile(r"[0-9]{1,12}")
_UNIX: Final = range(10**9, 10**11)  # as a bare number; less would be a year
_TRUST: Final = "SSL_CERT_FILE=ca.pem in the environment has an authority of your own trusted"


class InputUnreadable(Problem):
    """A request or a key set that cannot be read."""


def verify(
    file: str,
    *,
    keys: str | None,
    policy: Path | None,
    scheme: str,
    at: str | None,
    form: str,
) -> int:
    """Print what is known of the request in a file (- is standard input); the exit code."""
    request = captured.parse(_read(file), scheme)
    moment = _moment(at, request.message)
    site = None if policy is None else policies.load(policy)
    verification, notes = asyncio.run(_judged(request, keys, site, moment))
    notes += misread.notes(request.message, verification, whole=request.whole)
    told = account.account(verification, request.message, request.content, moment, notes)
    print(account.as_json(told) if form == "json" else account.as_text(told), end="")
    return 0 if verification.outcome is Outcome.VERIFIED else 3


def _read(file: str) -> bytes:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(_LARGEST + 1)
    except OSError as error:
        raise InputUnreadable(
            f"{file}: {error.strerror}", "name a file with a captured request, or - for stdin"
        ) from error
    if len(data) > _LARGEST:
        raise InputUnreadable(f"{file}: more than {_LARGEST} bytes", "one request, please")
    return data


def _moment(at: str | None, message: Message) -> float:
    now = time.time()
    if at is None:
        return now
    if at == "created":
        created = account.created(message)
        if created is None:
            raise UsageProblem("--at created: no signature says when it was created")
        return created
    if _DIGITS.fullmatch(at) and int(at) in _UNIX:
        return float(at)
    try:
        return moments.since(at, now)
    except moments.MomentUnreadable as error:
        raise UsageProblem(
            f"--at {error}", "for example created, 5m (ago), Unix seconds or 2026-11-01T06:00"
        ) from error


async def _judged(
    request: captured.Captured, keys: str | None, site: policies.Policy | None, now: float
) -> tuple[Verification, list[str]]:
    message, content = request.message, request.content
    policy = Policy(algorithms=_ALL) if site is None else site.judged_by
    if keys is not None:
        known = await _key_set(keys)
        return verifier.verify(message, _by(known), policy, now, content=content), [
            f"{keys}: {line}" for line in known.skipped
        ]
    notes: list[str] = []
    directories = Directories(
        Reader() if site is None else Reader(site.reach),
        pinned={} if site is None else site.pinned,
        told=lambda url, why: notes.append(f"{url}: {why}"),
    )
    try:
        found = await discovery.verify(message, directories, policy, now, content=content)
    finally:
        await directories.close()
    return found, notes


def _by(known: KeySet) -> verifier.KeyLookup:
    """The keys of one set, whatever the request names: the operator says whose they are."""

    def lookup(_agent: str, keyid: str) -> PublicKey | Reason:
        return known.find(keyid) or Reason.UNKNOWN_KEY

    return lookup


async def _key_set(keys: str) -> KeySet:
    if keys.startswith(("https://", "http://")):
        # The operator has written the URL, so it may lie on this machine.
        reader = Reader(Reach(local=True))
        try:
            return (await reader.read(keys)).keys
        except NoKeySet as error:
            unknown = isinstance(error.__cause__, ClientSSLError)
            raise InputUnreadable(f"--keys {keys}: {error}", _TRUST if unknown else None) from error
        finally:
            await reader.close()
    return _key_file(keys)


def _key_file(keys: str) -> KeySet:
    try:
        with Path(keys).open("rb") as stream:
            data = stream.read(DECODED + 1)  # /dev/zero has no end
        if len(data) > DECODED:
            raise InputUnreadable(f"--keys {keys}: more than {DECODED} bytes")
        return directory.read_key_set(data, most=KEYS)
    except OSError as error:
        raise InputUnreadable(
            f"--keys {keys}: {error.strerror}", "name a file, or a URL with https://"
        ) from error
    except KeySetUnreadable as error:
        raise InputUnreadable(
            f"--keys {keys}: {error}", 'a JWK Set is wanted: {"keys": […]}'
        ) from error


def gate(policy: Path | None, host: str, port: int) -> None:
    """Judge the requests that a server asks about, until interrupted."""
    from crawler.serve import gatehouse

    stated = policies.default() if policy is None else policies.load(policy)
    said = "the built-in policy" if policy is None else str(policy.absolute())
    asyncio.run(gatehouse.run(stated, host, port, said))


def show(what: str) -> None:
    """Print a file that comes with the gate."""
    print(shipped.text(_SHOWN[what]), end="")
