"""The log's reader: what can be read is, and what cannot is named and stepped over."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import record

from crawler import events
from crawler.events import Event, RunFinished
from crawler.fetch import logbook
from crawler.fetch.errors import LogUnreadable
from crawler.fetch.journal import BEGINNING, Journal, Position, files
from crawler.fetch.logbook import Flaw, Unreadable

DAY = 86400.0


def event(number: int) -> RunFinished:
    return RunFinished(at=number * DAY / 3, run=f"r{number}", requests=1, elapsed=2.0, cpu=0.5)


GOOD = events.encode(event(1))


def told(*paths: Path) -> list[Event | Unreadable]:
    return list(logbook.read(paths))


def only_flaw(path: Path) -> Unreadable:
    (found,) = (line for line in told(path) if isinstance(line, Unreadable))
    return found


def test_all_files_are_read_in_order_compressed_or_not(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for number in range(9):
        journal.append(event(number))
    journal.close()
    second = files(tmp_path)[1]
    second.with_name(f"{second.name}.gz").write_bytes(gzip.compress(second.read_bytes()))
    second.unlink()

    assert told(*files(tmp_path)) == [event(number) for number in range(9)]


BAD = {
    "torn": (GOOD[:30] + b"\n", Flaw.TORN, "cut off"),
    "foreign": (b"Nov 30 crawl[7]: hello\n", Flaw.TORN, "no JSON"),
    "not UTF-8": (b'{"event":"run-\xff"}\n', Flaw.TORN, "no JSON"),
    "nested too deep": (b'{"x":' * 50_000 + b"\n", Flaw.TORN, "no JSON"),
    "unknown event": (b'{"event":"of-tomorrow","at":1.0}\n', Flaw.UNKNOWN, "'of-tomorrow'"),
    "no event": (b'{"at":1.0}\n', Flaw.MISFIT, "no event"),
    "no object": (b"7\n", Flaw.MISFIT, "no event"),
    "a value amiss": (b'{"event":"standing","at":"now"}\n', Flaw.MISFIT, "'standing'"),
    "too long": (b"x" * (logbook.LONGEST + 1) + b"\n", Flaw.LONG, "1048576 bytes"),
    "far too long": (b"x" * (3 * logbook.LONGEST) + b"\n", Flaw.LONG, "1048576 bytes"),
}


@pytest.mark.parametrize(("bad", "flaw", "problem"), BAD.values(), ids=BAD)
def test_a_line_that_cannot_be_read_is_named_and_costs_no_other(
    tmp_path: Path, bad: bytes, flaw: Flaw, problem: str
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(GOOD + bad + GOOD)

    found = only_flaw(path)
    assert (found.path, found.number, found.flaw) == (path, 2, flaw)
    assert problem in str(found)
    assert str(found).startswith(f"{path}:2: ")
    assert len(told(path)) == 3


def test_a_last_line_without_its_end_is_torn_unless_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(GOOD + GOOD[:-1])
    whole = told(path)
    path.write_bytes(GOOD + GOOD[:-2])

    assert whole == [event(1), event(1)]
    assert (only_flaw(path).number, only_flaw(path).flaw) == (2, Flaw.TORN)


def test_a_long_last_line_without_its_end_ends_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"x" * (2 * logbook.LONGEST))

    assert only_flaw(path).flaw is Flaw.LONG


def test_empty_lines_count_but_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"\n" + GOOD + b"\n{")

    assert told(path)[0] == event(1)
    assert only_flaw(path).number == 4


@pytest.mark.parametrize("keep", [5, -9], ids=["cut short", "without its trailer"])
def test_a_compressed_file_that_ends_early_is_read_as_far_as_it_goes(
    tmp_path: Path, keep: int
) -> None:
    path = tmp_path / "events-2024-10-04.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD * 3)[:keep])

    assert only_flaw(path).flaw is Flaw.PACKED


@pytest.mark.parametrize("bytes_", [b"no gzip at all", gzip.compress(GOOD)[:12] + b"\xff" * 40])
def test_a_file_that_is_not_gzip_is_named(tmp_path: Path, bytes_: bytes) -> None:
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(bytes_)

    assert only_flaw(path).flaw is Flaw.PACKED


def test_a_file_that_is_not_there_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(LogUnreadable, match=r"gone\.jsonl: cannot be read: No such file") as caught:
        told(tmp_path / "gone.jsonl")

    assert caught.value.hint is not None


def positions(directory: Path, start: Position = BEGINNING) -> list[tuple[Position, object]]:
    return [(entry.position, entry.line) for entry in logbook.entries(directory, start)]


@given(st.lists(st.integers(0, 12), max_size=12), st.booleans())
def test_reading_on_from_any_position_gives_what_was_written_from_there(
    tmp_path_factory: pytest.TempPathFactory, days: list[int], packed: bool
) -> None:
    directory = tmp_path_factory.mktemp("log")
    journal = Journal(directory)
    begun: list[Position] = []
    written: list[Event] = []
    for day in sorted(days):
        written.append(record(at=day * DAY / 4))
        journal.append(written[-1])
        end = journal.end
        begun.append(Position(end.file, end.offset - len(events.encode(written[-1]))))
    if packed:
        for path in files(directory):
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()

    everything = list(zip(begun, written, strict=True))
    assert positions(directory) == everything
    for index, start in enumerate(begun):
        assert positions(directory, start) == everything[index:]
    assert positions(directory, journal.end) == []
    journal.close()


def test_a_position_inside_of_a_line_begins_with_the_next_one_and_counts_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "events-2024-10-04.jsonl"
    path.write_bytes(GOOD + b"{\n" + GOOD + b"[\n")

    inside = positions(tmp_path, Position(path.name, 5))
    after = positions(tmp_path, Position(path.name, len(GOOD)))
    assert inside == after
    assert [line.number for _, line in inside if isinstance(line, Unreadable)] == [2, 4]
    assert positions(tmp_path, Position(path.name, 10_000)) == []
