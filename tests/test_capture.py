"""The capturing server keeps what came and sends what it was told to."""

import socket
import threading

import pytest
from capture import Answer, Captured, Then, capturing, respond

HEAD = b"GET /a%2Fb?x=%7E HTTP/1.1\r\nHost: here\r\nX-Odd:\t one \r\nx-odd: tw\xf6\r\n\r\n"


def talk(port: int, *pieces: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for piece in pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


def test_keeps_a_head_exactly_as_it_came() -> None:
    with capturing(lambda _: respond(204)) as server:
        talk(server.port, HEAD[:30], HEAD[30:])
        (request,) = server.requests

    assert request.head == HEAD
    assert (request.method, request.target) == ("GET", "/a%2Fb?x=%7E")
    assert request.fields == (("Host", "here"), ("X-Odd", "one"), ("x-odd", "twö"))
    assert (request.field("X-ODD"), request.field("absent")) == ("one, twö", None)


def test_tells_requests_of_one_connection_from_those_of_another() -> None:
    post = b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
    with capturing(lambda _: respond(200, body=b"ok")) as server:
        answer = talk(server.port, post + HEAD)
        talk(server.port, HEAD)

    assert [(seen.connection, seen.body) for seen in server.requests] == [
        (0, b"body"),
        (0, b""),
        (1, b""),
    ]
    assert answer == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" * 2


def test_sends_pieces_as_they_are_and_closes_when_told() -> None:
    odd = Answer(pieces=(b"HTTP/1.1 200\r\n", b"\xff: \x00\r\n"), pause=0.001, then=Then.CLOSE)
    with capturing(lambda _: odd) as server:
        answer = talk(server.port, HEAD + HEAD)

    assert answer == b"HTTP/1.1 200\r\n\xff: \x00\r\n"
    assert len(server.requests) == 1


def test_resets_a_connection_when_told() -> None:
    with (
        capturing(lambda _: Answer(then=Then.RESET)) as server,
        socket.create_connection(("127.0.0.1", server.port)) as client,
    ):
        client.sendall(HEAD)

        with pytest.raises(ConnectionResetError):
            client.recv(1)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing sent yet"),
        pytest.param(HEAD[:20], id="within a head"),
        pytest.param(HEAD, id="within a slow answer"),
    ],
)
def test_ends_although_a_client_stays(sent: bytes) -> None:
    drip = Answer(pieces=(b"H",) * 1000, pause=60.0)
    with capturing(lambda _: drip) as server:
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall(sent)
        if sent == HEAD:
            client.recv(1)
    client.close()

    assert not {"capture", "guest"} & {thread.name for thread in threading.enumerate()}


def test_a_script_may_look_at_what_came() -> None:
    def script(request: Captured) -> Answer:
        return respond(431 if len(request.head) > 60 else 200, ("X-Target", request.target))

    with capturing(script) as server:
        answers = [talk(server.port, b"GET /b HTTP/1.1\r\n\r\n"), talk(server.port, HEAD)]

    assert [answer.split(b" ")[1] for answer in answers] == [b"200", b"431"]
    assert b"X-Target: /a%2Fb?x=%7E\r\n" in answers[1]
