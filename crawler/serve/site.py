"""The published documents at an address, until the process is asked to end."""

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from aiohttp import web

from crawler import diagnostics
from crawler.fetch import keyfiles
from crawler.fetch.keyfiles import Standing
from crawler.problems import Problem
from crawler.serve import publish
from crawler.settings import Settings
from signing.keys import PrivateKey

LOOK_EVERY = 1.0  # seconds between two looks at the folder of keys


class AddressUnusable(Problem):
    """Nothing can listen there."""


class PublishedKeys:
    """The usable, not retired keys of a folder, those that sign first; looked at again in time.

    A folder that becomes unreadable leaves what was published before, and `warn` is told.
    """

    def __init__(
        self,
        folder: Path,
        warn: Callable[[str], None] = lambda _: None,
        *,
        look_every: float = LOOK_EVERY,
    ) -> None:
        self._folder = folder
        self._warn = warn
        self._look_every = look_every
        self._problem = ""
        self._kept = self._read()
        self._looked = time.monotonic()

    def current(self) -> Sequence[PrivateKey]:
        """The keys."""
        self._look()
        return [key for key, _ in self._kept]

    def documents(
        self, settings: Settings, authority: str | None = None
    ) -> dict[str, publish.Document]:
        """What is published with them, at an authority that is by default our home's."""
        self._look()
        signing = [key.keyid for key, standing in self._kept if standing is Standing.SIGNING]
        keys = [key.public_key for key, _ in self._kept]
        return publish.documents(settings, keys, signing, authority)

    def _look(self) -> None:
        if time.monotonic() - self._looked >= self._look_every:
            self._looked = time.monotonic()
            try:
                self._kept = self._read()
                problem = ""
            except keyfiles.KeysUnusable as error:
                problem = str(error)
            if problem != self._problem:
                self._problem = problem
                self._warn(problem or "the keys can be read again")

    def _read(self) -> list[tuple[PrivateKey, Standing]]:
        files = sorted(
            keyfiles.listing(self._folder), key=lambda file: file.standing is not Standing.SIGNING
        )
        return [
            (file.key, file.standing)
            for file in files
            if file.key is not None and file.standing is not Standing.RETIRED
        ]


async def run(settings: Settings, host: str, port: int) -> None:
    """Publish until SIGINT or SIGTERM. Raises KeysUnusable, AddressUnusable."""
    keys = PublishedKeys(settings.keys_directory, lambda said: diagnostics.logger().warning(said))
    app = publish.application(
        lambda: keys.documents(settings),
        keys.current,
        authority=publish.home_authority(settings),
        wall=time.time,
        skew=settings.signatures.skew,
    )
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        for address in runner.addresses:
            print(f"publishing at http://{address[0]}:{address[1]}/bot", flush=True)
        await ended.wait()
    except OSError as error:
        raise AddressUnusable(
            f"cannot listen at {host} port {port}: {error.strerror}",
            "choose others by --host and --port; 0 takes a free port",
        ) from error
    finally:
        await runner.cleanup()
