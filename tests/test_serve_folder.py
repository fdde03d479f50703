"""A folder that is published from: ours are replaced whole, and nobody else's are touched."""

import json
import os
import stat
from pathlib import Path

import pytest

from crawler.serve import folder
from crawler.serve.folder import FolderUnusable

FILES = {"index.html": b"one", ".well-known/keys": b"two"}


def seen(where: Path) -> dict[str, bytes]:
    """Every file below the folder."""
    return {
        str(path.relative_to(where)): path.read_bytes()
        for path in where.rglob("*")
        if path.is_file()
    }


def test_it_is_made_with_all_its_files_for_a_web_server_to_read(tmp_path: Path) -> None:
    where = tmp_path / "new" / "site"
    before = os.umask(0o077)
    try:
        changed = folder.update(where, FILES)
    finally:
        os.umask(before)

    assert changed == tuple(FILES)
    assert {name: (where / name).read_bytes() for name in FILES} == FILES
    for name in FILES:
        assert stat.S_IMODE((where / name).stat().st_mode) == 0o644
    for made in (where, where / ".well-known"):
        assert stat.S_IMODE(made.stat().st_mode) == 0o755


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    folder.update(tmp_path, FILES)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    changed = folder.update(tmp_path, FILES)

    assert changed == ()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_only_what_changed_is_written_and_gets_a_later_second(tmp_path: Path) -> None:
    folder.update(tmp_path, FILES)
    index, keys = (tmp_path / name for name in FILES)
    before = index.stat(), keys.stat()

    changed = folder.update(tmp_path, {**FILES, "index.html": b"new"})

    assert changed == ("index.html",)
    assert index.read_bytes() == b"new"
    assert int(index.stat().st_mtime) > int(before[0].st_mtime)
    assert keys.stat().st_mtime_ns == before[1].st_mtime_ns


def test_what_is_published_no_more_goes_and_what_is_not_ours_stays(tmp_path: Path) -> None:
    folder.update(tmp_path, {**FILES, "card": b"old"})
    (tmp_path / "photo.jpg").write_bytes(b"theirs")
    (tmp_path / ".well-known" / "security.txt").write_bytes(b"theirs")

    changed = folder.update(tmp_path, FILES)

    assert changed == ("card",)
    assert seen(tmp_path).keys() == {
        *FILES,
        "photo.jpg",
        ".well-known/security.txt",
        folder.LIST,
    }


def test_ours_may_be_gone_already(tmp_path: Path) -> None:
    folder.update(tmp_path, {**FILES, "card": b"old"})
    (tmp_path / "card").unlink()
    (tmp_path / "index.html").unlink()

    assert folder.update(tmp_path, FILES) == ("index.html",)


def test_somebody_elses_file_in_the_way_stops_all_before_anything_is_written(
    tmp_path: Path,
) -> None:
    (tmp_path / ".well-known").mkdir()
    (tmp_path / ".well-known" / "keys").write_bytes(b"theirs")

    with pytest.raises(FolderUnusable, match="is there already, and not by `crawl publish`"):
        folder.update(tmp_path, FILES)
    assert seen(tmp_path) == {".well-known/keys": b"theirs"}


def test_a_file_with_the_same_content_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_bytes(b"one")

    assert folder.update(tmp_path, FILES) == (".well-known/keys",)


def test_after_a_kill_before_the_last_word_everything_is_still_known_as_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is written first, so a time that ended early has at most files that it names."""

    class Killed(BaseException):
        pass

    def kill(*_: object, **__: object) -> None:
        raise Killed

    folder.update(tmp_path, {**FILES, "card": b"old"})
    listed = json.dumps([*FILES, "card", ".5eed.new", ".well-known/.5eed.new"])
    (tmp_path / folder.LIST).write_text(listed)
    for unfinished in (".5eed.new", ".well-known/.5eed.new"):
        (tmp_path / unfinished).write_bytes(b"the new, not in its place yet")
    monkeypatch.setattr(os, "fchmod", kill)
    with pytest.raises(Killed):
        folder.update(tmp_path, {**FILES, "index.html": b"new"})
    monkeypatch.undo()
    folder.update(tmp_path, {**FILES, "index.html": b"new"})

    assert seen(tmp_path).keys() == {*FILES, folder.LIST}


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
@pytest.mark.parametrize("name", ["index.html", ".well-known/keys", folder.LIST, ".well-known"])
@pytest.mark.parametrize("before", [False, True], ids=["the first time", "ours before"])
def test_a_link_is_neither_followed_nor_replaced(
    tmp_path: Path, name: str, target: str, before: bool
) -> None:
    where, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.write_bytes(b"[]")
    elsewhere.chmod(0o600)
    folder.update(where, FILES if before else {"other": b"other"})
    if (where / name).is_dir():
        (where / name).rename(tmp_path / "away")
    (where / name).parent.mkdir(exist_ok=True)
    (where / name).unlink(missing_ok=True)
    (where / name).symlink_to(tmp_path / target)
    there = seen(where)

    with pytest.raises(FolderUnusable, match=f"{name}: is a link, and not by"):
        folder.update(where, {**FILES, "index.html": b"new"})

    assert (elsewhere.read_bytes(), stat.S_IMODE(elsewhere.stat().st_mode)) == (b"[]", 0o600)
    assert not (tmp_path / "nowhere").exists()
    assert (where / name).is_symlink()
    assert seen(where) == there


def test_names_that_files_had_while_they_were_written_are_nobodys_to_guess(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"theirs")
    precious.chmod(0o600)
    where = tmp_path / "site"
    (where / ".well-known").mkdir(parents=True)
    (where / ".index.html.new").symlink_to(precious)
    (where / f".{folder.LIST}.new").write_bytes(b"theirs")
    (where / ".well-known" / ".keys.new").symlink_to(tmp_path / "nowhere")

    folder.update(where, FILES)

    assert (precious.read_bytes(), stat.S_IMODE(precious.stat().st_mode)) == (b"theirs", 0o600)
    assert (where / ".index.html.new").is_symlink()
    assert (where / ".well-known" / ".keys.new").is_symlink()
    assert (where / f".{folder.LIST}.new").read_bytes() == b"theirs"


def test_what_has_come_into_the_place_of_what_goes_stays(tmp_path: Path) -> None:
    folder.update(tmp_path, {**FILES, "card": b"old", "deck": b"old"})
    for name in ("card", "deck"):
        (tmp_path / name).unlink()
    (tmp_path / "card").symlink_to(tmp_path / "index.html")
    (tmp_path / "deck").mkdir()

    assert folder.update(tmp_path, FILES) == ()
    assert (tmp_path / "card").is_symlink()
    assert (tmp_path / "deck").is_dir()


def test_a_folder_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "current").symlink_to("site")

    assert folder.update(tmp_path / "current", FILES) == tuple(FILES)


def test_a_pipe_in_the_way_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "index.html")

    with pytest.raises(FolderUnusable, match=r"index\.html: is no regular file"):
        folder.update(tmp_path, FILES)


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        pytest.param(b"{}", "does not say which files are ours", id="no list"),
        pytest.param(b"\xff", "does not say which files are ours", id="no text"),
        pytest.param(b'["../precious"]', "outside of the folder", id="it leads up"),
        pytest.param(b'["a/../../precious"]', "outside of the folder", id="it leads up, later"),
        pytest.param(b'["/etc/hosts"]', "outside of the folder", id="it begins at the root"),
    ],
)
def test_a_list_that_is_not_ours_has_nothing_removed(
    tmp_path: Path, listed: bytes, words: str
) -> None:
    where = tmp_path / "site"
    where.mkdir()
    (tmp_path / "precious").write_bytes(b"theirs")
    (where / folder.LIST).write_bytes(listed)

    with pytest.raises(FolderUnusable, match=words) as caught:
        folder.update(where, FILES)
    assert "remove it" in (caught.value.hint or "")
    assert (tmp_path / "precious").exists()


@pytest.mark.parametrize(
    ("in_the_way", "words"),
    [
        pytest.param(
            lambda where: where.write_bytes(b""), "site: is no folder", id="a file for the folder"
        ),
        pytest.param(
            lambda where: (where / "index.html").mkdir(parents=True),
            "index.html: Is a directory",
            id="a folder for a file",
        ),
    ],
)
def test_what_cannot_be_written_is_said_with_its_place(
    tmp_path: Path, in_the_way: object, words: str
) -> None:
    assert callable(in_the_way)
    in_the_way(tmp_path / "site")

    with pytest.raises(FolderUnusable, match=words):
        folder.update(tmp_path / "site", FILES)
