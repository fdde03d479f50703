"""The command line as a person and cron meet it."""

import json
import os
import re
import shutil
import socket
import stat
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
from capture import Answer, Captured, CapturingServer, capturing, respond
from crawling import CRAWL, Ended, Operator
from scripted import page, robots
from terminal import COLOUR, HIDDEN, SHOWN, terminal

from crawler import shipped

DESIGNED: Final = (
    "name", "requests", "ok", "not_modified", "refused", "failed", "dual", "single",
    "header_bytes", "sign_cpu_ms", "verdict",
)  # fmt: skip
"""What programs rely on in each origin of a report."""


def harbour(request: Captured) -> Answer:
    """A home page that leads to another page and to one that robots.txt refuses."""
    match request.target:
        case "/robots.txt":
            return robots("Disallow: /private/")
        case "/":
            return page("/quay", "/private/ledger")
        case "/quay":
            return page("/")
        case _:
            return respond(404)


def closed(request: Captured) -> Answer:
    """A site that refuses whatever it is asked for."""
    return respond(404 if request.target == "/robots.txt" else 403)


@pytest.fixture
def site() -> Iterator[CapturingServer]:
    with capturing(harbour) as server:
        yield server


def operator(folder: Path, *sites: CapturingServer, **settings: object) -> Operator:
    """Somebody who refreshes these sites, called one, two and so on."""
    names = ("one", "two", "three")
    asked = {"follow": "links", "min_delay": 0.02, "delay_factor": 0.0, **settings}
    return Operator(
        folder=folder,
        origins={
            name: {"url": server.url(), **asked} for name, server in zip(names, sites, strict=False)
        },
    )


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Operator, Ended]]:
    """Somebody who has refreshed two sites, and what the command said at the end."""
    with capturing(harbour) as first, capturing(harbour, "127.0.0.2") as second:
        somebody = operator(tmp_path_factory.mktemp("refreshed"), first, second)
        yield somebody, somebody.crawl("--once")


def elsewhere(folder: Path, *arguments: str, **env: str) -> Ended:
    """The command in a folder where nobody has been yet."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [CRAWL, *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200", "XDG_CONFIG_HOME": str(folder / "xdg"), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return Ended(code=done.returncode, answer=done.stdout, said=done.stderr)


def complaint(ended: Ended) -> tuple[int, str, list[str]]:
    """The exit code, stdout, and what stderr says without its prefixes: the error and the hint."""
    lines = ended.said.splitlines()
    assert lines[0].startswith("crawl: error: ")
    assert all(line.startswith("crawl: hint: ") for line in lines[1:])
    return ended.code, ended.answer, [line.split(": ", 2)[2] for line in lines]


# init, check


def test_init_writes_the_shipped_files_and_keys_that_only_the_owner_reads(tmp_path: Path) -> None:
    ended = elsewhere(tmp_path, "init")

    assert (ended.code, ended.said) == (0, "")
    for name in shipped.CONFIG:
        assert (tmp_path / name).read_text(encoding="utf-8") == shipped.text(name)
    kept = sorted((tmp_path / "keys").iterdir())
    assert [path.name[:8] for path in kept] == ["ed25519-", "ml-dsa-4"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    for published in (
        "/.well-known/http-message-signatures-directory",
        "/.well-known/bot-pq-jwks.json",
        "/.well-known/signature-agent-card",
        "/bot",
    ):
        assert published in ended.answer


def test_what_init_wrote_passes_check_in_one_line(tmp_path: Path) -> None:
    made = elsewhere(tmp_path, "init", "desk")

    ended = elsewhere(tmp_path, "check", "--config", "desk/crawler.toml")

    assert "crawl check --config desk/crawler.toml" in made.answer
    assert ended.code == 0
    (line,) = ended.answer.splitlines()
    assert line.startswith("fine: ExampleBot, 2 origins, signing with ")


def test_the_example_is_noted_by_check_and_asks_nobody_until_it_is_ones_own(
    tmp_path: Path,
) -> None:
    elsewhere(tmp_path, "init")

    checked = elsewhere(tmp_path, "check")
    code, answer, (problem, hint) = complaint(elsewhere(tmp_path, "--once"))
    foretold = elsewhere(tmp_path, "--once", "--dry-run")

    notes = checked.said.splitlines()
    assert [note.split(" = ")[0] for note in notes] == [
        f"crawl: note: crawler.toml: bot.{name}" for name in ("home", "contact", "product")
    ]
    assert all(note.endswith("--once asks nobody until it is yours") for note in notes)
    assert (code, answer) == (1, "")
    assert problem.startswith('crawler.toml: bot.home = "https://bot.example" is the example')
    assert hint == "say in [bot] who you are; crawl check lists what is left to say"
    assert (foretold.code, foretold.said) == (0, "")
    assert not (tmp_path / "state").exists()


def test_check_calls_for_attention_where_an_address_will_never_be_asked(
    tmp_path: Path, site: CapturingServer
) -> None:
    ended = operator(tmp_path, site, allow_private=False).crawl("check")

    assert ended.code == 3
    assert ended.said == (
        "crawl: attention: one: not asked (127.0.0.1 is loopback; allow_private = true admits it)\n"
    )
    assert ended.answer.startswith("readable: ExampleBot, 1 origin, signing with ")


@pytest.mark.parametrize("there", shipped.CONFIG)
def test_init_writes_over_nothing(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("mine\n")

    code, answer, (problem, hint) = complaint(elsewhere(tmp_path, "init"))

    assert (code, hint) == (1, "edit it, or name another folder")
    assert problem == f"{there}: is there already"
    assert (tmp_path / there).read_text() == "mine\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [there]
    assert answer == ""


def test_without_a_file_anywhere_check_says_what_writes_one(tmp_path: Path) -> None:
    code, _, (problem, hint) = complaint(elsewhere(tmp_path, "check"))

    assert (code, problem) == (1, "crawler.toml: there is no such file")
    assert "crawl init" in hint


def test_the_configuration_below_the_home_folder_is_taken_where_there_is_none_here(
    tmp_path: Path,
) -> None:
    elsewhere(tmp_path, "init", "xdg/callingcard")

    assert elsewhere(tmp_path, "check").code == 0


def seeds(somebody: Operator) -> list[str]:
    """The private member of each key file."""
    files = sorted(somebody.keys.glob("*.jwk"))
    known = [json.loads(path.read_text()) for path in files]
    return [jwk["d"] if jwk["kty"] == "OKP" else jwk["priv"] for jwk in known]


# serve


async def test_serve_publishes_the_keys_and_the_page_until_it_is_asked_to_end(
    tmp_path: Path, site: CapturingServer
) -> None:
    somebody = operator(tmp_path, site)
    serving = somebody.start("serve", "--port", "0")
    assert serving.process.stdout is not None
    line = serving.process.stdout.readline()
    home = re.fullmatch(r"publishing at (http://127\.0\.0\.1:\d+)/bot\n", line)
    assert home is not None, line

    async with aiohttp.ClientSession(home[1]) as session:
        documents = {
            path: await (await session.get(path)).read()
            for path in (
                "/",
                "/.well-known/http-message-signatures-directory",
                "/.well-known/bot-pq-jwks.json",
                "/.well-known/signature-agent-card",
                "/bot",
            )
        }
    ended = serving.stop()

    directory = json.loads(documents["/.well-known/http-message-signatures-directory"])
    assert json.loads(documents["/"]) == directory
    assert [(key["kty"], key["kid"]) for key in directory["keys"]] == [
        ("OKP", somebody.key("ed25519").keyid)
    ]
    second = json.loads(documents["/.well-known/bot-pq-jwks.json"])
    assert [(key["kty"], key["kid"]) for key in second["keys"]] == [
        ("AKP", somebody.key("ml-dsa-44").keyid)
    ]
    assert b"ExampleBot" in documents["/bot"]
    for secret in seeds(somebody):
        assert secret.encode() not in b"".join(documents.values())
    assert (ended.code, ended.said) == (0, "")


def test_serve_writes_nothing_that_a_visitor_sent_to_its_log(
    tmp_path: Path, site: CapturingServer
) -> None:
    serving = operator(tmp_path, site).start("serve", "--port", "0")
    assert serving.process.stdout is not None
    port = int(serving.process.stdout.readline().rpartition(":")[2].partition("/")[0])
    with socket.create_connection(("127.0.0.1", port)) as wire:
        wire.sendall(b"GET /bot HTTP/1.1\r\nHost: a\r\nCookie: session=4711\x01\r\n\r\n")
        answer = wire.recv(65536)
    ended = serving.stop()

    assert b" 400 " in answer.partition(b"\r\n")[0]
    assert re.fullmatch(r"crawl: serving: BadHttpMessage at \S+\n", ended.said)


def test_publish_writes_the_same_as_files_for_a_web_server(
    tmp_path: Path, site: CapturingServer
) -> None:
    somebody = operator(tmp_path, site)
    ended = somebody.crawl("publish", "public", "--authority", "keys.example", "--lifetime", "7d")

    files = {
        path.name: path.read_text() for path in (tmp_path / "public").rglob("*.*") if path.is_file()
    }
    assert ended.code == 0
    assert "signatures expire" in ended.answer
    assert "crawl: note: our requests lead to bot.home" in ended.said
    assert "ExampleBot" in files["bot.html"]
    assert "add_header Signature-Input" in files["nginx-snippet.conf"]
    for secret in seeds(somebody):
        assert secret not in "".join(files.values())


def test_publish_over_somebody_elses_page_says_what_to_try(
    tmp_path: Path, site: CapturingServer
) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "index.html").write_text("hello")
    ended = operator(tmp_path, site).crawl("publish", "public")

    code, answer, (problem, hint) = complaint(ended)
    assert (code, answer) == (1, "")
    assert "public/index.html: is there already" in problem
    assert "a folder of its own" in hint


def test_serve_at_a_port_that_is_taken_says_what_to_try(
    tmp_path: Path, site: CapturingServer
) -> None:
    ended = operator(tmp_path, site).crawl("serve", "--port", str(site.port))

    code, answer, (problem, hint) = complaint(ended)
    assert (code, answer) == (1, "")
    assert f"port {site.port}" in problem
    assert "--port" in hint


# --once and its report


def test_a_refresh_prints_its_report_and_nothing_else(refreshed: tuple[Operator, Ended]) -> None:
    _, ended = refreshed

    assert (ended.code, ended.said) == (0, "")
    assert "6 requests to 2 origins in 1 run" in ended.answer
    assert "one: URLs not asked: robots 1" in ended.answer
    assert "\x1b" not in ended.answer


def test_a_refresh_in_json_is_the_report_of_that_run(tmp_path: Path, site: CapturingServer) -> None:
    somebody = operator(tmp_path, site)
    somebody.crawl("--once")

    ended = somebody.crawl("--once", "--all", "--format", "json")

    assert (ended.code, ended.said) == (0, "")
    found = json.loads(ended.answer)
    assert (found["totals"]["requests"], found["totals"]["runs"]) == (2, 1)


def test_the_report_in_json_has_what_programs_rely_on(refreshed: tuple[Operator, Ended]) -> None:
    found = reported(refreshed[0])

    assert [origin["name"] for origin in found["origins"]] == ["one", "two"]
    for origin in (*found["origins"], {**found["totals"], "verdict": None}):
        assert set(DESIGNED) <= origin.keys()
    for origin in found["origins"]:
        assert origin["verdict"] == {
            "state": "sending", "reason": "both labels are sent", "until": None, "evidence": [],
        }  # fmt: skip
        assert (origin["requests"], origin["ok"], origin["dual"]) == (3, 3, 3)
    assert found["recommendation"].keys() >= {"state", "reason"}


def reported(somebody: Operator, *arguments: str) -> dict[str, Any]:
    ended = somebody.crawl("report", "--format", "json", *arguments)
    assert (ended.code, ended.said) == (0, "")
    found: dict[str, Any] = json.loads(ended.answer)
    return found


def test_the_report_in_markdown_is_tables(refreshed: tuple[Operator, Ended]) -> None:
    ended = refreshed[0].crawl("report", "--format", "markdown")

    assert (ended.code, ended.said) == (0, "")
    assert "| origin | requests | 2xx | 304 |" in re.sub(" +", " ", ended.answer)
    assert "| one | 3 | 3 | 0 |" in re.sub(" +", " ", ended.answer)


def test_the_report_of_the_log_says_what_the_run_said(refreshed: tuple[Operator, Ended]) -> None:
    somebody, once = refreshed

    ended = somebody.crawl("report")

    assert (ended.code, ended.said) == (0, "")
    assert ended.answer == once.answer


def test_the_report_counts_what_is_asked_for(refreshed: tuple[Operator, Ended]) -> None:
    somebody, _ = refreshed

    chosen = reported(somebody, "--origin", "two", "--since", "1h")
    assert [(one["name"], one["requests"]) for one in chosen["origins"]] == [("two", 3)]
    assert reported(somebody, "--since", "0s")["totals"]["requests"] == 0


# quiet


def test_quiet_is_silent_where_all_is_fine(tmp_path: Path, site: CapturingServer) -> None:
    ended = operator(tmp_path, site).crawl("--once", "--quiet")

    assert ended == Ended(code=0, answer="", said="")
    assert [request.target for request in site.requests] == ["/robots.txt", "/", "/quay"]


def test_quiet_says_why_attention_is_needed_and_nothing_else(tmp_path: Path) -> None:
    with capturing(closed) as server:
        somebody = operator(
            tmp_path, server, follow="nothing", start=["/a", "/b", "/c", "/d"], sig2="never"
        )
        ended = somebody.crawl("--once", "--quiet")
        again = somebody.crawl("--once", "--quiet")

    assert (ended.code, ended.said) == (3, "")
    (line,) = ended.answer.splitlines()
    assert line == "crawl: attention: one: frozen (403, 3 times in a row)"
    asked = [request.target for request in server.requests]
    assert asked == ["/robots.txt", "/a", "/b", "/c"]  # nothing once it is frozen
    assert again == Ended(code=0, answer="", said="")  # it was said
    told = somebody.crawl("report", "--quiet")
    assert (told.code, told.said) == (3, "")
    assert [part in told.answer for part in ("one: frozen until", "403")] == [True, True]


def barred(request: Captured) -> Answer:
    """A site that no crawler may read."""
    return robots("Disallow: /") if request.target == "/robots.txt" else page()


def test_a_site_that_robots_txt_closes_needs_attention_whenever_robots_txt_was_looked_at(
    tmp_path: Path, site: CapturingServer
) -> None:
    with capturing(barred, "127.0.0.2") as server:
        somebody = operator(tmp_path, site, server, start=["/", "/quay"])
        first = somebody.crawl("--once", "--quiet")
        again = somebody.crawl("--once", "--quiet")
        everything = somebody.crawl("--once", "--all", "--quiet")

    assert (first.code, first.said) == (3, "")
    (line,) = first.answer.splitlines()
    assert line == (
        f"crawl: attention: two: robots (refused by {server.url('/robots.txt')} line 2 "
        "`Disallow: /` (group `User-agent: *`, line 1))"
    )
    assert again == Ended(code=0, answer="", said="")  # it was said
    assert everything == first
    assert [request.target for request in server.requests] == ["/robots.txt"]


def test_a_page_that_robots_txt_refuses_beside_others_needs_none(
    tmp_path: Path, site: CapturingServer
) -> None:
    somebody = operator(tmp_path, site, start=["/", "/private/ledger"])
    ended = somebody.crawl("--once", "--quiet")
    alone = somebody.crawl("--once", "--quiet")

    assert ended == alone == Ended(code=0, answer="", said="")


# usage


def test_the_version_is_the_distributions(tmp_path: Path) -> None:
    ended = elsewhere(tmp_path, "--version")

    assert ended == Ended(code=0, answer=f"crawl {version('callingcard')}\n", said="")


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_names_each_command_and_the_exit_codes(tmp_path: Path, flag: str) -> None:
    ended = elsewhere(tmp_path, flag)

    assert (ended.code, ended.said) == (0, "")
    for word in ("init", "check", "report", "explain", "serve", "keys", "--once", "Exit codes"):
        assert word in ended.answer
    assert "<bool>" not in ended.answer


@pytest.mark.parametrize("command", [(), ("check",), ("explain",), ("keys", "new")], ids=" ".join)
def test_help_fits_a_narrow_terminal_whole(tmp_path: Path, command: tuple[str, ...]) -> None:
    ended = elsewhere(tmp_path, *command, "--help", COLUMNS="80")

    assert (ended.code, ended.said) == (0, "")
    assert "~/.config/callingcard" in ended.answer
    assert "…" not in ended.answer
    assert "<bool>" not in ended.answer


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "nothing to do crawl --once"),
        (("--dry-run",), "--dry-run goes with --once"),
        (("--all",), "--all goes with --once"),
        (("--state", "x"), "--state goes with --once"),
        (("--format", "json"), "--format goes with --once"),
        (("--origin", "one"), "--origin goes with --once"),
        (("--onec",), "--once"),
        (("refresh",), "refresh"),
        (("--once", "--format", "yaml"), "json"),
        (("--once", "--config"), "--config"),
        (("--once", "--demo", "--all"), "--all"),
        (("--once", "--state", "x"), "--demo"),
        (("--once", "--dry-run", "--quiet"), "leave out --quiet"),
        (("explain",), "URL"),
        (("serve", "--port", "70000"), "65535"),
        (("report", "--since", "yesterday"), "7d"),
        (("report", "--since", "2999-01-01"), "still to come"),
        (("report", "--origin", "noe"), "did you mean one?"),
        (("--once", "--origin", "noe"), "did you mean one?"),
        (("--once", "--dry-run", "--origin", "noe"), "did you mean one?"),
        (("--origin", "one", "check"), "crawl check --help"),
        (("--config", "other.toml", "report"), "crawl report --help"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_a_usage_error(
    refreshed: tuple[Operator, Ended], arguments: tuple[str, ...], words: str
) -> None:
    code, answer, said = complaint(refreshed[0].crawl(*arguments))

    assert (code, answer) == (2, "")
    assert words in " ".join(said)
    assert len(said) == 2


def test_shell_completion_knows_the_commands(tmp_path: Path) -> None:
    shell = shutil.which("bash")
    assert shell is not None
    script = subprocess.run(
        [shell, "-c", f"{CRAWL} --show-completion; true"],  # the shell that asks is found out
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    offered = elsewhere(
        tmp_path, _CRAWL_COMPLETE="complete_bash", COMP_WORDS="crawl ke", COMP_CWORD="1"
    )

    assert (script.returncode, script.stderr) == (0, "")
    assert "complete -o default -F _crawl_completion crawl" in script.stdout
    assert offered.answer.split() == ["keys"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("crawl --once --origin ", ["one", "two"]),
        ("crawl report --origin tw", ["two"]),
        ("crawl report --config {folder}/crawler.toml -o ", ["one", "two"]),
        ("crawl report --config nowhere.toml -o ", []),
    ],
    ids=["all", "begun", "of another configuration", "without one"],
)
def test_shell_completion_knows_the_origins(
    refreshed: tuple[Operator, Ended], tmp_path: Path, words: str, expected: list[str]
) -> None:
    somebody, _ = refreshed
    folder = tmp_path if "--config" in words else somebody.folder
    typed = words.format(folder=somebody.folder)

    offered = elsewhere(
        folder,
        _CRAWL_COMPLETE="complete_bash",
        COMP_WORDS=typed,
        COMP_CWORD=str(len(typed.split(" ")) - 1),
    )

    assert (offered.said, offered.answer.split()) == ("", expected)


def test_a_reader_that_has_seen_enough_is_no_error(refreshed: tuple[Operator, Ended]) -> None:
    somebody, _ = refreshed
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run(
            [CRAWL, "report"],
            cwd=somebody.folder,
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [("report",), ("--help",)], ids=" ".join)
def test_an_answer_that_cannot_be_written_is_our_error(
    refreshed: tuple[Operator, Ended], arguments: tuple[str, ...]
) -> None:
    somebody, _ = refreshed
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [CRAWL, *arguments],
            cwd=somebody.folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr == "crawl: error: the answer cannot be written: No space left on device\n"


# a terminal


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        pytest.param({"TERM": "xterm-256color"}, True, id="colours"),
        pytest.param({"TERM": "xterm-256color", "NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param({"TERM": "dumb"}, False, id="dumb"),
    ],
)
def test_the_report_on_a_terminal_has_colours_unless_they_are_not_wanted(
    refreshed: tuple[Operator, Ended], env: dict[str, str], coloured: bool
) -> None:
    with terminal(refreshed[0], "report", env=env) as screen:
        assert screen.running.end().code == 0

    assert "6 requests to 2 origins in 1 run" in screen.text
    assert bool(COLOUR.search(screen.drawn)) is coloured


def test_a_terminal_shows_how_a_refresh_gets_on_and_is_left_tidy(
    tmp_path: Path, site: CapturingServer
) -> None:
    somebody = operator(tmp_path, site, min_delay=0.4)
    env = {"TERM": "xterm", "NO_COLOR": "1"}
    with terminal(somebody, "--once", env=env, answer_to_file=True) as screen:
        ended = screen.running.end()

    assert ended.code == 0
    assert "3 requests to 1 origin in 1 run" in ended.answer
    assert "0/1 origins  0 pages  0.0 MB" in screen.text
    assert re.search(r"0/1 origins  1 page  0\.0 MB", screen.text)
    assert re.search(r"  127\.0\.0\.1 +delay +0\.\d s", screen.text)  # what it waits for
    assert not COLOUR.search(screen.drawn)
    assert screen.drawn.rindex(SHOWN) > screen.drawn.rindex(HIDDEN)


@pytest.mark.parametrize("arguments", [("--quiet",), ("--dry-run",)], ids=" ".join)
def test_nothing_is_drawn_where_there_is_nothing_to_watch(
    tmp_path: Path, site: CapturingServer, arguments: tuple[str, ...]
) -> None:
    somebody = operator(tmp_path, site)
    env = {"TERM": "xterm"}
    with terminal(somebody, "--once", *arguments, env=env, answer_to_file=True) as screen:
        ended = screen.running.end()

    assert (ended.code, screen.drawn) == (0, "")
