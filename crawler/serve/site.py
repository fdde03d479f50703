"""The published documents at an address, until the process is asked to end."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from aiohttp import web

from crawler import diagnostics
from crawler.fetch.keyfolder import KeyFile
from crawler.fetch.keylife import Standing
from crawler.fetch.keywatch import LOOK_EVERY, KeyWatch
from crawler.serve import brief, listening, publish
from crawler.settings import Settings
from signing.keys import PrivateKey


class PublishedKeys:
    """The usable, not retired keys of a folder at each moment, those that sign first.

    A folder that becomes unreadable leaves what was published before, less what ends meanwhile, and
    `warn` is told. Raises KeysUnusable where it cannot be read at the start.
    """

    def __init__(
        self,
        folder: Path,
        warn: Callable[[str], None] = lambda _: None,
        *,
        look_every: float = LOOK_EVERY,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._watch = KeyWatch(folder, look_every=look_every)
        self._warn = warn
        self._wall = wall
        self._problem = ""
        self._files()

    def current(self) -> Sequence[PrivateKey]:
        """The keys."""
        return [file.key for file in self._files() if file.key is not None]

    def documents(
        self, settings: Settings, authority: str | None = None
    ) -> dict[str, publish.Document]:
        """What is published with them, at an authority that is by default our home's."""
        files = self._files()
        signing = [file.keyid for file in files if file.standing is Standing.SIGNING]
        keys = [key for file in files if (key := file.public) is not None]
        return publish.documents(settings, keys, signing, authority)

    def _files(self) -> list[KeyFile]:
        seen = self._watch.at(self._wall())
        problem = str(seen.problem or "")
        if problem != self._problem:
            self._problem = problem
            self._warn(problem or "the keys can be read again")
        files = [file for file in seen.files if file.standing is not Standing.RETIRED and file.key]
        return sorted(files, key=lambda file: file.standing is not Standing.SIGNING)


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
    ended = listening.asked_to_end()
    runner = web.AppRunner(app, logger=brief.logger())
    await runner.setup()
    try:
        with listening.at(host, port):
            await web.TCPSite(runner, host, port).start()
            for address in runner.addresses:
                print(f"publishing at http://{address[0]}:{address[1]}/bot", flush=True)
            await ended.wait()
    finally:
        await runner.cleanup()
