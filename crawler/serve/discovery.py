"""Finds the keys that a request names, and judges the request by them.

`signing.verifier` is pure and looks keys up at once. So a request is judged by the sets that are at
hand first; for most requests that is all. Only where a label has passed everything that costs
nothing does its set have to be read, and the request is judged again when it has been. Whoever
waits for the same set waits for one and the same fetch.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from crawler.serve import naming
from crawler.serve.allowance import Allowance, Share
from crawler.serve.reader import SECONDS, NoKeySet, Reader
from crawler.serve.replay import ReplayUnavailable, Shared
from crawler.serve.shelf import Shelf
from signing import verifier
from signing.directory import KeySet
from signing.keys import PublicKey
from signing.message import Message
from signing.verifier import Policy, Reason, ReplayKey, Seen, Verification

IN_FLIGHT: Final = 8
FOR_KNOWN: Final = 2  # of them, where there are agents that we know: strangers' homes may be slow
WAITING: Final = 64  # fetches, beside those; more are refused at once
PER_REQUEST: Final = 4  # sets that one request may cause to be read
RESTS: Final = 256  # requests that have their answer while a set is still being read for them
_GRACE: Final = 0.25  # seconds that a request waits for what it could do without
_CROWDED: Final = 1.0  # seconds that a refusal of our own is believed


class Directories:
    """Other people's key sets, read when they are asked for and kept for a while.

    `known` are the origins of agents that nobody else's sets may keep waiting; `pinned` the sets of
    those whose keys we have already: for them nothing is read.
    `told` hears of each fetch that came to nothing, with the URL and why. `now` is a steady clock.
    `patience` is how many seconds a request waits for a set, its turn to be read included.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        known: Collection[str] = frozenset(),
        pinned: Mapping[str, KeySet] = MappingProxyType({}),
        told: Callable[[str, str], None] = lambda _url, _why: None,
        now: Callable[[], float] = time.monotonic,
        patience: float = SECONDS,
    ) -> None:
        self.fetches = 0
        self._reader = reader
        self._pinned = pinned
        self._told = told
        self._now = now
        self._patience = patience
        self._shelf = Shelf()
        self._allowance = Allowance()
        reserved = FOR_KNOWN if known else 0
        self._known = known
        self._slots = asyncio.Semaphore(IN_FLIGHT - reserved)
        self._slots_for_known = asyncio.Semaphore(reserved)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._rests: set[asyncio.Task[None]] = set()
        self._strange: set[str] = set()  # origins that are being asked for some URL of theirs

    async def close(self) -> None:
        """End what is under way."""
        tasks = [*self._rests, *self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._reader.close()

    def known(self, agent: str, keyid: str) -> PublicKey | Reason | None:
        """The key, why there is none, or None where `ask` has to find out."""
        if self._pinned and (keys := self._pinned.get(naming.name(agent))) is not None:
            return keys.find(keyid) or Reason.UNKNOWN_KEY
        return self._shelf.look(naming.location(agent), keyid, self._now())

    async def ask(self, agent: str) -> None:
        """Read the set that a Signature-Agent value names, or wait for whoever does already.

        It may still be under way afterwards: whoever asks next may be luckier.
        """
        url = naming.location(agent)
        task = self._under_way.get(url) or self._begun(url, naming.origin(agent))
        if task is None:
            self._shelf.fail(url, Reason.DIRECTORY_UNAVAILABLE, self._now(), _CROWDED)
            self._told(url, "too many key sets are being read")
            return
        # One who gives up, for whatever reason, does not take it from the others.
        await asyncio.wait({task}, timeout=self._patience)
        if task.done() and not task.cancelled():
            task.result()

    @property
    def has_room_for_rests(self) -> bool:
        """Whether one more may be finished later."""
        return len(self._rests) < RESTS

    def finish(self, rest: Coroutine[None, None, None]) -> None:
        """Do the rest of what a request is owed, though it has its answer."""
        task = asyncio.create_task(rest)
        self._rests.add(task)
        task.add_done_callback(self._rests.discard)

    def _begun(self, url: str, origin: str) -> asyncio.Task[None] | None:
        """The fetch of a set, None where there is no room for it."""
        home = naming.is_home(url)
        known = home and origin in self._known
        if not known and len(self._under_way) >= IN_FLIGHT + WAITING:
            return None
        if home:
            share = Share.HOME if known or urlsplit(url).port is None else Share.ALIKE
        else:
            share = Share.AGAIN if url in self._shelf else Share.OTHER
        strange = share is Share.OTHER
        if strange and origin in self._strange:
            return None
        if not self._allowance.takes(urlsplit(url).hostname or "", share, self._now()):
            return None
        task = asyncio.create_task(
            self._fetch(url, self._slots_for_known if known else self._slots)
        )
        self._under_way[url] = task
        if strange:
            self._strange.add(origin)

        def ended(_: asyncio.Task[None]) -> None:
            self._under_way.pop(url, None)
            if strange:
                self._strange.discard(origin)

        task.add_done_callback(ended)
        return task

    async def _fetch(self, url: str, slots: asyncio.Semaphore) -> None:
        async with slots:
            self.fetches += 1
            try:
                read = await self._reader.read(url)
            except NoKeySet as problem:
                self._shelf.fail(url, problem.reason, self._now())
                self._told(url, str(problem))
            else:
                self._shelf.learn(url, read.keys, read.lifetime, self._now())


def at_once(
    message: Message,
    directories: Directories,
    policy: Policy,
    now: float,
    seen: Seen | Shared | None = None,
    content: bytes | None = b"",
) -> Verification | None:
    """As `verify`, where nobody has to be waited for; None elsewhere, and nothing is remembered."""
    if isinstance(seen, Shared):
        return None
    case = _Case(message, directories, policy, now, content)
    found = case.judged()
    if case.wanted:
        return None
    return found if seen is None else _remembered(found, seen, case.good)


async def verify(
    message: Message,
    directories: Directories,
    policy: Policy,
    now: float,
    seen: Seen | Shared | None = None,
    content: bytes | None = b"",
    enough: Callable[[Verification], bool] | None = None,
) -> Verification:
    """Judge a request as `signing.verifier.verify` does, by the keys that it names itself.

    `enough` says that nobody has to wait for the sets that are still to be read: their labels are
    DIRECTORY_UNAVAILABLE then, and remembered where they turn out to be good. The signatures of a
    request are remembered together, when all of it was judged. Raises only what `seen` raises.
    """
    case = _Case(message, directories, policy, now, content)
    found = case.judged()
    if case.wanted:
        reading = {
            asyncio.create_task(directories.ask(agent))
            for agent in list(case.wanted.values())[:PER_REQUEST]
        }
        later = enough if directories.has_room_for_rests else None
        found, reading = await _waited(case, found, reading, later)
        if reading:
            directories.finish(_rest(case, reading, seen))
    if seen is None or not case.good:
        return found
    if isinstance(seen, Shared):
        return _with_replayed(found, await seen.met(list(case.good)))
    return _remembered(found, seen, case.good)


async def _waited(
    case: "_Case",
    found: Verification,
    reading: set[asyncio.Task[None]],
    enough: Callable[[Verification], bool] | None,
) -> tuple[Verification, set[asyncio.Task[None]]]:
    """What is known when there is enough, and what is still being read then."""
    if enough is None:
        await asyncio.gather(*reading)
        return case.judged(), set()
    if enough(found):
        return found, reading
    while reading:
        done, reading = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()
        found = case.judged()
        if reading and enough(found):
            # Sets of one home come together; who knows none of them yet does not wait for long.
            await asyncio.wait(reading, timeout=_GRACE)
            return case.judged(), {one for one in reading if not one.done()}
    return found, reading


async def _rest(
    case: "_Case", reading: set[asyncio.Task[None]], seen: Seen | Shared | None
) -> None:
    """Remember the labels whose sets came late: else a captured one would be good on its own."""
    before = set(case.good)
    await asyncio.gather(*reading)
    case.judged()
    late = [one for one in case.good if one not in before]
    if seen is not None and late:
        with suppress(ReplayUnavailable):  # whoever comes next hears of it
            await _met(seen, late)


async def _met(seen: Seen | Shared, good: list[tuple[ReplayKey, int]]) -> list[bool]:
    if isinstance(seen, Shared):
        return await seen.met(good)
    return [seen(key, until) for key, until in good]


def _remembered(found: Verification, seen: Seen, good: list[tuple[ReplayKey, int]]) -> Verification:
    return _with_replayed(found, [seen(key, until) for key, until in good])


def _with_replayed(found: Verification, again: list[bool]) -> Verification:
    """With the good labels that were seen before as what they are."""
    if not any(again):
        return found
    answers = iter(again)
    labels = tuple(
        replace(one, reason=Reason.REPLAYED) if one.reason is None and next(answers) else one
        for one in found.labels
    )
    return replace(found, outcome=verifier.overall(labels), labels=labels)


class _Case:
    """A request that may be judged more than once, as sets come in."""

    __slots__ = ("_content", "_directories", "_message", "_now", "_policy", "good", "wanted")

    def __init__(
        self,
        message: Message,
        directories: Directories,
        policy: Policy,
        now: float,
        content: bytes | None,
    ) -> None:
        self._message = message
        self._directories = directories
        self._policy = policy
        self._now = now
        self._content = content
        self.good: list[tuple[ReplayKey, int]] = []  # of each good label, in their order
        self.wanted: dict[str, str] = {}  # a Signature-Agent value for each set to be read

    def judged(self) -> Verification:
        """What is known by the sets that are at hand."""
        self.good.clear()
        return verifier.verify(
            self._message, self._at_hand, self._policy, self._now, self._note, self._content
        )

    def _at_hand(self, agent: str, keyid: str) -> PublicKey | Reason:
        found = self._directories.known(agent, keyid)
        if found is None:
            self.wanted.setdefault(naming.location(agent), agent)
            return Reason.DIRECTORY_UNAVAILABLE
        return found

    def _note(self, key: ReplayKey, until: int) -> bool:
        self.good.append((key, until))
        return False
