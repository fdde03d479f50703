"""Looks ahead with what the state directory holds, and leaves all of it as it is."""

import shutil
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace
from yarl import URL

from crawler import plan
from crawler.events import Why
from crawler.fetch import journal, middleware, schema
from crawler.fetch.asking import Door, server_of
from crawler.fetch.errors import StateDamaged, StateUnusable
from crawler.fetch.journal import BEGINNING, Journal
from crawler.fetch.keyring import Keys
from crawler.fetch.middleware import Foreseen
from crawler.fetch.store import Store
from crawler.fetch.view import View
from crawler.hosts import Hosts, located
from crawler.plan import Explained, Known, Planned
from crawler.polite import pace, target
from crawler.polite.frontier import Claim, FetchTask
from crawler.run import seen
from crawler.schedule import due, rhythm, selected
from crawler.settings import Follow, Origin, Settings
from crawler.watch import moments
from crawler.world import Clock, followed_again


async def refresh(
    settings: Settings, names: Sequence[str], *, everything: bool
) -> tuple[Planned, ...]:
    """What `crawl --once` would ask now. Raises UsageProblem, KeysUnusable, StateUnusable."""
    origins = selected(settings, names)
    found: list[Planned] = []
    async with _outlook(settings) as outlook:
        for origin in origins:
            when = due(origin, outlook.store.refresh(origin.name), outlook.now)
            if when > outlook.now and not everything:
                detail = f"not before {moments.written(when)}"
                found.append(
                    Planned(origin=origin.name, url=origin.url, why=Why.NOT_DUE, detail=detail)
                )
            else:
                known = await outlook.known(origin, everything=everything)
                found.extend(plan.planned(known, outlook.now))
    return tuple(found)


async def explained(settings: Settings, url: str) -> Explained:
    """Whether and why a URL may be asked now, on whose word."""
    found = target.sendable(url)
    if isinstance(found, target.Unsendable):
        return Explained(url=found.url, obstacles=(f"it cannot be sent: {found}",))
    async with _outlook(settings) as outlook:
        where = outlook.hosts(found.url)
        if where is None:
            nobody = f"no configured origin has the host {found.authority}"
            return Explained(url=found.url, obstacles=(nobody,))
        (origin,) = selected(settings, [where[0]])
        known = await outlook.known(origin, everything=True)
        page = outlook.store.page(origin.name, found.url)
        asked = (
            None
            if page is None
            else plan.Asked(at=page.seen, due=page.due, status=page.status, page=page.page)
        )
        return plan.explained(known, found.url, asked, outlook.now)


class _Outlook:
    """A copy of the state, the keys, and the moment that a crawl would begin at now."""

    def __init__(self, settings: Settings, store: Store, hosts: Hosts) -> None:
        self.store = store
        self.hosts = hosts
        self.now = Clock(store.last_moment()).now()
        self._bot = settings.bot
        self._signer = middleware.Signer(
            settings,
            Keys(settings.keys_directory, settings.signatures.second.algorithm),
            seen=seen(settings, store),
            wall=time.time,
            keys_changed=lambda _: None,
        )

    async def known(self, origin: Origin, *, everything: bool) -> Known:
        turn = due(origin, self.store.refresh(origin.name), self.now)  # before there is a new one
        opened = await self.store.open(origin, self.now)
        claim = Claim(
            origin=origin.name,
            started=opened.refresh.started,
            due=inf if everything else self.now,
            depth=origin.depth if Follow.LINKS in origin.follow else 0,
            limit=origin.pages + 1,  # whether something is left for the next one
        )
        supply = await self.store.claim(claim)
        every = await self.store.claim(replace(claim, due=inf))
        return Known(
            origin=origin,
            opened=opened,
            supply=supply,
            owed=await self.owed(origin),
            robots=f"{target.origin_key(origin.url)}/robots.txt",
            resting=tuple(page for page in every.pages if page not in supply.pages),
            foresee=self._foresight(origin),
            rhythm=rhythm(origin),
            turn=turn,
        )

    def _foresight(self, origin: Origin) -> Callable[[FetchTask], Foreseen]:
        door = Door(self._bot, origin)

        def foresee(task: FetchTask) -> Foreseen:
            server = server_of(URL(task.url, encoded=True))
            return self._signer.foresee(task, origin, server, door.fields(task, server))

        return foresee

    async def owed(self, origin: Origin) -> pace.Pace:
        where = self.hosts(origin.url)
        assert where is not None  # noqa: S101 - it is a configured one
        recalled = await self.store.recall(where[1], self.now)
        return self.store.inherited(where[1], self.hosts.doors(where[1]), recalled.pace)


@asynccontextmanager
async def _outlook(settings: Settings) -> AsyncIterator[_Outlook]:
    """The state as a crawl would find it, in a copy of its own."""
    real = settings.state_directory
    with TemporaryDirectory(prefix="callingcard-") as name:
        folder = Path(name)
        if (real / "state.db").exists():
            _copy(real / "state.db", folder / "state.db")
        for kept in ("robots", "bodies"):  # no more than read
            (folder / kept).symlink_to(real.resolve() / kept)
        _take_along(real / "log", folder)
        written = Journal(folder / "log")
        hosts = await located(settings)
        product = settings.bot.product
        try:
            async with Store(
                folder,
                written,
                product=product,
                links=followed_again(settings),
                whereabouts=hosts,
                now=time.time(),
            ) as store:
                yield _Outlook(settings, store, hosts)
        finally:
            written.close()


def _take_along(log: Path, folder: Path) -> None:
    """Let the copy of the database catch up with what the log has since then.

    A crash leaves some of it in the log alone, and so does a crawl that is at work. The newest file
    is a copy: whoever opens a log may have a torn line to end.
    """
    database = folder / "state.db"
    start = BEGINNING.file
    if database.exists():
        with closing(View(database)) as view:
            start = view.progress().position.file
    files = [path for path in journal.files(log) if path.name.removesuffix(".gz") >= start]
    (folder / "log").mkdir()
    for path in files[:-1]:
        (folder / "log" / path.name).symlink_to(path.resolve())
    for path in files[-1:]:
        shutil.copyfile(path, folder / "log" / path.name)


def _copy(database: Path, to: Path) -> None:
    """A consistent copy, also while a crawl writes; the original stays as it is.

    SQLite leaves files beside a database that it only reads, so one that nobody has open is copied
    as a file. Raises StateUnusable.
    """
    if not _copy_at_rest(database, to):
        schema.create(to)
        with (
            schema.translated(database),
            closing(schema.reading(database)) as source,
            closing(schema.filling(to)) as copy,
        ):
            source.backup(copy)
    try:
        problem = schema.damage(to)
    except StateUnusable as error:  # it names the copy
        raise StateUnusable(database, error.problem, error.hint) from error
    if problem is not None:
        raise StateDamaged(
            database,
            f"the database is damaged: {problem}",
            "crawl --once keeps it aside and rebuilds it from the log",
        )


def _copy_at_rest(database: Path, to: Path) -> bool:
    """Copy a database that nobody writes; false where somebody does, or was cut off."""
    wal = Path(f"{database}-wal")
    try:
        before = database.stat()
        if wal.exists():
            return False
        shutil.copyfile(database, to)
        after = database.stat()
    except OSError as error:
        raise StateUnusable(
            database, f"cannot be read: {error.strerror}", "look as the user who crawls"
        ) from error
    return not wal.exists() and before.st_mtime_ns == after.st_mtime_ns
