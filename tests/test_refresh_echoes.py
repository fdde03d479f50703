"""A site that sends our own values back wherever it can: none of them gets into log or database."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from capture import Answer, Captured, CapturingServer, capturing, respond
from crawling import Ended, Operator
from scripted import moved, page, robots

from crawler.events import FetchRecord, Outcome, Skipped

LONG: Final = "0123456789abcdefXYZ"
SHORT: Final = "s3cr"
CODED: Final = "k%2Fe%2Fy"
COOKIE: Final = f"session={LONG}; short={SHORT}; coded={CODED}"
SECRETS: Final = (LONG, SHORT, CODED, "k/e/y")

Site = Callable[[Captured], Answer]


def raw(status: str, *lines: str) -> Answer:
    head = "\r\n".join((f"HTTP/1.1 {status}", *lines, "Content-Length: 0", "", ""))
    return Answer(pieces=(head.encode(),))


def echoes(secret: str) -> dict[str, Answer]:
    """Each way in which an answer may quote a value."""
    return {
        "/location": moved(f"/next?back={secret}"),
        "/elsewhere": moved(f"http://elsewhere.example/?back={secret}"),
        "/server": page(Server=f"srv {secret}"),
        "/etag": page(ETag=f'"{secret}"'),
        "/type": respond(200, ("Content-Type", f"text/{secret}")),
        "/charset": respond(200, ("Content-Type", f"text/html; charset={secret}")),
        "/reason": raw(f"404 {secret}"),
        "/line": raw("200 OK", f"Bad Header {secret}"),
        "/status": raw(f"{secret} OK"),
        "/coding": respond(200, ("Content-Type", "text/html"), ("Content-Encoding", secret)),
        "/transfer": raw("200 OK", "Content-Type: text/html", f"Transfer-Encoding: {secret}"),
        "/refusal": respond(403, ("Content-Type", "text/plain"), body=f"no {secret}".encode()),
        "/modified": page(Last_Modified=secret),
        "/tag": page(X_Robots_Tag=secret),
        "/later": page(Retry_After=secret),
        "/ray": page(CF_RAY=secret),
        "/links": page(f"/a?q={secret}", f"/{secret}/b", f"/c?q=%7E{secret}", "/known"),
        "/known": page(),
    }


def telling(secret: str) -> Site:
    known = echoes(secret)
    group = f"User-agent: ExampleBot/{secret}\nDisallow: /shut\n"
    rules = respond(200, ("Content-Type", "text/plain"), body=group.encode())
    return lambda request: (
        rules if request.target == "/robots.txt" else known.get(request.target, respond(404))
    )


def signature(request: Captured) -> str:
    """The beginning of sig1, long enough to be known again, with nothing that a URL escapes."""
    found = re.search(r"[A-Za-z0-9]{12,}", request.field("signature") or "")
    assert found is not None
    return found[0]


def signed(request: Captured) -> Answer:
    if request.target == "/robots.txt":
        return robots("Disallow: /shut")
    return telling(signature(request))(request)


@dataclass(frozen=True, kw_only=True)
class Echoed:
    """A crawl of a site that quotes one value, and that value for each request."""

    operator: Operator
    ended: Ended
    server: CapturingServer

    def written(self) -> bytes:
        """All that a reader of log and database may find."""
        state = self.operator.state
        paths = [*state.glob("log/*"), *state.glob("state.db*")]
        return b"".join(path.read_bytes() for path in paths)

    def record(self, target: str) -> FetchRecord:
        found = [one for one in self.operator.records() if one.url == self.server.url(target)]
        return found[0]


@pytest.fixture(scope="module", params=[*SECRETS, "signature"])
def echoed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Echoed]:
    folder = tmp_path_factory.mktemp("echo")
    site = signed if request.param == "signature" else telling(request.param)
    with capturing(site) as server:
        one = {
            "url": server.url("/"),
            "start": [*echoes("x"), "/shut?q=1"],
            "follow": ["links"],
            "cookie": COOKIE,
            "min_delay": 0.0,
            "delay_factor": 0,
            "max_delay": 0.0,
        }
        operator = Operator(folder=folder / "operator", origins={"one": one})
        ended = operator.crawl("--once")
        yield Echoed(operator=operator, ended=ended, server=server)


def quoted(echoed: Echoed) -> list[str]:
    return [*SECRETS, *(signature(request) for request in echoed.server.requests)]


def test_nothing_of_ours_is_in_the_log_or_the_database(echoed: Echoed) -> None:
    written = echoed.written()

    assert echoed.ended.code == 0, echoed.ended.said
    assert [value for value in quoted(echoed) if value.encode() in written] == []
    assert b"/known" in written
    assert not [value for value in quoted(echoed) if value in echoed.ended.said]


def test_no_page_is_asked_for_that_an_echo_names(echoed: Echoed) -> None:
    asked = {request.target for request in echoed.server.requests}

    assert asked == {"/robots.txt", *echoes("x")}


def test_a_location_that_quotes_us_is_said_and_not_followed(echoed: Echoed) -> None:
    for target in ("/location", "/elsewhere"):
        record = echoed.record(target)

        assert (record.outcome, record.status) == (Outcome.ANSWERED, 302)
        assert record.location is None
        assert record.detail == "its Location quotes a value of ours: neither kept nor followed"


def test_a_validator_that_quotes_us_is_not_kept(echoed: Echoed) -> None:
    assert echoed.record("/etag").etag is None
    assert echoed.record("/modified").last_modified is None


def test_a_rule_counts_whatever_the_line_above_it_quotes(echoed: Echoed) -> None:
    (skipped,) = echoed.operator.logged(Skipped)

    assert skipped.url == echoed.server.url("/shut?q=1")
    assert skipped.rule == "Disallow: /shut"
    assert skipped.group in ("User-agent: *", "User-agent: ExampleBot/[...]")


def test_the_database_that_is_built_anew_has_nothing_of_the_cookie(
    echoed: Echoed, tmp_path: Path
) -> None:
    for path in echoed.operator.state.glob("state.db*"):
        path.unlink()

    again = echoed.operator.crawl("--once")

    assert again.code in (0, 3), again.said
    assert not [secret for secret in SECRETS if secret.encode() in echoed.written()]
