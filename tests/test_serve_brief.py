"""What stands on stderr after a request that an aiohttp server could not answer."""

import asyncio
import logging

import pytest
from aiohttp import web
from aiohttp.test_utils import unused_port

from crawler.serve import brief

SECRET = "session=4711"


async def wrong(request: web.Request) -> web.Response:
    raise ValueError(request.headers["Cookie"])


@pytest.mark.parametrize(
    ("cookie", "status", "said"),
    [
        (f"{SECRET}\x01", 400, "crawl: serving: BadHttpMessage"),
        (SECRET, 500, f"crawl: serving: ValueError at {__name__}:"),
    ],
    ids=["no request", "our mistake"],
)
async def test_a_line_is_written_and_nothing_of_the_request(
    cookie: str, status: int, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = web.Application()
    app.router.add_get("/", wrong)
    runner = web.AppRunner(app, logger=brief.logger())
    await runner.setup()
    port = unused_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET / HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\n\r\n".encode())
    answer = await reader.readline()
    writer.close()
    await runner.cleanup()
    (record,) = [one for one in caplog.records if one.levelno > logging.DEBUG]
    text = logging.Formatter().format(record)

    assert answer.startswith(f"HTTP/1.1 {status} ".encode()) or status == 400
    assert text.startswith(said)
    assert len(text.splitlines()) == 1


def test_without_an_error_there_is_a_line_too(caplog: pytest.LogCaptureFixture) -> None:
    brief.logger().error("said %s", SECRET)

    assert [record.getMessage() for record in caplog.records] == [
        "crawl: serving: a request was not answered"
    ]


def test_an_error_that_was_not_raised_has_no_place() -> None:
    assert brief.what(KeyError(SECRET)) == "KeyError"
