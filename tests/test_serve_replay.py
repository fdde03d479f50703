"""A signature is good once, in one process and among several."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

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


async def test_a_request_is_first_or_a_replay_as_a_whole(tmp_path: Path) -> None:
    """Of gates that are asked about it at once, one lets it in: not each for one label."""
    gates = [Shared(tmp_path / "replay.db", now=Clock()) for _ in range(3)]
    for number in range(50):
        one, two = (key(f"{number}-{label}") for label in ("sig1", "sig2"))
        orders = ([(one, NOW + 60), (two, NOW + 60)], [(two, NOW + 60), (one, NOW + 60)])
        answers = await asyncio.gather(*(gate.met(order) for gate in gates for order in orders))

        assert sorted(answers) == [[False, False]] + [[True, True]] * 5
    for gate in gates:
        gate.close()


async def test_while_it_is_locked_others_go_on_and_nobody_is_let_in(tmp_path: Path) -> None:
    seen = Shared(tmp_path / "replay.db", now=Clock(), patience=0.2)
    other = sqlite3.connect(tmp_path / "replay.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    asked = [asyncio.create_task(seen.met([(key(str(one)), NOW + 60)])) for one in range(20)]
    await asyncio.sleep(0)
    at_once = time.monotonic() - began
    answers = await asyncio.gather(*asked, return_exceptions=True)
    took = time.monotonic() - began
    other.execute("ROLLBACK")
    other.close()
    after = await seen.met([(key("0"), NOW + 60)])
    seen.close()

    assert {type(one) for one in answers} == {ReplayUnavailable}
    assert at_once < 0.1
    assert took < 1
    assert after == [False]


async def test_no_more_wait_than_there_is_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "_QUEUE", 2)
    seen = Shared(tmp_path / "replay.db", now=Clock())
    answers = await asyncio.gather(
        *(seen.met([(key(str(one)), NOW + 60)]) for one in range(3)), return_exceptions=True
    )
    seen.close()

    assert answers[:2] == [[False], [False]]
    assert "2 requests wait" in str(answers[2])


async def test_a_disk_that_hangs_keeps_nobody(tmp_path: Path) -> None:
    go = threading.Event()

    def clock() -> float:
        go.wait()
        return float(NOW)

    go.set()
    seen = Shared(tmp_path / "replay.db", now=clock, patience=0.05)
    go.clear()
    with pytest.raises(ReplayUnavailable, match=r"no answer within 0\.05 s"):
        await seen.met([(key(), NOW + 60)])
    go.set()
    seen.close()


async def test_whoever_still_waits_when_it_is_closed_is_not_let_in(tmp_path: Path) -> None:
    go = threading.Event()
    go.set()

    def clock() -> float:
        go.wait()
        return float(NOW)

    seen = Shared(tmp_path / "replay.db", now=clock)
    go.clear()
    asked = [asyncio.create_task(seen.met([(key(one), NOW + 60)])) for one in "ab"]
    await asyncio.sleep(0)
    closing = asyncio.get_running_loop().run_in_executor(None, seen.close)
    with pytest.raises(ReplayUnavailable, match="being closed"):
        await asked[1]
    go.set()
    await closing

    assert await asked[0] == [False]


def test_a_file_that_was_taken_away_is_made_anew_and_shared_again(tmp_path: Path) -> None:
    path = tmp_path / "replay.db"
    first, second = (Shared(path, now=Clock()) for _ in range(2))
    first(key(), NOW + 60)
    for file in tmp_path.iterdir():
        file.unlink()
    with capture_logs() as told:
        answers = [first(key(), NOW + 60), second(key(), NOW + 60), first(key(), NOW + 60)]
    first.close()
    second.close()

    assert answers == [False, True, True]
    assert len(told) == 2
    assert "taken away" in told[0]["event"]


def test_a_file_that_comes_back_is_used_again(tmp_path: Path) -> None:
    folder, aside = tmp_path / "memory", tmp_path / "aside"
    folder.mkdir()
    seen = Shared(folder / "replay.db", now=Clock())
    seen(key(), NOW + 60)
    folder.rename(aside)
    with pytest.raises(ReplayUnavailable), capture_logs():
        seen(key("other"), NOW + 60)
    aside.rename(folder)
    answers = [seen(key(), NOW + 60), seen(key("other"), NOW + 60)]
    seen.close()

    assert answers == [True, False]


def test_what_has_expired_leaves_a_thousand_at_a_time(tmp_path: Path) -> None:
    clock = Clock()
    seen = Shared(tmp_path / "replay.db", now=clock)
    seen.meet([(key(str(one)), NOW + 60) for one in range(2500)], time.monotonic() + 60)
    left = []
    for one in range(4):
        clock.now += 61
        seen(key("late"), NOW + 3600 + one)
        left.append(len(seen))
    seen.close()

    assert left == [1501, 501, 1, 1]


def test_a_key_is_kept_as_sixteen_bytes() -> None:
    assert len(replay.digest(key("x" * 1000))) == 16
