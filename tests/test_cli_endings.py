"""How a refresh ends: a second one beside it, a signal, kill -9. Nothing is lost, all is said."""

import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Final, assert_never

import pytest
from capture import Answer, Captured, CapturingServer, capturing, respond
from crawling import Ended, Operator, Running
from scripted import page, robots
from terminal import CTRL_C, HIDDEN, SHOWN, terminal

from crawler.events import Event, FetchRecord, Interrupted, Kind, Outcome, RunFinished
from crawler.fetch import logbook
from crawler.fetch.logbook import Flaw, Unreadable

PROMPT: Final = 5.0  # seconds within which a run that is asked to end has ended
HANGING: Final = Answer(pieces=(b"", b""), pause=600.0)  # no byte comes while the test lasts


class Mute:
    """A site that answers everything but its third page, until it is told to."""

    def __init__(self) -> None:
        self.silent = True

    def __call__(self, request: Captured) -> Answer:
        if request.target == "/robots.txt":
            return robots()
        return HANGING if self.silent and request.target == "/3" else page()

    @staticmethod
    def asked(server: CapturingServer) -> list[str]:
        return [request.target for request in server.requests]


def operator(folder: Path, **servers: CapturingServer) -> Operator:
    return Operator(
        folder=folder,
        politeness={"min_delay": 0.02, "delay_factor": 0.0, "min_interval": "1h"},
        origins={
            name: {"url": server.url(), "start": ["/1", "/2", "/3", "/4"]}
            for name, server in servers.items()
        },
    )


def stuck(somebody: Operator, server: CapturingServer, *arguments: str) -> Running:
    """A refresh that waits for an answer."""
    running = somebody.start("--once", *arguments)
    running.until(lambda: "/3" in Mute.asked(server))
    return running


def whole(somebody: Operator) -> list[Event]:
    """The log, every line of which can be read, the last one with its end."""
    lines = list(logbook.read([somebody.log]))
    events = [line for line in lines if not isinstance(line, Unreadable)]
    assert len(events) == len(lines)
    assert somebody.log.read_bytes().endswith(b"\n")
    return events


def sound(somebody: Operator) -> bool:
    """Whether the database contradicts itself nowhere."""
    database = sqlite3.connect(somebody.state / "state.db")
    try:
        return bool(database.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    finally:
        database.close()


# another run


@pytest.mark.parametrize("quiet", [False, True], ids=["told", "quiet"])
def test_a_second_run_ends_at_once_and_says_who_is_at_work(tmp_path: Path, quiet: bool) -> None:
    with capturing(Mute()) as server:
        somebody = operator(tmp_path, one=server)
        first = stuck(somebody, server)
        before, began = somebody.log.read_bytes(), time.monotonic()

        second = somebody.crawl("--once", *(["--quiet"] if quiet else []))

        assert time.monotonic() - began < PROMPT
        assert first.process.poll() is None
        assert somebody.log.read_bytes() == before
        first.process.kill()
        first.process.communicate()
    said = (
        f"crawl: error: {somebody.state / 'lock'}: process {first.process.pid} is crawling with "
        "this state directory\n"
        "crawl: hint: wait for it to end, or give this one a state directory of its own\n"
    )
    assert second == Ended(code=4, answer="", said="" if quiet else said)


# signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
def test_a_run_that_is_asked_to_end_closes_its_log_and_the_next_one_goes_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    site = Mute()
    with capturing(site) as hanging, capturing(Mute(), "127.0.0.2") as patient:
        somebody = operator(tmp_path, hanging=hanging, patient=patient)
        tables = {**somebody.origins, "patient": {**somebody.origins["patient"], "min_delay": 2.0}}
        somebody.configure(tables)
        running = stuck(somebody, hanging)
        running.until(lambda: len(patient.requests) == 1)  # and now it waits for its turn
        began = time.monotonic()
        ended = running.stop(number)

        assert time.monotonic() - began < PROMPT
        check_stopped(somebody, ended, number)
        asked = {"hanging": Mute.asked(hanging), "patient": Mute.asked(patient)}
        assert asked == {"hanging": ["/robots.txt", "/1", "/2", "/3"], "patient": ["/robots.txt"]}
        outcomes = {one.url: one.outcome for one in somebody.records()}
        assert outcomes.pop(hanging.url("/3")) is Outcome.CANCELLED
        assert set(outcomes.values()) == {Outcome.ANSWERED}
        assert len(outcomes) == 4

        site.silent = False
        again = somebody.crawl("--once", "--origin", "hanging")
        assert (again.code, again.said) == (0, "")
        assert Mute.asked(hanging)[4:] == ["/3", "/4"]  # neither robots.txt nor what it has
        assert not [event for event in whole(somebody) if isinstance(event, Interrupted)]


def check_stopped(somebody: Operator, ended: Ended, number: signal.Signals) -> None:
    """Everything is said and kept; the exit code is the signal's."""
    *before, last = whole(somebody)
    assert isinstance(last, RunFinished)
    assert last.stopped
    assert last.requests == sum(isinstance(event, FetchRecord) and event.left for event in before)
    assert ended.code == 128 + number
    assert ended.said == (
        f"crawl: error: the refresh was stopped by {number.name} before its end\n"
        "crawl: hint: nothing is lost: the next run goes on from there\n"
    )
    assert f"was stopped {time.strftime('%Y', time.gmtime())}" in ended.answer
    assert sound(somebody)
    assert not (somebody.state / "state.db-wal").exists()


def test_a_wait_goes_on_in_the_next_run(tmp_path: Path) -> None:
    site = Mute()
    with capturing(site) as server:
        somebody = operator(tmp_path, one=server)
        somebody.configure({"one": {**somebody.origins["one"], "min_delay": 1.5, "pages": 1}})
        running = somebody.start("--once")
        running.until(lambda: len(server.requests) == 1)
        running.stop()
        somebody.crawl("--once")

    first, second = server.requests
    assert (first.target, second.target) == ("/robots.txt", "/1")
    assert 1.5 <= second.at - first.at < 1.5 + PROMPT


def test_ctrl_c_on_a_terminal_ends_the_run_and_leaves_it_tidy(tmp_path: Path) -> None:
    with capturing(Mute()) as server:
        somebody = operator(tmp_path, one=server)
        with terminal(somebody, "--once", env={"TERM": "xterm"}) as screen:
            screen.running.until(lambda: "/3" in Mute.asked(server))
            began = time.monotonic()
            screen.type(CTRL_C)
            ended = screen.running.end()

            assert time.monotonic() - began < PROMPT

    assert ended.code == 128 + signal.SIGINT
    assert "the refresh was stopped by SIGINT before its end" in screen.text
    assert screen.drawn.rindex(SHOWN) > screen.drawn.rindex(HIDDEN)
    assert isinstance(whole(somebody)[-1], RunFinished)


def test_an_answer_that_comes_within_the_grace_is_kept(tmp_path: Path) -> None:
    late = Answer(pieces=(b"", respond(200, ("Content-Type", "text/html"), body=b"late").pieces[0]))

    def site(request: Captured) -> Answer:
        if request.target == "/robots.txt":
            return robots()
        running.process.send_signal(signal.SIGTERM)
        return late

    with capturing(site) as server:
        somebody = operator(tmp_path, one=server)
        running = somebody.start("--once")
        ended = running.end()

    assert ended.code == 128 + signal.SIGTERM
    (record,) = somebody.pages("one")
    assert (record.outcome, record.body_bytes) == (Outcome.ANSWERED, 4)
    assert Mute.asked(server) == ["/robots.txt", "/1"]


# kill -9

PAGES: Final = 45
DELAY: Final = 0.06  # seconds
KILLS: Final = 12


class Moment(StrEnum):
    """When a crawl is killed."""

    STARTING = "starting"
    ASKING = "asking"  # its request has arrived, no answer has left
    READING = "reading"  # half of the answer has left
    BETWEEN = "between"  # an answer has left a moment ago


class Village:
    """Pages that lead to each other, and what befalls the crawler that asks for them."""

    def __init__(self, chance: random.Random) -> None:
        self.links = {
            f"/{number}": [f"/{chance.randrange(PAGES)}", f"/{number + 1}", f"/{number + 2}"]
            for number in range(PAGES)
        }
        self.crawler: Running | None = None
        self.moment = Moment.STARTING
        self.left = 0  # requests that are still answered

    def __call__(self, request: Captured) -> Answer:
        self.left -= 1
        answer = robots() if request.target == "/robots.txt" else self.page(request.target)
        if self.left or self.crawler is None:
            return answer
        match self.moment:
            case Moment.ASKING:
                self.crawler.process.kill()
            case Moment.READING:
                whole = answer.pieces[0]
                half = len(whole) - 20
                threading.Timer(0.02, self.crawler.process.kill).start()
                return Answer(pieces=(whole[:half], whole[half:]), pause=600.0)
            case Moment.STARTING | Moment.BETWEEN:
                pass
            case _:
                assert_never(self.moment)
        return answer

    def page(self, target: str) -> Answer:
        links = self.links.get(target)
        return respond(404) if links is None else page(*links)


def wounded(somebody: Operator, village: Village, moment: Moment, dice: random.Random) -> None:
    """Start a crawl and kill it."""
    village.moment, village.left = moment, dice.choice((1, 2, 3))
    running = somebody.start("--once")
    village.crawler = running
    if moment is Moment.STARTING:
        village.left = -1
        running.until(later(dice.uniform(0.1, 0.6)))
        running.process.kill()
    elif moment is Moment.BETWEEN:
        running.until(lambda: village.left <= 0)
        running.until(later(dice.uniform(0.0, DELAY)))
        running.process.kill()
    _, said = running.process.communicate(timeout=60)
    village.crawler = None

    assert running.process.returncode == -signal.SIGKILL, said


def later(seconds: float) -> Callable[[], bool]:
    """Whether a moment has come."""
    moment = time.monotonic() + seconds
    return lambda: time.monotonic() >= moment


def test_a_run_that_is_killed_at_any_moment_loses_nothing_and_never_hurries(
    tmp_path: Path,
) -> None:
    dice = random.Random(20261130)
    village = Village(dice)
    moments = list(Moment) * (KILLS // len(Moment))
    dice.shuffle(moments)
    with capturing(village) as server:
        somebody = Operator(
            folder=tmp_path,
            politeness={"min_delay": DELAY, "delay_factor": 0.0, "min_interval": "1h"},
            origins={
                "one": {
                    "url": server.url(),
                    "start": ["/0"],
                    "follow": "links",
                    "pages": 1000,
                    "depth": 100,
                }
            },
        )
        for moment in moments:
            wounded(somebody, village, moment, dice)
        ended = somebody.crawl("--once")

    lines = list(logbook.read([somebody.log]))
    lost = [line for line in lines if isinstance(line, Interrupted)]
    assert (ended.code, sound(somebody)) == (0, True)
    assert {line.flaw for line in lines if isinstance(line, Unreadable)} <= {Flaw.TORN}
    assert len(lost) >= moments.count(Moment.ASKING) + moments.count(Moment.READING)
    check_had(server, [line for line in lines if isinstance(line, FetchRecord)], lost)
    check_pace(server, lost)
    assert f"cut off by a crash: {len(lost)}" in somebody.crawl("report").answer


def check_had(server: CapturingServer, records: list[FetchRecord], lost: list[Interrupted]) -> None:
    """Each page was had once, and each request that arrived is in the log once."""
    had = Counter(one.url for one in records if one.kind is Kind.PAGE and one.status == 200)
    assert had == {server.url(f"/{number}"): 1 for number in range(PAGES)}
    arrived = Counter(server.url(request.target) for request in server.requests)
    known = Counter([*(one.url for one in records), *(one.url for one in lost)])
    assert arrived <= known
    ids = [*(one.id for one in records), *(one.id for one in lost)]
    assert len(ids) == len(set(ids))


def check_pace(server: CapturingServer, lost: list[Interrupted]) -> None:
    """No two requests are nearer than the delay; an interrupted one costs a whole one anew."""
    for earlier, request in pairwise(server.requests):
        assert request.at - earlier.at >= DELAY
    for event in lost:
        after = [request.at for request in server.requests if request.at > event.at]
        assert not after or after[0] >= event.at + DELAY
