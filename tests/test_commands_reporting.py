"""What `crawl report` says of a log, of none, and of a question that it cannot answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from imagined import origin
from records import record

from crawler.commands import reporting
from crawler.fetch.journal import Journal
from crawler.problems import Problem, UsageProblem
from crawler.settings import Bot, Settings


def settings(folder: Path, *names: str) -> Settings:
    bot = Bot(product="B", home="https://bot.example", contact="mailto:a@bot.example")
    origins = tuple(origin(name, f"https://{name}.example/") for name in names)
    return Settings(base=str(folder), bot=bot, origins=origins)


def write_log(state: Path, *origins: str) -> None:
    """Keep one request to each origin in a log."""
    journal = Journal(state / "log")
    for name in origins:
        journal.append(record(origin=name))
    journal.close()


def report(known: Settings | None, *names: str, since: str | None = None) -> int:
    return reporting.report(known, names, since=since, form="json", quiet=False)


def told(printed: str) -> list[dict[str, Any]]:
    """Each origin of a printed report."""
    origins: list[dict[str, Any]] = json.loads(printed)["origins"]
    return origins


def test_without_a_log_it_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="state/log: there is no log yet") as caught:
        report(settings(tmp_path, "one"))

    assert (caught.value.code, caught.value.hint) == (1, "crawl --once writes one")
    assert not (tmp_path / "state").exists()


def test_without_a_demo_it_says_how_to_run_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    with pytest.raises(UsageProblem, match="no demo has run yet") as caught:
        report(None)

    assert (caught.value.code, caught.value.hint) == (2, "crawl --once --demo")


def test_the_last_demo_needs_no_settings_and_knows_its_own_origins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    write_log(tmp_path / "callingcard" / "demo", "plain", "tight")

    assert report(None, "tight") == 0
    assert [each["name"] for each in told(capsys.readouterr().out)] == ["tight"]
    with pytest.raises(UsageProblem) as caught:
        report(None, "tihgt")
    assert caught.value.hint == "did you mean tight?"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gon", "did you mean gone?"),
        ("tow", "did you mean two?"),
        ("xyz", "known are gone, one, two"),
    ],
    ids=["one of the log", "one of the configuration", "neither"],
)
def test_an_origin_that_nobody_knows_is_a_usage_error_with_the_likely_one(
    name: str, hint: str, tmp_path: Path
) -> None:
    write_log(tmp_path / "state", "one", "gone")

    with pytest.raises(UsageProblem, match=f"--origin {name}: there is no such origin") as caught:
        report(settings(tmp_path, "one", "two"), name)

    assert (caught.value.code, caught.value.hint) == (2, hint)


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        ((), {"gone": 1, "one": 1}),
        (("gone",), {"gone": 1}),
        (("two",), {}),
        (("one", "two"), {"one": 1}),
    ],
    ids=["all", "no longer configured", "not asked yet", "one of two asked"],
)
def test_the_log_and_the_configuration_both_know_origins(
    names: tuple[str, ...],
    counts: dict[str, int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_log(tmp_path / "state", "one", "gone")

    code = report(settings(tmp_path, "one", "two"), *names)

    assert code == 0
    assert {each["name"]: each["requests"] for each in told(capsys.readouterr().out)} == counts


def test_an_origin_asked_before_the_given_moment_is_no_unknown_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_log(tmp_path / "state", "gone")

    code = report(settings(tmp_path, "one"), "gone", since="1d")

    assert code == 0
    assert [each["requests"] for each in told(capsys.readouterr().out)] == [0]


def test_a_since_that_is_no_moment_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="--since: 'yesterday' is no moment") as caught:
        report(settings(tmp_path, "one"), since="yesterday")

    assert caught.value.code == 2
    assert caught.value.hint is not None
    assert "7d" in caught.value.hint


def test_a_log_that_names_no_origin_can_suggest_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    write_log(tmp_path / "callingcard" / "demo")
    (tmp_path / "callingcard" / "demo" / "log" / "events-2026-11-01.jsonl").write_text("{\n")

    with pytest.raises(UsageProblem) as caught:
        report(None, "one")

    assert caught.value.hint is None
