"""The log's writer: what stands in the files after which mishap."""

import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import record
from scarcity import room

from crawler import events
from crawler.events import RunFinished
from crawler.fetch.errors import LogUnwritable
from crawler.fetch.journal import BEGINNING, Journal, Position, files

DAY = 86400.0
NOON = 20_000 * DAY + DAY / 2  # 2024-10-04
TODAY = "events-2024-10-04.jsonl"


def finished(at: float = NOON) -> RunFinished:
    return RunFinished(at=at, run="r", requests=1, elapsed=2.0, cpu=0.5)


def lines(directory: Path) -> list[bytes]:
    return [line for path in files(directory) for line in path.read_bytes().splitlines(True)]


def test_an_event_is_one_line_of_that_days_file_as_soon_as_append_returns(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "log")

    journal.append(finished())

    assert (tmp_path / "log" / TODAY).read_bytes() == events.encode(finished())
    journal.close()


def test_nobody_else_can_read_the_log(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "state" / "log")
    journal.append(finished())
    journal.close()

    for directory in (tmp_path / "state", tmp_path / "state" / "log"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "state" / "log" / TODAY).stat().st_mode) == 0o600


def test_each_utc_day_has_its_file_and_the_order_of_events_stands_above_their_date(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path)
    late = record(id="late", at=NOON + DAY / 2 - 1.0, elapsed=5.0)
    for event in (finished(), finished(NOON + DAY), late, finished(NOON + 9 * DAY)):
        journal.append(event)
    journal.close()

    assert [path.name for path in files(tmp_path)] == [
        TODAY,
        "events-2024-10-05.jsonl",
        "events-2024-10-13.jsonl",
    ]
    assert lines(tmp_path)[1:3] == [events.encode(finished(NOON + DAY)), events.encode(late)]


def test_a_clock_that_was_set_back_writes_on_in_the_newest_file(tmp_path: Path) -> None:
    for at in (NOON, NOON - 5 * DAY):
        journal = Journal(tmp_path)
        journal.append(finished(at))
        journal.close()

    assert [path.name for path in files(tmp_path)] == [TODAY]
    assert lines(tmp_path)[1] == events.encode(finished(NOON - 5 * DAY))


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_line_that_a_crash_cut_short_is_ended_before_the_next_one(
    tmp_path: Path, cut: int
) -> None:
    whole = events.encode(finished())
    (tmp_path / TODAY).write_bytes(whole + whole[:-cut])

    journal = Journal(tmp_path)
    assert journal.end == Position(TODAY, 2 * len(whole) - cut + 1)
    journal.append(finished())
    journal.close()

    assert lines(tmp_path) == [whole, whole[:-cut] + b"\n", whole]


def test_an_empty_log_begins_at_the_beginning(tmp_path: Path) -> None:
    journal = Journal(tmp_path)

    assert journal.end == BEGINNING
    journal.close()


@given(sizes=st.lists(st.integers(0, 300), max_size=20))
def test_the_end_is_where_the_next_event_begins(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    directory = tmp_path_factory.mktemp("log")
    journal = Journal(directory)
    ends: list[int] = []
    for size in sizes:
        journal.append(record(at=NOON, detail="x" * size))
        ends.append(journal.end.offset)
    reopened = Journal(directory)

    written = lines(directory)
    assert ends == [sum(map(len, written[: count + 1])) for count in range(len(sizes))]
    assert reopened.end == journal.end
    journal.close()
    reopened.close()


def test_a_file_that_was_compressed_is_not_written_to_again(tmp_path: Path) -> None:
    (tmp_path / f"{TODAY}.gz").write_bytes(b"not looked into")

    journal = Journal(tmp_path)
    journal.append(finished())
    journal.close()

    assert [path.name for path in files(tmp_path)] == [f"{TODAY}.gz", "events-2024-10-05.jsonl"]


def test_while_gzip_is_at_work_the_plain_file_counts(tmp_path: Path) -> None:
    for name in (TODAY, f"{TODAY}.gz", "events-2024-10-03.jsonl.gz", "events-old.jsonl", "notes"):
        (tmp_path / name).touch()

    assert [path.name for path in files(tmp_path)] == ["events-2024-10-03.jsonl.gz", TODAY]


def test_the_latest_moment_is_the_end_of_the_last_request(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(record(at=NOON, elapsed=7.5))
    journal.append(finished(NOON + 1.0))
    journal.close()

    assert journal.moment == NOON + 7.5


def refusal(journal: Journal, *, left: int) -> LogUnwritable:
    """What is said where only so many bytes are left."""
    with room(journal.end.offset + left):
        try:
            journal.append(finished())
        except LogUnwritable as error:
            return error
    pytest.fail("there was room")


@pytest.mark.parametrize("left", [40, 0])
def test_a_disk_that_fills_up_leaves_no_half_line_and_says_what_to_do(
    tmp_path: Path, left: int
) -> None:
    journal = Journal(tmp_path)
    journal.append(finished())

    said = refusal(journal, left=left)
    journal.append(finished(NOON + 1))
    journal.close()

    assert lines(tmp_path) == [events.encode(finished()), events.encode(finished(NOON + 1))]
    assert said.place == tmp_path / TODAY
    assert said.hint is not None
    assert "make room" in said.hint


def test_a_directory_that_cannot_be_made_is_said_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    with pytest.raises(LogUnwritable, match="state/log: an event cannot be written") as caught:
        Journal(tmp_path / "state" / "log")

    assert caught.value.place == tmp_path / "state" / "log"


def test_a_days_file_that_cannot_be_opened_is_said_with_its_place(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    (tmp_path / TODAY).mkdir()

    with pytest.raises(LogUnwritable, match=TODAY):
        journal.append(finished())


def chattr(change: str, path: Path) -> None:
    subprocess.run(["chattr", change, path], check=False, capture_output=True)


def test_a_half_line_that_cannot_be_taken_back_is_ended_before_the_next(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(finished())
    chattr("+a", tmp_path / TODAY)  # appending only; where that cannot be set it is taken back
    try:
        refusal(journal, left=40)
        journal.append(finished(NOON + 1))
        journal.close()
    finally:
        chattr("-a", tmp_path / TODAY)

    written = lines(tmp_path)
    assert (written[0], written[-1]) == (
        events.encode(finished()),
        events.encode(finished(NOON + 1)),
    )
    assert len(written) in (2, 3)
