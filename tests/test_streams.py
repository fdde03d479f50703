"""What we write is written wherever it can be, and nothing breaks where nobody reads."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawler import events, shipped
from crawler.events import RunStarted
from crawler.fetch import keyfiles

CRAWL = Path(sys.executable).with_name("crawl")
BARE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
STARTED = RunStarted(at=1.8e9, run="1", version="0", agent="ExampleBot/1.0", wall=1.8e9)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration in a folder whose name is not ASCII, with keys and a log."""
    found = tmp_path / "dům"
    (found / "state" / "log").mkdir(parents=True)
    for name in shipped.CONFIG:
        (found / name).write_text(shipped.text(name), encoding="utf-8")
    for algorithm in ("ed25519", "ml-dsa-44"):
        keyfiles.create(found / "keys", algorithm)
    log = found / "state" / "log" / "events-2027-01-15.jsonl"
    log.write_bytes(events.encode(STARTED) + b"\n")
    return found


def crawl(folder: Path, command: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/sh", "-c", f"{CRAWL} {command}"],
        cwd=folder,
        env={**os.environ, **environ},
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "answered"),
    [
        ("report >&-", False),
        ("report --format json 2>&-", True),
        ("--once --dry-run 2>&-", True),
        ("--once --dry-run <&- >&- 2>&-", False),
        ("check >&-", False),
    ],
)
def test_a_closed_stream_changes_nothing_else(folder: Path, command: str, answered: bool) -> None:
    done = crawl(folder, command)

    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert bool(done.stdout) is answered


def test_a_locale_without_letters_keeps_nothing_from_being_said(folder: Path) -> None:
    done = crawl(folder, "report --origin ů", **BARE)

    assert done.returncode == 2
    assert "--origin ů".encode() in done.stderr


def test_names_are_written_as_they_are_without_a_locale(folder: Path) -> None:
    made = crawl(folder, "keys new", **BARE)
    missing = crawl(folder, "check --config $PWD/nic.toml", **BARE)

    assert f"{folder}/keys/".encode() in made.stdout
    assert f"{folder}/nic.toml".encode() in missing.stderr


def test_json_has_the_names_of_files_without_a_locale(folder: Path) -> None:
    listed = crawl(folder, "keys list --format json", **BARE)
    keys = json.loads(listed.stdout)["keys"]

    assert {Path(key["file"]).parent for key in keys} == {folder / "keys"}


def test_another_encoding_shows_what_it_has_no_letter_for(folder: Path) -> None:
    done = crawl(folder, "check --config $PWD/nic.toml", PYTHONIOENCODING="latin-1")

    assert rb"d\u016fm/nic.toml" in done.stderr
