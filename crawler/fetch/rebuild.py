"""A database that contains the whole log: what a crash left out is read back, or all of it."""

import os
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from crawler.events import Event, FetchRecord, Interrupted, StateRebuilt, Why
from crawler.fetch import logbook, schema
from crawler.fetch.batch import Batch, Origins, Pending
from crawler.fetch.errors import StateUnusable
from crawler.fetch.fold import Fold, Past
from crawler.fetch.journal import ended
from crawler.fetch.logbook import Unreadable
from crawler.fetch.view import View
from crawler.fetch.writer import commit

_AT_ONCE = 2_000  # events that share a transaction
_UNCOVERED = 86400.0  # seconds that a scope waits of which something may be lost


class Absorbed(Struct, frozen=True):
    """What was read back from the log.

    `doubtful` is the latest moment at which something may have been written that cannot be read:
    None where all can be, infinite where nothing that can be read follows it.
    """

    records: int
    unreadable: int
    moment: float  # the latest one
    doubtful: float | None = None


def ready(path: Path, past: Past, now: float) -> StateRebuilt | None:
    """See to it that there is a database at `path`; the event to log where it was built anew.

    A damaged one is kept aside. One that is missing is built from the log as well, if that has
    anything to tell. Raises StateUnusable, LogUnreadable.
    """
    problem = f"{path.name} is missing"
    if _size(path):
        damage = schema.damage(path)
        if damage is None:
            return None
        problem = damage
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    kept = schema.keep_aside(path, stamp) or schema.kept_before(path)
    absorbed = _build(path, past, now, known_to_be_lost=kept is not None)
    if kept is None and not absorbed.records and not absorbed.unreadable:
        return None  # a first start
    if absorbed.unreadable:
        problem += f"; {absorbed.unreadable} lines of the log cannot be read"
        if (_waiting(absorbed, now) or now) > now:
            problem += ", so nothing is asked for a day"
    return StateRebuilt(
        at=max(now, absorbed.moment),
        kept=kept.name if kept is not None else "",
        records=absorbed.records,
        problem=problem,
    )


def catch_up(database: sqlite3.Connection, path: Path, past: Past) -> Absorbed:
    """Absorb what the log has and the database has not, each record once.

    The database knows how far the log is contained in it, and where the log ended when a request
    was promised whose record it does not have. Whatever there is to do, something is committed: a
    disk that cannot be written shows before anything leaves. Raises StateUnusable, LogUnreadable.
    """
    view = View(path)
    try:
        with schema.translated(path):
            return _absorb(database, view, past)
    finally:
        view.close()


def _absorb(database: sqlite3.Connection, view: View, past: Past) -> Absorbed:
    progress, awaited = view.progress(), view.pending()
    origins = Origins(view.origins())
    fold = Fold(Batch(origins), view, past)
    records = unreadable = taken = 0
    moment = progress.moment
    doubtful: float | None = None
    start = min([progress.position, *(pending.position for pending in awaited.values())])
    for entry in logbook.entries(past.journal.directory, start):
        line = entry.line
        if isinstance(line, Unreadable):
            unreadable += 1
            doubtful = inf
            continue
        if doubtful == inf:
            doubtful = ended(line)
        if _awaited(line, awaited):
            del awaited[line.scope]
        elif entry.position < progress.position:
            continue
        if taken == _AT_ONCE:
            fold.batch.position, fold.batch.moment = entry.position, moment
            commit(database, fold.batch)
            fold.batch, taken = Batch(origins), 0
        fold.absorb(line)
        taken += 1
        records += isinstance(line, FetchRecord)
        moment = max(moment, ended(line))
    for scope, pending in awaited.items():
        fold.batch.renew(scope, fold.pace(scope), Pending(pending.task, past.journal.end))
    fold.batch.position, fold.batch.moment = past.journal.end, moment
    commit(database, fold.batch)
    return Absorbed(records, unreadable, moment, doubtful)


def _awaited(line: Event, awaited: Mapping[str, Pending]) -> TypeGuard[FetchRecord | Interrupted]:
    """Whether this is what a promise in the database waits for."""
    if not isinstance(line, FetchRecord | Interrupted):
        return False
    pending = awaited.get(line.scope)
    return pending is not None and pending.task.id == line.id


def _build(path: Path, past: Past, now: float, *, known_to_be_lost: bool) -> Absorbed:
    """Build the database beside its place and put it there once it is complete."""
    draft = path.with_name(f"{path.name}.new")
    schema.create(draft)
    database = schema.filling(draft)
    try:
        absorbed = catch_up(database, draft, past)
        if known_to_be_lost or absorbed.records or absorbed.unreadable:
            with schema.translated(draft):
                database.execute("UPDATE progress SET rebuilt = ?", (max(now, absorbed.moment),))
        if (until := _waiting(absorbed, now)) is not None:
            _let_wait(database, draft, past, until)
    finally:
        database.close()
    try:
        _sync(draft)
        draft.rename(path)
        _sync(path.parent)
    except OSError as error:
        raise StateUnusable(
            path, f"cannot be put in its place: {error.strerror}", f"make room in {path.parent}"
        ) from error
    return absorbed


def _waiting(absorbed: Absorbed, now: float) -> float | None:
    """Until when every scope waits, since what cannot be read may be what one of them asked for.

    A promise says what a crash left out; with the database that is lost as well.
    """
    if absorbed.doubtful is None:
        return None
    return min(absorbed.doubtful, max(now, absorbed.moment)) + _UNCOVERED


def _let_wait(database: sqlite3.Connection, draft: Path, past: Past, until: float) -> None:
    """Let the scopes that the log speaks of wait like those of which it has nothing."""
    view = View(draft)
    try:
        batch = Batch(Origins(view.origins()))
        batch.position = past.journal.end
        for scope, owed in view.paces().items():
            if owed.not_before < until:
                batch.settle(scope, replace(owed, not_before=until, why=Why.NOT_COVERED))
        with schema.translated(draft):
            commit(database, batch)
    finally:
        view.close()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
