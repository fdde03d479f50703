"""The state database: its tables, how it is opened, and what its errors mean.

`scopes` holds what each pace scope is owed, and the promised request whose record has not come yet;
`progress` says up to where the log is contained in all of this, so that what a crash left out can
be read back from there.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from crawler.fetch.errors import StateDamaged, StateUnusable

VERSION = 2
SIDES = ("-wal", "-shm")  # the files that SQLite keeps beside a database
SMALL = 8 << 20  # bytes; up to here a whole check takes some milliseconds at each start

_OUTSIDE = (sqlite3.DatabaseError, sqlite3.OperationalError)  # what is not our own mistake

_TABLES = {
    "origins": """(
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        settings BLOB,              -- settings.Origin as JSON, without its cookie
        started REAL, asked INTEGER, finished INTEGER
    )""",
    "pages": """(
        id INTEGER PRIMARY KEY,     -- in the order in which they were found
        origin INTEGER NOT NULL,
        key TEXT NOT NULL,          -- what duplicates share
        url TEXT,                   -- as it is sent, where that is not the key
        depth INTEGER NOT NULL,
        due REAL, seen REAL,        -- NULL: never asked
        status INTEGER, etag TEXT, last_modified TEXT, digest TEXT, full_at REAL,
        place BLOB                  -- events.Place as JSON, where the body is kept
    )""",
    "scopes": """(
        scope TEXT PRIMARY KEY,
        pace BLOB NOT NULL,         -- pace.Pace as JSON
        task BLOB,                  -- the pending frontier.FetchTask as JSON
        file TEXT, offset INTEGER   -- where the log ended when it was promised
    ) WITHOUT ROWID""",
    "robots": """(
        url TEXT PRIMARY KEY,
        answer TEXT NOT NULL, status INTEGER, at REAL NOT NULL, until REAL NOT NULL,
        digest TEXT, etag TEXT, last_modified TEXT, good_at REAL
    ) WITHOUT ROWID""",
    "evidence": "(origin TEXT PRIMARY KEY, server TEXT, cf_ray INTEGER NOT NULL) WITHOUT ROWID",
    "progress": """(
        file TEXT NOT NULL, offset INTEGER NOT NULL,
        moment REAL NOT NULL,       -- the latest one that was seen
        rebuilt REAL                -- when the log had to make up for a lost database
    )""",
}
_INDEXES = {
    "pages_by_key": "UNIQUE INDEX pages_by_key ON pages (origin, key)",
    "pages_unasked": "INDEX pages_unasked ON pages (origin, depth) WHERE due IS NULL",
    "pages_by_due": (
        "INDEX pages_by_due ON pages (origin, due, seen, depth) WHERE due IS NOT NULL"
    ),
}


def create(path: Path) -> None:
    """Make an empty database, readable by nobody else; what is there goes. Raises StateUnusable."""
    try:
        path.unlink(missing_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StateUnusable(path, f"cannot be made: {error.strerror}", _room(path)) from error
    with translated(path):
        database = _connect(path, "rw")
        try:
            database.execute("BEGIN IMMEDIATE")
            for name, columns in _TABLES.items():
                database.execute(f"CREATE TABLE {name} {columns}")
            for index in _INDEXES.values():
                database.execute(f"CREATE {index}")
            database.execute("INSERT INTO progress VALUES ('', 0, 0, NULL)")
            database.execute(f"PRAGMA user_version = {VERSION}")
            database.execute("COMMIT")
        finally:
            database.close()


def writing(path: Path) -> sqlite3.Connection:
    """A connection that writes: what it commits is on disk when COMMIT returns."""
    with translated(path):
        database = _connect(path, "rw")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA journal_size_limit = 16777216")
        return database


def filling(path: Path) -> sqlite3.Connection:
    """A connection that fills a database which is worth nothing until it is complete."""
    with translated(path):
        database = _connect(path, "rw")
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        return database


def reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write; it sees what was committed before each query."""
    with translated(path):
        return _connect(path, "ro")


def damage(path: Path) -> str | None:
    """What is the matter with the database at `path`; None where it is fine, as far as one sees.

    A whole check reads the whole file, so it is for small ones; a larger one is looked at in its
    head and its length, and what is wrong inside shows when it is used (StateDamaged), which the
    next start remembers. Raises StateUnusable where it cannot be opened, or is a later version's.
    """
    if (said := _suspicion(path)) is not None:
        return said
    try:
        with translated(path):
            database = _connect(path, "ro")
            try:
                return _contradiction(database, path)
            finally:
                database.close()
    except StateDamaged as error:
        return error.problem


def damaged(path: Path, said: str) -> StateDamaged:
    """What to raise where the database contradicts itself; the next start is told of it, too."""
    with suppress(OSError):
        _mark(path).write_text(said)
    return StateDamaged(
        path, f"the database is damaged: {said}", "start again: it is rebuilt from the log"
    )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Say in our own words what SQLite has to complain of the database at `path`.

    Raises StateDamaged or StateUnusable; our own mistakes pass as they are.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if type(error) not in _OUTSIDE or code == sqlite3.SQLITE_ERROR:
            raise
        raise _meaning(code, str(error), path) from error


def keep_aside(path: Path, stamp: str) -> Path | None:
    """Rename a damaged database and what SQLite keeps beside it; its new name, if there was one.

    Where only these are left they are renamed, too: SQLite would take them for a new database's.
    Raises StateUnusable.
    """
    kept = path.with_name(f"{path.name}.damaged-{stamp}")
    number = 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.damaged-{stamp}-{number}")
    found = [side for side in ("", *SIDES) if Path(f"{path}{side}").exists()]
    try:
        for side in found:
            Path(f"{path}{side}").rename(f"{kept}{side}")
        _mark(path).unlink(missing_ok=True)
    except OSError as error:
        raise StateUnusable(path, f"cannot be kept aside: {error.strerror}", _room(path)) from error
    return kept if "" in found else None


def kept_before(path: Path) -> Path | None:
    """The last database that was kept aside, maybe by a start that did not come to its end."""
    names = path.parent.glob(f"{path.name}.damaged-*")
    found = sorted(name for name in names if not name.name.endswith(SIDES))
    return found[-1] if found else None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode={mode}",  # a name may be bytes that are no text
        uri=True,
        isolation_level=None,
        check_same_thread=False,  # one thread at a time: the writer's, before it and after it ours
        timeout=5.0,
    )


def _contradiction(database: sqlite3.Connection, path: Path) -> str | None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise StateUnusable(
            path,
            f"was written by a later version (schema {version}, this one knows {VERSION})",
            "use that version, or another state directory",
        )
    if version < VERSION:
        return f"it is an earlier version's (schema {version}, this one writes {VERSION})"
    names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    if missing := [name for name in (*_TABLES, *_INDEXES) if name not in names]:
        return f"{missing[0]} is missing"
    if database.execute("SELECT count(*) FROM progress").fetchone() != (1,):
        return "it does not say how far it has come"
    size = path.stat().st_size
    wal = Path(f"{path}-wal")
    if not (wal.exists() and wal.stat().st_size):
        pages, length = (
            database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
        )
        if size < pages * length:
            return f"{pages * length - size} bytes are missing at its end"
    if size <= SMALL:
        verdict = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            return str(verdict).strip().splitlines()[-1]
    return None


def _meaning(code: int, said: str, path: Path) -> StateUnusable:
    match code:
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(path, said)
        case sqlite3.SQLITE_FULL:
            return StateUnusable(path, "its disk is full", _room(path))
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StateUnusable(
                path, "another program holds the database", "end it, sqlite3 shells too"
            )
        case _:
            return StateUnusable(path, said, _room(path))


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.suspect")


def _suspicion(path: Path) -> str | None:
    """What an earlier process found, where it could not do anything about it."""
    try:
        return _mark(path).read_text() or "an earlier run found it damaged"
    except OSError:
        return None


def _room(path: Path) -> str:
    return f"make room in {path.parent}, or make it writable for this user"
