"""The fleet: 21 origins on loopback, each with manners of its own, and what they have seen.

The servers run in one thread with a loop of its own, so that neither their sleeps nor their
verifying stand in the crawl's way; `cpu` says what of the process's CPU time is theirs.
"""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from aiohttp.web import Server

from crawler.demo import roster
from crawler.demo.check import check
from crawler.demo.door import Door, Verify
from crawler.demo.finding import Finding
from crawler.demo.ledger import Ledger
from crawler.events import Event
from crawler.fetch import keyfiles
from crawler.problems import Problem
from crawler.settings import Bot, Settings, State
from signing import keys
from signing.algorithms import ED25519, ML_DSA_44
from signing.keys import PublicKey
from signing.message import Message
from signing.profile import Name, Profile
from signing.verifier import Policy, Reason, ReplayKey, Verification, verify

HOME = "https://demo.localhost"  # says whose keys they are; nobody contacts it

_LONGEST_FIELD = 32_768  # bytes; heads are judged by the origins' manners, not by aiohttp
_GRACE = 0.05  # seconds that an answer gets to finish when the fleet ends


class FolderInUse(Problem):
    """The folder for a demo's state is not empty."""


class Fleet:
    """The running servers. Made by `async with Fleet.start() as fleet`.

    `again` names the origins that are to be refreshed a second time, all their pages.
    """

    again = roster.AGAIN

    def __init__(self, sockets: Mapping[str, socket.socket]) -> None:
        self._sockets = sockets
        self.public_keys: tuple[PublicKey, ...] = ()
        self.residents = roster.residents(self.authority)
        self.origins = tuple(one.origin(self.authority(one.name)) for one in self.residents)
        self.ledgers = tuple(
            Ledger(one.name, self.authority(one.name), roster.PRODUCT) for one in self.residents
        )
        self._loop: Future[asyncio.AbstractEventLoop] = Future()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="fleet")

    @classmethod
    @asynccontextmanager
    async def start(cls) -> AsyncIterator["Fleet"]:
        """Serve on free ports of 127.0.0.1 while the context lasts.

        Raises OSError where the system gives no sockets.
        """
        with ExitStack() as stack:
            fleet = cls(
                {
                    name: stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))
                    for name in roster.NAMES
                }
            )
            async with fleet.serving():
                yield fleet

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Answer on the sockets while the context lasts. Raises what keeps it from listening."""
        self._thread.start()
        loop = self._loop.result()  # at once: the thread has only to listen
        try:
            yield
        finally:
            loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def authority(self, name: str) -> str:
        """Host and port of an origin."""
        return f"{name}.localhost:{self._sockets[name].getsockname()[1]}"

    def settings(self, directory: Path) -> Settings:
        """The configuration of a crawl of the whole fleet, and new keys that it signs with.

        The state is kept in `directory` itself, the keys in its folder `keys`. From here on the
        servers know the public ones, and no others. Raises FolderInUse for the state of an earlier
        crawl, which would know other ports, and KeysUnusable where no key can be written.
        """
        if any((directory / name).exists() for name in ("state.db", "log")):
            raise FolderInUse(
                f"{directory}: an earlier crawl has left its state here; a demo begins with none",
                "name an empty folder",
            )
        settings = Settings(
            base=str(directory),
            bot=Bot(
                product=roster.PRODUCT,
                home=HOME,
                contact="mailto:nobody@demo.localhost",
                purpose="refreshes origins on this machine to show what it does",
            ),
            state=State(directory="."),
            origins=self.origins,
        )
        made = [
            keyfiles.create(settings.keys_directory, algorithm.name)
            for algorithm in (ED25519, ML_DSA_44)
        ]
        self.public_keys = tuple(keys.read_private(path.read_bytes()).public_key for path in made)
        return settings

    def check(self, events: Iterable[Event]) -> tuple[Finding, ...]:
        """What is to find fault with; `events` are all of the refreshes, in the log's order."""
        return check(self.ledgers, self.origins, events)

    async def cpu(self) -> float:
        """CPU seconds that the servers have used."""
        asked = asyncio.run_coroutine_threadsafe(_thread_time(), self._loop.result())
        return await asyncio.wrap_future(asked)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:
            if self._loop.done():
                raise
            self._loop.set_exception(error)

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        judge = _verifier(lambda: self.public_keys)
        doors: list[Server] = []
        listening: list[asyncio.Server] = []
        for resident, ledger in zip(self.residents, self.ledgers, strict=True):
            door = Server(
                Door(ledger, resident.manner, judge),
                handler_cancellation=True,
                access_log=None,
                max_line_size=_LONGEST_FIELD,
                max_field_size=_LONGEST_FIELD,
            )
            doors.append(door)
            listening.append(
                await loop.create_server(door, sock=self._sockets[resident.name], backlog=64)
            )
        self._loop.set_result(loop)
        await self._stop.wait()
        for server in listening:
            server.close()
        await asyncio.gather(*(door.shutdown(_GRACE) for door in doors))


async def _thread_time() -> float:
    return time.thread_time()


def _verifier(known: Callable[[], tuple[PublicKey, ...]]) -> Verify:
    """Judges requests by the keys that are known then, and remembers what it has seen."""
    form = Profile(name=Name.PUBLISHED, home=HOME)
    sets = {  # the published form looks for both keys at the origin
        ED25519: {HOME, form.directory},
        ML_DSA_44: {HOME, form.second_keys},
    }
    met: set[ReplayKey] = set()

    def lookup(agent: str, keyid: str) -> PublicKey | Reason:
        for key in known():
            if key.keyid == keyid and agent in sets[key.algorithm]:
                return key
        return Reason.UNKNOWN_KEY

    def seen(key: ReplayKey, _until: int) -> bool:
        if key in met:
            return True
        met.add(key)
        return False

    def judge(message: Message) -> Verification:
        return verify(message, lookup, Policy(), time.time(), seen)

    return judge
