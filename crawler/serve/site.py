"""The published documents at an address, until the process is asked to end."""

import asyncio
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web

from crawler.fetch import keyfiles
from crawler.problems import Problem
from crawler.serve import publish
from crawler.settings import Settings
from signing.keys import PrivateKey

_LOOK_EVERY = 1.0  # seconds between two looks at the folder of keys


class AddressUnusable(Problem):
    """Nothing can listen there."""


class PublishedKeys:
    """The usable, not retired keys of a folder, those that sign first; looked at again in time.

    A folder that becomes unreadable leaves what was published before.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept = self._read()
        self._looked = time.monotonic()

    def current(self) -> Sequence[PrivateKey]:
        if time.monotonic() - self._looked >= _LOOK_EVERY:
            self._looked = time.monotonic()
            try:
                self._kept = self._read()
            except keyfiles.KeysUnusable:
                return self._kept
        return self._kept

    def _read(self) -> list[PrivateKey]:
        files = sorted(
            keyfiles.listing(self._folder),
            key=lambda file: file.standing is not keyfiles.Standing.SIGNING,
        )
        return [
            file.key
            for file in files
            if file.key is not None and file.standing is not keyfiles.Standing.RETIRED
        ]


async def run(settings: Settings, host: str, port: int) -> None:
    """Publish until SIGINT or SIGTERM. Raises KeysUnusable, AddressUnusable."""
    keys = PublishedKeys(settings.keys_directory)
    app = publish.application(
        lambda: publish.documents(settings, [key.public_key for key in keys.current()]),
        keys.current,
        authority=publish.home_authority(settings),
        wall=time.time,
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
