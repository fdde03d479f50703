"""Copies of robots.txt on disk: kept once, whole or not at all."""

import stat
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scarcity import room

from crawler.fetch.copies import Copies
from crawler.fetch.errors import StateUnusable

BODY = b"Disallow: /a"
DIGEST = sha256(BODY).hexdigest()


@given(st.lists(st.binary(max_size=200), max_size=10))
def test_what_was_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, written: list[bytes]
) -> None:
    copies = Copies(tmp_path_factory.mktemp("state") / "copies")
    for body in written:
        copies.write(sha256(body).hexdigest(), body)

    assert [copies.read(sha256(body).hexdigest()) for body in written] == written
    names = [path for path in copies.directory.rglob("*") if path.is_file()]
    assert len(names) == len(set(written))


def test_a_copy_is_a_private_file_named_by_its_digest(tmp_path: Path) -> None:
    copies = Copies(tmp_path / "state" / "copies")

    copies.write(DIGEST, BODY)

    path = tmp_path / "state" / "copies" / DIGEST[:2] / DIGEST[2:]
    assert copies.path(DIGEST) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, copies.directory)] == [
        0o700,
        0o700,
    ]


def test_a_copy_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    copies.write(DIGEST, BODY)
    before = copies.path(DIGEST).stat()

    copies.write(DIGEST, BODY)

    assert copies.path(DIGEST).stat() == before


def test_no_copy_and_a_copy_cut_short_read_as_none(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    missing = copies.read(DIGEST)
    copies.write(DIGEST, BODY)
    copies.path(DIGEST).write_bytes(BODY[:3])

    assert missing is None
    assert copies.read(DIGEST) is None


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", DIGEST.upper(), f"{DIGEST}\n"])
def test_what_is_no_digest_names_no_file(tmp_path: Path, digest: str) -> None:
    with pytest.raises(ValueError, match="is no sha-256 digest"):
        Copies(tmp_path).read(digest)


def test_a_full_disk_is_said_and_leaves_no_draft(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    with room(10), pytest.raises(StateUnusable, match="12 bytes cannot be kept") as caught:
        copies.write(DIGEST, BODY)

    assert caught.value.place == copies.path(DIGEST)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_place_that_is_no_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "copies").write_text("a file")

    with pytest.raises(StateUnusable, match="cannot be kept"):
        Copies(tmp_path / "copies").write(DIGEST, BODY)
