"""Bodies on disk: kept once, whole or not at all."""

import stat
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scarcity import room

from crawler.fetch.bodies import Bodies
from crawler.fetch.errors import StateUnusable

BODY = b"<p>hello</p>"
DIGEST = sha256(BODY).hexdigest()


@given(st.lists(st.binary(max_size=200), max_size=10))
def test_what_was_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, written: list[bytes]
) -> None:
    bodies = Bodies(tmp_path_factory.mktemp("state") / "bodies")
    for body in written:
        bodies.write(sha256(body).hexdigest(), body)

    assert [bodies.read(sha256(body).hexdigest()) for body in written] == written
    names = [path for path in bodies.directory.rglob("*") if path.is_file()]
    assert len(names) == len(set(written))


def test_a_body_is_a_private_file_named_by_its_digest(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path / "state" / "bodies")

    bodies.write(DIGEST, BODY)

    path = tmp_path / "state" / "bodies" / DIGEST[:2] / DIGEST[2:]
    assert bodies.path(DIGEST) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, bodies.directory)] == [
        0o700,
        0o700,
    ]


def test_a_body_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    bodies.write(DIGEST, BODY)
    before = bodies.path(DIGEST).stat()

    bodies.write(DIGEST, BODY)

    assert bodies.path(DIGEST).stat() == before


def test_no_body_and_a_body_cut_short_read_as_none(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    missing = bodies.read(DIGEST)
    bodies.write(DIGEST, BODY)
    bodies.path(DIGEST).write_bytes(BODY[:3])

    assert missing is None
    assert bodies.read(DIGEST) is None


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", DIGEST.upper(), f"{DIGEST}\n"])
def test_what_is_no_digest_names_no_file(tmp_path: Path, digest: str) -> None:
    with pytest.raises(ValueError, match="is no sha-256 digest"):
        Bodies(tmp_path).read(digest)


def test_a_full_disk_is_said_and_leaves_no_draft(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    with room(10), pytest.raises(StateUnusable, match="12 bytes cannot be kept") as caught:
        bodies.write(DIGEST, BODY)

    assert caught.value.place == bodies.path(DIGEST)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_place_that_is_no_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "bodies").write_text("a file")

    with pytest.raises(StateUnusable, match="cannot be kept"):
        Bodies(tmp_path / "bodies").write(DIGEST, BODY)
