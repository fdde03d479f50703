"""Looking ahead, for people: what would be asked and why not, and nothing is sent or changed."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from capture import Answer, Captured, CapturingServer, capturing, respond
from crawling import Operator
from scripted import page, robots

CLOCK = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC"


def town(request: Captured) -> Answer:
    """A home page that leads to one page that may be read and to one that may not."""
    match request.target:
        case "/robots.txt":
            return robots("Disallow: /private/")
        case "/":
            return page("/square", "/private/ledger", ETag='"1"')
        case "/square":
            return page("/")
        case _:
            return respond(404)


def operator(folder: Path, server: CapturingServer, **settings: object) -> Operator:
    return Operator(
        folder=folder,
        politeness={"min_delay": 0.05, "delay_factor": 0.0, "min_interval": "1h"},
        origins={"town": {"url": server.url(), "follow": "links", **settings}},
    )


def contents(folder: Path) -> Mapping[str, tuple[bytes, int, int]]:
    """Every file below a folder, byte for byte, with its mode and when it was written."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns,
        )
        for path in folder.rglob("*")
        if path.is_file()
    }  # fmt: skip


def targets(server: CapturingServer) -> list[str]:
    return [request.target for request in server.requests]


def test_what_would_be_asked_is_said_with_moment_and_labels_and_what_not_with_its_reason(
    tmp_path: Path,
) -> None:
    with capturing(town) as server:
        somebody = operator(tmp_path, server)
        first = somebody.crawl("--once", "--dry-run")
        assert not server.requests
        assert not somebody.state.exists()

        somebody.crawl("--once")
        before, asked = contents(somebody.state), targets(server)
        second = somebody.crawl("--once", "--dry-run", "--all")
        fresh = somebody.crawl("--once", "--dry-run")

    assert targets(server) == asked == ["/robots.txt", "/", "/square"]
    assert contents(somebody.state) == before
    assert [ended.code for ended in (first, second, fresh)] == [0, 0, 0]
    assert re.search(rf"{CLOCK} +sig1\+sig2 +{server.url('/robots.txt')} +not known", first.answer)
    assert "2 would be asked, 0 not; nothing was sent" in first.answer
    assert re.search(rf"{CLOCK} +sig1\+sig2 +{server.url('/')} +conditional\n", second.answer)
    assert re.search(rf"{CLOCK} +sig1\+sig2 +{server.url('/square')}\n", second.answer)
    (refusal,) = [line for line in second.answer.splitlines() if "/private/ledger" in line]
    assert "not asked" in refusal
    for word in ("robots: ", server.url("/robots.txt"), "line 2", "Disallow: /private/", "*"):
        assert word in refusal
    assert "no page is due, not before" in fresh.answer


def test_a_url_is_explained_by_everybody_who_has_a_say(tmp_path: Path) -> None:
    with capturing(town) as server:
        somebody = operator(tmp_path, server)
        somebody.crawl("--once")
        before = contents(somebody.state)
        told = {
            target: somebody.crawl("explain", server.url(target))
            for target in ("/", "/private/ledger", "/nowhere")
        }
        stranger = somebody.crawl("explain", "https://elsewhere.example/")

    assert {ended.code for ended in (*told.values(), stranger)} == {0}
    assert len(server.requests) == 3
    assert contents(somebody.state) == before
    home, ledger = told["/"].answer, told["/private/ledger"].answer
    assert home.startswith(f"{server.url('/')}: no: fresh until 20")
    assert f"origin: town, {server.url('/')}" in home
    assert re.search(rf"robots: .*{server.url('/robots.txt')}", home)
    assert "pace: " in home
    assert re.search(r"page: asked 20.*, answered 200; fresh until 20", home)
    assert ledger.startswith(f"{server.url('/private/ledger')}: no: robots.txt refuses it\n")
    for word in (
        "line 2",
        "Disallow: /private/",
        "User-agent: *",
        "page: not asked; looked at again 20",
    ):
        assert word in ledger
    assert "no start list and no link names it" in told["/nowhere"].answer
    assert "no configured origin has the host elsewhere.example" in stranger.answer


def test_after_a_crash_it_knows_what_the_log_knows(tmp_path: Path) -> None:
    with capturing(town) as server:
        somebody = operator(
            tmp_path, server, start=["/?1", "/?2", "/?3", "/?4"], follow="nothing", min_delay=1.0
        )
        running = somebody.start("--once")
        running.until(lambda: log(somebody).count('"event":"fetch"') == 3)
        running.process.kill()  # it waits for its turn; the log alone has what it learned last
        running.process.communicate()
        before = contents(somebody.state)

        found = somebody.crawl("--once", "--dry-run", "--format", "json")
        known = len(server.requests)
        after = contents(somebody.state)
        somebody.crawl("--once")

    index = "state.db-shm"  # which SQLite makes anew whenever it opens a database
    assert {**after, index: None} == {**before, index: None}
    planned = json.loads(found.answer)["planned"]
    foretold = [one["url"] for one in planned if one["at"] is not None]
    assert foretold == [server.url(target) for target in targets(server)[known:]]
    assert known == 3


def log(somebody: Operator) -> str:
    return "".join(path.read_text() for path in somebody.state.glob("log/*.jsonl"))
