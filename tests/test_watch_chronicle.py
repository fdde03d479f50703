"""The crawl's own story."""

from crawler.events import (
    ClockSetBack,
    Degraded,
    Internal,
    KeyInUse,
    RunFinished,
    RunStarted,
    StateRebuilt,
)
from crawler.watch.chronicle import NOTES, Chronicle, Told
from crawler.watch.findings import Run


def started(run: str, at: float) -> RunStarted:
    return RunStarted(at=at, run=run, version="1", agent="ExampleBot/1.0", wall=at)


def finished(run: str, at: float, *, stopped: bool = False) -> RunFinished:
    return RunFinished(at=at, run=run, requests=7, elapsed=60.0, cpu=1.5, stopped=stopped)


def degraded(run: str, at: float) -> Degraded:
    return Degraded(at=at, run=run, reason="no ML-DSA key")


def chronicle(*events: Told) -> Chronicle:
    told = Chronicle()
    for event in events:
        told.add(event)
    return told


def test_the_last_run_ended() -> None:
    told = chronicle(started("a", 1.0), finished("a", 61.0), started("b", 100.0))
    told.add(finished("b", 160.0, stopped=True))

    assert told.last_run == Run(
        run="b", started=100.0, ended=160.0, stopped=True, requests=7, elapsed=60.0, cpu=1.5
    )
    assert (told.runs, told.ended, told.cpu, told.elapsed) == (2, 2, 3.0, 120.0)


def test_a_run_that_was_cut_off_has_no_end() -> None:
    told = chronicle(started("a", 1.0), finished("a", 61.0), started("b", 100.0))

    assert told.last_run == Run(run="b", started=100.0, ended=None)
    assert (told.runs, told.ended) == (2, 1)


def test_a_run_whose_beginning_is_not_in_the_log_has_no_start() -> None:
    told = chronicle(started("a", 1.0), finished("b", 160.0))

    assert told.last_run is not None
    assert (told.last_run.run, told.last_run.started) == ("b", None)


def test_the_keys_are_those_that_signed_last() -> None:
    told = chronicle(
        KeyInUse(at=1.0, run="a", label="sig1", keyid="old"),
        KeyInUse(at=1.0, run="a", label="sig2", keyid="pq"),
        KeyInUse(at=2.0, run="a", label="sig1", keyid="new"),
    )

    assert told.keys == {"sig1": "new", "sig2": "pq"}


def test_what_went_wrong_is_told_in_words() -> None:
    told = chronicle(
        degraded("a", 1.0),
        ClockSetBack(at=2.0, wall=-3598.0, seconds=3600.0),
        StateRebuilt(at=3.0, kept="state.db.damaged", records=31, problem="malformed"),
        Internal(at=4.0, run="a", scope="one.example", error="KeyError at client.py:210"),
    )

    assert [(note.event, note.text) for note in told.notes] == [
        ("degraded", "requests carry sig1 alone: no ML-DSA key"),
        ("clock-set-back", "the wall clock stood 3600 s before what was already seen"),
        ("state-rebuilt", "malformed; 31 records folded anew, kept as state.db.damaged"),
        ("internal", "our own mistake ended a lane (one.example): KeyError at client.py:210"),
    ]
    assert told.noted == {"degraded": 1, "clock-set-back": 1, "state-rebuilt": 1, "internal": 1}


def test_only_the_latest_notes_are_kept_and_all_are_counted() -> None:
    told = chronicle(*(degraded("a", float(number)) for number in range(NOTES + 5)))

    assert told.noted == {"degraded": NOTES + 5}
    assert [note.at for note in told.notes] == [float(number) for number in range(5, NOTES + 5)]


def test_news_are_what_befell_the_last_run() -> None:
    told = chronicle(started("a", 1.0), degraded("a", 2.0), finished("a", 3.0), degraded("b", 4.0))
    told.add(started("b", 5.0))
    told.add(degraded("b", 6.0))
    told.add(finished("b", 7.0))

    assert [note.at for note in told.news] == [4.0, 6.0]
    assert [note.at for note in told.notes] == [2.0, 4.0, 6.0]


def test_a_run_without_news_has_none_of_the_run_before() -> None:
    told = chronicle(started("a", 1.0), degraded("a", 2.0), finished("a", 3.0), started("b", 4.0))

    assert not told.news


def test_a_run_that_was_cut_off_leaves_its_news_to_the_next() -> None:
    told = chronicle(started("a", 1.0), degraded("a", 2.0), started("b", 4.0))

    assert [note.at for note in told.news] == [2.0]


def test_what_is_only_recalled_is_not_counted() -> None:
    told = Chronicle()
    for event in (started("a", 1.0), degraded("a", 2.0), finished("a", 3.0)):
        told.recall(event)

    assert (told.runs, told.ended, told.cpu, told.noted) == (0, 0, 0.0, {})
    assert told.last_run is not None
    assert told.last_run.ended == 3.0
