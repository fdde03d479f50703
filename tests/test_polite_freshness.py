"""When a page is worth asking for again (RFC 9111)."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from records import record

from crawler.polite import freshness
from crawler.polite.freshness import Fields, Validators
from crawler.settings import Politeness

NOW = 1_800_000_000.0
MANNERS = Politeness(min_interval=3600.0, max_interval=2_592_000.0, full_fetch=604_800.0)


def date(seconds: float) -> str:
    return format_datetime(datetime.fromtimestamp(NOW + seconds, UTC), usegmt=True)


def granted(fields: Fields, *, took: float = 0.0) -> float | None:
    return freshness.granted(fields, requested=NOW - took, received=NOW)


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        pytest.param(Fields(), None, id="says nothing"),
        pytest.param(
            Fields(last_modified=date(-1000)), None, id="4.2.2 heuristics are not its own"
        ),
        pytest.param(Fields(cache_control="public"), None, id="5.2.2.9 public grants no time"),
        pytest.param(Fields(cache_control="max-age=60"), 60, id="4.2.1 max-age"),
        pytest.param(
            Fields(cache_control="s-maxage=60"), None, id="5.2.2.10 s-maxage is not for us"
        ),
        pytest.param(Fields(cache_control="s-maxage=9, max-age=60"), 60, id="4.2.1 private cache"),
        pytest.param(Fields(expires=date(90), date=date(0)), 90, id="4.2.1 Expires minus Date"),
        pytest.param(Fields(expires=date(90)), 90, id="5.3 Expires without Date"),
        pytest.param(Fields(expires=date(90), date="soon"), 90, id="Date that is none"),
        pytest.param(Fields(expires=date(-5), date=date(0)), 0, id="5.3 Expires in the past"),
        pytest.param(Fields(expires="0", date=date(0)), 0, id="5.3 Expires that is no date"),
        pytest.param(
            Fields(expires=f"{date(60)}, {date(90)}"), 0, id="4.2.1 two Expires are stale"
        ),
        pytest.param(
            Fields(cache_control="max-age=60", expires=date(9), date=date(0)),
            60,
            id="5.3 max-age before Expires",
        ),
        pytest.param(Fields(cache_control="max-age=60, max-age=9"), 60, id="4.2.1 first of two"),
        pytest.param(Fields(cache_control="max-age=x"), 0, id="4.2.1 unreadable is stale"),
        pytest.param(Fields(cache_control='max-age="60"'), 60, id="5.2 quoted"),
        pytest.param(Fields(cache_control="max-age=60", age="20"), 40, id="4.2.3 Age"),
        pytest.param(Fields(cache_control="max-age=60", age="90"), 0, id="4.2.3 Age beyond"),
        pytest.param(Fields(cache_control="max-age=60", age="20, 50"), 40, id="5.1 first Age"),
        pytest.param(Fields(cache_control="max-age=60", age="old"), 60, id="5.1 unreadable Age"),
        pytest.param(
            Fields(cache_control="max-age=60", date=date(-25)), 35, id="4.2.3 apparent age"
        ),
        pytest.param(
            Fields(cache_control="max-age=60", date=date(-25), age="40"), 20, id="4.2.3 the larger"
        ),
        pytest.param(
            Fields(cache_control="max-age=60", date=date(500)), 60, id="4.2.3 a clock ahead"
        ),
        pytest.param(Fields(cache_control="no-cache, max-age=60"), 0, id="5.2.2.4 no-cache"),
        pytest.param(Fields(cache_control='no-cache="a", max-age=60'), 0, id="5.2.2.4 qualified"),
        pytest.param(Fields(cache_control="no-store, max-age=60"), 0, id="5.2.2.5 no-store"),
        pytest.param(Fields(cache_control="NO-STORE"), 0, id="5.2 names without case"),
        pytest.param(
            Fields(cache_control="max-age=60, must-revalidate"), 60, id="5.2.2.2 must-revalidate"
        ),
        pytest.param(Fields(cache_control="max-age=60, private"), 60, id="5.2.2.7 private"),
        pytest.param(Fields(cache_control="max-age=9999999999999"), 2**31, id="1.2.2 overflow"),
    ],
)
def test_an_answer_grants(fields: Fields, seconds: float | None) -> None:
    assert granted(fields) == seconds


def test_the_time_that_an_answer_took_counts_as_age() -> None:
    """Section 4.2.3, response_delay; a clock that went back takes nothing."""
    fields = Fields(cache_control="max-age=60", age="10")

    assert granted(fields, took=5) == 45
    assert granted(fields, took=-5) == 50


TEXTS = st.none() | st.text(max_size=20) | st.integers(-99, 999).map("max-age={}".format)
DATES = TEXTS | st.integers(-(10**6), 10**6).map(date)


@given(TEXTS, DATES, DATES, TEXTS | st.integers(0, 99).map(str), st.floats(0, 100))
def test_what_is_granted_is_never_negative_and_nothing_breaks_it(
    control: str | None, expires: str | None, moment: str | None, age: str | None, took: float
) -> None:
    found = granted(Fields(cache_control=control, expires=expires, date=moment, age=age), took=took)

    assert found is None or 0 <= found <= 2**31


HOUR, DAY, MONTH = 3600.0, 86_400.0, 2_592_000.0


@pytest.mark.parametrize(
    ("known", "wait"),
    [
        pytest.param({"fresh_for": 7200.0}, 7200, id="as long as it grants"),
        pytest.param({"fresh_for": 0.0}, HOUR, id="but the shortest interval at least"),
        pytest.param({"fresh_for": 1e9}, MONTH, id="and the longest at most"),
        pytest.param({}, HOUR, id="says nothing"),
        pytest.param({"last_modified": date(-20 * DAY)}, 2 * DAY, id="4.2.2 a tenth of its age"),
        pytest.param({"last_modified": date(-3000 * DAY)}, MONTH, id="4.2.2 at most the longest"),
        pytest.param({"last_modified": date(DAY)}, HOUR, id="modified in the future"),
        pytest.param({"last_modified": "long ago"}, HOUR, id="no date"),
        pytest.param(
            {"fresh_for": 0.0, "last_modified": date(-20 * DAY)},
            HOUR,
            id="its own word comes first",
        ),
        pytest.param({"status": 304, "last_modified": date(-20 * DAY)}, 2 * DAY, id="not modified"),
        pytest.param(
            {"status": 503, "last_modified": date(-20 * DAY)}, HOUR, id="no heuristics for 503"
        ),
        pytest.param({"status": 404, "fresh_for": 7200.0}, 7200, id="not found may say"),
        pytest.param({"status": 410, "fresh_for": 0.0}, MONTH, id="gone waits the longest"),
        pytest.param({"status": None}, HOUR, id="no answer"),
    ],
)
def test_a_page_is_due(known: dict[str, object], wait: float) -> None:
    assert freshness.due(record(at=NOW, **known), NOW, MANNERS) == NOW + wait


@given(
    st.none() | st.floats(0, 1e10),
    st.none() | st.integers(-(10**8), 10**8).map(date),
    st.sampled_from([None, 200, 301, 304, 404, 410, 500]),
)
def test_a_page_is_due_between_the_two_intervals(
    fresh_for: float | None, modified: str | None, status: int | None
) -> None:
    answered = record(at=NOW, fresh_for=fresh_for, last_modified=modified, status=status)

    assert NOW + HOUR <= freshness.due(answered, NOW, MANNERS) <= NOW + MONTH


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        pytest.param(Fields(), Validators(), id="none"),
        pytest.param(Fields(etag='"a"'), Validators('"a"'), id="strong"),
        pytest.param(Fields(etag='W/"a"'), Validators('W/"a"'), id="weak"),
        pytest.param(Fields(etag="unquoted"), Validators("unquoted"), id="exactly as it came"),
        pytest.param(Fields(etag=""), Validators(), id="empty"),
        pytest.param(Fields(etag='"ä"'), Validators(), id="not ASCII"),
        pytest.param(Fields(etag='"a\x01"'), Validators(), id="control character"),
        pytest.param(
            Fields(etag='"' + "a" * 2000 + '"'), Validators(), id="longer than a head bears"
        ),
        pytest.param(
            Fields(last_modified=date(-9)), Validators(None, date(-9)), id="Last-Modified"
        ),
        pytest.param(Fields(last_modified="yesterday"), Validators(), id="no date"),
        pytest.param(
            Fields(etag='"a"', last_modified=date(-9), cache_control="no-store"),
            Validators(),
            id="5.2.2.5 no-store",
        ),
        pytest.param(
            Fields(etag='"a"', cache_control="no-cache"), Validators('"a"'), id="5.2.2.4 no-cache"
        ),
    ],
)
def test_keeps_the_validators_that_can_be_sent_back(fields: Fields, kept: Validators) -> None:
    assert freshness.validators(fields, NOW) == kept


@pytest.mark.parametrize(
    ("full_at", "full"),
    [(None, True), (NOW - 604_799, False), (NOW - 604_800, True), (NOW, False)],
    ids=["never read", "not yet", "after a week", "just now"],
)
def test_a_page_is_read_in_full_from_time_to_time(full_at: float | None, full: bool) -> None:
    assert freshness.full_fetch_due(full_at, NOW, MANNERS) is full


def test_without_an_interval_each_fetch_is_full() -> None:
    assert freshness.full_fetch_due(NOW, NOW, replace(MANNERS, full_fetch=0.0)) is True
