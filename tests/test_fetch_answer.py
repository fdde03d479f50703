"""An answer's head as the record keeps it, from bytes that a server really sent."""

from pathlib import Path

import msgspec
import pytest
from capture import Answer, capturing
from visitor import origin, visiting

from crawler import events
from crawler.events import FetchRecord
from crawler.fetch.client import Received

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


async def ask(
    folder: Path, *fields: bytes, status: bytes = b"200 OK", ahead: float = 0.0
) -> Received:
    """What came of a request while our clock was so many seconds ahead."""
    head = b"\r\n".join(
        [b"HTTP/1.1 " + status, b"Content-Type: text/html", b"Content-Length: 0", *fields, b"", b""]
    )
    with capturing(lambda _: Answer(pieces=(head,))) as server:
        asked = origin(server.url("/"))
        async with visiting(asked, folder, wall=lambda: NOW) as visitor:
            visitor.now = lambda: NOW + ahead
            return await visitor.fetch()


def logged(record: FetchRecord) -> FetchRecord:
    """The record as somebody reads it from the log."""
    found = events.decode(events.encode(record))
    assert isinstance(found, FetchRecord)
    return found


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        pytest.param(b"cf-mitigated: challenge", {"cf-mitigated": "challenge"}, id="challenge"),
        pytest.param(b"CF-RAY: 8f1-PRG", {"cf-ray": "8f1-PRG"}, id="ray"),
        pytest.param(b"x-amzn-waf-action: captcha", {"x-amzn-waf-action": "captcha"}, id="AWS WAF"),
        pytest.param(
            b'Accept-Signature: sig=("@method")',
            {"accept-signature": 'sig=("@method")'},
            id="accept-signature",
        ),
        pytest.param(
            b"Signature-Error: error=x", {"signature-error": "error=x"}, id="signature-error"
        ),
        pytest.param(
            b"Accept-Signature-Alg: ed25519",
            {"accept-signature-alg": "ed25519"},
            id="accept-signature-alg",
        ),
        pytest.param(
            b"X-Bot-Authenticated: false", {"x-bot-authenticated": "false"}, id="a demotion"
        ),
        pytest.param(b"X-Bot-Verified: 0", {"x-bot-verified": "0"}, id="another demotion"),
        pytest.param(b"Retry-After: 5", {"retry-after": "5"}, id="retry-after"),
        pytest.param(b"RateLimit: a;r=1;t=2", {"ratelimit": "a;r=1;t=2"}, id="ratelimit"),
        pytest.param(b"X-RateLimit-Remaining: 9", {"x-ratelimit-remaining": "9"}, id="x-ratelimit"),
        pytest.param(b"X-Robots-Tag: noindex", {"x-robots-tag": "noindex"}, id="x-robots-tag"),
        pytest.param(b"X-Powered-By: PHP", {}, id="what nobody reads"),
        pytest.param(b"Bot-Verified: 1", {}, id="no x- in front"),
        pytest.param(b"Set-Cookie: a=b", {}, id="a cookie"),
    ],
)
async def test_only_fields_that_are_read_again_are_kept(
    tmp_path: Path, line: bytes, kept: dict[str, str]
) -> None:
    received = await ask(tmp_path, line)

    assert received.record.fields == kept
    assert logged(received.record) == received.record


async def test_fields_that_stand_twice_are_joined(tmp_path: Path) -> None:
    received = await ask(
        tmp_path,
        b"X-Robots-Tag: noindex",
        b"x-robots-tag: otherbot: none",
        b"Server: a",
        b"Server: b",
    )

    assert received.record.fields == {"x-robots-tag": "noindex, otherbot: none"}
    assert received.robots_tags == ("noindex", "otherbot: none")
    assert received.record.server == "a"


async def test_what_is_no_text_is_escaped_and_what_is_long_is_cut(tmp_path: Path) -> None:
    received = await ask(
        tmp_path,
        b"Server: \xff\xfe server",
        b"Signature-Error: " + "ž".encode() + b"y" * 2000,
        b"Retry-After: \xff",
        status=b"200 V po\xf8\xe1dku",
    )

    record = logged(received.record)
    assert record.server == "\\udcff\\udcfe server"
    assert record.fields["signature-error"] == "ž" + "y" * 255
    assert record.fields["retry-after"] == "\\udcff"
    assert record.reason == "V po\\udcf8\\udce1dku"
    assert record.retry_after is None


@pytest.mark.parametrize(
    ("line", "location"),
    [
        pytest.param(b"Location: /a?b=c#d", "/a?b=c#d", id="ASCII"),
        pytest.param("Location: /č".encode(), "/č", id="UTF-8"),
        pytest.param(b"Location: /caf\xe9", "/caf%E9", id="Latin-1, its octets kept"),
        pytest.param(b"Location: /" + b"x" * 3000, "/" + "x" * 3000, id="a long one whole"),
        pytest.param(b"Location:", "", id="empty"),
        pytest.param(b"X-None: 1", None, id="none"),
    ],
)
async def test_a_location_is_kept_so_that_it_can_be_asked_for(
    tmp_path: Path, line: bytes, location: str | None
) -> None:
    received = await ask(tmp_path, line, status=b"302 Found")

    assert logged(received.record).location == location


@pytest.mark.parametrize(
    ("lines", "wait"),
    [
        pytest.param([b"Retry-After: 30"], 30.0, id="seconds"),
        pytest.param([b"Retry-After: Fri, 15 Jan 2027 08:02:00 GMT"], 120.0, id="a date"),
        pytest.param([b"Retry-After: 5", b"Retry-After: 60"], 60.0, id="two fields"),
        pytest.param([b"Retry-After: -5"], None, id="negative"),
        pytest.param([], None, id="none"),
    ],
)
async def test_retry_after_counts_from_the_answer(
    tmp_path: Path, lines: list[bytes], wait: float | None
) -> None:
    received = await ask(tmp_path, *lines, status=b"503 Later")

    assert received.record.retry_after == wait


async def test_moments_that_a_server_names_are_the_wall_clocks(tmp_path: Path) -> None:
    record = (
        await ask(
            tmp_path,
            b"Retry-After: Fri, 15 Jan 2027 08:02:00 GMT",
            b"X-RateLimit-Remaining: 0",
            b"X-RateLimit-Reset: 1800000030",
            b"Date: Fri, 15 Jan 2027 08:00:00 GMT",
            b"Expires: Fri, 15 Jan 2027 08:01:00 GMT",
            status=b"503 Later",
            ahead=3600.0,
        )
    ).record

    assert record.at == NOW + 3600.0
    assert (record.retry_after, record.quota_reset, record.fresh_for) == (120.0, 30.0, 60.0)


async def test_a_quota_is_read(tmp_path: Path) -> None:
    received = await ask(tmp_path, b'RateLimit: "day";r=7;t=70')

    assert (received.record.quota_left, received.record.quota_reset) == (7, 70.0)


@pytest.mark.parametrize(
    ("lines", "etag", "modified", "fresh"),
    [
        pytest.param(
            [b'ETag: "a"', b"Last-Modified: Fri, 15 Jan 2027 07:00:00 GMT"],
            '"a"',
            "Fri, 15 Jan 2027 07:00:00 GMT",
            None,
            id="validators",
        ),
        pytest.param([b"Cache-Control: max-age=60"], None, None, 60.0, id="max-age"),
        pytest.param(
            [b"Cache-Control: public", b"Cache-Control: max-age=60"],
            None,
            None,
            60.0,
            id="two fields are one list",
        ),
        pytest.param(
            [b"Cache-Control: max-age=60", b"Age: 20"], None, None, 40.0, id="max-age less age"
        ),
        pytest.param([b"Expires: Fri, 15 Jan 2027 08:01:00 GMT"], None, None, 60.0, id="expires"),
        pytest.param([b'ETag: "\xff"'], None, None, None, id="an ETag that cannot be sent back"),
        pytest.param([b"Last-Modified: yesterday"], None, None, None, id="no date"),
        pytest.param([b'ETag: "a"', b"Cache-Control: no-store"], None, None, 0.0, id="no-store"),
    ],
)
async def test_what_the_next_visit_needs_is_kept(
    tmp_path: Path, lines: list[bytes], etag: str | None, modified: str | None, fresh: float | None
) -> None:
    record = (await ask(tmp_path, *lines)).record

    assert (record.etag, record.last_modified, record.fresh_for) == (etag, modified, fresh)


async def test_a_content_type_is_kept_with_its_charset(tmp_path: Path) -> None:
    record = (await ask(tmp_path, b"X-None: 1")).record

    assert record.content_type == "text/html"
    assert msgspec.json.decode(events.encode(record))["content_type"] == "text/html"
