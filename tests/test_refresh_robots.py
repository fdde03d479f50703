"""What a server answers to /robots.txt, and what is asked of it after that."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pytest
from capture import Answer, Captured, Then, capturing, respond
from crawling import Operator
from scripted import RESET, labels, page, robots

from crawler.events import Deferred, FetchRecord, Kind, RobotsRead, Skipped, Stage, Why, Without

CLOSED: Final = robots("Disallow: /")
ABOUT_THE_REQUEST: Final = (400, 401, 403, 413, 431)
TRIES: Final = 3
DOUBLING: Final = ("down-503", "down-500", "busy-429")  # the others need not be waited for


def status(code: int, *fields: tuple[str, str]) -> Answer:
    return respond(code, *fields)


NGINX_494: Final = Answer(
    pieces=(b"HTTP/1.1 494 Request Header Too Large\r\nContent-Length: 0\r\n\r\n",),
    then=Then.CLOSE,
)

ToBoth = tuple[Answer, Answer]
"""What a request for robots.txt gets that carries both signatures, and one with sig1 alone."""

SHUT: dict[str, ToBoth] = {
    **{f"shut-{code}": (status(code), CLOSED) for code in ABOUT_THE_REQUEST},
    "shut-494": (NGINX_494, CLOSED),
    "shut-reset": (RESET, CLOSED),
    "shut-error": (status(404, ("Signature-Error", "error=unsupported_algorithm")), CLOSED),
    "shut-demoted": (
        respond(200, ("X-Bot-Authenticated", "false"), body=b"User-agent: *\nAllow: /\n"),
        CLOSED,
    ),
    "shut-words": (respond(200, body=b"signature verification failed\n"), CLOSED),
    "shut-challenge": (status(202, ("x-amzn-waf-action", "challenge")), CLOSED),
}
OPEN: dict[str, ToBoth] = {
    "open-403": (status(403), robots("Disallow: /private")),
    "missing-431": (status(431), status(404)),
    "forbidden": (status(403), status(403)),
    "lawful-451": (status(451), status(451)),
}
MISSING: dict[str, ToBoth] = {f"missing-{code}": (status(code), status(500)) for code in (404, 410)}
UNREACHABLE: dict[str, ToBoth] = {
    "down-503": (status(503), status(503)),
    "down-500": (status(500), CLOSED),
    "busy-429": (status(429), robots()),
    "narrow-431": (status(431), status(431)),
    "narrow-494": (NGINX_494, NGINX_494),
    "mute": (RESET, RESET),
}
SITES: Final = SHUT | OPEN | MISSING | UNREACHABLE


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What one site received, and what our log says of it."""

    requests: Sequence[Captured]
    operator: Operator
    name: str

    @property
    def asked(self) -> list[tuple[str, list[str]]]:
        return [(request.target, labels(request)) for request in self.requests]

    @property
    def records(self) -> list[FetchRecord]:
        return self.operator.records(self.name)

    def reasons(self, kind: type[Skipped] | type[Deferred]) -> list[Why]:
        return [event.why for event in self.operator.logged(kind, self.name)]


def answering(to_both: Answer, to_first: Answer) -> Callable[[Captured], Answer]:
    def answer(request: Captured) -> Answer:
        if request.target != "/robots.txt":
            return page()
        return to_both if "sig2" in labels(request) else to_first

    return answer


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Seen]]:
    with ExitStack() as stack:
        doors = {
            name: stack.enter_context(capturing(answering(*answers), f"127.0.0.{number}"))
            for number, (name, answers) in enumerate(SITES.items(), start=1)
        }
        operator = Operator(
            folder=tmp_path_factory.mktemp("robots"),
            origins={
                name: {
                    "url": door.url(),
                    "start": ["/", "/private"],
                    "max_delay": 300.0 if name in DOUBLING else 1.0,
                }
                for name, door in doors.items()
            },
        )
        ended = operator.crawl("--once")
        attention = [line.split(": ") for line in ended.said.splitlines()]
        assert ended.code == 3
        assert {(words[1], words[2]) for words in attention} == {
            ("attention", name) for name in SHUT
        }
        yield {
            name: Seen(requests=door.requests, operator=operator, name=name)
            for name, door in doors.items()
        }


BOTH: Final = ("/robots.txt", ["sig1", "sig2"])
ALONE: Final = ("/robots.txt", ["sig1"])


@pytest.mark.parametrize("name", SHUT)
def test_a_refusal_of_sig2_does_not_open_what_robots_txt_closes(
    seen: dict[str, Seen], name: str
) -> None:
    site = seen[name]

    assert site.asked == [BOTH, ALONE]
    assert site.reasons(Skipped) == [Why.ROBOTS, Why.ROBOTS]

    refused, read = site.records

    assert (read.control_of, read.without) == (refused.id, Without.ROBOTS_CONTROL)
    assert {one.detail for one in site.operator.logged(Skipped, name)} == {
        f"refused by {site.records[0].url} line 2 `Disallow: /` (group `User-agent: *`, line 1)"
    }


def test_the_control_has_the_last_word_where_it_reads_a_file(seen: dict[str, Seen]) -> None:
    site = seen["open-403"]

    assert site.asked == [BOTH, ALONE, ("/", ["sig1", "sig2"])]
    assert site.reasons(Skipped) == [Why.ROBOTS]


@pytest.mark.parametrize("name", ["missing-431", "forbidden", "lawful-451"])
def test_and_where_there_is_none_for_sig1_alone_either(seen: dict[str, Seen], name: str) -> None:
    assert [target for target, _ in seen[name].asked] == [
        "/robots.txt",
        "/robots.txt",
        "/",
        "/private",
    ]


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_robots_txt_allows_everything_at_once(seen: dict[str, Seen], name: str) -> None:
    site = seen[name]
    (read,) = site.operator.logged(RobotsRead, name)

    assert [target for target, _ in site.asked] == ["/robots.txt", "/", "/private"]
    assert read.status == int(name[-3:])


@pytest.mark.parametrize("name", UNREACHABLE)
def test_where_robots_txt_cannot_be_had_nothing_else_is_asked(
    seen: dict[str, Seen], name: str
) -> None:
    site = seen[name]

    assert {target for target, _ in site.asked} == {"/robots.txt"}
    assert {one.kind for one in site.records} == {Kind.ROBOTS}
    assert site.reasons(Deferred) == [Why.ROBOTS_UNREACHABLE]
    assert site.operator.logged(RobotsRead, name) == []


@pytest.mark.parametrize("name", DOUBLING)
def test_it_is_tried_three_times_each_later_than_the_one_before(
    seen: dict[str, Seen], name: str
) -> None:
    times = [request.at for request in seen[name].requests]

    assert len(times) == TRIES
    assert times[1] - times[0] >= 1.0
    assert times[2] - times[1] >= 2.0


@pytest.mark.parametrize("name", ["narrow-431", "narrow-494", "mute"])
def test_once_sig1_alone_was_no_better_it_is_what_is_tried_again_with(
    seen: dict[str, Seen], name: str
) -> None:
    first, *controls = seen[name].records

    assert seen[name].asked == [BOTH, *[ALONE] * TRIES]
    assert {one.control_of for one in controls} == {first.id}


def test_every_request_that_came_is_in_the_log(seen: dict[str, Seen]) -> None:
    for site in seen.values():
        ours = [("/" + one.url.split("/", 3)[3], list(one.labels)) for one in site.records]

        assert ours == site.asked


def test_a_reset_before_the_first_byte_is_said_as_such(seen: dict[str, Seen]) -> None:
    assert seen["shut-reset"].records[0].stage is Stage.FIRST_BYTE
