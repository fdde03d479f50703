"""Looking ahead sends nothing, changes nothing, and needs neither a state nor a quiet moment."""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from capture import Answer, Captured, CapturingServer, capturing, respond
from crawling import Operator

from crawler.events import Why

PAGES = ("/", "/a", "/private", "/b")
TEXT = ("Content-Type", "text/plain")
DRY = ("--once", "--dry-run")


def site(request: Captured) -> Answer:
    if request.target == "/robots.txt":
        return respond(200, TEXT, body=b"User-agent: *\nDisallow: /private\n")
    return respond(200, TEXT, ("ETag", '"x"'), body=b"hello")


@pytest.fixture
def server() -> Iterator[CapturingServer]:
    with capturing(site) as server:
        yield server


def operator(folder: Path, server: CapturingServer, **known: object) -> Operator:
    return Operator(
        folder=folder,
        origins={"one": {"url": server.url(), "start": PAGES, **known}},
        politeness={"min_delay": 0.1, "delay_factor": 0.0},
    )


def planned(them: Operator, *arguments: str) -> list[dict[str, object]]:
    ended = them.crawl(*DRY, "--format", "json", *arguments)

    assert ended.code == 0, ended.said
    found: list[dict[str, object]] = json.loads(ended.answer)["planned"]
    return found


def paths(server: CapturingServer, found: list[dict[str, object]]) -> dict[str, object]:
    """Each path with why it is not asked, None where it is."""
    home = server.url()
    return {f"/{str(one['url']).removeprefix(home)}": one["why"] for one in found}


def contents(folder: Path) -> Mapping[str, tuple[bytes, int]]:
    """Every file below a folder, byte for byte, and when it was written."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_without_a_state_it_asks_robots_first_and_makes_no_state(
    tmp_path: Path, server: CapturingServer
) -> None:
    them = operator(tmp_path, server)

    found = planned(them)

    assert paths(server, found) == dict.fromkeys(("/robots.txt", *PAGES))
    assert found[0]["detail"] == "not known yet; it decides the rest"
    assert not (tmp_path / "state").exists()
    assert server.requests == []


def test_after_a_crawl_the_state_stays_as_it_is_and_nothing_is_sent(
    tmp_path: Path, server: CapturingServer
) -> None:
    them = operator(tmp_path, server)
    assert them.crawl("--once").code == 0
    asked, before = len(server.requests), contents(tmp_path / "state")

    found = planned(them, "--all")
    explained = them.crawl("explain", server.url("/private"))

    assert paths(server, found) == {"/": None, "/a": None, "/b": None, "/private": Why.ROBOTS}
    assert {one["detail"] for one in found if one["at"] is not None} == {"conditional"}
    assert f"{server.url('/private')}: no: robots.txt refuses it" in explained.answer
    assert contents(tmp_path / "state") == before
    assert len(server.requests) == asked == 4


def test_a_state_that_may_only_be_read_is_enough(tmp_path: Path, server: CapturingServer) -> None:
    them = operator(tmp_path, server)
    them.crawl("--once")
    for path in (state := tmp_path / "state").rglob("*"):
        path.chmod(0o500 if path.is_dir() else 0o400)
    state.chmod(0o500)

    found = planned(them, "--all")
    state.chmod(0o700)

    assert paths(server, found)["/private"] == Why.ROBOTS


def test_a_database_that_a_crash_left_open_is_read_with_what_was_committed(
    tmp_path: Path, server: CapturingServer
) -> None:
    them = operator(tmp_path, server)
    them.crawl("--once")
    database = tmp_path / "state" / "state.db"
    crashed = sqlite3.connect(database)
    crashed.execute("UPDATE pages SET etag = NULL, last_modified = NULL")
    crashed.commit()

    found = planned(them, "--all")
    crashed.close()

    assert {one["detail"] for one in found if one["at"] is not None} == {""}


@pytest.mark.parametrize(
    ("bytes_", "said"),
    [(b"no database at all" * 100, "is damaged"), (b"", "is damaged")],
    ids=["another file", "emptied"],
)
def test_a_damaged_database_is_named_and_left_to_the_crawl(
    bytes_: bytes, said: str, tmp_path: Path, server: CapturingServer
) -> None:
    them = operator(tmp_path, server)
    them.crawl("--once")
    (tmp_path / "state" / "state.db").write_bytes(bytes_)
    before = contents(tmp_path / "state")

    ended = them.crawl(*DRY)

    assert (ended.code, ended.answer) == (1, "")
    assert f"state/state.db: the database {said}" in ended.said
    assert "hint: crawl --once keeps it aside" in ended.said
    assert contents(tmp_path / "state") == before


def test_a_database_of_a_later_version_is_named_itself(
    tmp_path: Path, server: CapturingServer
) -> None:
    them = operator(tmp_path, server)
    them.crawl("--once")
    with closing(sqlite3.connect(tmp_path / "state" / "state.db")) as database:
        database.execute("PRAGMA user_version = 1000")

    ended = them.crawl(*DRY)

    assert ended.code == 1
    assert f"{tmp_path}/state/state.db: was written by a later version" in ended.said


def test_what_it_foretells_is_what_the_crawl_then_asks(
    tmp_path: Path, server: CapturingServer
) -> None:
    them = operator(tmp_path, server)
    them.crawl("--once")
    del server.requests[:]

    foretold = [str(one["url"]) for one in planned(them, "--all") if one["at"] is not None]
    them.crawl("--once", "--all")

    assert [server.url(request.target) for request in server.requests] == foretold


@pytest.mark.parametrize(("sig2", "without"), [("watch", None), ("never", "setting")])
def test_the_heads_that_it_foretells_are_those_that_are_sent(
    sig2: str, without: str | None, tmp_path: Path, server: CapturingServer
) -> None:
    them = operator(tmp_path, server, cookie="a=b", sig2=sig2)
    first = planned(them)
    them.crawl("--once")
    heads = [len(request.head) for request in server.requests]
    del server.requests[:]
    again = [one for one in planned(them, "--all") if one["at"] is not None]
    them.crawl("--once", "--all")

    # the first time, /private is foretold too: only robots.txt says that it is refused
    asked = [one for one in first if one["url"] != server.url("/private")]
    assert [one["header_bytes"] for one in asked] == heads
    assert [one["header_bytes"] for one in again] == [len(one.head) for one in server.requests]
    assert {one["detail"] for one in again} == {"conditional"}
    assert {one["without"] for one in (*first, *again)} == {without}


def test_what_an_origins_header_limit_leaves_out_is_foretold(
    tmp_path: Path, server: CapturingServer
) -> None:
    roomy = operator(tmp_path / "roomy", server)
    (robots_txt, *_) = planned(roomy)
    size = int(str(robots_txt["header_bytes"]))
    tight = operator(tmp_path / "tight", server, header_limit=size - 1)
    none = operator(tmp_path / "none", server, header_limit=256)

    found = planned(tight)
    (refused,) = planned(none)
    told = none.crawl("explain", server.url("/a")).answer
    tight.crawl("--once")
    none.crawl("--once")

    assert found[0]["labels"] == ["sig1"]
    assert found[0]["without"] == "budget"
    assert "sig2 does not fit into header_limit" in str(found[0]["detail"])
    assert found[0]["header_bytes"] == len(server.requests[0].head) < size
    assert len(server.requests) == 4
    assert (refused["why"], refused["at"]) == (Why.ROBOTS_UNREACHABLE, None)
    assert refused["detail"] == "not even sig1 fits into header_limit"
    assert "signatures: none: not even sig1 fits into header_limit" in told


def test_while_a_crawl_runs_it_looks_ahead_all_the_same(tmp_path: Path) -> None:
    let_go, reached = Event(), Event()

    def slow(request: Captured) -> Answer:
        if request.target == "/a":
            reached.set()
            let_go.wait(30)
        return site(request)

    with capturing(slow) as server:
        them = operator(tmp_path, server)
        running = them.start("--once")
        assert reached.wait(30)
        asked = len(server.requests)

        found = planned(them)
        foretelling = len(server.requests)
        let_go.set()

        assert running.end().code == 0
    assert foretelling == asked
    assert paths(server, found)["/private"] == Why.ROBOTS
    assert "/" not in paths(server, found)


def test_an_origin_that_is_not_due_is_said_and_all_asks_it_all_the_same(
    tmp_path: Path, server: CapturingServer
) -> None:
    them = operator(tmp_path, server, every="6h")
    them.crawl("--once")

    (found,) = planned(them)

    assert (found["why"], found["at"]) == (Why.NOT_DUE, None)
    assert str(found["detail"]).startswith("not before ")
    assert len(planned(them, "--all")) == 4


def test_a_url_of_an_origin_whose_turn_lies_ahead_is_explained_with_it(
    tmp_path: Path, server: CapturingServer
) -> None:
    them = operator(tmp_path, server, every="6h")
    before = them.crawl("explain", server.url("/a")).answer
    them.crawl("--once")
    (found,) = planned(them)

    told = them.crawl("explain", server.url("/a")).answer

    assert "turn: every 6h; due now\n" in before
    turn = found["detail"]
    assert f"turn: every 6h; {turn}\n" in told
    assert f"no: its origin's turn is {turn}; --all asks all the same\n" in told


def test_people_read_moments_to_the_second(tmp_path: Path, server: CapturingServer) -> None:
    them = operator(tmp_path, server)
    them.crawl("--once")

    title, *lines, said = them.crawl(*DRY, "--all").answer.splitlines()

    assert title == "one"
    rows = [line for line in lines if line]
    moment = r"  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  sig1\+sig2  http://\S+ +conditional"
    assert len([row for row in rows if re.fullmatch(moment, row)]) == 3
    (refused,) = (row for row in rows if row.startswith("  not asked  "))
    assert f"{server.url('/private')}  robots: refused by {server.url('/robots.txt')}" in refused
    assert said == "3 would be asked, 1 not; nothing was sent"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://elsewhere.example/", "no: no configured origin has the host"),
        ("https://user@one.example/", "no: it cannot be sent"),
    ],
)
def test_a_url_of_nobody_is_refused_in_one_line(
    url: str, said: str, tmp_path: Path, server: CapturingServer
) -> None:
    ended = operator(tmp_path, server).crawl("explain", url)

    assert ended.code == 0
    assert len(ended.answer.splitlines()) == 1
    assert said in ended.answer


def test_programs_read_of_a_url_what_people_do(tmp_path: Path, server: CapturingServer) -> None:
    them = operator(tmp_path, server)
    them.crawl("--once")

    told = {
        path: json.loads(them.crawl("explain", server.url(path), "--format", "json").answer)
        for path in ("/a", "/private")
    }
    people = them.crawl("explain", server.url("/private")).answer

    assert [one["url"] for one in told.values()] == [server.url(path) for path in told]
    assert told["/private"]["obstacles"] == ["robots.txt refuses it"]
    words = told["/private"]["words"]
    assert [*words] == ["origin", "robots", "pace", "page", "signatures"]
    assert people.splitlines()[1:] == [f"{who}: {said}" for who, said in words.items()]


def test_an_unknown_origin_is_a_usage_error(tmp_path: Path, server: CapturingServer) -> None:
    ended = operator(tmp_path, server).crawl(*DRY, "--origin", "on")

    assert (ended.code, ended.answer) == (2, "")
    assert "did you mean one?" in ended.said


def test_a_site_that_is_closed_to_us_is_said_to_be_so_after_a_crawl_too(tmp_path: Path) -> None:
    def closed(request: Captured) -> Answer:
        assert request.target == "/robots.txt"
        return respond(200, TEXT, body=b"User-agent: *\nDisallow: /\n")

    with capturing(closed) as server:
        them = operator(tmp_path, server)
        them.crawl("--once")

        found = planned(them)

    assert paths(server, found) == dict.fromkeys(PAGES, Why.ROBOTS)
    assert all("line 2 `Disallow: /`" in str(one["detail"]) for one in found)


def test_an_address_that_will_be_refused_is_said_before_it_is(
    tmp_path: Path, server: CapturingServer
) -> None:
    them = operator(tmp_path, server, allow_private=False)

    (found,) = planned(them)
    explained = them.crawl("explain", server.url("/a")).answer

    remedy = "127.0.0.1 is loopback; allow_private = true admits it"
    assert (found["at"], found["why"], found["detail"]) == (None, None, remedy)
    assert f"{server.url('/a')}: no: its address is not asked" in explained
    assert f"address: {remedy}" in explained
    assert "--all" not in explained
    assert server.requests == []
