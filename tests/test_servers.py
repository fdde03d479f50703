"""The servers that the tests lean on: what they serve and what they note about a request."""

import http.client
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
import website
from servers import ServerError, WebServer, apache, needs_apache, needs_nginx, nginx

Serve = Callable[..., AbstractContextManager[WebServer]]
each_server = pytest.mark.parametrize(
    "serve",
    [
        pytest.param(nginx, marks=needs_nginx, id="nginx"),
        pytest.param(apache, marks=needs_apache, id="Apache"),
    ],
)
TWO_SITES = {
    "127.0.0.1": website.files(3, title="one"),
    "127.0.0.2": website.files(2, title="two"),
}


def ask(
    server: WebServer, target: str, address: str = "127.0.0.1", fields: dict[str, str] | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(address, server.port)
    try:
        connection.request("GET", target, headers=fields or {})
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


@each_server
def test_serves_each_address_its_own_pages(serve: Serve) -> None:
    with serve(TWO_SITES) as server:
        bodies = [ask(server, "/page-1.html", address)[1] for address in TWO_SITES]

        assert bodies == [site["page-1.html"] for site in TWO_SITES.values()]


@each_server
def test_a_validator_that_still_holds_gets_304(serve: Serve) -> None:
    with serve(TWO_SITES) as server:
        first, _ = ask(server, "/")
        tag, date = first.getheader("ETag"), first.getheader("Last-Modified")
        second, body = ask(server, "/", fields={"If-None-Match": tag or ""})

        assert first.status == 200
        assert date == "Thu, 01 Jan 2026 00:00:00 GMT"
        assert (second.status, body) == (304, b"")


@each_server
def test_the_access_log_says_what_was_asked_and_when(serve: Serve) -> None:
    fields = {"User-Agent": 'Say "hello"', "Signature-Input": 'sig1=("@authority");tag="x"'}
    with serve(TWO_SITES) as server:
        ask(server, "/robots.txt", "127.0.0.2", fields)
        ask(server, "/nothing?here=1")
        asked = {one.target: one for one in server.requests(at_least=2)}  # two workers, any order
        served, refused = asked["/robots.txt"], asked["/nothing?here=1"]

    assert (served.address, served.status) == ("127.0.0.2", 200)
    assert served.http_signature_input == fields["Signature-Input"]
    assert served.http_user_agent == fields["User-Agent"]
    assert served.request_length > 100
    assert (refused.address, refused.status) == ("127.0.0.1", 404)
    assert served.began <= served.msec
    assert served.began <= refused.msec


@each_server
def test_a_log_that_stays_short_is_said(serve: Serve) -> None:
    with serve(TWO_SITES) as server:
        ask(server, "/")

        with pytest.raises(ServerError, match="1 requests in the log, 2 expected"):
            server.requests(at_least=2, within=0.1)


@each_server
def test_a_directive_that_the_server_does_not_know_is_said_in_its_own_words(serve: Serve) -> None:
    with (
        pytest.raises(ServerError, match="no_such_thing"),
        serve(TWO_SITES, directives="no_such_thing on;"),
    ):
        pass


@needs_nginx
def test_a_directive_can_stand_at_one_address_only() -> None:
    with nginx(TWO_SITES, at={"127.0.0.2": "add_header X-Here yes;"}) as server:
        fields = [ask(server, "/", address)[0].getheader("X-Here") for address in TWO_SITES]

        assert fields == [None, "yes"]
