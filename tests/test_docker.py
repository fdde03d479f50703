"""What stands in docker/ starts the crawler that we have, as its files say."""

import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from cronsim import CronSim
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
DOCKER = ROOT / "docker"
UNITS = ("callingcard.service", "callingcard-publish.service")
SHUTDOWN = 5  # seconds that a run needs at most to end when it is asked to


def _lines(name: str) -> list[str]:
    text = (DOCKER / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _instructions() -> list[tuple[str, list[str]]]:
    """The Dockerfile's instructions and their words, in order."""
    return [(words[0], words[1:]) for words in map(str.split, _lines("Dockerfile"))]


def _copied() -> set[str]:
    """What the image takes from the source tree."""
    return {
        path
        for word, rest in _instructions()
        if word == "COPY" and not rest[0].startswith("--from")
        for path in rest[:-1]
    }


def _unit(name: str) -> ConfigParser:
    unit = ConfigParser(delimiters="=", interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string("\n".join(_lines(name)))
    return unit


def _compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
    return document


def _service_arguments(name: str) -> list[str]:
    """What a compose service asks of `crawl`."""
    service = _compose()["services"][name]
    if "entrypoint" in service:
        (program,) = service["entrypoint"]
        words = next(line for line in _lines(program) if line.strip().startswith("crawl "))
        return shlex.split(words.strip().removesuffix("&"))[1:-1]  # less "$@"
    return [str(word) for word in service["command"]]


def _asked() -> Iterator[tuple[str, list[str]]]:
    """Every place that runs `crawl`, and with which arguments."""
    for unit in UNITS:
        program, *arguments = shlex.split(_unit(unit)["Service"]["ExecStart"])
        yield unit, [Path(program).name, *arguments]
    (entry,) = [line for line in _lines("crontab") if not re.match(r"\w+=", line)]
    program, *arguments = shlex.split(entry.partition("&&")[2])
    yield "crontab", [Path(program).name, *arguments]
    for service in _compose()["services"]:
        yield f"compose.yaml: {service}", ["crawl", *_service_arguments(service)]


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


@pytest.mark.parametrize(("place", "words"), [pytest.param(*a, id=a[0]) for a in _asked()])
def test_only_commands_and_options_that_exist_are_named(place: str, words: list[str]) -> None:
    program, *arguments = words
    commands = [word for word in arguments[:1] if not word.startswith("-")]
    known = set(re.findall(r"--[a-z][a-z-]*", _help(*commands)))

    assert program == "crawl", place
    assert {word for word in arguments if word.startswith("--")} <= known


@pytest.mark.parametrize("place", ["callingcard.service", "crontab", "compose.yaml: crawler"])
def test_each_schedule_prints_only_what_an_operator_should_see(place: str) -> None:
    assert dict(_asked())[place] == ["crawl", "--once", "--quiet"]


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_runs_without_root_and_is_given_time_to_end(name: str) -> None:
    service = _unit(name)["Service"]

    assert service["User"] not in {"root", "0"}
    assert service["CapabilityBoundingSet"] == ""
    assert service["NoNewPrivileges"] == "yes"
    assert int(service["TimeoutStopSec"]) > SHUTDOWN


def test_systemd_takes_another_active_run_as_fine_and_a_call_for_attention_as_a_failure() -> None:
    assert _unit("callingcard.service")["Service"]["SuccessExitStatus"].split() == ["4"]


def _folder(place: str) -> str:
    """The folder that has the configuration there."""
    if place in UNITS:
        return _unit(place)["Service"]["WorkingDirectory"]
    if place == "crontab":
        found = re.search(r" cd (\S+) && ", _lines("crontab")[-1])
        assert found is not None
        return found[1]
    _, _, default = _compose()["services"][place]["volumes"][0].partition(":-")
    return str(default.partition("}")[0])


@pytest.mark.parametrize("place", [*UNITS, "crontab", "crawler", "publisher"])
def test_every_deployment_has_its_files_in_the_same_folder(place: str) -> None:
    assert _folder(place) == "/srv/callingcard"


def test_the_service_may_write_to_its_folder_alone() -> None:
    assert _unit("callingcard.service")["Service"]["ReadWritePaths"] == "/srv/callingcard"


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("callingcard.service", "enable --now callingcard.timer"),
        ("compose.yaml", "up --detach\n"),
    ],
)
def test_each_says_on_top_to_edit_check_and_publish_before_it_starts(name: str, start: str) -> None:
    text = (DOCKER / name).read_text(encoding="utf-8")
    at = [text.index(step) for step in (" init", "edit /srv", " check", "home publishes", start)]

    assert at == sorted(at)


def test_the_publisher_gets_no_folder_to_write_to() -> None:
    service = _unit("callingcard-publish.service")["Service"]
    volumes = _compose()["services"]["publisher"]["volumes"]

    assert service["ProtectSystem"] == "strict"
    assert not {"StateDirectory", "ReadWritePaths"} & {*service}
    assert all(volume.endswith(":ro") for volume in volumes)


def test_the_timer_starts_the_service_of_its_name() -> None:
    timer = _unit("callingcard.timer")

    assert timer["Timer"]["OnCalendar"]
    assert timer["Install"]["WantedBy"] == "timers.target"
    assert "Unit" not in timer["Timer"]  # the service of the same name


def test_the_crontab_has_a_schedule_that_cron_reads() -> None:
    (entry,) = [line for line in _lines("crontab") if not re.match(r"\w+=", line)]
    first = next(CronSim(" ".join(entry.split()[:5]), datetime(2026, 11, 1, tzinfo=UTC)))

    assert first == datetime(2026, 11, 1, 0, 15, tzinfo=UTC)


def test_compose_services_share_the_image_and_can_change_nothing_but_their_folder() -> None:
    document = _compose()
    services = document["services"]

    assert {*services} == {"crawler", "publisher"}
    for service in services.values():
        assert service["image"] == document["x-image"]["image"]
        assert (DOCKER / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert int(service["stop_grace_period"].removesuffix("s")) > SHUTDOWN
        (volume,) = service["volumes"]
        assert ":/srv/callingcard" in volume


def test_the_image_runs_crawl_without_root_in_its_folder() -> None:
    final = {word: rest for word, rest in _instructions() if word != "COPY"}

    assert final["USER"] == ["crawl"]
    assert "useradd" in final["RUN"]
    assert final["RUN"][-1] == final["WORKDIR"][0]
    assert final["ENTRYPOINT"] == ['["crawl"]']


def test_the_image_is_given_everything_that_its_installation_reads() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = project["tool"]["setuptools"]
    needed = {
        "pyproject.toml",
        "docker/constraints.txt",
        project["project"]["readme"],
        *project["project"]["license-files"],
        *(pattern.rstrip("*") for pattern in setuptools["packages"]["find"]["include"]),
        *(str(Path(p).parent) for paths in setuptools["data-files"].values() for p in paths),
    }

    assert needed <= _copied()
    assert [path for path in _copied() if not (ROOT / path).exists()] == []


def test_a_build_sees_what_it_copies_and_no_keys_or_state() -> None:
    everything, *seen = _lines("Dockerfile.dockerignore")

    assert everything == "*"
    assert {line.removeprefix("!") for line in seen if line.startswith("!")} == _copied()


def test_both_stages_of_the_image_have_the_same_python() -> None:
    bases = {rest[0] for word, rest in _instructions() if word == "FROM"}

    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.\d+-slim", bases.pop())


def _runtime() -> dict[str, set[Requirement]]:
    """Every distribution that a runtime installation may need, and what is asked of its version.

    Markers of other systems and versions are counted in; extras are not.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, set[Requirement]] = {}
    waiting = [Requirement(text) for text in project["project"]["dependencies"]]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in found:
            waiting += _required_by(name)
        found.setdefault(name, set()).add(requirement)
    return found


def _required_by(name: str) -> list[Requirement]:
    """What a distribution asks for without any extra; nothing where it is not installed."""
    try:
        wanted = [Requirement(text) for text in metadata.requires(name) or ()]
    except metadata.PackageNotFoundError:
        return []
    return [one for one in wanted if "extra" not in str(one.marker or "")]


def test_the_constraints_pin_every_runtime_dependency_and_nothing_else() -> None:
    pins = {Requirement(line) for line in _lines("constraints.txt")}
    versions = {canonicalize_name(pin.name): str(pin.specifier) for pin in pins}
    runtime = _runtime()
    needed = {
        name
        for name, requirements in runtime.items()
        if any(one.marker is None or one.marker.evaluate({"extra": ""}) for one in requirements)
    }

    assert needed <= versions.keys()
    assert versions.keys() <= runtime.keys()
    for name, version in versions.items():
        assert version.startswith("=="), name
        assert all(version[2:] in one.specifier for one in runtime[name]), name


def _crawl(folder: Path, *lines: str) -> None:
    """Put a `crawl` of our own into the folder."""
    program = folder / "crawl"
    program.write_text("\n".join((f"#!{sys.executable}", *lines, "")))
    program.chmod(0o755)


def _on_schedule(folder: Path, pause: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [DOCKER / "on-schedule", *arguments],
        env={"PATH": f"{folder}:{os.environ['PATH']}", "PAUSE": pause},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_the_images_schedule_goes_on_after_a_run_that_needs_attention(tmp_path: Path) -> None:
    _crawl(tmp_path, "import sys", "print(*sys.argv[1:], flush=True)", "sys.exit(3)")
    with _on_schedule(tmp_path, "0", "--all") as loop:
        assert loop.stdout is not None
        runs = [loop.stdout.readline() for _ in range(3)]
        loop.terminate()
        loop.stdout.read()

    assert runs == ["--once --quiet --all\n"] * 3
    assert loop.returncode == 0


def test_the_images_schedule_lets_a_run_end_cleanly(tmp_path: Path) -> None:
    _crawl(
        tmp_path,
        "import os, signal, sys",
        "def end(*_):",
        "    os.write(1, b'log closed\\n')",
        "    sys.exit()",
        "signal.signal(signal.SIGTERM, end)",
        "os.write(1, b'started\\n')",
        "signal.pause()",
    )
    with _on_schedule(tmp_path, "3600") as loop:
        assert loop.stdout is not None
        loop.stdout.readline()
        loop.send_signal(signal.SIGTERM)
        rest = loop.stdout.read()

    assert rest == "log closed\n"
    assert loop.returncode == 0


def test_the_images_schedule_ends_at_once_in_a_pause(tmp_path: Path) -> None:
    _crawl(tmp_path, "print('done', flush=True)")
    with _on_schedule(tmp_path, "3600") as loop:
        assert loop.stdout is not None
        loop.stdout.readline()
        loop.terminate()

        assert loop.wait(timeout=SHUTDOWN) == 0
