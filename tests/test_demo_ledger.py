"""What an origin of the fleet writes down."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.demo.ledger import Head, Ledger
from crawler.demo.reply import Answer

WALL = 1_800_000_000.0
RULES = "User-agent: *\nCrawl-delay: 2\nDisallow: /closed\n\nUser-agent: Other\nDisallow: /\n"


def head(target: str) -> Head:
    return Head(method="GET", authority="a.localhost:80", target=target)


def ledger() -> Ledger:
    return Ledger("a", "a.localhost:80", "DemoBot")


def exchange(
    book: Ledger, target: str, answer: Answer | None, *, at: float, took: float = 0.1
) -> None:
    number = book.arrive(head(target), at)
    book.reply(number, answer, at + took, WALL + at + took)
    book.sent(number, at + took)
    book.close(number)


def robots(status: int = 200, text: str = RULES) -> Answer:
    return Answer(status=status, body=text.encode(), type="text/plain")


def test_a_gap_counts_from_the_end_of_the_answer_before() -> None:
    book = ledger()
    exchange(book, "/robots.txt", robots(), at=10.0, took=0.5)
    exchange(book, "/", Answer(), at=12.0)

    assert [entry.gap for entry in book.entries] == [None, 1.5]
    assert [entry.ended for entry in book.entries] == [10.5, 12.1]


def test_an_answer_in_pieces_ends_with_the_last_one() -> None:
    book = ledger()
    number = book.arrive(head("/"), 1.0)
    book.reply(number, Answer(), 1.0, WALL)
    book.sent(number, 1.0)
    book.sent(number, 4.0)
    book.close(number)
    exchange(book, "/", Answer(), at=5.0)

    assert book.entries[1].gap == 1.0


def test_a_request_without_an_answer_ended_when_it_arrived() -> None:
    book = ledger()
    book.close(book.arrive(head("/"), 3.0))

    assert book.entries[0].ended == 3.0
    assert book.entries[0].status is None


def test_two_requests_at_once_are_noticed() -> None:
    book = ledger()
    first, second = book.arrive(head("/"), 1.0), book.arrive(head("/"), 1.1)
    book.close(first)
    book.close(second)
    third = book.arrive(head("/"), 2.0)

    assert [book.entries[number].overlaps for number in (first, second, third)] == [
        False,
        True,
        False,
    ]


def test_nothing_may_be_asked_before_robots_txt_but_robots_txt() -> None:
    book = ledger()
    exchange(book, "/", Answer(), at=1.0)
    exchange(book, "/robots.txt", robots(), at=2.0)

    assert book.entries[0].unasked == "no robots.txt was answered before"
    assert book.entries[1].unasked == ""


def test_the_line_that_closes_a_path_is_named() -> None:
    book = ledger()
    exchange(book, "/robots.txt", robots(), at=1.0)
    exchange(book, "/closed/door", Answer(), at=2.0)
    exchange(book, "/open", Answer(), at=3.0)

    assert "line 3 `Disallow: /closed`" in book.entries[1].unasked
    assert book.entries[2].unasked == ""


@pytest.mark.parametrize(
    ("status", "open_"),
    [(200, True), (404, True), (503, False), (431, False), (401, False), (403, False)],
)
def test_only_a_file_or_its_absence_opens_an_origin(status: int, open_: bool) -> None:
    book = ledger()
    exchange(book, "/robots.txt", robots(status, ""), at=1.0)
    exchange(book, "/", Answer(), at=2.0)

    assert (book.entries[1].unasked == "") is open_


def test_an_unchanged_robots_txt_stays_in_force() -> None:
    book = ledger()
    exchange(book, "/robots.txt", robots(), at=1.0)
    exchange(book, "/robots.txt", Answer(status=304), at=2.0)
    exchange(book, "/closed", Answer(), at=3.0)

    assert book.entries[2].unasked


def test_crawl_delay_is_in_force_once_it_was_served() -> None:
    book = ledger()
    exchange(book, "/robots.txt", robots(), at=1.0)
    exchange(book, "/", Answer(), at=5.0)

    assert [entry.crawl_delay for entry in book.entries] == [0.0, 2.0]


@pytest.mark.parametrize(
    ("asked", "until"),
    [("7", 11.0), (formatdate(WALL + 14, usegmt=True), 14.0)],
    ids=["seconds", "date"],
)
def test_retry_after_is_promised_to_both_clocks(asked: str, until: float) -> None:
    book = ledger()
    exchange(book, "/", Answer(status=503, fields=(("Retry-After", asked),)), at=3.0, took=1.0)
    exchange(book, "/", Answer(), at=20.0)

    assert [entry.promised for entry in book.entries] == [None, until]


def test_refusals_in_a_row_are_counted_until_an_answer() -> None:
    book = ledger()
    for at, answer in enumerate(
        [Answer(status=500), None, Answer(status=429), Answer(status=404), Answer()]
    ):
        exchange(book, "/", answer, at=float(at))

    assert [entry.setbacks for entry in book.entries] == [0, 1, 2, 3, 0]
    assert [entry.status for entry in book.entries] == [500, None, 429, 404, 200]


def test_visits_and_turns_are_counted() -> None:
    book = ledger()
    for at, target in enumerate(["/robots.txt", "/", "/", "/two"]):
        exchange(book, target, Answer(), at=float(at))

    assert (book.visits("/"), book.visits("/two"), book.visits("/none")) == (2, 1, 0)
    assert book.turns == 3


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=12))
def test_gaps_add_up(pauses: list[float]) -> None:
    book, now = ledger(), 0.0
    for pause in pauses:
        now += pause
        exchange(book, "/", Answer(), at=now, took=0.25)
        now += 0.25

    assert [entry.gap for entry in book.entries[1:]] == pytest.approx(pauses[1:], abs=1e-9)
