"""How far a request came that failed, told apart on real connections."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import InvalidURL
from capture import Answer, Captured, Then, capturing, respond
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from visitor import origin, visiting

from crawler.events import FetchRecord, Outcome, Stage, encode
from crawler.fetch import failure
from crawler.fetch.trip import Trip
from crawler.problems import place

TYPE = ("Content-Type", "text/html")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def sent(
    *pieces: bytes, pause: float = 0.0, then: Then = Then.CLOSE
) -> Callable[[Captured], Answer]:
    return lambda _: Answer(pieces=pieces, pause=pause, then=then)


async def ask(folder: Path, answer: Callable[[Captured], Answer], **politeness: Any) -> FetchRecord:
    with capturing(answer) as server:
        async with visiting(origin(server.url("/"), politeness=politeness), folder) as visitor:
            return (await visitor.fetch()).record


@pytest.mark.parametrize(
    ("answer", "stage", "detail"),
    [
        pytest.param(sent(), Stage.FIRST_BYTE, "Server disconnected", id="closed without a byte"),
        pytest.param(
            sent(then=Then.RESET), Stage.FIRST_BYTE, "reset by peer", id="reset without a byte"
        ),
        pytest.param(
            sent(b"HTTP/1.1 200 OK\r\nServ"),
            Stage.HEAD,
            "closed before the head was whole",
            id="closed inside the head",
        ),
        pytest.param(sent(b"SSH-2.0-OpenSSH_9\r\n"), Stage.HEAD, "", id="no HTTP"),
        pytest.param(
            sent(HEAD + b"X-Long: " + b"x" * 40_000 + b"\r\n\r\n"),
            Stage.HEAD,
            "",
            id="a field of 40,000 bytes",
        ),
        pytest.param(
            sent(HEAD + b"A b: c\r\n\r\n"), Stage.HEAD, "", id="a field name with a blank"
        ),
        pytest.param(
            sent(HEAD + b"Content-Length: 10\r\n\r\nhalf"), Stage.BODY, "4 of 10", id="a short body"
        ),
        pytest.param(
            sent(HEAD + b"Content-Length: 10\r\n\r\nhalf", then=Then.RESET),
            Stage.BODY,
            "4 of 10",
            id="reset inside a body of known length",
        ),
        pytest.param(
            sent(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\n"),
            Stage.BODY,
            "",
            id="a chunked body without its end",
        ),
        pytest.param(
            sent(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"zz\r\n", pause=0.05),
            Stage.BODY,
            "",
            id="a chunk whose size is none",
        ),
        pytest.param(
            sent(HEAD + b"\r\nhello", b"more", pause=0.05, then=Then.RESET),
            Stage.BODY,
            "reset",
            id="reset inside a body that the connection ends",
        ),
        pytest.param(
            sent(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"),
            Stage.BODY,
            "not gzip",
            id="no gzip",
        ),
        pytest.param(
            sent(HEAD + b"Content-Encoding: br\r\nContent-Length: 5\r\n\r\nhello"),
            Stage.BODY,
            "was not asked for",
            id="another coding",
        ),
    ],
)
async def test_the_stage_says_how_far_a_request_came(
    tmp_path: Path, answer: Callable[[Captured], Answer], stage: Stage, detail: str
) -> None:
    record = await ask(tmp_path, answer)

    assert (record.outcome, record.stage) == (Outcome.FAILED, stage)
    assert detail in record.detail
    assert record.status == (200 if stage is Stage.BODY else None)
    assert record.labels == ("sig1", "sig2")
    assert record.header_bytes > 4000
    assert not record.reused
    assert record.address == "127.0.0.1"
    assert record.digest is None


async def test_a_reset_connection_that_had_served_before_is_told_apart(tmp_path: Path) -> None:
    answers = iter([respond(200, TYPE, body=b"x"), Answer(then=Then.RESET)])
    with capturing(lambda _: next(answers)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            await visitor.fetch()
            record = (await visitor.fetch()).record

    assert (record.stage, record.reused) == (Stage.STALE_CONNECTION, True)


async def test_what_a_broken_head_quotes_of_ours_stays_out_of_the_log(tmp_path: Path) -> None:
    record = await ask(
        tmp_path,
        lambda it: Answer(
            pieces=(
                HEAD + b"No name " + (it.field("signature") or "").encode()[:99] + b": 1\r\n\r\n",
            ),
            then=Then.CLOSE,
        ),
    )

    assert record.stage is Stage.HEAD
    assert "[...]" in record.detail
    assert len(record.detail) <= failure.LONGEST
    assert b"sig1=:" not in encode(record)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def test_a_closed_port_is_a_failed_connect_that_carried_nothing(tmp_path: Path) -> None:
    async with visiting(origin(f"http://127.0.0.1:{free_port()}/"), tmp_path) as visitor:
        record = (await visitor.fetch()).record

    assert (record.outcome, record.stage) == (Outcome.FAILED, Stage.CONNECT)
    assert record.detail == "Connect call failed ('127.0.0.1', "[:19] + record.detail[19:]
    assert (record.labels, record.header_bytes, record.signature_bytes) == ((), 0, 0)
    assert record.address == "127.0.0.1"


async def test_a_connection_that_is_never_made_is_a_failed_connect(tmp_path: Path) -> None:
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for filler in (first, second):  # the queue is full: further ones are not even refused
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        asked = origin(
            f"http://127.0.0.1:{listener.getsockname()[1]}/", politeness={"deadline": 0.2}
        )
        async with visiting(asked, tmp_path) as visitor:
            record = (await visitor.fetch()).record

    assert (record.outcome, record.stage) == (Outcome.FAILED, Stage.CONNECT)
    assert record.detail == "no connection within 0.2 s"
    assert record.labels == ()


def test_a_lookup_that_takes_too_long_is_a_failed_lookup() -> None:
    ending = failure.out_of_time(Trip(0.0), 60.0)

    assert (ending.outcome, ending.stage) == (Outcome.FAILED, Stage.DNS)
    assert ending.detail == "no connection within 60 s"


async def test_a_name_that_cannot_be_looked_up_is_a_failed_lookup(tmp_path: Path) -> None:
    # a label of 64 letters: refused before any server is asked
    async with visiting(origin(f"http://{'a' * 64}.example/"), tmp_path) as visitor:
        record = (await visitor.fetch()).record

    assert (record.outcome, record.stage) == (Outcome.FAILED, Stage.DNS)
    assert "label" in record.detail
    assert record.labels == ()


@pytest.mark.parametrize(
    ("pieces", "detail"),
    [
        pytest.param((b"", b""), "not whole within 0.2 s", id="no answer"),
        pytest.param((b"HTTP/1.1 200 OK\r\n", b""), "not whole within 0.2 s", id="half a head"),
        pytest.param(
            (HEAD + b"Content-Length: 99\r\n\r\nhalf", b""),
            "not whole within 0.2 s",
            id="half a body",
        ),
    ],
)
async def test_a_deadline_ends_whatever_takes_too_long(
    tmp_path: Path, pieces: tuple[bytes, ...], detail: str
) -> None:
    record = await ask(tmp_path, sent(*pieces, pause=30.0), deadline=0.2)

    assert (record.outcome, record.stage, record.detail) == (
        Outcome.FAILED,
        Stage.DEADLINE,
        detail,
    )
    assert record.labels == ("sig1", "sig2")


async def test_a_drip_ends_when_it_is_too_slow_and_not_before(tmp_path: Path) -> None:
    drops = tuple(b"x" for _ in range(200))
    with capturing(sent(HEAD + b"\r\n", *drops, pause=0.01)) as server:
        asked = origin(server.url("/"), politeness={"min_rate": 1000})
        async with visiting(asked, tmp_path, rate_window=0.1) as visitor:
            slow = (await visitor.fetch()).record
        asked = origin(server.url("/"), politeness={"min_rate": 5})
        async with visiting(asked, tmp_path, rate_window=0.1) as visitor:
            received = await visitor.fetch()

    assert (slow.outcome, slow.stage) == (Outcome.FAILED, Stage.MIN_RATE)
    assert slow.detail == "less than 1000 B/s over 0.1 s"
    assert slow.status == 200
    assert 0 < slow.wire_bytes < 100
    assert received.record.outcome is Outcome.ANSWERED
    assert received.body == b"x" * 200


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        pytest.param(
            sent(b"HTTP/1.1 403 No\r\nContent-Length: 99\r\n\r\nhalf", b"", pause=30.0),
            "deadline: not whole within 0.2 s",
            id="too slow",
        ),
        pytest.param(
            sent(b"HTTP/1.1 403 No\r\nContent-Length: 99\r\n\r\n", b"half", pause=0.01),
            "body: ",
            id="broken off",
        ),
        pytest.param(
            sent(b"HTTP/1.1 403 No\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\nhalf"),
            "body: content coding",
            id="in another coding",
        ),
    ],
)
async def test_a_refusal_is_an_answer_even_if_its_text_is_not_whole(
    tmp_path: Path, answer: Callable[[Captured], Answer], detail: str
) -> None:
    record = await ask(tmp_path, answer, deadline=0.2)

    assert (record.outcome, record.stage, record.status) == (Outcome.ANSWERED, None, 403)
    assert record.detail.startswith(detail)


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(once, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield int(server.sockets[0].getsockname()[1])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost that nobody vouches for, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("shop.localhost")]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


def serving(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def polite(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    SEEN.append(await reader.readuntil(b"\r\n\r\n"))
    writer.write(HEAD + b"Content-Length: 2\r\n\r\nok")
    await writer.drain()


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)


async def talk_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await writer.drain()
    await reader.read()


SEEN: list[bytes] = []


async def test_a_server_over_tls_is_asked_by_its_name(tmp_path: Path, certificate: Path) -> None:
    trust = ssl.create_default_context(cafile=str(certificate))
    async with (
        listening(polite, serving(certificate)) as port,
        visiting(origin(f"https://shop.localhost:{port}/"), tmp_path, trust=trust) as visitor,
    ):
        received = await visitor.fetch("/a")

    assert received.body == b"ok"
    assert received.record.address == "127.0.0.1"
    assert f"Host: shop.localhost:{port}\r\n".encode() in SEEN[-1]
    assert received.record.header_bytes == len(SEEN[-1])


async def test_a_certificate_that_nobody_vouches_for_is_refused(
    tmp_path: Path, certificate: Path
) -> None:
    async with (
        listening(polite, serving(certificate)) as port,
        visiting(origin(f"https://shop.localhost:{port}/"), tmp_path) as visitor,
    ):
        record = (await visitor.fetch()).record

    assert (record.outcome, record.stage) == (Outcome.FAILED, Stage.TLS)
    assert "certificate verify failed" in record.detail
    assert (record.labels, record.header_bytes) == ((), 0)


@pytest.mark.parametrize("talk", [hang_up, talk_plainly])
async def test_a_failed_handshake_is_told_apart(tmp_path: Path, talk: Talk) -> None:
    async with (
        listening(talk) as port,
        visiting(origin(f"https://shop.localhost:{port}/"), tmp_path) as visitor,
    ):
        record = (await visitor.fetch()).record

    assert (record.outcome, record.stage) == (Outcome.FAILED, Stage.TLS)
    assert record.labels == ()
    assert record.detail


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(111, "Connection refused"), "Connection refused"),
        (OSError("no\n  such\tthing\x00"), "no such thing"),
        (ValueError(), "ValueError"),
    ],
)
def test_what_an_exception_said_stands_in_one_line(error: Exception, words: str) -> None:
    assert failure.said(error) == words


def test_an_address_that_aiohttp_cannot_read_is_a_failed_connect() -> None:
    ending = failure.ending(InvalidURL("http://127.1/", "not canonical"), Trip(0.0))

    assert (ending.outcome, ending.stage) == (Outcome.FAILED, Stage.CONNECT)


def test_a_mistake_without_a_trace_has_no_place() -> None:
    assert place(ValueError("secret")) == "ValueError"
