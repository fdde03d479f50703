"""A site of 20 real pages behind nginx, refreshed twice: nginx's own log beside ours."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
import servers
import website
from crawling import Ended, Operator
from servers import Access

from crawler.events import FetchRecord, Kind, Outcome, RobotsRead, Skipped, Why
from crawler.fetch.bodies import Bodies

pytestmark = servers.needs_nginx

PAGES: Final = 20
DELAY: Final = 0.1  # seconds
ROUNDING: Final = 0.002  # nginx keeps its times in whole milliseconds


@dataclass(frozen=True, kw_only=True)
class Run:
    """One refresh: how it ended, our records and nginx's lines."""

    ended: Ended
    records: Sequence[FetchRecord]
    lines: Sequence[Access]


@dataclass(frozen=True, kw_only=True)
class Refreshed:
    """Two refreshes of the same site by the same operator."""

    site: Sequence[bytes]
    operator: Operator
    first: Run
    second: Run

    @property
    def records(self) -> list[FetchRecord]:
        return [*self.first.records, *self.second.records]

    @property
    def lines(self) -> list[Access]:
        return [*self.first.lines, *self.second.lines]


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Refreshed]:
    files = website.files(PAGES)
    with servers.nginx({"127.0.0.1": files}) as server:
        operator = Operator(
            folder=tmp_path_factory.mktemp("nginx"),
            origins={"notes": {"url": server.url(), "follow": "links"}},
            politeness={"min_delay": DELAY, "min_interval": "0s"},
        )
        runs: list[Run] = []
        for arguments in (["--once"], ["--once", "--all"]):
            ended = operator.crawl(*arguments)
            seen = sum(len(run.records) for run in runs)
            records = operator.records()[seen:]
            lines = server.requests(at_least=seen + len(records))[seen:]
            runs.append(Run(ended=ended, records=records, lines=lines))
        yield Refreshed(
            site=[body for name, body in files.items() if name.endswith(".html")],
            operator=operator,
            first=runs[0],
            second=runs[1],
        )


def target(record: FetchRecord) -> str:
    return "/" + record.url.split("/", 3)[3]


def test_both_refreshes_end_well(refreshed: Refreshed) -> None:
    for run in (refreshed.first, refreshed.second):
        assert (run.ended.code, run.ended.said) == (0, "")


def test_the_first_one_reads_robots_txt_and_then_every_page_once(refreshed: Refreshed) -> None:
    robots, *pages = refreshed.first.records

    assert (robots.kind, robots.status, target(robots)) == (Kind.ROBOTS, 200, "/robots.txt")
    assert {page.status for page in pages} == {200}
    assert len(pages) == PAGES
    assert {target(page) for page in pages} == {website.path_of(page) for page in range(PAGES)}


def test_the_bodies_that_it_keeps_are_the_files(refreshed: Refreshed) -> None:
    bodies = Bodies(refreshed.operator.folder / "state/bodies")
    kept = {
        bodies.read(one.place, str(one.digest))
        for one in refreshed.first.records
        if one.place is not None
    }

    assert kept == set(refreshed.site) - {website.files(PAGES)[website.FORBIDDEN]}


def test_the_second_one_is_answered_by_304_alone(refreshed: Refreshed) -> None:
    records = refreshed.second.records

    assert {(one.status, one.conditional, one.unchanged) for one in records} == {(304, True, True)}
    assert {one.wire_bytes for one in records} == {0}
    assert sorted(map(target, records)) == sorted(map(website.path_of, range(PAGES)))


def test_robots_txt_is_in_force_for_both(refreshed: Refreshed) -> None:
    robots = refreshed.first.records[0]
    read = refreshed.operator.logged(RobotsRead)

    assert [(one.status, one.digest, one.changed) for one in read] == [(200, robots.digest, False)]
    assert {one.robots for one in refreshed.records} == {robots.digest}


def test_what_it_forbids_is_asked_by_nobody_and_said_with_line_and_rule(
    refreshed: Refreshed,
) -> None:
    forbidden = f"/{website.FORBIDDEN}"
    skipped = {
        (one.why, one.line, one.rule)
        for one in refreshed.operator.logged(Skipped)
        if one.url.endswith(forbidden)
    }

    assert forbidden not in {line.target for line in refreshed.lines}
    assert skipped == {(Why.ROBOTS, 3, "Disallow: /private/")}


def test_nginx_saw_the_requests_that_our_log_has(refreshed: Refreshed) -> None:
    ours = [(target(one), one.status, one.header_bytes) for one in refreshed.records]
    theirs = [(one.target, one.status, one.request_length) for one in refreshed.lines]

    assert theirs == ours
    assert {one.outcome for one in refreshed.records} == {Outcome.ANSWERED}


def test_nginx_saw_who_asked_and_both_labels_each_time(refreshed: Refreshed) -> None:
    agent = "ExampleBot/1.0 (+https://bot.example/bot; mailto:bot@bot.example)"

    assert {one.http_user_agent for one in refreshed.lines} == {agent}
    for line, record in zip(refreshed.lines, refreshed.records, strict=True):
        assert line.http_signature_input.startswith("sig1=(")
        assert ", sig2=(" in line.http_signature_input
        assert record.labels == ("sig1", "sig2")


def test_no_signature_was_sent_twice(refreshed: Refreshed) -> None:
    sent = [line.http_signature_input for line in refreshed.lines]

    assert len(set(sent)) == len(sent) == 2 * PAGES + 1


def test_by_the_clock_of_nginx_the_delay_was_kept_also_between_the_runs(
    refreshed: Refreshed,
) -> None:
    gaps = [after.began - before.msec for before, after in pairwise(refreshed.lines)]

    assert min(gaps) >= DELAY - ROUNDING


def test_the_connection_was_used_again(refreshed: Refreshed) -> None:
    for run in (refreshed.first, refreshed.second):
        assert len({line.connection for line in run.lines}) == 1
        assert [one.reused for one in run.records] == [False] + [True] * (len(run.records) - 1)


def test_the_report_counts_what_nginx_counted(refreshed: Refreshed, tmp_path: Path) -> None:
    ended = refreshed.operator.crawl("report", "--format", "json")

    assert ended.code == 0
    assert f'"requests":{len(refreshed.lines)}' in ended.answer.replace(" ", "")
