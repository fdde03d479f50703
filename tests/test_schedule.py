"""Which origins a refresh is about, and when each is due."""

from datetime import UTC, datetime
from typing import Any

import pytest
from imagined import origin

from crawler import schedule
from crawler.polite.frontier import Refresh
from crawler.problems import UsageProblem
from crawler.settings import Bot, Settings


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


NOON = at("2026-11-30T12:00")


@pytest.mark.parametrize(
    ("known", "refresh", "when"),
    [
        pytest.param({"every": 3600.0}, None, NOON, id="never refreshed"),
        pytest.param(
            {"every": 3600.0},
            Refresh(started=NOON - 60),
            NOON,
            id="cut off: at once, not in 59 min",
        ),
        pytest.param(
            {"every": 3600.0},
            Refresh(started=NOON - 60, finished=True),
            NOON + 3540,
            id="an hour from the last start",
        ),
        pytest.param(
            {"schedule": "0 */6 * * *"},
            Refresh(started=at("2026-11-30T06:00:30"), finished=True),
            NOON,
            id="the next time of the cron expression",
        ),
        pytest.param(
            {"schedule": "0 5 * * 1"},
            Refresh(started=at("2026-11-30T05:00:01"), finished=True),
            at("2026-12-07T05:00"),
            id="next Monday",
        ),
        pytest.param({}, Refresh(started=NOON - 1, finished=True), NOON, id="neither: each run"),
    ],
)
def test_an_origin_is_due_by_its_own_clock(
    known: dict[str, Any], refresh: Refresh | None, when: float
) -> None:
    assert schedule.due(origin(**known), refresh, NOON) == when


def settings(*names: str) -> Settings:
    bot = Bot(product="B", home="https://bot.example", contact="mailto:a@bot.example")
    return Settings(
        base=".", bot=bot, origins=tuple(origin(name, f"https://{name}.example/") for name in names)
    )


def test_without_names_all_origins_are_meant_and_a_name_twice_means_it_once() -> None:
    known = settings("one", "two", "three")

    assert schedule.selected(known, ()) == known.origins
    assert [found.name for found in schedule.selected(known, ("two", "one", "two"))] == [
        "two",
        "one",
    ]


@pytest.mark.parametrize(
    ("name", "hint"), [("tow", "did you mean two?"), ("xyz", "known are one, two")]
)
def test_an_unknown_name_is_a_usage_error_with_the_likely_one(name: str, hint: str) -> None:
    with pytest.raises(UsageProblem, match=name) as caught:
        schedule.selected(settings("one", "two"), (name,))

    assert (caught.value.code, caught.value.hint) == (2, hint)


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({"every": 21600.0}, "every 6h"),
        ({"schedule": "0 5 * * 1"}, "schedule '0 5 * * 1'"),
        ({}, ""),
    ],
    ids=["every", "schedule", "neither"],
)
def test_a_rhythm_is_told_as_the_configuration_has_it(known: dict[str, Any], told: str) -> None:
    assert schedule.rhythm(origin(**known)) == told
