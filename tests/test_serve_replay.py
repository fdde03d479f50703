"""A signature is good once, in one process and among several."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.serve import replay
from crawler.serve.replay import Memory, ReplayUnavailable, Shared
from signing.verifier import ReplayKey, Seen

NOW = 1_800_000_000
Make = Callable[["Clock", Path], Seen]


class Clock:
    def __init__(self) -> None:
        self.now = float(NOW)

    def __call__(self) -> float:
        return self.now


def key(spoken: str = "nonce", agent: str = "https://bot.example", keyid: str = "k") -> ReplayKey:
    return ReplayKey(agent, keyid, spoken)


MEMORIES = [
    pytest.param(lambda clock, _: Memory(now=clock), id="memory"),
    pytest.param(lambda clock, path: Shared(path / "replay.db", now=clock), id="sqlite"),
]


@pytest.mark.parametrize("make", MEMORIES)
def test_the_second_time_is_a_replay(make: Make, tmp_path: Path) -> None:
    seen = make(Clock(), tmp_path)

    assert [seen(key(), NOW + 60) for _ in range(3)] == [False, True, True]


@pytest.mark.parametrize("make", MEMORIES)
@pytest.mark.parametrize(
    "other",
    [key("other"), key(agent="https://other.example"), key(keyid="other"), key("", keyid="knonce")],
    ids=["token", "agent", "keyid", "parts that are the same together"],
)
def test_each_part_tells_signatures_apart(make: Make, other: ReplayKey, tmp_path: Path) -> None:
    seen = make(Clock(), tmp_path)
    seen(key(), NOW + 60)

    assert not seen(other, NOW + 60)


@pytest.mark.parametrize("make", MEMORIES)
def test_it_is_remembered_until_it_expires_and_not_for_ever(make: Make, tmp_path: Path) -> None:
    clock = Clock()
    seen = make(clock, tmp_path)
    seen(key(), NOW + 600)

    clock.now = NOW + 599
    before = seen(key(), NOW + 600)
    clock.now = NOW + 700
    seen(key("other"), NOW + 900)

    assert before
    assert not seen(key(), NOW + 800)
    assert len(seen) == 2  # type: ignore[arg-type]


def test_a_full_memory_forgets_what_would_be_kept_longest() -> None:
    seen = Memory(entries=3, now=Clock())
    for token, until in (("short", 60), ("long", 86_400), ("late", 86_400)):
        seen(key(token), NOW + until)

    seen(key("new"), NOW + 60)

    assert len(seen) == 3
    assert [seen(key(token), NOW + 60) for token in ("short", "long", "new")] == [True] * 3


def test_a_memory_for_one_keeps_the_last() -> None:
    seen = Memory(entries=1, now=Clock())

    assert [seen(key(one), NOW + 60) for one in ("a", "b", "b", "a")] == [False, False, True, False]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 300), st.integers(0, 100))))
def test_memory_never_forgets_what_has_not_expired(steps: list[tuple[int, int, int]]) -> None:
    clock = Clock()
    seen, alive = Memory(now=clock), dict[str, int]()
    for token, window, step in steps:
        clock.now += step
        until = int(clock.now) + window
        known = alive.get(str(token), 0) > clock.now
        answer = seen(key(str(token)), until)

        assert answer or not known
        if not answer:
            alive[str(token)] = until


def test_of_several_processes_exactly_one_is_the_first(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from crawler.serve.replay import Shared
from signing.verifier import ReplayKey
seen = Shared(Path(sys.argv[1]), now=lambda: 0.0)
sys.stdin.read(1)
print(sum(not seen(ReplayKey("a", "k", str(number)), 60) for number in range(300)))
"""
    Shared(tmp_path / "replay.db").close()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "replay.db")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("x")
        worker.stdin.flush()
    firsts = [int(worker.communicate()[0]) for worker in workers]

    assert sum(firsts) == 300


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    path = tmp_path / "replay.db"
    path.write_bytes(b"not a database, whatever its name" * 100)

    with pytest.raises(ReplayUnavailable, match=r"replay\.db: .*not a database") as caught:
        Shared(path)

    assert "replay.path" in str(caught.value.hint)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ReplayUnavailable, match="unable to open"):
        Shared(tmp_path / "none" / "replay.db")


def test_a_memory_that_fails_says_so_and_lets_nothing_through(tmp_path: Path) -> None:
    seen = Shared(tmp_path / "replay.db", now=Clock())
    other = sqlite3.connect(tmp_path / "replay.db")
    other.execute("DROP TABLE seen")
    other.close()

    with pytest.raises(ReplayUnavailable, match="no such table"):
        seen(key(), NOW + 60)


def test_a_key_is_kept_as_sixteen_bytes() -> None:
    assert len(replay.digest(key("x" * 1000))) == 16
