"""The sentences of the report."""

import re

import pytest
from records import record
from watched import ONE, Bad, failed

from crawler.events import (
    Deferred,
    Event,
    Internal,
    Outcome,
    RunFinished,
    RunStarted,
    Stage,
    Why,
    Without,
)
from crawler.watch import analysis, layout, sheet
from crawler.watch.layout import Table


def text(*events: Event, **chosen: float) -> str:
    return layout.plain(sheet.blocks(analysis.fold(events, **chosen).findings()))  # type: ignore[arg-type]


FOUND = analysis.fold([record()]).findings()


def started(at: float = 0.0) -> RunStarted:
    return RunStarted(at=at, run="r1", version="1", agent="ExampleBot/1.0", wall=at)


def finished(at: float = 60.0, *, stopped: bool = False) -> RunFinished:
    return RunFinished(at=at, run="r1", requests=2, elapsed=60.0, cpu=2.0, stopped=stopped)


def test_an_empty_log_says_so() -> None:
    said = text()

    assert "the log holds no event" in said
    assert "0 requests to 0 origins in 0 runs" in said
    assert "Answers" not in said


def test_one_origin_needs_no_sum() -> None:
    assert "\n  all " not in text(record())
    assert "\n  all " in text(record(), record(origin="two"))


def test_waits_that_someone_asked_for_stand_beside_the_sum() -> None:
    said = text(
        record(waited=60.0, waited_for=Why.RETRY_AFTER),
        record(waited=20.0, waited_for=Why.DELAY),
    )

    assert "1.33 min" in said
    assert "retry-after 75%" in said
    assert "delay 25%" not in said


def test_a_suspicious_answer_is_told_with_its_cause_and_the_controls() -> None:
    said = text(
        record(at=1_793_512_800.0, status=431),
        record(labels=ONE, control_of="r-0-1"),
        record(status=401, labels=ONE, control_of="r-0-2"),
    )

    assert (
        "one: head too large, 1 of 3; last 2026-11-01 06:00 UTC https://one.example/: status 431 "
        "(as from lighttpd, Jetty,"
    ) in said
    assert "one: asked again with sig1 alone after a refusal 2 times, 1 served" in said


def test_what_the_tables_do_not_show_stands_in_one_line() -> None:
    said = text(
        failed(stage=Stage.FIRST_BYTE),
        failed(outcome=Outcome.INTERNAL, labels=()),
        record(outcome=Outcome.TOO_BIG),
        record(outcome=Outcome.CANCELLED),
    )

    assert (
        "\n  one: no whole answer: first-byte 1; never left: internal 1; "
        "not read, for size or type: 1; cut off by the end of a run: 1\n"
    ) in said


def test_what_never_left_says_why_and_is_counted_apart() -> None:
    inside = failed(
        outcome=Outcome.NOT_SENT, stage=Stage.ADDRESS, detail="127.0.0.1 is loopback", labels=()
    )
    nameless = failed(stage=Stage.DNS, detail="no such name", labels=())
    said = text(inside, inside, inside, nameless, record())

    assert "\n  one: never left: address 3 (127.0.0.1 is loopback), dns 1 (no such name)\n" in said
    assert re.search(r"\n  one +1 +1 +0 +0 +0 +0 +0 +4\n", said)
    assert (
        "1 request to 1 origin in 0 runs; 1 with both signatures, 0 with sig1 alone; "
        "4 more never left\n"
    ) in said


def test_where_all_left_nothing_is_said_of_it() -> None:
    assert "more never left" not in text(record())


def test_why_sig1_went_alone_is_told_in_words() -> None:
    said = text(
        record(labels=ONE, without=Without.BUDGET),
        record(labels=ONE, without=Without.CONTROL, control_of="r-0-1"),
        record(labels=ONE, without=Without.BUDGET),
    )

    assert "\n  one: sig1 alone: header_limit 2, again after a refusal 1\n" in said


@pytest.mark.parametrize("name", ["refused", "other waits", "heads", "suspicious", "sig2"])
def test_a_head_that_does_not_speak_for_itself_is_explained(name: str) -> None:
    tables = [block for block in sheet.blocks(FOUND) if isinstance(block, Table)]
    (table,) = (table for table in tables if name in table.head)

    assert any(re.search(rf"\b{name}\b.*: ", line) for line in table.legend)


def test_an_origin_with_nothing_of_note_is_not_listed() -> None:
    assert "Details" not in text(record())


def test_an_origin_that_is_not_asked_says_until_when() -> None:
    until = Deferred(at=1.0, run="r1", origin="one", why=Why.BACK_OFF, until=1_793_512_800.0)
    limit = Deferred(at=1.0, run="r1", origin="two", why=Why.PAGE_LIMIT, detail="50 pages asked")
    said = text(until, limit)

    assert "one: back-off until 2026-11-01 06:00 UTC\n" in said
    assert "two: page-limit: 50 pages asked\n" in said


def test_what_signing_cost_is_set_beside_the_whole() -> None:
    signed = record(sign_us=500_000.0, signature_bytes=3000, header_bytes=4000)

    assert (
        "signing cost 500 ms of CPU, 25% of the crawl's 2 s, and 3 kB, 75% of all request heads"
    ) in text(started(), signed, finished())


def test_a_run_without_end_gives_no_share_of_its_cpu() -> None:
    said = text(started(), record(sign_us=500_000.0), finished(), started(100.0))

    assert "signing cost 500 ms of CPU, and 0 B, 0% of all request heads" in said
    assert "last run r1, started 1970-01-01 00:01 UTC: its end is not in the log" in said


@pytest.mark.parametrize(("stopped", "how"), [(False, "ended"), (True, "was stopped")])
def test_the_last_run_is_told(stopped: bool, how: str) -> None:
    assert (
        f"last run r1, started 1970-01-01 00:00 UTC: {how} 1970-01-01 00:01 UTC after 2 requests "
        "in 1 min, 2 s of CPU"
    ) in text(started(), finished(stopped=stopped))


def test_a_run_whose_beginning_is_elsewhere_is_told_without() -> None:
    assert "last run r1: ended 1970-01-01 00:01 UTC" in text(finished())


def test_what_befell_the_crawl_is_counted_and_told() -> None:
    mistake = Internal(at=0.0, run="r1", scope="one.example", error="KeyError at client.py:210")
    said = text(mistake, mistake)

    assert "internal: 2 times\n" in said
    assert said.count("1970-01-01 00:00 UTC  internal: our own mistake ended a lane") == 2


def test_lines_that_are_no_events_are_named_up_to_a_point() -> None:
    lines = (Bad(number=number) for number in range(1, analysis.UNREAD + 8))
    said = layout.plain(sheet.blocks(analysis.fold(lines).findings()))

    assert "log/events-2026-11-01.jsonl:100: cut off\n  and 7 more\n" in said


def test_where_counting_began_is_told() -> None:
    assert "counted since 2026-11-01 06:00 UTC" in text(record(), since=1_793_512_800.0)
