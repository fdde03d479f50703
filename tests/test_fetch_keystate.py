"""state.toml: what it may say, how it is written, and one command at a time."""

import os
import threading
from datetime import UTC, datetime
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch import keystate
from crawler.fetch.keystate import KeysUnusable, State

NOON = datetime(2026, 12, 2, 12, tzinfo=UTC)
STATE = State(
    signing=("old",),
    published=("beside",),
    retired=("gone",),
    sign_from={"new": NOON},
    drop_from={"old": NOON},
)


def test_it_is_written_for_people_and_read_back(tmp_path: Path) -> None:
    keystate.write(tmp_path, STATE, {"old": "ed25519", "new": "ed25519"})

    assert keystate.read(tmp_path) == STATE
    assert (
        (tmp_path / "state.toml").read_text()
        == """\
# What each key is used for, by its thumbprint. A key that is not named is published. Of those that
# may sign, the one signs that was to sign last. `crawl keys` writes this file anew.
signing = [
  "old",  # ed25519
]
published = [
  "beside",
]
retired = [  # neither sign nor are published
  "gone",
]

[sign_from]  # signs from then on, in the place of the one before
"new" = 2026-12-02T12:00:00Z  # ed25519

[drop_from]  # neither signs nor is published from then on
"old" = 2026-12-02T12:00:00Z  # ed25519
"""
    )


KEYIDS = st.text("abcXYZ019_-", min_size=1, max_size=43)
MOMENTS = st.integers(0, 4_000_000_000).map(keystate.moment)
TABLES = st.dictionaries(KEYIDS, MOMENTS, max_size=3)


@given(
    st.builds(
        State,
        signing=st.lists(KEYIDS, max_size=3).map(tuple),
        published=st.lists(KEYIDS, max_size=3).map(tuple),
        retired=st.lists(KEYIDS, max_size=3).map(tuple),
        sign_from=TABLES,
        drop_from=TABLES,
    )
)
def test_whatever_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, state: State
) -> None:
    folder = tmp_path_factory.getbasetemp() / "written"
    folder.mkdir(exist_ok=True)
    keystate.write(folder, state, {})

    assert keystate.read(folder) == state


def test_another_offset_is_the_same_moment(tmp_path: Path) -> None:
    (tmp_path / "state.toml").write_text("[sign_from]\nnew = 2026-12-02T13:00:00+01:00\n")

    state = keystate.read(tmp_path)

    assert state is not None
    assert state.rank("new") == NOON.timestamp()


def test_a_key_signs_from_its_moment_or_from_the_start_or_never() -> None:
    assert STATE.rank("new") == NOON.timestamp()
    assert STATE.rank("old") == -inf
    assert STATE.rank("beside") is None
    assert STATE.ends() == {"old": NOON.timestamp(), "gone": -inf}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("[sign_from]\nx = 2026-12-02T12:00:00", "timezone", id="no offset"),
        pytest.param("[sign_from]\nx = 2026-12-02", "got `date`", id="a date"),
        pytest.param("[drop_from]\nx = 1", "got `int`", id="a number"),
        pytest.param("drop_from = []", "got `array`", id="a list"),
    ],
)
def test_what_is_no_moment_is_refused_with_one_that_is(
    tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "state.toml").write_text(text)

    with pytest.raises(KeysUnusable, match=problem) as caught:
        keystate.read(tmp_path)

    assert "2026-12-02T08:00:00Z" in (caught.value.hint or "")


def test_it_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "state.toml"
    keystate.write(tmp_path, STATE, {})
    path.chmod(0o640)

    keystate.write(tmp_path, STATE, {})

    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_one_can_be_read_by_a_crawl_of_another_user(tmp_path: Path) -> None:
    keystate.write(tmp_path, STATE, {})

    assert (tmp_path / "state.toml").stat().st_mode & 0o444 == 0o444 & ~umask()


def umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def test_a_second_command_begins_when_the_first_has_ended(tmp_path: Path) -> None:
    order: list[str] = []

    def second() -> None:
        order.append("second waits")
        with keystate.changing(tmp_path):
            order.append("second changes")

    with keystate.changing(tmp_path):
        other = threading.Thread(target=second)
        other.start()
        while not order:
            pass
        other.join(0.05)
        order.append("first ends")
    other.join()

    assert order == ["second waits", "first ends", "second changes"]


def test_a_folder_that_is_not_there_cannot_be_changed(tmp_path: Path) -> None:
    with (
        pytest.raises(KeysUnusable, match="cannot be read: No such file"),
        keystate.changing(tmp_path / "none"),
    ):
        pass


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(NOON.timestamp(), "2026-12-02 12:00:00 UTC", id="a moment"),
        pytest.param(1e20, "1e+20", id="beyond every calendar"),
    ],
)
def test_a_moment_is_shown_as_people_read_it(seconds: float, text: str) -> None:
    assert keystate.shown(seconds) == text
