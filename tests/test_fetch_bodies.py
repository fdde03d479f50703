"""Bodies on disk: one after the other, each found at the place that was told of it."""

import stat
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scarcity import room

from crawler.events import Place
from crawler.fetch.bodies import Bodies
from crawler.fetch.errors import StateUnusable

BODY = b"<p>hello</p>"
DIGEST = sha256(BODY).hexdigest()


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()


@given(st.lists(st.one_of(st.none(), st.binary(max_size=200)), max_size=20))
def test_what_was_kept_is_read_again_also_after_new_starts(
    tmp_path_factory: pytest.TempPathFactory, story: list[bytes | None]
) -> None:
    directory = tmp_path_factory.mktemp("state") / "bodies"
    bodies = Bodies(directory, full=300)
    kept: list[tuple[bytes, Place]] = []
    for body in story:
        if body is None:
            bodies.close()
            bodies = Bodies(directory, full=300)
        else:
            kept.append((body, bodies.keep(body)))
    bodies.close()

    assert [bodies.read(place, digest(body)) for body, place in kept] == [body for body, _ in kept]
    assert all(bodies.has(place) for _, place in kept)


def test_the_files_are_private_and_a_full_one_is_left_for_the_next(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path / "state" / "bodies", full=20)
    places = [bodies.keep(BODY) for _ in range(3)]
    bodies.close()

    assert places == [Place("000001", 0, 12), Place("000001", 12, 12), Place("000002", 0, 12)]
    files = sorted(bodies.directory.iterdir())
    assert [path.name for path in files] == ["000001", "000002"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(bodies.directory.stat().st_mode) == 0o700


def test_a_full_file_of_before_is_not_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "000007").write_bytes(BODY * 2)
    (tmp_path / "notes.txt").write_bytes(b"not ours")
    bodies = Bodies(tmp_path, full=20)

    place = bodies.keep(BODY)
    bodies.close()

    assert place == Place("000008", 0, 12)


@pytest.mark.parametrize(
    "place",
    [
        Place("000001", 0, 11),
        Place("000001", 1, 12),
        Place("000001", 0, 13),
        Place("000001", -1, 12),
        Place("000002", 0, 12),
        Place("../000001", 0, 12),
        Place("", 0, 12),
    ],
    ids=["short", "shifted", "long", "negative", "another file", "outside", "no file"],
)
def test_another_place_has_no_body(tmp_path: Path, place: Place) -> None:
    bodies = Bodies(tmp_path / "bodies")
    bodies.keep(BODY)
    bodies.keep(b"more")
    bodies.close()

    assert bodies.read(place, DIGEST) is None


def test_a_place_past_the_end_has_nothing(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    place = bodies.keep(BODY)
    bodies.close()
    (tmp_path / place.file).write_bytes(BODY[:-1])

    assert not bodies.has(place)
    assert not bodies.has(Place("000009", 0, 1))


def test_a_file_that_has_lost_its_end_is_not_gone_on_with(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    first, last = bodies.keep(BODY), bodies.keep(BODY)
    (tmp_path / last.file).write_bytes(BODY)
    found = bodies.has(first), bodies.has(last)
    place = bodies.keep(BODY)
    bodies.close()

    assert found == (True, False)
    assert place == Place("000002", 0, 12)
    assert not bodies.has(last)


def test_a_full_disk_is_said_and_what_was_written_taken_back(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    first = bodies.keep(BODY)
    with room(20), pytest.raises(StateUnusable, match="12 bytes cannot be kept") as caught:
        bodies.keep(BODY)
    second = bodies.keep(BODY)
    bodies.close()

    assert caught.value.place == tmp_path / "000001"
    assert (first.offset, second.offset) == (0, 12)
    assert (tmp_path / "000001").read_bytes() == BODY * 2


def test_a_place_that_is_no_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "bodies").write_text("a file")

    with pytest.raises(StateUnusable, match="cannot be kept"):
        Bodies(tmp_path / "bodies").keep(BODY)
