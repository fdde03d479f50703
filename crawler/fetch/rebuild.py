"""A database that contains the whole log: what a crash left out is read back, or all of it."""

import os
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeGuard

from msgspec import Struct

from crawler.events import Event, FetchRecord, Interrupted, StateRebuilt
from crawler.fetch import logbook, schema
from crawler.fetch.batch import Batch, Origins, Pending
from crawler.fetch.errors import StateUnusable
from crawler.fetch.fold import Fold, Past
from crawler.fetch.journal import ended
from crawler.fetch.logbook import Unreadable
from crawler.fetch.view import View
from crawler.fetch.writer import commit

_AT_ONCE = 2_000  # events that share a transaction


class Absorbed(Struct, frozen=True):
    """What was read back from the log."""

    records: int
    unreadable: int
    moment: float  # the latest one


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
    if kept is None and not absorbed.records:
        return None  # a first start
    if absorbed.unreadable:
        problem += f"; {absorbed.unreadable} lines of the log cannot be read"
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
    start = min([progress.position, *(pending.position for pending in awaited.values())])
    for entry in logbook.entries(past.journal.directory, start):
        line = entry.line
        if isinstance(line, Unreadable):
            unreadable += 1
            continue
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
    return Absorbed(records, unreadable, moment)


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
        if known_to_be_lost or absorbed.records:
            with schema.translated(draft):
                database.execute("UPDATE progress SET rebuilt = ?", (max(now, absorbed.moment),))
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
