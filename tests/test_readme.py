"""README says what is true: its commands, options, settings, paths and exit codes exist."""

import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from crawler import cli, configuration, shipped
from crawler.fetch.keylife import Standing
from crawler.fetch.keystate import State

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = [
    (language, re.sub(rf"^{indent}", "", body, flags=re.MULTILINE))
    for indent, language, body in re.findall(
        r"^( *)```(\w*)\n(.*?)^ *```$", README, re.DOTALL | re.MULTILINE
    )
]
TOML = [body for language, body in BLOCKS if language == "toml"]
COMMANDS = sorted(
    {
        line
        for text in (*re.findall(r"`([^`\n]+)`", README), *(body for _, body in BLOCKS))
        for line in re.findall(r"^(?:.*&& )?(?:\S*/)?(crawl (?!\[)[^&\n]+)$", text, re.MULTILINE)
    }
)


@cache
def _help(*command: str) -> str:
    answer = subprocess.run(
        [sys.executable, "-c", "from crawler.cli import main; main()", *command, "--help"],
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_commands_were_found() -> None:
    assert "crawl --once --demo" in COMMANDS
    assert "crawl keys new" in COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_in_it_is_one(command: str) -> None:
    _, *words = command.split()
    names: list[str] = []
    for word in words:
        if word.startswith("-") or not word.islower() or (names and names != ["keys"]):
            break
        names.append(word)
    options = {word for word in words if word.startswith("--")}

    assert options <= set(re.findall(r"--[a-z][a-z-]*", _help(*names)))


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m venv .venv && .venv/bin/pip install -e . && .venv/bin/crawl --once --demo",
        "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/pytest",
    ],
    ids=["the demonstration", "the tests"],
)
def test_it_starts_with_a_command_of_one_line(command: str) -> None:
    assert ("", f"{command}\n") in BLOCKS


@pytest.mark.parametrize("example", [body for language, body in BLOCKS if language == "python"])
def test_each_example_runs(example: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=ROOT / "config",  # where the files lie that an example reads
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, "")


def test_there_is_an_example_of_signing_and_verifying() -> None:
    examples = [body for language, body in BLOCKS if language == "python"]

    assert any("signer.sign(" in body and "verifier.verify(" in body for body in examples)


def test_its_exit_codes_are_those_that_the_help_names() -> None:
    told = dict(re.findall(r"^\| ([\d, ]+) \| (.+) \|$", README, re.MULTILINE))

    named = re.findall(r"\d+", " ".join(told))
    assert named == re.findall(r"\b(\d+)\b", cli.EPILOG)


def test_its_configuration_can_be_used(tmp_path: Path) -> None:
    bot, origins = (body for body in TOML if "[bot]" in body or "[[origin]]" in body)
    _, _, rest = shipped.text("crawler.toml").partition("[signatures]")
    (tmp_path / "crawler.toml").write_text(f"{bot}\n[signatures]{rest}", encoding="utf-8")
    (tmp_path / "origins.toml").write_text(origins, encoding="utf-8")

    assert [one.name for one in configuration.load(tmp_path / "crawler.toml").origins] == ["docs"]


def test_its_state_file_has_every_standing_of_a_key() -> None:
    (state,) = (body for body in TOML if "retired" in body)

    told = tomllib.loads(state).keys()
    assert {str(standing) for standing in Standing} <= told <= set(State.__struct_fields__)


def test_its_line_of_imports_is_the_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        one
        for one in project["tool"]["importlinter"]["contracts"]
        if one.get("containers") == ["crawler"]
    )
    (line,) = (body for _, body in BLOCKS if body.startswith("cli"))

    told = [set(layer.strip().split(", ")) for layer in " ".join(line.split()).split("→")]
    assert told == [*(set(layer.split(" | ")) for layer in contract["layers"]), {"signing"}]


@pytest.mark.parametrize("anchor", sorted(set(re.findall(r"\]\(#([\w-]+)\)", README))))
def test_each_section_that_it_points_to_is_there(anchor: str) -> None:
    titles = re.findall(r"^#+ (.+)$", README, re.MULTILINE)

    assert anchor in {title.lower().replace(" ", "-") for title in titles}


def test_its_robots_example_is_about_the_bot_of_its_configuration() -> None:
    (bot,) = (body for body in TOML if "[bot]" in body)
    (robots,) = (body for _, body in BLOCKS if "Crawl-delay" in body)
    product = tomllib.loads(bot)["bot"]["product"]

    assert set(re.findall(r"User-agent: (.+)", robots)) == {product}


@pytest.mark.parametrize(
    "path",
    sorted(set(re.findall(r"`((?:crawler|signing|config|docker|tests|\.ci)/[\w./-]*)`", README))),
)
def test_each_path_in_it_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"python (tests/[\w/]+\.py)", README))))
def test_each_benchmark_in_it_exists(path: str) -> None:
    assert (ROOT / path).is_file()
