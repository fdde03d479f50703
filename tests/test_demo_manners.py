"""How each manner of the fleet answers."""

from dataclasses import replace
from email.utils import parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.demo import manners
from crawler.demo.reply import Answer, Ask, Drip, Manner, Reset

BODY = b"<!doctype html><title>A page</title>"
NOW = 1_800_000_000.75
SITE = manners.site({"/": Answer(body=BODY), "/two": Answer(body=BODY), "/drip": Drip()})
FIRST = ("sig1",)
BOTH = ("sig1", "sig2")


def ask(target: str = "/", **given: object) -> Ask:
    return replace(Ask(target=target, now=NOW), **given)  # type: ignore[arg-type]


def answer(manner: Manner, asked: Ask) -> Answer:
    reply = manner(asked)

    assert isinstance(reply, Answer)
    return reply


def test_a_site_gives_its_pages_and_its_robots_txt_and_404_for_the_rest() -> None:
    assert answer(SITE, ask("/")).body == BODY
    assert answer(SITE, ask("/robots.txt")).body.startswith(b"User-agent: *")
    assert answer(SITE, ask("/robots.txt")).type.startswith("text/plain")
    assert answer(SITE, ask("/none")).status == 404


def test_a_robots_txt_may_be_any_answer() -> None:
    manner = manners.site({}, Answer(status=503))

    assert answer(manner, ask("/robots.txt")).status == 503


def test_slow_takes_its_time_for_each_answer() -> None:
    manner = manners.slow(SITE, 0.5)

    assert answer(manner, ask("/")).after == 0.5
    assert answer(manner, ask("/robots.txt")).after == 0.5


def test_validators_lead_to_304_only_when_they_come_back_exactly() -> None:
    manner = manners.validated(SITE, dated=frozenset())
    etag = answer(manner, ask()).field("ETag")
    assert etag is not None

    assert answer(manner, ask(fields={"if-none-match": etag})).status == 304
    assert answer(manner, ask(fields={"if-none-match": etag})).field("etag") == etag
    assert answer(manner, ask(fields={"if-none-match": etag.strip('"')})).status == 200


def test_a_dated_page_answers_304_to_its_date() -> None:
    manner = manners.validated(SITE, dated=frozenset({"/"}))
    date = answer(manner, ask()).field("Last-Modified")
    assert date is not None

    assert answer(manner, ask(fields={"if-modified-since": date})).status == 304
    assert answer(manner, ask("/two", fields={"if-modified-since": date})).status == 200


def test_what_is_no_page_has_no_validators() -> None:
    manner = manners.validated(SITE, dated=frozenset())

    assert answer(manner, ask("/none")).field("ETag") is None


def test_busy_sends_away_once() -> None:
    manner = manners.busy(SITE, in_seconds={"/": 2}, by_date={"/two": 4})

    assert answer(manner, ask("/")).status == 429
    assert answer(manner, ask("/")).field("Retry-After") == "2"
    assert answer(manner, ask("/", visit=2)).status == 200
    assert answer(manner, ask("/none")).status == 404


def test_a_date_to_come_back_at_is_a_whole_second_and_no_later_than_said() -> None:
    manner = manners.busy(SITE, in_seconds={}, by_date={"/two": 4})
    refused = answer(manner, ask("/two"))
    date = parsedate_to_datetime(refused.field("Retry-After") or "").timestamp()

    assert refused.status == 503
    assert NOW + 3 <= date <= NOW + 4


@pytest.mark.parametrize(("size", "status"), [(4096, 200), (4097, 431)], ids=["fits", "too large"])
def test_a_narrow_door_counts_the_bytes_of_the_head(size: int, status: int) -> None:
    assert answer(manners.narrow(SITE, 4096), ask(size=size)).status == status


@pytest.mark.parametrize(
    ("labels", "verified", "algorithms", "status"),
    [
        (BOTH, BOTH, manners.REQUIRED, 200),
        (BOTH, BOTH, manners.REQUIRED[::-1], 200),
        (BOTH, BOTH, ("ed25519", "ed25519"), 403),
        (FIRST, FIRST, ("ed25519",), 403),
        (BOTH, FIRST, ("ed25519",), 403),
        (BOTH, ("sig2",), ("ml-dsa-44",), 403),
        ((*BOTH, "sig3"), BOTH, manners.REQUIRED, 403),
        ((), (), (), 403),
    ],
    ids=[
        "both",
        "in the other order",
        "twice the same",
        "one",
        "the first of both",
        "the second of both",
        "both of three",
        "none",
    ],
)
def test_strict_wants_both_algorithms_and_every_signature_good(
    labels: tuple[str, ...], verified: tuple[str, ...], algorithms: tuple[str, ...], status: int
) -> None:
    found = answer(
        manners.strict(SITE), ask(labels=labels, verified=verified, algorithms=algorithms)
    )

    assert found.status == status
    assert (found.field("Accept-Signature") is None) == (status == 200)


def test_single_refuses_two_signatures_by_name_and_takes_one() -> None:
    manner = manners.single(SITE)
    refused = answer(manner, ask("/robots.txt", labels=BOTH))

    assert (refused.status, refused.body) == (401, manners.TWO_LABELS.encode())
    assert answer(manner, ask("/robots.txt", labels=FIRST)).status == 200


@pytest.mark.parametrize(("labels", "said"), [(BOTH, "false"), (FIRST, "true")], ids=["two", "one"])
def test_demoting_says_200_to_all_and_what_it_thinks_in_a_field(
    labels: tuple[str, ...], said: str
) -> None:
    found = answer(manners.demoting(SITE), ask(labels=labels))

    assert (found.status, found.field(manners.DEMOTION)) == (200, said)


def test_torn_resets_the_first_visits_and_keeps_no_connection() -> None:
    manner = manners.torn(SITE, {"/two": 2})

    assert manner(ask("/two", visit=1)) == Reset()
    assert manner(ask("/two", visit=2)) == Reset()
    assert answer(manner, ask("/two", visit=3)).last
    assert answer(manner, ask("/", visit=1)).last


def test_failing_spares_robots_txt() -> None:
    manner = manners.failing(SITE, share=1.0, seed=1)

    assert answer(manner, ask("/robots.txt")).status == 200
    assert answer(manner, ask("/")).status == 500


@given(seed=st.integers(), turn=st.integers(1, 10_000), share=st.floats(0, 1))
def test_what_fails_at_random_fails_again_in_a_second_run(
    seed: int, turn: int, share: float
) -> None:
    first, second = (manners.failing(SITE, share=share, seed=seed) for _ in range(2))

    assert first(ask(turn=turn)) == second(ask(turn=turn))


def test_a_random_share_is_about_that_share() -> None:
    manner = manners.failing(SITE, share=0.3, seed=7)
    failed = sum(answer(manner, ask(turn=turn)).status == 500 for turn in range(1000))

    assert 250 < failed < 350


def test_posing_adds_its_fields() -> None:
    manner = manners.posing(SITE, (("Server", "cloudflare"),))

    assert answer(manner, ask()).field("server") == "cloudflare"


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: manners.slow(inner, 1.0),
        lambda inner: manners.validated(inner, frozenset()),
        manners.demoting,
        lambda inner: manners.torn(inner, {}),
        lambda inner: manners.posing(inner, (("Server", "x"),)),
    ],
    ids=["slow", "validated", "demoting", "torn", "posing"],
)
def test_what_is_no_plain_answer_passes_through(around: object) -> None:
    assert callable(around)
    assert around(SITE)(ask("/drip")) == Drip()
