"""Which signatures a request is to carry, and its longest line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.events import Arm, Kind, Without
from crawler.fetch.middleware import longest_line, wanted
from crawler.polite.frontier import FetchTask
from crawler.settings import Second
from signing import algorithms, keys
from signing.profile import Labels, Name, Profile

KEY = keys.generate(algorithms.ML_DSA_44)
TASK = FetchTask(origin="one", url="https://one.example/")
CONTROL = FetchTask(origin="one", url="https://one.example/", arm=Arm.FIRST_ONLY)
ROBOTS = FetchTask(
    origin="one", url="https://one.example/robots.txt", arm=Arm.FIRST_ONLY, kind=Kind.ROBOTS
)
BRIDGE, LEGACY, PUBLISHED = (
    Profile(name=name, home="https://bot.example")
    for name in (Name.BRIDGE, Name.LEGACY, Name.PUBLISHED)
)


@pytest.mark.parametrize(
    ("task", "when", "form", "key", "without"),
    [
        pytest.param(TASK, Second.WATCH, BRIDGE, KEY, None, id="watch"),
        pytest.param(TASK, Second.WATCH, BRIDGE, None, Without.NO_KEY, id="no key"),
        pytest.param(TASK, Second.ALWAYS, BRIDGE, None, Without.NO_KEY, id="always, no key"),
        pytest.param(TASK, Second.NEVER, BRIDGE, None, Without.SETTING, id="never, no key"),
        pytest.param(TASK, Second.WATCH, LEGACY, None, Without.PROFILE, id="legacy, no key"),
        pytest.param(TASK, Second.ALWAYS, LEGACY, KEY, None, id="legacy, always"),
        pytest.param(TASK, Second.WATCH, PUBLISHED, KEY, None, id="published"),
        pytest.param(TASK, Second.NEVER, PUBLISHED, KEY, Without.SETTING, id="published, never"),
        pytest.param(CONTROL, Second.ALWAYS, PUBLISHED, KEY, Without.CONTROL, id="a control"),
        pytest.param(ROBOTS, Second.ALWAYS, BRIDGE, None, Without.ROBOTS_CONTROL, id="robots"),
    ],
)
def test_sig2_goes_with_a_request_unless_something_speaks_against_it(
    task: FetchTask,
    when: Second,
    form: Profile,
    key: keys.PrivateKey | None,
    without: Without | None,
) -> None:
    labels = Labels.BOTH if without is None else Labels.FIRST

    assert wanted(task, when, form, key) == (labels, without)


TOKENS = st.text("abcXYZ-09", min_size=1)


@given(TOKENS, TOKENS, st.lists(st.tuples(TOKENS, TOKENS), min_size=1))
def test_the_longest_line_is_that_of_the_head(
    method: str, target: str, fields: list[tuple[str, str]]
) -> None:
    head = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields)]

    assert longest_line(method, target, fields) == max(map(len, head))
