"""What a person, a disk and a clock get wrong: each is said with its place, and loses nothing."""

import base64
import json
import os
import resource
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from capture import Answer, Captured, CapturingServer, capturing, respond
from crawling import Ended, Operator, Running
from scripted import moved, page, robots

from crawler import configuration, run
from crawler.events import (
    ClockSetBack,
    Event,
    FetchRecord,
    Interrupted,
    Outcome,
    RunFinished,
    Skipped,
    StateRebuilt,
    Why,
)
from crawler.fetch import logbook
from crawler.fetch.logbook import Unreadable

BOT: Final = """\
[bot]
product = "ExampleBot"
home = "https://bot.example"
contact = "mailto:bot@bot.example"
"""
ONE: Final = '[[origin]]\nname = "one"\nurl = "https://one.example/"\n'
PASSWORD: Final = "hunter2"
PRINTED: Final = {  # the Ed25519 key of RFC 9421, appendix B.1.4
    "kty": "OKP",
    "crv": "Ed25519",
    "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
    "d": "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
}
PAGES: Final = 40
FAKETIME: Final = shutil.which("faketime")


def harbour(request: Captured) -> Answer:
    """Pages that lead to each other, one after the other."""
    if request.target == "/robots.txt":
        return robots()
    number = int(request.target.removeprefix("/") or 0)
    return respond(404) if number >= PAGES else page(f"/{number + 1}", f"/{number + 2}")


def operator(folder: Path, server: CapturingServer, **settings: object) -> Operator:
    known = {"start": ["/0"], "pages": 1000, "depth": 100, **settings}
    return Operator(
        folder=folder,
        politeness={"min_delay": 0.02, "delay_factor": 0.0, "min_interval": "1h"},
        origins={"one": {"url": server.url(), **known}},
    )


@pytest.fixture
def site() -> Iterator[CapturingServer]:
    with capturing(harbour) as server:
        yield server


def complaint(ended: Ended) -> tuple[str, str]:
    """The error and the hint that came with exit code 1 and nothing on stdout."""
    assert (ended.code, ended.answer) == (1, ""), ended.said
    problem, *hint = ended.said.splitlines()
    assert problem.startswith("crawl: error: ")
    assert all(line.startswith("crawl: hint: ") for line in hint)
    return problem.removeprefix("crawl: error: "), "".join(hint).removeprefix("crawl: hint: ")


def targets(server: CapturingServer) -> list[str]:
    return [request.target for request in server.requests]


def lines(somebody: Operator) -> list[Event | Unreadable]:
    return list(logbook.read(sorted(somebody.state.glob("log/*.jsonl"))))


# the configuration


@pytest.mark.parametrize(
    ("main", "origins", "place", "words"),
    [
        pytest.param(BOT.replace("home", "hme"), ONE, "crawler.toml: bot.hme", "'home'", id="typo"),
        pytest.param(
            BOT + '[politeness]\nmin_delay = "5"\n', ONE, "crawler.toml: politeness.min_delay",
            "min_delay = 5.0", id="text for a number",
        ),
        pytest.param(
            BOT + "[politeness]\nmin_delay = -1\n", ONE, "crawler.toml: politeness.min_delay",
            ">= 0", id="negative delay",
        ),
        pytest.param(
            BOT.replace("https:", "http:"), ONE, "crawler.toml: bot.home", "https", id="http home"
        ),
        pytest.param(
            BOT, ONE + ONE, "origins.toml: origin[1].name", "origin[0]", id="duplicate name"
        ),
        pytest.param(
            BOT, ONE + ONE.replace('"one"', '"two"'), "origins.toml: origin[1].url", "origin[0]",
            id="duplicate url",
        ),
        pytest.param(
            BOT, ONE.replace("https://", f"https://me:{PASSWORD}@"), "origins.toml: origin[0].url",
            "'https://…@one.example/'", id="password",
        ),
        pytest.param(
            BOT, ONE.replace("one.example", "a_ü.example"), "origins.toml: origin[0].url", "xn--",
            id="a name that cannot be encoded",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_and_its_cure(
    tmp_path: Path, main: str, origins: str, place: str, words: str
) -> None:
    somebody = Operator(folder=tmp_path)
    (tmp_path / "crawler.toml").write_text(main, encoding="utf-8")
    (tmp_path / "origins.toml").write_text(origins, encoding="utf-8")

    problem, hint = complaint(somebody.crawl("check"))

    assert problem.startswith(place)
    assert words in f"{problem} {hint}"
    assert PASSWORD not in problem + hint


def test_a_mistake_ends_a_refresh_before_it_has_begun(
    tmp_path: Path, site: CapturingServer
) -> None:
    somebody = operator(tmp_path, site, min_dely=1)

    problem, hint = complaint(somebody.crawl("--once"))

    assert problem == "origins.toml: origin[0].min_dely (one): unknown setting 'min_dely'"
    assert hint == "did you mean 'min_delay'?"
    assert not site.requests
    assert not somebody.state.exists()


def test_what_is_not_ascii_is_asked_for_as_urls_are_sent(tmp_path: Path) -> None:
    def city(request: Captured) -> Answer:
        return robots() if request.target == "/robots.txt" else page("/šíp?ž=%2F")

    with capturing(city) as server:
        somebody = operator(tmp_path, server, url="", start=["/straße?q=ü"], follow="links")
        url = f"http://bücher.localhost:{server.port}/"
        somebody.configure({"one": {**somebody.origins["one"], "url": url}})
        ended = somebody.crawl("--once")

    assert (ended.code, ended.said) == (0, "")
    assert targets(server) == ["/robots.txt", "/stra%C3%9Fe?q=%C3%BC", "/%C5%A1%C3%ADp?%C5%BE=%2F"]
    assert {request.field("Host") for request in server.requests} == {
        f"xn--bcher-kva.localhost:{server.port}"
    }


def test_a_password_that_a_site_puts_into_its_urls_is_not_sent_and_not_shown(
    tmp_path: Path,
) -> None:
    def careless(request: Captured) -> Answer:
        secret = f"http://me:{PASSWORD}@{request.field('Host')}/in"
        match request.target:
            case "/robots.txt":
                return robots()
            case "/moved":
                return moved(secret)
            case _:
                return page(secret, "/moved")

    with capturing(careless) as server:
        somebody = operator(tmp_path, server, follow="links")
        ended = somebody.crawl("--once")
        said = somebody.crawl("explain", f"http://me:{PASSWORD}@127.0.0.1:{server.port}/in")

    assert targets(server) == ["/robots.txt", "/0", "/moved"]
    assert [event.why for event in somebody.logged(Skipped)] == [Why.UNSENDABLE]
    assert "user info" in said.answer
    for text in (ended.answer, ended.said, said.answer, said.said, somebody.log.read_text()):
        assert PASSWORD not in text


# keys


def test_without_an_ed25519_key_nothing_leaves(tmp_path: Path, site: CapturingServer) -> None:
    somebody = operator(tmp_path, site)
    for path in somebody.keys.glob("ed25519-*"):
        path.unlink()

    for arguments in ("check",), ("--once",):
        assert complaint(somebody.crawl(*arguments)) == (
            f"{somebody.keys}: no ed25519 key signs",
            "`crawl keys new` makes one",
        )
    assert not site.requests
    assert not somebody.state.exists()


@pytest.mark.parametrize("mode", [0o644, 0o620])
def test_an_ed25519_key_that_others_can_use_is_no_key(
    tmp_path: Path, site: CapturingServer, mode: int
) -> None:
    somebody = operator(tmp_path, site)
    (path,) = somebody.keys.glob("ed25519-*")
    path.chmod(mode)

    assert complaint(somebody.crawl("--once")) == (
        f"{path}: others may use it (mode {mode:03o})",
        f"chmod 600 {path}",
    )
    assert not site.requests


def test_a_key_that_an_rfc_has_printed_signs_nothing(tmp_path: Path, site: CapturingServer) -> None:
    somebody = operator(tmp_path, site)
    for path in somebody.keys.glob("ed25519-*"):
        path.unlink()
    printed = somebody.keys / "ed25519-poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U.jwk"
    printed.write_text(json.dumps(PRINTED))
    printed.chmod(0o600)

    problem, hint = complaint(somebody.crawl("--once"))

    assert problem == f"{printed}: everybody has this key: an RFC or a draft has printed it"
    assert hint == "`crawl keys new` makes one"
    assert not site.requests


def test_an_ml_dsa_key_that_others_can_read_costs_sig2_and_one_warning(
    tmp_path: Path, site: CapturingServer
) -> None:
    somebody = operator(tmp_path, site)
    (path,) = somebody.keys.glob("ml-dsa-44-*")
    path.chmod(0o644)

    ended = somebody.crawl("--once")

    assert ended.code == 0
    (warning,) = ended.said.splitlines()
    assert f"sig2 is left out: {path}: others may use it (mode 644); chmod 600 {path}" in warning
    assert {record.labels for record in somebody.records()} == {("sig1",)}


def test_no_secret_is_kept_or_shown(tmp_path: Path) -> None:
    cookie = "session=4f9c51e07ab3d2"

    def echo(request: Captured) -> Answer:
        """A site that tells everybody what it was sent."""
        match request.target:
            case "/robots.txt":
                return robots()
            case "/0":
                return page("/1")
            case _:
                return respond(403, ("X-Echo", request.fields[-1][1][:500]), body=request.head)

    with capturing(echo) as server:
        somebody = operator(tmp_path, server, cookie=cookie, start=["/0", "/1", "/2"])
        spoken = [
            somebody.crawl(*arguments)
            for arguments in (
                ("--once",), ("--once", "--all"), ("--once", "--dry-run"), ("report",),
                ("keys", "list"),
            )
        ]  # fmt: skip

    assert [request.field("Cookie") for request in server.requests].count(cookie) > 3
    kept = [path.read_bytes() for path in somebody.state.rglob("*") if path.is_file()]
    assert len(kept) >= 5  # lock, database, log, robots.txt, page
    everything = b"\n".join([*kept, *(f"{one.answer}{one.said}".encode() for one in spoken)])
    assert b"sig1" in everything  # it was looked for in the right place
    for secret in (cookie.encode(), cookie.partition("=")[2].encode(), *seeds(somebody)):
        assert secret not in everything


def seeds(somebody: Operator) -> Iterator[bytes]:
    """Each private key as it stands in its file, and in other words for the same bytes."""
    for path in somebody.keys.glob("*.jwk"):
        jwk = json.loads(path.read_text())
        written = jwk["d"] if jwk["kty"] == "OKP" else jwk["priv"]
        seed = base64.urlsafe_b64decode(written + "==")
        assert len(seed) == 32
        yield from (written.encode(), seed, seed.hex().encode(), base64.b64encode(seed))


# the state directory


def test_a_file_in_the_place_of_the_state_directory_is_said(
    tmp_path: Path, site: CapturingServer
) -> None:
    somebody = operator(tmp_path, site)
    somebody.state.write_text("mine")

    problem, hint = complaint(somebody.crawl("--once"))

    assert problem.startswith(f"{somebody.state}")
    assert hint == f"make {somebody.state} a directory that this user may write to"
    assert not site.requests
    assert somebody.state.read_text() == "mine"


@pytest.mark.parametrize("closed", ["state", "state/log"])
def test_a_state_directory_that_cannot_be_written_is_said_before_anything_leaves(
    tmp_path: Path, site: CapturingServer, closed: str
) -> None:
    somebody = operator(tmp_path, site, start=["/0", "/1"])
    somebody.crawl("--once")
    before = len(site.requests)
    (somebody.log if closed.endswith("log") else tmp_path / closed).chmod(0o400)
    (tmp_path / closed).chmod(0o500)

    problem, hint = complaint(somebody.crawl("--once", "--all", prefix=NOT_ALMIGHTY))

    assert problem.startswith(str(tmp_path / closed))
    assert hint
    assert len(site.requests) == before
    for path in (tmp_path / closed, somebody.log):
        path.chmod(0o700)
    assert somebody.crawl("--once", "--all").code == 0
    assert targets(site)[before:] == ["/0", "/1"]


NOT_ALMIGHTY: Final[Sequence[str]] = (
    ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
)
"""For root, too, a mode is a mode."""


class Disk:
    """A state directory with little room: a file system of its own, where one can be mounted.

    Elsewhere no file of the crawl may grow, which it is told of in the same way.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        options = ("-t", "tmpfs", "-o", "size=4m,mode=700", "callingcard-test")
        self.real = os.geteuid() == 0 and not subprocess.run(
            ["mount", *options, folder], stderr=subprocess.DEVNULL, check=False
        ).returncode  # fmt: skip

    @property
    def full(self) -> Sequence[str]:
        """What starts a command that finds no room."""
        if not self.real:
            return ("prlimit", "--fsize=0")
        self.fill()
        return ()

    def fill(self, crawl: Running | None = None) -> None:
        """Leave no room for anything, for a crawl that is at work."""
        if not self.real:
            assert crawl is not None
            resource.prlimit(crawl.process.pid, resource.RLIMIT_FSIZE, (0, 0))
            return
        with (self.folder / "ballast").open("ab", buffering=0) as ballast:
            for size in (65_536, 1):
                try:
                    while True:
                        ballast.write(b"\0" * size)
                except OSError:
                    continue

    def clear(self) -> None:
        (self.folder / "ballast").unlink(missing_ok=True)


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    small = Disk(folder)
    try:
        yield small
    finally:
        if small.real:
            subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_said_before_anything_leaves(tmp_path: Path, site: CapturingServer) -> None:
    somebody = operator(tmp_path, site, start=["/0", "/1"])
    with disk(somebody.state) as small:
        problem, hint = complaint(somebody.crawl("--once", prefix=small.full))

        assert problem.startswith(str(somebody.state))
        assert "room" in hint
        assert not site.requests
        small.clear()
        assert somebody.crawl("--once").code == 0
        assert targets(site) == ["/robots.txt", "/0", "/1"]


@pytest.mark.parametrize("after", [1, 9])
def test_a_disk_that_fills_up_ends_the_run_and_the_next_one_loses_nothing(
    tmp_path: Path, after: int
) -> None:
    def filling(request: Captured) -> Answer:
        if len(server.requests) == after and running is not None:
            small.fill(running)
        return harbour(request)

    running: Running | None = None
    with capturing(filling) as server, disk(tmp_path / "state") as small:
        somebody = operator(tmp_path, server, follow="links")
        running = somebody.start("--once")
        problem, hint = complaint(running.end())
        left, running = len(server.requests), None

        assert after <= left < PAGES  # what has been promised still leaves, and nothing else
        assert problem.startswith(str(somebody.state))
        assert "room" in hint
        small.clear()
        assert somebody.crawl("--once").code == 0
        check_nothing_lost(somebody, server)


def check_nothing_lost(somebody: Operator, server: CapturingServer) -> None:
    """Each page was had once, and each request that arrived stands in the log once."""
    log = lines(somebody)
    records = [line for line in log if isinstance(line, FetchRecord)]
    lost = [line for line in log if isinstance(line, Interrupted)]
    had = Counter(
        record.url
        for record in records
        if record.status == 200 and record.outcome is Outcome.ANSWERED
    )
    wanted = ["/robots.txt", *(f"/{number}" for number in range(PAGES))]
    assert had == {server.url(target): 1 for target in wanted}
    arrived = Counter(server.url(target) for target in targets(server))
    assert arrived == Counter([*(one.url for one in records), *(one.url for one in lost)])
    assert isinstance(log[-1], RunFinished)


# the database and the log


@pytest.mark.parametrize("damage", ["garbage", "cut off", "missing"])
def test_a_damaged_database_is_kept_aside_said_and_rebuilt_from_the_log(
    tmp_path: Path, damage: str
) -> None:
    def closed(request: Captured) -> Answer:
        return respond(404 if request.target == "/robots.txt" else 403)

    with capturing(harbour) as server, capturing(closed, "127.0.0.2") as frozen:
        somebody = operator(tmp_path, server, start=["/0", "/1"])
        two = {"url": frozen.url(), "start": ["/a", "/b", "/c", "/d"], "sig2": "never"}
        somebody.configure({**somebody.origins, "two": two})
        assert somebody.crawl("--once", "--quiet").code == 3  # the second one froze us
        before = len(server.requests), len(frozen.requests)
        spoil(somebody.state / "state.db", damage)

        ended = somebody.crawl("--once")
        again = somebody.crawl("--once", "--quiet")

    (event,) = somebody.logged(StateRebuilt)
    assert ended.code == 3
    assert "the database was rebuilt from the log" in ended.said
    assert f"crawl: attention: the database was rebuilt: {event.problem}\n" in ended.said
    kept = {path.name for path in somebody.state.glob("state.db.damaged-*")}
    assert kept - {f"{event.kept}-wal", f"{event.kept}-shm"} == {event.kept} - {""}
    assert (len(server.requests), len(frozen.requests)) == before  # all is fresh, or frozen
    assert again == Ended(code=0, answer="", said="")


def spoil(path: Path, damage: str) -> None:
    sound = path.read_bytes()
    match damage:
        case "garbage":
            path.write_bytes(b"this is no database" * 100)
        case "cut off":
            path.write_bytes(sound[: len(sound) // 2])
        case _:
            path.unlink()


def test_a_torn_last_line_costs_itself_alone(tmp_path: Path, site: CapturingServer) -> None:
    somebody = operator(tmp_path, site, start=["/0", "/1"])
    somebody.crawl("--once")
    whole = somebody.log.read_bytes()
    *others, last = whole.splitlines(keepends=True)
    somebody.log.write_bytes(whole[: -len(last) // 2])

    ended = somebody.crawl("--once", "--all")
    report = somebody.crawl("report")

    assert ended.code == 0
    assert targets(site) == ["/robots.txt", "/0", "/1", "/0", "/1"]
    (torn,) = [line for line in lines(somebody) if isinstance(line, Unreadable)]
    assert torn.number == len(others) + 1
    assert f"{somebody.log}:{torn.number}: cut off, or no JSON" in report.answer
    assert "5 requests to 1 origin in 2 runs" in report.answer


def test_an_event_of_a_later_version_is_counted_and_named_and_disturbs_nothing(
    tmp_path: Path, site: CapturingServer
) -> None:
    somebody = operator(tmp_path, site, start=["/0", "/1"])
    somebody.crawl("--once")
    with somebody.log.open("ab") as log:
        log.write(b'{"event":"verdict-of-2031","at":1.0,"origin":"one"}\n')
    number = somebody.log.read_bytes().count(b"\n")

    ended = somebody.crawl("--once", "--all")
    text, found = (somebody.crawl("report", "--format", form).answer for form in ("text", "json"))

    assert ended.code == 0
    assert len(site.requests) == 5
    assert f"{somebody.log}:{number}: unknown event 'verdict-of-2031'" in text
    unread = json.loads(found)["unreadable"]
    assert (unread["count"], unread["flaws"]) == (1, {"unknown": 1})
    assert unread["lines"][0]["line"] == number


# the clock

HOUR: Final = 3600.0
DELAY: Final = 0.2  # seconds


def unhurried(folder: Path, server: CapturingServer) -> Operator:
    return operator(folder, server, start=["/0", "/1"], min_delay=DELAY)


def check_clock(somebody: Operator, server: CapturingServer) -> None:
    """It was said once, in three runs nothing was asked early, and time went on."""
    (event,) = somebody.logged(ClockSetBack)
    assert event.seconds == pytest.approx(HOUR, abs=60.0)
    moments = [one.at for one in somebody.records()]
    assert moments == sorted(moments)
    asked = targets(server)
    assert asked == ["/robots.txt", "/0", "/1", "/0", "/1"]  # the second run found all fresh
    for earlier, request in pairwise(server.requests):
        assert request.at - earlier.at >= DELAY


async def test_a_clock_that_was_set_back_between_runs_breaks_no_promise(
    tmp_path: Path, site: CapturingServer
) -> None:
    somebody = unhurried(tmp_path, site)
    settings = configuration.load(tmp_path / "crawler.toml")
    warnings: list[str] = []
    began = time.monotonic()

    await run.once(settings, wall=lambda: time.time() + HOUR)
    await run.once(settings, warn=warnings.append)
    await run.once(settings, everything=True, wall=lambda: time.time() + HOUR)

    assert time.monotonic() - began < 30.0
    (warning,) = warnings
    assert "the clock stands 36" in warning
    check_clock(somebody, site)


@pytest.mark.skipif(FAKETIME is None, reason="no faketime: apt-get install faketime")
def test_a_real_clock_that_was_set_back_breaks_no_promise(
    tmp_path: Path, site: CapturingServer
) -> None:
    somebody = unhurried(tmp_path, site)
    ahead = ("faketime", "-f", "+1h")

    first = somebody.crawl("--once", prefix=ahead)
    second = somebody.crawl("--once")
    third = somebody.crawl("--once", "--all", prefix=ahead)

    assert [ended.code for ended in (first, second, third)] == [0, 0, 0]
    assert (first.said, third.said) == ("", "")
    (warning,) = second.warnings("the clock stands")
    assert second.said.splitlines() == [warning]
    check_clock(somebody, site)
