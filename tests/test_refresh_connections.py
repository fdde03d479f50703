"""Connections that die under a crawl: what reached the server is in the log, request by request."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pytest
from capture import Answer, Captured, CapturingServer, Then, capturing
from crawling import Operator
from scripted import RESET, SILENCE, Site, page, robots, site

from crawler.events import FetchRecord, Outcome, Stage, Why

PAGES: Final = ("/0", "/1")
ATTEMPTS: Final = 3
NONCE: Final = re.compile(r'nonce="([^"]+)"')
NO_HEAD: Final = Answer(pieces=(b"HTTP/1.1 200 OK\r\nContent-Le",), then=Then.CLOSE)
HALF_A_BODY: Final = Answer(
    pieces=(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n<p>half",),
    then=Then.CLOSE,
)


def closing(then: Then = Then.CLOSE) -> Answer:
    """An open robots.txt, after which the next request needs a connection of its own."""
    whole = robots()
    return Answer(pieces=whole.pieces, then=then)


def one_answer_a_connection(how: Answer) -> Site:
    """A server that takes a second request on a connection, and ends it like this."""
    served: Counter[int] = Counter()
    answers = site(dict.fromkeys(PAGES, page()))

    def answer(request: Captured) -> Answer:
        served[request.connection] += 1
        return answers(request) if served[request.connection] == 1 else how

    return answer


def at_the_second_attempt(how: Answer) -> Site:
    """A server that ends the first request for each page like this."""
    asked: Counter[str] = Counter()
    answers = site(dict.fromkeys(PAGES, page(then=Then.CLOSE)), robots_txt=closing())

    def answer(request: Captured) -> Answer:
        asked[request.target] += 1
        page_again = request.target == "/robots.txt" or asked[request.target] > 1
        return answers(request) if page_again else how

    return answer


def always(how: Answer) -> Site:
    """A server that ends every request for a page like this."""
    return site({"/0": how}, robots_txt=closing())


SITES: Final[Mapping[str, Site]] = {
    "stale": one_answer_a_connection(SILENCE),
    "stale-reset": one_answer_a_connection(RESET),
    "closing": site(dict.fromkeys(PAGES, page(then=Then.CLOSE)), robots_txt=closing()),
    "recovering": at_the_second_attempt(RESET),
    "reset": always(RESET),
    "silent": always(SILENCE),
    "no-head": always(NO_HEAD),
    "half-a-body": always(HALF_A_BODY),
}
DEAD: Final = ("reset", "silent", "no-head", "half-a-body")


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What one server received, and our records of it."""

    server: CapturingServer
    records: list[FetchRecord]

    @property
    def pages(self) -> list[FetchRecord]:
        return self.records[1:]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Seen]]:
    with ExitStack() as stack:
        doors = {
            name: stack.enter_context(capturing(answer, f"127.0.0.{number}"))
            for number, (name, answer) in enumerate(SITES.items(), start=1)
        }
        operator = Operator(
            folder=tmp_path_factory.mktemp("connections"),
            origins={
                name: {"url": door.url(), "start": ["/0"] if name in DEAD else list(PAGES)}
                for name, door in doors.items()
            },
            politeness={"min_delay": 0.1, "min_interval": "0s", "max_delay": 1.0},
        )
        ended = operator.crawl("--once")
        assert (ended.code, ended.said) == (0, "")
        yield {
            name: Seen(server=door, records=operator.records(name)) for name, door in doors.items()
        }


@pytest.mark.parametrize("name", SITES)
def test_what_reached_the_server_is_in_the_log_in_number_and_order(
    crawled: dict[str, Seen], name: str
) -> None:
    seen = crawled[name]
    ours = [(one.url, one.header_bytes) for one in seen.records]
    theirs = [(seen.server.url(one.target), len(one.head)) for one in seen.server.requests]

    assert ours == theirs
    assert {one.labels for one in seen.records} == {("sig1", "sig2")}


@pytest.mark.parametrize("name", SITES)
def test_no_request_is_a_repetition_of_the_bytes_of_another(
    crawled: dict[str, Seen], name: str
) -> None:
    requests = crawled[name].server.requests
    nonces = [NONCE.findall(request.field("Signature-Input") or "") for request in requests]

    assert len({request.field("Signature") for request in requests}) == len(requests)
    assert len({nonce for (nonce,) in nonces}) == len(requests)


@pytest.mark.parametrize("name", ["stale", "stale-reset"])
def test_a_used_connection_that_ends_is_stale_and_the_page_is_asked_again_in_its_turn(
    crawled: dict[str, Seen], name: str
) -> None:
    how = [(one.stage, one.reused, one.attempt) for one in crawled[name].pages]

    assert how == [(Stage.STALE_CONNECTION, True, 1), (None, False, 2)] * len(PAGES)


@pytest.mark.parametrize("name", ["stale", "stale-reset"])
def test_and_nobody_is_backed_off_from(crawled: dict[str, Seen], name: str) -> None:
    assert {one.waited_for for one in crawled[name].pages} == {Why.DELAY}


def test_connections_that_end_in_good_order_cost_no_request(crawled: dict[str, Seen]) -> None:
    seen = crawled["closing"]

    assert [one.stage for one in seen.records] == [None] * (1 + len(PAGES))
    assert len({one.connection for one in seen.server.requests}) == len(seen.records)


def test_a_reset_before_the_first_byte_is_asked_again_after_a_back_off(
    crawled: dict[str, Seen],
) -> None:
    pages = crawled["recovering"].pages
    stages = [(one.stage, one.attempt) for one in pages]
    waits = [one.waited for one in pages if one.waited_for is Why.BACK_OFF]

    assert stages == [(Stage.FIRST_BYTE, 1), (None, 2)] * len(PAGES)
    assert len(waits) == len(PAGES)
    assert min(waits) >= 0.99  # a second, from the end of the answer


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        pytest.param("reset", Stage.FIRST_BYTE, id="reset"),
        pytest.param("silent", Stage.FIRST_BYTE, id="closed without a byte"),
        pytest.param("no-head", Stage.HEAD, id="closed within the head"),
        pytest.param("half-a-body", Stage.BODY, id="closed within the body"),
    ],
)
def test_three_attempts_and_no_more(crawled: dict[str, Seen], name: str, stage: Stage) -> None:
    pages = crawled[name].pages

    assert [(one.outcome, one.stage) for one in pages] == [(Outcome.FAILED, stage)] * ATTEMPTS
    assert [one.attempt for one in pages] == [1, 2, 3]
