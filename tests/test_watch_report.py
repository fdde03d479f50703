"""The report in its formats, over the frozen logs and over none."""

import json
from io import StringIO
from pathlib import Path

import pytest
from records import record

from crawler.events import Degraded, Event, RunFinished, RunStarted, Standing, Why
from crawler.fetch import logbook
from crawler.watch import analysis, report
from crawler.watch.analysis import Analysis
from crawler.watch.layout import Terminal
from crawler.watch.report import Format

LOGS = Path(__file__).parent / "logs"


class Tty(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def frozen() -> Analysis:
    return analysis.fold(logbook.read([LOGS / "schema-1.jsonl"]))


@pytest.fixture(scope="module")
def torn() -> Analysis:
    return analysis.fold(logbook.read([LOGS / "schema-1-torn.jsonl"]))


def test_json_has_the_members_that_programs_rely_on(frozen: Analysis) -> None:
    told = json.loads(report.render(frozen, Format.JSON))

    assert {"origins", "totals", "recommendation"} <= told.keys()
    for origin in told["origins"]:
        assert {
            "name",
            "requests",
            "ok",
            "not_modified",
            "refused",
            "failed",
            "dual",
            "single",
            "header_bytes",
            "sign_cpu_ms",
            "verdict",
        } <= origin.keys()
        assert set(origin["verdict"]) == {"state", "reason", "until", "evidence"}
    assert told["recommendation"].keys() == {"state", "reason"}
    assert told["totals"]["requests"] == 38


def test_the_verdict_says_only_what_is_true(frozen: Analysis) -> None:
    told = json.loads(report.render(frozen, Format.JSON))
    verdicts = {origin["name"]: origin["verdict"] for origin in told["origins"]}

    assert verdicts["tight"] == {
        "state": "sending",
        "reason": "both labels are sent",
        "until": None,
        "evidence": [],
    }
    assert verdicts["lone"]["state"] == "pinned"
    assert verdicts["lone"]["reason"] == "sig2 = never"


def test_text_and_markdown_have_the_numbers_of_json(frozen: Analysis) -> None:
    told = json.loads(report.render(frozen, Format.JSON))
    texts = (
        report.render(frozen, Format.TEXT),
        report.render(frozen, Format.TEXT, Terminal(200, False)),
        report.render(frozen, Format.MARKDOWN).replace("*", "").replace("|", " "),
    )

    for text in texts:
        for origin in told["origins"]:
            numbers = ("requests", "ok", "not_modified", "redirected", "missing", "refused")
            row = [origin["name"], *(str(origin[name]) for name in numbers)]
            assert any(line.split()[:7] == row for line in text.splitlines()), (row, text)


def test_text_for_a_pipe_has_no_escapes_and_names_unreadable_lines(torn: Analysis) -> None:
    text = report.render(torn, Format.TEXT)

    assert "\x1b" not in text
    assert "schema-1-torn.jsonl:7: " in text
    assert "verdict" in text


def test_text_for_a_terminal_is_drawn(frozen: Analysis) -> None:
    assert "\x1b[" in report.render(frozen, Format.TEXT, Terminal(100, True))


@pytest.mark.parametrize("form", Format)
def test_a_report_ends_its_last_line(form: Format) -> None:
    text = report.render(Analysis(), form)

    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize(
    ("environ", "colour"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
    ids=["a terminal", "an empty NO_COLOR", "NO_COLOR", "a dumb terminal"],
)
def test_colours_are_for_those_who_want_them(environ: dict[str, str], colour: bool) -> None:
    found = report.terminal(Tty(), environ)

    assert found is not None
    assert found.colour is colour
    assert found.width > 0


def test_a_pipe_is_no_terminal() -> None:
    assert report.terminal(StringIO(), {"TERM": "xterm"}) is None


def attention(*events: Event) -> tuple[str, ...]:
    return report.attention(analysis.fold(events).findings())


def started(at: float) -> RunStarted:
    return RunStarted(at=at, run=f"r{at:g}", version="1", agent="ExampleBot/1.0", wall=at)


def finished(at: float) -> RunFinished:
    return RunFinished(at=at, run="r", requests=2, elapsed=60.0, cpu=2.0)


def test_a_quiet_log_needs_no_attention() -> None:
    assert attention(started(0.0), record(), finished(60.0)) == ()


@pytest.mark.parametrize("why", [Why.FROZEN, Why.PARKED])
def test_an_origin_that_is_closed_needs_attention(why: Why) -> None:
    closed = Standing(at=1.0, origin="one", why=why, until=1_793_512_800.0, detail="403, 3 times")

    assert attention(closed) == (f"one: {why} until 2026-11-01 06:00 UTC: 403, 3 times",)


def test_an_origin_that_welcomes_us_again_needs_none() -> None:
    closed = Standing(at=1.0, origin="one", why=Why.FROZEN, until=100.0)

    assert attention(closed, Standing(at=101.0, origin="one", why=None)) == ()


def test_what_befell_the_last_run_needs_attention_and_older_news_do_not() -> None:
    bad = Degraded(at=1.0, run="r", reason="no key")

    assert attention(started(0.0), bad, finished(2.0)) == (
        "1970-01-01 00:00 UTC  degraded: requests carry sig1 alone: no key",
    )
    assert attention(started(0.0), bad, finished(2.0), started(3.0), finished(4.0)) == ()
