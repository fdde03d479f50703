"""Retry-After and the rate limit fields, in the forms that servers send."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.polite import answers
from crawler.polite.answers import Quota

NOW = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT
NEVER = Quota()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([], None, id="no field"),
        pytest.param(["120"], 120.0, id="seconds"),
        pytest.param([" 7 "], 7.0, id="blanks around"),
        pytest.param(["0"], 0.0, id="none at all"),
        pytest.param(["1.5"], 1.5, id="a fraction"),
        pytest.param(["999999999"], 999_999_999.0, id="very long"),
        pytest.param(["Sun, 06 Nov 1994 08:51:37 GMT"], 120.0, id="a date"),
        pytest.param(["Sunday, 06-Nov-94 08:51:37 GMT"], 120.0, id="an RFC 850 date"),
        pytest.param(["Sun Nov  6 08:51:37 1994"], 120.0, id="an asctime date"),
        pytest.param(["Sun, 06 Nov 1994 08:49:37 GMT"], 0.0, id="the same second"),
        pytest.param(["Sun, 06 Nov 1994 08:49:36 GMT"], None, id="a date that has passed"),
        pytest.param(["-1"], None, id="negative"),
        pytest.param(["+5"], None, id="a sign"),
        pytest.param(["soon"], None, id="a word"),
        pytest.param(["5s"], None, id="a unit"),
        pytest.param([""], None, id="empty"),
        pytest.param(["٥"], None, id="digits of another script"),
        pytest.param(["1" + "0" * 15], 2.0**31, id="16 digits"),
        pytest.param(["9" * 400], 2.0**31, id="more than any number has"),
        pytest.param(["0" * 20 + "5"], 5.0, id="zeros in front"),
        pytest.param(["1.50000000000"], 1.5, id="a long fraction"),
        pytest.param(["Sun, 06 Nov 9994 08:49:37 GMT"], 2.0**31, id="a date beyond all sense"),
        pytest.param(["soon", "5", "60"], 60.0, id="of several the longest"),
    ],
)
def test_retry_after_is_read_in_both_forms(values: list[str], expected: float | None) -> None:
    assert answers.retry_after(values, NOW) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, NEVER, id="no field"),
        pytest.param({"ratelimit": '"default";r=50;t=30'}, Quota(50, 30.0), id="draft 10"),
        pytest.param({"ratelimit": "default;r=50;t=30"}, Quota(50, 30.0), id="a token for a name"),
        pytest.param({"ratelimit": '"a";r=0'}, Quota(0, None), id="no time"),
        pytest.param(
            {"ratelimit": '"a";r=3', "ratelimit-policy": '"b";q=9;w=10, "a";q=100;w=60'},
            Quota(3, 60.0),
            id="the policy's window where there is no time",
        ),
        pytest.param(
            {"ratelimit": '"burst";r=0;t=5, "day";r=900;t=4000'}, Quota(0, 5.0), id="the least left"
        ),
        pytest.param(
            {"ratelimit": '"burst";r=0;t=5, "day";r=0;t=4000'},
            Quota(0, 4000.0),
            id="the longer of two that are used up",
        ),
        pytest.param(
            {"ratelimit": '"a, b;r=7";r=2;t=1'}, Quota(2, 1.0), id="a name with a comma in it"
        ),
        pytest.param(
            {"ratelimit": "limit=100, remaining=50, reset=30"}, Quota(50, 30.0), id="draft 07"
        ),
        pytest.param(
            {"ratelimit": "limit=100, remaining=0", "ratelimit-policy": "100;w=60"},
            Quota(0, 60.0),
            id="draft 07 without reset",
        ),
        pytest.param(
            {"ratelimit": f'"a";r=0;t={"9" * 16}'}, Quota(0, 2.0**31), id="a time of 16 digits"
        ),
        pytest.param(
            {"ratelimit": '"a";r=0', "ratelimit-policy": f'"a";q=1;w={"9" * 400}'},
            Quota(0, 2.0**31),
            id="a window of 400 digits",
        ),
        pytest.param(
            {"ratelimit": f"remaining=0, reset={'9' * 16}"}, Quota(0, 2.0**31), id="draft 07, too"
        ),
        pytest.param({"ratelimit": f'"a";r={"9" * 400};t=1'}, Quota(10**15, 1.0), id="very many"),
        pytest.param(
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1784111807000000"},
            Quota(0, 1_784_111_807.0 - NOW),
            id="microseconds since 1970",
        ),
        pytest.param({"ratelimit": "nonsense"}, NEVER, id="unreadable"),
        pytest.param({"ratelimit": '"a";r=-1;t=3'}, NEVER, id="negative"),
        pytest.param(
            {"ratelimit-remaining": "4", "ratelimit-reset": "9"},
            Quota(4, 9.0),
            id="drafts 00 to 06",
        ),
        pytest.param(
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"},
            Quota(0, 30.0),
            id="x-ratelimit in seconds",
        ),
        pytest.param(
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1784111807"},
            Quota(0, 1_784_111_807.0 - NOW),
            id="x-ratelimit as a moment",
        ),
        pytest.param(
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1784111807000"},
            Quota(0, 1_784_111_807.0 - NOW),
            id="x-ratelimit as a moment in milliseconds",
        ),
        pytest.param(
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "0.25"},
            Quota(0, 0.25),
            id="x-ratelimit-reset-after",
        ),
        pytest.param(
            {
                "x-rate-limit-remaining": "1",
                "x-rate-limit-reset": "Sun, 06 Nov 1994 08:50:37 GMT",
            },
            Quota(1, 60.0),
            id="x-rate-limit with a date",
        ),
        pytest.param(
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1000000001"},
            Quota(0, 1_000_000_001.0 - NOW),
            id="a moment to come",
        ),
        pytest.param(
            {"x-ratelimit-remaining": "59, 60", "x-ratelimit-reset": "12, 13"},
            Quota(59, 12.0),
            id="two values in a field",
        ),
        pytest.param(
            {"x-ratelimit-remaining": "-3", "x-ratelimit-reset": "x"}, NEVER, id="nonsense"
        ),
        pytest.param({"x-ratelimit-limit": "60"}, NEVER, id="a limit alone"),
    ],
)
def test_rate_limits_are_read_in_every_form(fields: dict[str, str], expected: Quota) -> None:
    assert answers.quota(fields, NOW) == expected


def test_a_moment_that_has_passed_is_no_wait() -> None:
    found = answers.quota(
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1000000001"}, 2_000_000_000.0
    )

    assert found == Quota(0, 0.0)


@given(st.text(), st.sampled_from(sorted(answers.NAMES)), st.text())
def test_nothing_that_a_server_sends_is_an_error(text: str, name: str, policy: str) -> None:
    wait = answers.retry_after([text], NOW)
    found = answers.quota({"ratelimit-policy": policy, name: text}, NOW)

    assert wait is None or wait >= 0
    assert found.left is None or found.left >= 0
    assert found.reset is None or found.reset >= 0
