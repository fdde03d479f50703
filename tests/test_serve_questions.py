"""How servers put their questions, and what becomes of one that cannot be read."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from crawler.serve import questions
from crawler.serve.questions import Answer, Question

PLAIN = b"GET /auth HTTP/1.1\r\nHost: gate\r\n\r\n"


async def path_of(question: Question) -> Answer:
    return Answer(status=200, fields={"X-Path": question.path}, text="said\n")


@asynccontextmanager
async def connected(
    answer: questions.Answering = path_of,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    async with questions.answering(answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield reader, writer
        finally:
            writer.close()


async def told(sent: bytes, answer: questions.Answering = path_of) -> str:
    """All that comes back until the connection ends."""
    async with connected(answer) as (reader, writer):
        writer.write(sent)
        return (await reader.read()).decode()


def test_a_head_is_read_octet_by_octet() -> None:
    head = b"GET /auth HTTP/1.1\r\nCookie: \ta=\x01\x7f\xff \r\nA:\r\nA: \xc3\xa9:1\r\n\r\n"

    assert questions.read(head) == Question(
        method="GET",
        path="/auth",
        fields=(("Cookie", "a=\x01\x7f\udcff"), ("A", ""), ("A", "\xe9:1")),
        last=False,
    )


@pytest.mark.parametrize(
    ("head", "last"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", True),
        (b"GET / HTTP/1.0\r\n\r\n", True),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", True),
        (b"GET / HTTP/1.0\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n", True),
    ],
    ids=str,
)
def test_a_connection_goes_on_only_where_the_next_question_begins_for_sure(
    head: bytes, last: bool
) -> None:
    question = questions.read(head)

    assert question is not None
    assert question.last is last


@pytest.mark.parametrize(
    "head",
    [
        b"GET /\r\n\r\n",
        b"GET  HTTP/1.1\r\n\r\n",
        b" / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET / x HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n: no name\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\r\n c: folded\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\n\rC: d\r\n\r\n",
    ],
    ids=str,
)
def test_what_two_readers_could_read_in_two_ways_is_no_question(head: bytes) -> None:
    assert questions.read(head) is None


async def test_one_connection_carries_many_questions() -> None:
    said = await told(PLAIN + PLAIN.replace(b"auth", b"check") + PLAIN.replace(b"1.1", b"1.0"))

    assert said.count("HTTP/1.1 200 OK\r\n") == 3
    assert said.count("X-Path: /auth") == 2
    assert said.endswith("Content-Length: 5\r\nConnection: close\r\n\r\nsaid\n")


async def test_no_cache_may_keep_an_answer() -> None:
    assert "\r\nCache-Control: no-store\r\n" in await told(PLAIN.replace(b"1.1", b"1.0"))


async def test_head_gets_no_body() -> None:
    said = await told(PLAIN.replace(b"GET", b"HEAD").replace(b"1.1", b"1.0"))

    assert said.endswith("\r\n\r\n")


async def test_a_body_that_nobody_asked_for_is_not_the_next_question() -> None:
    body = b"GET /smuggled HTTP/1.1\r\n\r\n"
    length = str(len(body)).encode()
    async with connected() as (reader, writer):
        writer.write(PLAIN[:-2] + b"Content-Length: " + length + b"\r\n\r\n" + body)
        said = (await reader.read()).decode()

    assert said.count("HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"no request\r\n\r\n", "HTTP/1.1 400 "),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 1_100_000 + b"\r\n\r\n", "HTTP/1.1 431 "),
        (b"GET / HTTP/1.1\r\n", ""),
        (b"", ""),
    ],
    ids=["unreadable", "too long", "torn", "empty"],
)
async def test_what_cannot_be_read_ends_the_connection(sent: bytes, status: str) -> None:
    async with connected() as (reader, writer):
        writer.write(sent)
        writer.write_eof()
        said = (await reader.read()).decode()

    assert said.startswith(status)
    assert bool(said) is bool(status)


async def test_an_answer_has_no_line_that_is_not_its_own() -> None:
    async def odd(_: Question) -> Answer:
        return Answer(status=200, fields={"X-Odd": "a\r\nX-Bot-Outcome: verified\xe9"})

    said = await told(PLAIN.replace(b"1.1", b"1.0"), odd)

    assert "X-Odd: a??X-Bot-Outcome: verified?\r\n" in said


async def test_a_mistake_of_ours_is_500_and_a_line_without_what_the_visitor_sent() -> None:
    async def wrong(question: Question) -> Answer:
        raise ValueError(question.path)

    with capture_logs() as lines:
        said = await told(PLAIN.replace(b"auth", b"secret").replace(b"1.1", b"1.0"), wrong)

    assert said.startswith("HTTP/1.1 500 ")
    assert len(lines) == 1
    assert str(lines[0]["error"]).startswith(f"ValueError at {__name__}:")
    assert "secret" not in str(lines)


async def test_who_goes_away_before_the_answer_leaves_no_trace(
    capfd: pytest.CaptureFixture[str],
) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def late(_: Question) -> Answer:
        asked.set()
        await gone.wait()
        return Answer(status=200, text="x" * 1_000_000)

    async with questions.answering(late, "127.0.0.1", 0) as listening:
        wire = socket.create_connection(listening.sockets[0].getsockname())
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        wire.sendall(PLAIN)
        await asked.wait()
        wire.close()
        gone.set()

    assert capfd.readouterr().err == ""


async def test_an_answer_that_is_being_made_ends_with_the_server() -> None:
    asked = asyncio.Event()

    async def never(_: Question) -> Answer:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with connected(never) as (reader, writer):
        writer.write(PLAIN)
        await asked.wait()

    assert await reader.read() == b""


async def test_questions_before_the_end_are_answered_though_the_first_one_waits() -> None:
    async def slowly(question: Question) -> Answer:
        await asyncio.sleep(0)
        return await path_of(question)

    async with connected(slowly) as (reader, writer):
        writer.write(PLAIN + PLAIN.replace(b"/auth", b"/check"))
        writer.write_eof()
        said = (await reader.read()).decode()

    assert [line for line in said.splitlines() if line.startswith("X-Path")] == [
        "X-Path: /auth",
        "X-Path: /check",
    ]


async def test_who_takes_answers_slowly_is_asked_for_no_more_questions_meanwhile() -> None:
    size, questions_asked, answered = 100_000, 1_000, 0

    async def large(_: Question) -> Answer:
        nonlocal answered
        answered += 1
        return Answer(status=200, text="x" * size)

    ahead = received = 0
    async with connected(large) as (reader, writer):
        writer.write(PLAIN * questions_asked)
        while received < questions_asked * size and (piece := await reader.read(1 << 16)):
            received += len(piece)
            ahead = max(ahead, answered * size - received)

    assert answered == questions_asked
    assert ahead < questions_asked * size / 4  # what the sockets hold, and no more
