"""Finds the keys that a request names, and judges the request by them.

`signing.verifier` is pure and looks keys up at once. So a request is judged by the sets that are at
hand first; for most requests that is all. Only where a label has passed everything that costs
nothing does its set have to be read, and the request is judged again when it has been. Whoever
waits for the same set waits for one and the same fetch.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from crawler.serve import naming
from crawler.serve.allowance import Allowance, Share
from crawler.serve.reader import SECONDS, NoKeySet, Reader
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
        self._strange: set[str] = set()  # origins that are being asked for some URL of theirs

    async def close(self) -> None:
        """End what is under way."""
        for task in list(self._under_way.values()):
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
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


async def verify(
    message: Message,
    directories: Directories,
    policy: Policy,
    now: float,
    seen: Seen | None = None,
    content: bytes | None = b"",
) -> Verification:
    """Judge a request as `signing.verifier.verify` does, by the keys that it names itself.

    Raises only what `seen` raises.
    """
    wanted: dict[str, str] = {}  # a Signature-Agent value for each set that has to be read

    def at_hand(agent: str, keyid: str) -> PublicKey | Reason:
        found = directories.known(agent, keyid)
        if found is None:
            wanted.setdefault(naming.location(agent), agent)
            return Reason.DIRECTORY_UNAVAILABLE
        return found

    remembered = None if seen is None else _Remembered(seen)
    verification = verifier.verify(message, at_hand, policy, now, remembered, content)
    if not wanted:
        return verification
    await asyncio.gather(*map(directories.ask, list(wanted.values())[:PER_REQUEST]))
    again = None if remembered is None else remembered.again
    return verifier.verify(message, at_hand, policy, now, again, content)


class _Remembered:
    """Asks the replay memory once for each signature, though the request is judged twice."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._given: list[tuple[ReplayKey, bool]] = []

    def __call__(self, key: ReplayKey, until: int) -> bool:
        answer = self._seen(key, until)
        self._given.append((key, answer))
        return answer

    def again(self, key: ReplayKey, until: int) -> bool:
        """The answer that was given before, in the same order, or a first one."""
        for at, (given, answer) in enumerate(self._given):
            if given == key:
                del self._given[at]
                return answer
        return self._seen(key, until)
