"""The state database: what is seen of damage, and what SQLite's complaints become."""

import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from scarcity import room

from crawler.fetch import schema
from crawler.fetch.errors import StateDamaged, StateUnusable

Harm = Callable[[Path], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a thousand pages."""
    path = tmp_path / "state.db"
    schema.create(path)
    fill(path, 1_000)
    return path


def fill(path: Path, pages: int) -> None:
    database = schema.writing(path)
    database.execute("BEGIN")
    database.executemany(
        "INSERT INTO pages (origin, key, depth) VALUES (1, ?, 0)",
        ((f"https://one.example/{number}",) for number in range(pages)),
    )
    database.execute("COMMIT")
    database.close()


def overwrite(offset: int, text: bytes) -> Harm:
    def harm(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(text)

    return harm


def cut(keep: int) -> Harm:
    """Leave the first bytes, or take some from the end where that is negative."""

    def harm(path: Path) -> None:
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.truncate(keep if keep >= 0 else size + keep)

    return harm


def execute(statement: str) -> Harm:
    def harm(path: Path) -> None:
        database = sqlite3.connect(path, isolation_level=None)
        database.execute(statement)
        database.close()

    return harm


HARM = {
    "garbage in the head": (overwrite(0, b"garbage" * 10), "not a database"),
    "garbage inside": (overwrite(40_960, b"\xff" * 8192), ""),
    "cut to nothing but its head": (cut(100), "malformed"),
    "cut in the middle": (cut(60_000), "malformed"),
    "its last byte gone": (cut(-1), "1 bytes are missing"),
    "another program's": (execute("DROP TABLE scopes"), "scopes is missing"),
    "an earlier version's": (execute("PRAGMA user_version = 1"), "earlier version's (schema 1"),
    "no word of its progress": (execute("DELETE FROM progress"), "how far"),
}


@pytest.mark.parametrize(("harm", "said"), HARM.values(), ids=HARM)
def test_damage_is_seen_before_the_database_is_used(path: Path, harm: Harm, said: str) -> None:
    harm(path)

    damage = schema.damage(path)
    assert damage is not None
    assert said in damage


def test_a_whole_database_is_fine_also_while_it_is_written(path: Path) -> None:
    database = schema.writing(path)
    database.execute("INSERT INTO pages (origin, key, depth) VALUES (1, 'x', 0)")

    assert schema.damage(path) is None
    database.close()
    assert schema.damage(path) is None


def test_damage_inside_of_a_large_database_is_remembered_when_it_is_met(path: Path) -> None:
    larger = schema.writing(path)
    larger.execute("INSERT INTO pages (origin, key, depth) VALUES (2, zeroblob(9000000), 0)")
    larger.execute("DELETE FROM pages WHERE origin = 2")
    larger.close()
    overwrite(40_960, b"\xff" * 8192)(path)
    unseen = schema.damage(path)

    database = schema.reading(path)
    with pytest.raises(StateDamaged, match="damaged") as caught, schema.translated(path):
        database.execute("SELECT count(*), max(depth), max(url) FROM pages").fetchall()
    database.close()

    assert unseen is None
    assert caught.value.hint == "start again: it is rebuilt from the log"
    assert schema.damage(path) is not None


def test_a_later_versions_database_is_left_alone(path: Path) -> None:
    execute(f"PRAGMA user_version = {schema.VERSION + 1}")(path)

    with pytest.raises(StateUnusable, match="later version") as caught:
        schema.damage(path)

    assert caught.value.hint is not None
    assert not isinstance(caught.value, StateDamaged)


def test_the_database_and_what_stands_beside_it_are_private(path: Path) -> None:
    database = schema.writing(path)
    database.execute("DELETE FROM pages")

    files = list(path.parent.iterdir())
    assert {file.name for file in files} == {"state.db", "state.db-wal", "state.db-shm"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    database.close()


def test_what_is_committed_is_on_disk(path: Path) -> None:
    database = schema.writing(path)

    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    database.close()


def test_a_damaged_database_is_kept_aside_with_its_sides(path: Path) -> None:
    for side in schema.SIDES:
        Path(f"{path}{side}").write_text(side)

    first = schema.keep_aside(path, "20261130T120000Z")
    path.write_text("another")
    second = schema.keep_aside(path, "20261130T120000Z")

    assert first == path.with_name("state.db.damaged-20261130T120000Z")
    assert second == path.with_name("state.db.damaged-20261130T120000Z-2")
    assert {file.name for file in path.parent.iterdir()} == {
        "state.db.damaged-20261130T120000Z",
        "state.db.damaged-20261130T120000Z-shm",
        "state.db.damaged-20261130T120000Z-wal",
        "state.db.damaged-20261130T120000Z-2",
    }


def test_sides_without_a_database_are_kept_aside_too(tmp_path: Path) -> None:
    (tmp_path / "state.db-wal").write_text("of a database that somebody deleted")

    kept = schema.keep_aside(tmp_path / "state.db", "20261130T120000Z")

    assert kept is None
    assert [path.name for path in tmp_path.iterdir()] == ["state.db.damaged-20261130T120000Z-wal"]


def test_what_cannot_be_renamed_is_said(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_text("x")
    Path(f"{path}-wal").write_text("x")
    Path(f"{path}.damaged-now-wal").mkdir()

    with pytest.raises(StateUnusable, match="cannot be kept aside"):
        schema.keep_aside(path, "now")


def insert_much(path: Path, limit: str = "") -> StateUnusable:
    database = schema.writing(path)
    if limit:
        database.execute(limit)
    with pytest.raises(StateUnusable) as caught, schema.translated(path):
        database.execute("INSERT INTO pages (origin, key, depth) VALUES (1, zeroblob(9e6), 0)")
    database.close()
    return caught.value


def test_a_full_disk_is_said_with_its_place(path: Path) -> None:
    full = insert_much(path, "PRAGMA max_page_count = 100")
    with room(200_000):
        broken = insert_much(path)

    assert str(full) == f"{path}: its disk is full"
    assert full.place == broken.place == path
    assert (
        full.hint == broken.hint == f"make room in {path.parent}, or make it writable for this user"
    )


def test_a_database_that_another_program_holds_is_said(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    database = sqlite3.connect(path, isolation_level=None, timeout=0.0)

    with pytest.raises(StateUnusable, match="another program") as caught, schema.translated(path):
        database.execute("BEGIN IMMEDIATE")

    assert "sqlite3" in (caught.value.hint or "")
    other.close()
    database.close()


@pytest.mark.parametrize(
    "statement",
    ["SELEC", "SELECT * FROM nothing", "INSERT INTO progress VALUES (NULL, NULL, NULL, NULL)"],
)
def test_our_own_mistakes_stay_what_they_are(path: Path, statement: str) -> None:
    database = schema.writing(path)

    with pytest.raises((sqlite3.OperationalError, sqlite3.IntegrityError)), schema.translated(path):
        database.execute(statement)

    database.close()


def test_a_place_where_nothing_can_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    with pytest.raises(StateUnusable, match=r"state/state\.db: cannot be made") as caught:
        schema.create(tmp_path / "state" / "state.db")

    assert "writable" in (caught.value.hint or "")


def test_a_database_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StateUnusable, match="unable to open"):
        schema.writing(tmp_path / "state.db")


def test_a_reader_sees_what_was_committed_and_writes_nothing(path: Path) -> None:
    reader, writer = schema.reading(path), schema.writing(path)
    before = reader.execute("SELECT count(*) FROM pages").fetchone()
    worker = threading.Thread(target=writer.execute, args=("DELETE FROM pages",))
    worker.start()
    worker.join()

    assert before == (1_000,)
    assert reader.execute("SELECT count(*) FROM pages").fetchone() == (0,)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("DELETE FROM progress")
    reader.close()
    writer.close()


def test_a_question_mark_in_the_path_is_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "what? 100%" / "state.db"
    path.parent.mkdir()

    schema.create(path)

    assert schema.damage(path) is None


def test_a_path_need_not_be_text(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"d\xffm")
    folder.mkdir()
    schema.create(folder / "state.db")

    assert [path.name for path in folder.iterdir()] == ["state.db"]
