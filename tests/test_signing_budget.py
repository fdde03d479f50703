"""The head's size is what is sent, and the second signature is the first thing to go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import budget
from signing.budget import Both, Cost, FirstOnly, Nothing, Reason

HEADS = [
    pytest.param("GET", "/", [], b"GET / HTTP/1.1\r\n\r\n", id="no field at all"),
    pytest.param(
        "GET",
        "/a?b=1",
        [("Host", "shop.example"), ("Accept", "*/*")],
        b"GET /a?b=1 HTTP/1.1\r\nHost: shop.example\r\nAccept: */*\r\n\r\n",
        id="two fields",
    ),
    pytest.param(
        "HEAD",
        "/",
        [("X", "")],
        b"HEAD / HTTP/1.1\r\nX: \r\n\r\n",
        id="an empty value keeps its colon and space",
    ),
    pytest.param(
        "GET",
        "/",
        [("Cookie", "é")],
        "GET / HTTP/1.1\r\nCookie: é\r\n\r\n".encode(),
        id="non-ASCII counts in UTF-8",
    ),
    pytest.param(
        "GET",
        "/",
        [("Cookie", b"\xff\xfe".decode("utf-8", "surrogateescape"))],
        b"GET / HTTP/1.1\r\nCookie: \xff\xfe\r\n\r\n",
        id="an undecodable byte counts once",
    ),
]


@pytest.mark.parametrize(("method", "target", "fields", "head"), HEADS)
def test_the_size_is_that_of_the_bytes_sent(
    method: str, target: str, fields: list[tuple[str, str]], head: bytes
) -> None:
    assert budget.head_size(method, target, fields) == len(head)


PLANS = [
    pytest.param(300, 440, 3460, 4200, Both(4200), id="both fit exactly"),
    pytest.param(
        300, 440, 3460, 4199, FirstOnly(740, Reason.SECOND_OVER_LIMIT), id="one byte too many"
    ),
    pytest.param(300, 440, 3460, 740, FirstOnly(740, Reason.SECOND_OVER_LIMIT), id="sig1 exactly"),
    pytest.param(300, 440, 3460, 739, Nothing(740, Reason.FIRST_OVER_LIMIT), id="not even sig1"),
    pytest.param(300, 440, 0, 740, Both(740), id="no second signature to leave out"),
]


@pytest.mark.parametrize(("unsigned", "first", "second", "limit", "expected"), PLANS)
def test_sig2_is_left_out_first_and_nothing_leaves_unsigned(
    unsigned: int, first: int, second: int, limit: int, expected: budget.Plan
) -> None:
    assert budget.plan(unsigned, first, second, limit) == expected


_SIZES = st.integers(min_value=0, max_value=20_000)


@given(_SIZES, _SIZES, _SIZES, _SIZES)
def test_no_plan_exceeds_the_limit_and_none_gives_up_what_fits(
    unsigned: int, first: int, second: int, limit: int
) -> None:
    planned = budget.plan(unsigned, first, second, limit)

    match planned:
        case Both(size):
            assert size == unsigned + first + second <= limit
        case FirstOnly(size):
            assert size == unsigned + first <= limit < size + second
        case Nothing(size):
            assert size == unsigned + first > limit


def test_a_cost_unpacks_into_what_plan_takes() -> None:
    cost = Cost(first=440, second=3460)

    assert budget.plan(300, *cost, limit=8190) == Both(4200)
