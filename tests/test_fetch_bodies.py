"""Bodies on disk: one after the other, each found at the place that was told of it."""

import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
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

    assert [(place.offset, place.size) for place in places] == [(0, 12), (12, 12), (0, 12)]
    assert places[0].file == places[1].file != places[2].file
    files = sorted(bodies.directory.iterdir())
    assert {path.name for path in files} == {place.file for place in places}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(bodies.directory.stat().st_mode) == 0o700


def test_no_file_is_gone_on_with_by_another_process(tmp_path: Path) -> None:
    first = Bodies(tmp_path)
    place = first.keep(BODY)
    first.close()
    (tmp_path / place.file).write_bytes(b"")
    second = Bodies(tmp_path)
    other = second.keep(BODY)
    second.close()

    assert other.file != place.file
    assert not second.has(place)


def test_a_file_that_is_removed_while_it_is_written_costs_what_was_in_it(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    place = bodies.keep(BODY)
    (tmp_path / place.file).unlink()
    other = bodies.keep(BODY)
    bodies.close()

    assert not bodies.has(place)
    assert bodies.read(other, DIGEST) == BODY


@pytest.mark.parametrize(
    "change",
    [
        {"size": 11},
        {"offset": 1},
        {"size": 13},
        {"offset": -1},
        {"file": "1-1-1"},
        {"file": "../{file}"},
        {"file": ""},
    ],
    ids=["short", "shifted", "long", "negative", "another file", "outside", "no file"],
)
def test_another_place_has_no_body(tmp_path: Path, change: dict[str, Any]) -> None:
    bodies = Bodies(tmp_path / "bodies")
    place = bodies.keep(BODY)
    bodies.keep(b"more")
    bodies.close()
    if "file" in change:
        change = {"file": change["file"].format(file=place.file)}

    assert bodies.read(replace(place, **change), DIGEST) is None


def test_a_place_past_the_end_has_nothing(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    place = bodies.keep(BODY)
    bodies.close()
    (tmp_path / place.file).write_bytes(BODY[:-1])

    assert not bodies.has(place)
    assert not bodies.has(Place("9-9-9", 0, 1))


def test_a_full_disk_is_said_and_what_was_written_taken_back(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    first = bodies.keep(BODY)
    with room(20), pytest.raises(StateUnusable, match="12 bytes cannot be kept") as caught:
        bodies.keep(BODY)
    second = bodies.keep(BODY)
    bodies.close()

    assert caught.value.place == tmp_path / first.file
    assert (first.offset, second.offset) == (0, 12)
    assert (tmp_path / first.file).read_bytes() == BODY * 2


def test_a_place_that_is_no_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "bodies").write_text("a file")

    with pytest.raises(StateUnusable, match="cannot be kept"):
        Bodies(tmp_path / "bodies").keep(BODY)
