"""What of an answer is read, and where reading ends."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from capture import Answer, Captured, Then, capturing, respond
from visitor import origin, visiting

from crawler.events import Kind, Outcome, Stage
from crawler.fetch.client import Received
from crawler.polite.robots_groups import LIMIT as ROBOTS_LIMIT

HTML = ("Content-Type", "text/html; charset=utf-8")
TEXT = ("Content-Type", "text/plain")
PAGE = b"<p>The quick brown fox.</p>" * 100


async def ask(
    folder: Path,
    answer: Callable[[Captured], Answer],
    *,
    politeness: dict[str, Any] | None = None,
    **task: Any,
) -> Received:
    with capturing(answer) as server:
        async with visiting(origin(server.url("/"), politeness=politeness), folder) as visitor:
            return await visitor.fetch(**task)


def chunked(data: bytes, size: int) -> bytes:
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(respond(200, HTML, body=PAGE), id="of known length"),
        pytest.param(
            Answer(
                pieces=(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n",
                    chunked(PAGE, 700),
                )
            ),
            id="in chunks",
        ),
        pytest.param(
            Answer(
                pieces=(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", PAGE),
                then=Then.CLOSE,
            ),
            id="until the connection ends",
        ),
        pytest.param(
            respond(200, HTML, ("Content-Encoding", "gzip"), body=gzip.compress(PAGE)), id="gzip"
        ),
        pytest.param(
            respond(200, HTML, ("Content-Encoding", "deflate"), body=zlib.compress(PAGE)),
            id="deflate",
        ),
    ],
)
async def test_a_page_is_read_decoded_and_digested(tmp_path: Path, answer: Answer) -> None:
    received = await ask(tmp_path, lambda _: answer)

    record = received.record
    assert record.outcome is Outcome.ANSWERED
    assert received.body == PAGE
    assert record.digest == sha256(PAGE).hexdigest()
    assert record.body_bytes == len(PAGE)
    assert (record.wire_bytes < 500) is (answer.pieces[-1].find(b"Content-Encoding") >= 0)
    assert record.refusal == ""


async def test_an_empty_page_is_a_page(tmp_path: Path) -> None:
    received = await ask(tmp_path, lambda _: respond(200, HTML))

    assert (received.body, received.record.body_bytes) == (b"", 0)
    assert received.record.digest == sha256(b"").hexdigest()


@pytest.mark.parametrize("status", [204, 205])
async def test_an_answer_that_has_no_body_is_an_answer(tmp_path: Path, status: int) -> None:
    received = await ask(tmp_path, lambda _: respond(status))

    assert received.record.outcome is Outcome.ANSWERED
    assert (received.body, received.record.digest) == (None, None)


@pytest.mark.parametrize(("size", "outcome"), [(1000, Outcome.ANSWERED), (1001, Outcome.TOO_BIG)])
async def test_the_cap_counts_decoded_bytes(tmp_path: Path, size: int, outcome: Outcome) -> None:
    packed = respond(200, HTML, ("Content-Encoding", "gzip"), body=gzip.compress(bytes(size)))

    received = await ask(tmp_path, lambda _: packed, politeness={"body_limit": 1000})

    record = received.record
    assert record.outcome is outcome
    assert (received.body is not None) is (outcome is Outcome.ANSWERED)
    assert (record.digest is not None) is (outcome is Outcome.ANSWERED)
    if outcome is Outcome.TOO_BIG:
        assert (record.status, record.stage) == (200, None)
        assert record.detail == "more than 1000 bytes"


async def test_a_bomb_ends_at_the_cap_and_costs_no_memory(tmp_path: Path) -> None:
    engine = zlib.compressobj(9, wbits=31)
    zeros = bytes(1_000_000)
    bomb = b"".join([*(engine.compress(zeros) for _ in range(100)), engine.flush()])
    packed = respond(200, HTML, ("Content-Encoding", "gzip"), body=bomb)
    with capturing(lambda _: packed) as server:
        asked = origin(server.url("/"), politeness={"body_limit": 500_000})
        async with visiting(asked, tmp_path) as visitor:
            tracemalloc.start()
            received = await visitor.fetch()
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            again = await visitor.fetch()

    assert received.record.outcome is again.record.outcome is Outcome.TOO_BIG
    assert received.record.wire_bytes <= len(bomb) < 200_000
    assert peak < 3_000_000


@pytest.mark.parametrize(
    ("field", "detail"),
    [
        pytest.param(("Content-Type", "image/png"), "image/png", id="another type"),
        pytest.param(("Content-Type", "Text/CSS; a=b"), "text/css", id="in capitals"),
        pytest.param(("X-None", "1"), "no content type", id="none"),
        pytest.param(("Content-Type", ";"), "no content type", id="an empty one"),
    ],
)
async def test_a_type_that_is_not_listed_is_not_read(
    tmp_path: Path, field: tuple[str, str], detail: str
) -> None:
    head = f"HTTP/1.1 200 OK\r\n{field[0]}: {field[1]}\r\nContent-Length: 999\r\n\r\n".encode()

    received = await ask(tmp_path, lambda _: Answer(pieces=(head, b""), pause=30.0))

    record = received.record
    assert (record.outcome, record.stage, record.detail) == (Outcome.WRONG_TYPE, None, detail)
    assert (record.status, record.wire_bytes, received.body) == (200, 0, None)


@pytest.mark.parametrize("value", ["TEXT/HTML", "text/html ; charset=x", "application/json"])
async def test_a_listed_type_is_read_however_it_is_written(tmp_path: Path, value: str) -> None:
    received = await ask(tmp_path, lambda _: respond(200, ("Content-Type", value), body=PAGE))

    assert received.body == PAGE


async def test_the_listed_types_are_a_setting(tmp_path: Path) -> None:
    received = await ask(
        tmp_path,
        lambda _: respond(200, ("Content-Type", "image/png"), body=b"png"),
        politeness={"types": ("image/png",)},
    )

    assert received.body == b"png"


async def test_a_robots_txt_is_read_whatever_its_type(tmp_path: Path) -> None:
    rules = b"User-agent: *\nDisallow: /\n"
    received = await ask(
        tmp_path,
        lambda _: respond(200, ("Content-Type", "application/octet-stream"), body=rules),
        kind=Kind.ROBOTS,
        politeness={"body_limit": 5},
    )

    assert (received.body, received.record.outcome) == (rules, Outcome.ANSWERED)


@pytest.mark.parametrize("packed", [False, True])
async def test_a_robots_txt_that_is_too_long_is_cut_and_not_refused(
    tmp_path: Path, packed: bool
) -> None:
    rules = b"Disallow: /a\n" * 100_000
    answer = (
        respond(200, TEXT, ("Content-Encoding", "gzip"), body=gzip.compress(rules))
        if packed
        else respond(200, TEXT, body=rules)
    )

    received = await ask(tmp_path, lambda _: answer, kind=Kind.ROBOTS)

    assert received.record.outcome is Outcome.ANSWERED
    assert received.record.detail == f"longer than {ROBOTS_LIMIT} bytes"
    assert received.body == rules[: ROBOTS_LIMIT + 1]
    assert received.record.digest == sha256(received.body).hexdigest()


RULES = b"User-agent: *\nDisallow: /\n"


def packed(body: bytes, *lines: str, status: str = "200 OK") -> Answer:
    """An answer in chunks, so that the field lines say all that is said of its form."""
    said = "Transfer-Encoding: chunked"
    if any(line.lower().startswith("transfer-encoding") for line in lines):
        said = "X-None: 1"
    head = "\r\n".join((f"HTTP/1.1 {status}", "Content-Type: text/html", said, *lines, "", ""))
    framing = chunked(body, 700) if "chunked" in head.lower() else body
    return Answer(pieces=(head.encode(), framing), then=Then.CLOSE)


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        pytest.param(
            packed(gzip.compress(RULES), "Transfer-Encoding: gzip"),
            "transfer coding 'gzip' was not asked for",
            id="a transfer coding",
        ),
        pytest.param(
            packed(gzip.compress(RULES), "Transfer-Encoding: gzip, chunked"),
            "transfer coding 'gzip, chunked' was not asked for",
            id="a transfer coding in chunks",
        ),
        pytest.param(
            packed(gzip.compress(RULES), "Transfer-Encoding: gzip", "Transfer-Encoding: chunked"),
            "transfer coding 'gzip, chunked' was not asked for",
            id="on two lines",
        ),
        pytest.param(
            packed(RULES, "Content-Encoding: identity", "Content-Encoding: br"),
            "content coding 'br' was not asked for",
            id="a content coding on a second line",
        ),
        pytest.param(
            packed(RULES[:14], "Content-Range: bytes 0-13/26", status="206 Partial Content"),
            "206: only a part of it",
            id="a part that nobody asked for",
        ),
    ],
)
async def test_what_cannot_be_read_as_it_was_meant_is_no_answer(
    tmp_path: Path, answer: Answer, detail: str, kind: Kind
) -> None:
    received = await ask(tmp_path, lambda _: answer, kind=kind)

    record = received.record
    assert (record.outcome, record.stage) == (Outcome.FAILED, Stage.BODY)
    assert record.detail == detail
    assert received.body is None


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(
            packed(gzip.compress(RULES), "Content-Encoding: identity", "Content-Encoding: gzip"),
            id="two lines of codings",
        ),
        pytest.param(
            packed(
                gzip.compress(RULES[:14]) + bytes(2) + gzip.compress(RULES[14:]),
                "Content-Encoding: gzip",
            ),
            id="two members with padding between",
        ),
        pytest.param(packed(RULES, "Transfer-Encoding: Chunked"), id="chunks in capitals"),
    ],
)
async def test_all_that_was_sent_is_read(tmp_path: Path, answer: Answer, kind: Kind) -> None:
    received = await ask(tmp_path, lambda _: answer, kind=kind)

    assert (received.body, received.record.outcome) == (RULES, Outcome.ANSWERED)


async def test_junk_behind_a_robots_txt_makes_it_unreadable_and_a_page_not(tmp_path: Path) -> None:
    answer = packed(gzip.compress(RULES) + b"\r\nDisallow", "Content-Encoding: gzip")

    page = await ask(tmp_path / "page", lambda _: answer)
    rules = await ask(tmp_path / "robots", lambda _: answer, kind=Kind.ROBOTS)

    assert page.body == RULES
    assert (rules.body, rules.record.outcome) == (None, Outcome.FAILED)
    assert rules.record.detail == "what follows the compressed stream is no part of it"


async def test_a_refusal_in_an_unknown_transfer_coding_counts_without_its_text(
    tmp_path: Path,
) -> None:
    answer = packed(gzip.compress(RULES), "Transfer-Encoding: gzip", status="403 Forbidden")

    record = (await ask(tmp_path, lambda _: answer)).record

    assert (record.outcome, record.status, record.refusal) == (Outcome.ANSWERED, 403, "")
    assert record.detail == "body: transfer coding 'gzip' was not asked for"


async def test_a_refusal_keeps_the_beginning_of_its_text(tmp_path: Path) -> None:
    text = b"<h1>Request Header Or Cookie Too Large</h1>" + b"." * 3000

    received = await ask(tmp_path, lambda _: respond(400, HTML, body=text))

    record = received.record
    assert (record.outcome, record.status, received.body) == (Outcome.ANSWERED, 400, None)
    assert record.refusal == text[:2048].decode()
    assert record.digest is None


async def test_what_follows_a_long_echo_is_kept(tmp_path: Path) -> None:
    def echo(request: Captured) -> Answer:
        signature = (request.field("signature") or "").encode()
        return respond(401, TEXT, body=b"Got " + signature + b", Multiple signatures, ml-dsa-44")

    received = await ask(tmp_path, echo)

    assert received.record.refusal == "Got [...], Multiple signatures, ml-dsa-44"


async def test_a_nonce_is_taken_out_and_the_words_around_it_stay(tmp_path: Path) -> None:
    def echo(request: Captured) -> Answer:
        return respond(401, TEXT, body=(request.field("signature-input") or "").encode())

    received = await ask(tmp_path, echo)

    assert ';alg="ed25519";nonce="[...]";tag="web-bot-auth"' in received.record.refusal
    assert ';alg="ml-dsa-44"' in received.record.refusal


async def test_an_echo_in_the_head_is_taken_out_too(tmp_path: Path) -> None:
    def echo(request: Captured) -> Answer:
        value = (request.field("signature") or "")[:60]
        head = f"HTTP/1.1 401 No {value}\r\nSignature-Error: {value}\r\nContent-Length: 0\r\n\r\n"
        return Answer(pieces=(head.encode(),))

    received = await ask(tmp_path, echo)

    assert received.record.reason == "No [...]"
    assert received.record.fields == {"signature-error": "[...]"}


async def test_a_refusal_in_no_utf_8_is_text_all_the_same(tmp_path: Path) -> None:
    packed = gzip.compress("odmítnuto".encode("iso8859-2"))
    received = await ask(
        tmp_path, lambda _: respond(403, HTML, ("Content-Encoding", "gzip"), body=packed)
    )

    assert received.record.refusal == "odm\ufffdtnuto"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("text/html", True),
        ("application/json", True),
        ("application/problem+json", True),
        ("application/soap+xml; charset=utf-8", True),
        (None, True),
        ("image/png", False),
        ("application/octet-stream", False),
    ],
)
async def test_only_a_refusals_text_is_kept(tmp_path: Path, value: str | None, kept: bool) -> None:
    fields = [] if value is None else [("Content-Type", value)]

    received = await ask(tmp_path, lambda _: respond(403, *fields, body=b"signature"))

    assert received.record.refusal == ("signature" if kept else "")
    assert received.record.outcome is Outcome.ANSWERED


async def test_a_large_refusal_is_not_read_to_its_end(tmp_path: Path) -> None:
    with capturing(lambda _: respond(500, HTML, body=bytes(5_000_000))) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            first = (await visitor.fetch()).record
            second = (await visitor.fetch()).record

    assert first.wire_bytes < 2_000_000
    assert not second.reused


@pytest.mark.parametrize("body", [b"invalid: two labels", b"Invalid: two labels"])
async def test_a_page_that_is_an_objection_is_kept_as_one(tmp_path: Path, body: bytes) -> None:
    received = await ask(tmp_path, lambda _: respond(200, TEXT, body=body))

    assert received.record.refusal == body.decode()
    assert received.body == body


async def test_a_redirects_body_is_not_waited_for(tmp_path: Path) -> None:
    head = b"HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 999\r\n\r\n"

    received = await ask(tmp_path, lambda _: Answer(pieces=(head, b""), pause=30.0))

    assert (received.record.status, received.record.location) == (302, "/a")
    assert received.record.outcome is Outcome.ANSWERED
