"""The standalone gate: answers a server's question about a request with fields for the site.

The question is a request of its own, with the fields of the one that it is about and three more:
its method, target and host as they were sent (X-Original-*). nginx puts it by `auth_request` to
`/auth`, and knows three answers: 200, 401 and 403. What the client is to be told stands in
X-Bot-Status. Servers that pass any status on ask `/check`.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from crawler import diagnostics
from crawler.problems import Problem
from crawler.serve import gate, ruling
from crawler.serve.gate import Gate
from crawler.serve.policy import Policy

METHOD: Final = "X-Original-Method"
TARGET: Final = "X-Original-URI"
HOST: Final = "X-Original-Host"
ORIGINAL: Final = (METHOD, TARGET, HOST)

_METHOD, _TARGET, _HOST = map(str.lower, ORIGINAL)
_ASKED: Final = frozenset({_METHOD, _TARGET, _HOST})

_LONGEST_FIELD: Final = 32_768  # bytes: four times what nginx lets through
_NOT_SENT: Final = ("x-original-", "x-bot-")  # said by who asks, never by the client
_REPLACED: Final = frozenset({"host", "connection"})  # they are about the question itself
_UNASKED: Final = (
    f"a server asks here about a request, by one {METHOD}, one {TARGET} and one {HOST}; "
    "`crawl gate --show nginx` prints how\n"
)


class AddressUnusable(Problem):
    """Nothing can listen there."""


def handler(at_work: Gate) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    """Answer the questions of servers."""

    async def answer(request: web.BaseRequest) -> web.Response:
        path = request.raw_path
        if path not in ("/auth", "/check"):
            return web.Response(status=404, text="ask /auth or /check\n")
        said, fields = _split(request)
        original = dict(said)
        if not len(said) == len(original) == len(ORIGINAL):
            # A client's own would stand beside the server's: better no answer than its wish.
            return web.Response(status=500, text=_UNASKED)
        host = original[_HOST]
        found = await at_work.judge_parts(
            method=original[_METHOD],
            authority=host,
            target=original[_TARGET],
            fields=(("Host", host), *fields),
            content=None,  # it stays with the server that asks
        )
        told = ruling.site_fields(found, at_work.policy.answers.reasons, unseen=True)
        if (wanted := ruling.wanted(found, at_work.policy)) is not None:
            told[ruling.WANTED] = wanted
        status = found.status if path == "/check" or found.admitted else 403
        return web.Response(status=status, headers=told)

    return answer


def _split(request: web.BaseRequest) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What the server that asks says of a request, and the request's own fields."""
    said: list[tuple[str, str]] = []
    fields: list[tuple[str, str]] = []
    # Bytes beyond ASCII are surrogates in here; nobody can sign them either way.
    for field in request.headers.items():
        name = field[0].lower()
        if name in _ASKED:
            said.append((name, field[1]))
        elif name not in _REPLACED and not name.startswith(_NOT_SENT):
            fields.append(field)
    return said, fields


async def run(policy: Policy, host: str, port: int) -> None:
    """Answer until SIGINT or SIGTERM. Raises AddressUnusable, ReplayUnavailable."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    async with gate.opened(policy) as at_work:
        server = web.Server(
            handler(at_work),
            access_log=None,
            max_line_size=_LONGEST_FIELD,
            max_field_size=_LONGEST_FIELD,
        )
        try:
            listening = await loop.create_server(server, host, port, backlog=512)
        except OSError as error:
            raise AddressUnusable(
                f"cannot listen at {host} port {port}: {error.strerror}",
                "choose others by --host and --port; 0 takes a free port",
            ) from error
        try:
            for socket in listening.sockets:
                where, at, *_ = socket.getsockname()
                shown = f"[{where}]" if ":" in where else where
                print(f"judging at http://{shown}:{at}/auth", flush=True)
            if not policy.site.hosts:
                diagnostics.logger().warning(
                    "signatures made for any host are taken", hint="name yours: [site] hosts = […]"
                )
            await ended.wait()
        finally:
            listening.close()
            await server.shutdown(1.0)
