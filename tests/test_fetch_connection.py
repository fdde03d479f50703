"""Where connections may go, and names that need no lookup."""

import asyncio
import gc
import socket
from pathlib import Path

import pytest
from aiohttp import ClientPayloadError, StreamReader
from aiohttp.client_proto import ResponseHandler
from capture import Answer, Captured, Then, capturing, respond
from visitor import origin, until, visiting

from crawler.events import Kind, Outcome, Stage
from crawler.fetch.connection import Connector, Line, Resolver
from crawler.polite.frontier import FetchTask

TYPE = ("Content-Type", "text/html")


def page(_: Captured) -> Answer:
    return respond(200, TYPE, body=b"page")


async def test_a_private_address_is_not_asked_without_the_operators_word(tmp_path: Path) -> None:
    with capturing(page) as server:
        asked = origin(server.url("/"), allow_private=False)
        async with visiting(asked, tmp_path) as visitor:
            record = (await visitor.fetch()).record

    assert server.requests == []
    assert (record.outcome, record.stage) == (Outcome.NOT_SENT, Stage.ADDRESS)
    assert record.detail == "127.0.0.1 is loopback"
    assert (record.labels, record.header_bytes, record.address) == ((), 0, None)


async def test_the_operators_word_is_for_one_host_and_port(tmp_path: Path) -> None:
    with capturing(page) as own, capturing(page) as other:
        async with visiting(origin(own.url("/")), tmp_path) as visitor:
            at_home = (await visitor.fetch()).record
            elsewhere = (await visitor.fetch(other.url("/robots.txt"), kind=Kind.ROBOTS)).record
            back = (await visitor.fetch()).record

    assert at_home.outcome is back.outcome is Outcome.ANSWERED
    assert elsewhere.stage is Stage.ADDRESS
    assert other.requests == []


async def test_a_connection_that_waits_is_not_used_for_an_origin_without_that_word(
    tmp_path: Path,
) -> None:
    with capturing(page) as server:
        asked = origin(server.url("/"))
        stranger = origin(server.url("/"), name="two", allow_private=False)
        task = FetchTask(id="run-0-2", origin="two", scope="one", url=server.url("/two"))
        async with visiting(asked, tmp_path) as visitor:
            await visitor.fetch()
            refused = (await visitor.client.fetch(task, stranger, visitor.now)).record
            again = (await visitor.fetch("/again")).record

    assert [request.target for request in server.requests] == ["/", "/again"]
    assert (refused.outcome, refused.stage) == (Outcome.NOT_SENT, Stage.ADDRESS)
    assert refused.detail == "127.0.0.1 is loopback"
    assert (refused.labels, refused.header_bytes, refused.reused) == ((), 0, False)
    assert again.reused


async def test_a_name_is_refused_by_what_it_resolves_to(tmp_path: Path) -> None:
    with capturing(page) as server:
        asked = origin(f"http://shop.localhost:{server.port}/", allow_private=False)
        async with visiting(asked, tmp_path) as visitor:
            record = (await visitor.fetch()).record

    assert server.requests == []
    assert record.stage is Stage.ADDRESS


@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]"])
async def test_metadata_addresses_are_never_asked(tmp_path: Path, host: str) -> None:
    async with visiting(origin(f"http://{host}/"), tmp_path) as visitor:
        record = (await visitor.fetch()).record

    assert (record.outcome, record.stage) == (Outcome.NOT_SENT, Stage.ADDRESS)
    assert record.detail.endswith("is metadata")


@pytest.mark.parametrize("host", ["localhost", "shop.localhost", "a.b.localhost"])
async def test_names_below_localhost_need_no_lookup(tmp_path: Path, host: str) -> None:
    with capturing(page) as server:
        async with visiting(origin(f"http://{host}:{server.port}/"), tmp_path) as visitor:
            record = (await visitor.fetch()).record

    assert record.address == "127.0.0.1"
    assert server.requests[0].field("host") == f"{host}:{server.port}"
    assert record.header_bytes == len(server.requests[0].head)


async def test_an_ipv6_address_is_asked_with_its_brackets(tmp_path: Path) -> None:
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    try:
        server = await asyncio.start_server(answer, "::1", 0)
    except OSError:
        pytest.skip("no IPv6 here: sysctl net.ipv6.conf.lo.disable_ipv6=0")
    port = server.sockets[0].getsockname()[1]
    async with server, visiting(origin(f"http://[::1]:{port}/"), tmp_path) as visitor:
        record = (await visitor.fetch()).record

    assert (record.status, record.address) == (204, "::1")
    assert f"Host: [::1]:{port}\r\n".encode() in heads[0]
    assert record.header_bytes == len(heads[0])


async def test_the_system_resolves_other_names() -> None:
    found = await Resolver().resolve("127.0.0.1", 80)

    assert [(result["host"], result["port"], result["family"]) for result in found] == [
        ("127.0.0.1", 80, socket.AF_INET)
    ]


async def test_a_name_that_does_not_resolve_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError, match="label"):
        await Resolver().resolve("a" * 64 + ".example", 80)


async def test_a_lookup_that_nobody_waits_for_any_more_ends_quietly() -> None:
    lookup = asyncio.create_task(Resolver().resolve("127.0.0.1", 80))
    await asyncio.sleep(0)
    lookup.cancel()

    with pytest.raises(asyncio.CancelledError):
        await lookup


def test_a_lookup_that_outlives_its_loop_ends_quietly() -> None:
    async def leave() -> None:
        lookup = asyncio.create_task(Resolver().resolve("127.0.0.1", 80))
        await asyncio.sleep(0)
        lookup.cancel()

    for _ in range(20):
        asyncio.run(leave())
    gc.collect()


async def test_a_connection_that_dies_while_it_waits_is_not_asked(tmp_path: Path) -> None:
    with capturing(lambda _: respond(200, TYPE, body=b"page", then=Then.RESET)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            first = (await visitor.fetch()).record
            connector = visitor.client._session.connector
            assert isinstance(connector, Connector)
            await until(lambda: not connector._lines)
            second = (await visitor.fetch()).record

    assert (first.reused, second.reused) == (False, False)
    assert second.outcome is Outcome.ANSWERED


async def reading() -> tuple[ResponseHandler, StreamReader]:
    protocol = ResponseHandler(asyncio.get_running_loop())
    return protocol, StreamReader(protocol, 1000, loop=asyncio.get_running_loop())


async def test_a_body_whose_connection_has_ended_is_not_waited_for() -> None:
    protocol, content = await reading()
    line = Line(protocol)
    line.end()
    line.carries(content)

    with pytest.raises(ClientPayloadError, match="connection closed"):
        await content.readany()


async def test_a_body_that_is_here_is_read_although_its_connection_has_ended() -> None:
    protocol, content = await reading()
    line = Line(protocol)
    line.carries(content)
    content.feed_data(b"whole")
    content.feed_eof()
    line.end()

    assert await content.readany() == b"whole"


async def test_a_connection_that_ended_before_it_was_looked_at_is_not_kept_in_mind() -> None:
    protocol, _ = await reading()
    protocol.connection_lost(None)
    connector = Connector(True)

    line = connector._watched(protocol)

    assert isinstance(line, Line)
    assert connector._lines == {}
    await connector.close()
