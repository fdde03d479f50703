"""Which signatures were seen already: a captured one opens the door once more otherwise.

Both memories are a `signing.verifier.Seen`: they look and write down in one step, and keep a
signature until it has expired. Only good signatures come here, so that nobody but signers can fill
them. What is kept of one are 16 bytes.
"""

import sqlite3
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Final

from crawler.problems import Problem
from signing.verifier import ReplayKey

ENTRIES: Final = 1_000_000
_MINUTE: Final = 60  # seconds; what expires within the same one is forgotten together
_PATIENCE: Final = 2.0  # seconds that a worker waits for its neighbours
_SWEEP: Final = 60.0  # seconds between two looks at what has expired
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS seen (digest BLOB PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS seen_until ON seen (until);
"""
# One statement looks and writes down, so that of two workers exactly one is the first.
_MEET: Final = """
INSERT INTO seen VALUES (?, ?)
ON CONFLICT (digest) DO UPDATE SET until = excluded.until WHERE until <= ?
"""


class ReplayUnavailable(Problem):
    """The memory cannot be asked: no signature can be let in that might be a replay."""


def digest(key: ReplayKey) -> bytes:
    """The 16 bytes that stand for a key. None of its parts can have a line's end in it."""
    return blake2b("\n".join(key).encode(), digest_size=16).digest()


class Memory:
    """Remembers in this process.

    Full, it forgets what would have been kept for longest: whoever wants to push others out needs
    many signatures that live long, and loses his own.
    """

    def __init__(self, entries: int = ENTRIES, now: Callable[[], float] = time.time) -> None:
        self._entries = entries
        self._now = now
        self._seen: set[bytes] = set()
        self._minutes: dict[int, list[bytes]] = {}
        self._swept = 0

    def __len__(self) -> int:
        return len(self._seen)

    def __call__(self, key: ReplayKey, until: int) -> bool:
        """Whether it was seen; it is from now on."""
        self._sweep()
        entry = digest(key)
        if entry in self._seen:
            return True
        if len(self._seen) >= self._entries:
            self._make_room()
        self._seen.add(entry)
        self._minutes.setdefault(until // _MINUTE, []).append(entry)
        return False

    def _sweep(self) -> None:
        minute = int(self._now()) // _MINUTE
        if minute == self._swept:
            return
        self._swept = minute
        for over in [one for one in self._minutes if one < minute]:
            self._seen.difference_update(self._minutes.pop(over))

    def _make_room(self) -> None:
        last = max(self._minutes)
        self._seen.discard(self._minutes[last].pop())
        if not self._minutes[last]:
            del self._minutes[last]


class Shared:
    """Remembers in a SQLite file, for all processes on this machine that name it.

    A power failure may cost it the last moments, a crash nothing.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        """Open or make the file. Raises ReplayUnavailable."""
        self._path = path
        self._now = now
        self._swept = now()
        try:
            self._db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
                self._db.executescript(_SCHEMA)
            except sqlite3.Error:
                self._db.close()
                raise
        except sqlite3.Error as error:
            raise self._unavailable(error) from error

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM seen").fetchone()[0])

    def __call__(self, key: ReplayKey, until: int) -> bool:
        """Whether it was seen by any of them; it is from now on. Raises ReplayUnavailable."""
        now = self._now()
        try:
            if now >= self._swept + _SWEEP:
                self._swept = now
                self._db.execute("DELETE FROM seen WHERE until <= ?", (int(now),))
            return self._db.execute(_MEET, (digest(key), until, int(now))).rowcount == 0
        except sqlite3.Error as error:
            raise self._unavailable(error) from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _unavailable(self, error: sqlite3.Error) -> ReplayUnavailable:
        return ReplayUnavailable(
            f"{self._path}: the memory of signatures cannot be used: {error}",
            "name another file by replay.path, in a folder that we may write in",
        )
