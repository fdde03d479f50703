"""The standalone gate: answers a server's question about a request with fields for the site.

The question is a request of its own, with the fields of the one that it is about and more of the
server's (X-Original-*): its method, target and host as they were sent, the name of the site that
answers it, and the server's own number of it. Only method and target have to be there: HTTP/1.0
knows no Host, and servers other than nginx may have no numbers. nginx asks by `auth_request` at
`/auth`, and knows three answers: 200, 401 and 403. What the client is to be told stands in
X-Bot-Status. Servers that pass any status on ask `/check`.
"""

import resource
from collections.abc import Coroutine
from typing import Final

from crawler import diagnostics
from crawler.serve import gate, listening, questions, repeats, ruling
from crawler.serve.gate import Gate
from crawler.serve.policy import Policy
from crawler.serve.questions import Answer, Answering, Question
from crawler.serve.repeats import Repeats
from crawler.serve.ruling import Ruling

METHOD: Final = "X-Original-Method"
TARGET: Final = "X-Original-URI"
HOST: Final = "X-Original-Host"
NAME: Final = "X-Original-Name"
NUMBER: Final = "X-Original-Id"
ORIGINAL: Final = (METHOD, TARGET, HOST, NAME, NUMBER)

_METHOD, _TARGET, _HOST, _NAME, _NUMBER = map(str.lower, ORIGINAL)
_ASKED: Final = frozenset(map(str.lower, ORIGINAL))

_DESCRIPTORS: Final = 65_536
_NOT_SENT: Final = ("x-original-", "x-bot-")  # said by who asks, never by the client
_REPLACED: Final = frozenset({"host", "connection"})  # they are about the question itself
_UNASKED: Final = (
    f"a server asks here about a request, by one {METHOD} and one {TARGET}, and at most one "
    f"{HOST}, {NAME} and {NUMBER}; `crawl gate --show nginx` prints how\n"
)


def handler(at_work: Gate) -> Answering:
    """Answer the questions of servers."""
    ruled = Repeats()

    def answer(question: Question) -> Answer | Coroutine[None, None, Answer]:
        if question.path not in ("/auth", "/check"):
            return Answer(status=404, text="ask /auth or /check\n")
        said, fields = _split(question)
        original = dict(said)
        if len(said) != len(original) or not {_METHOD, _TARGET} <= original.keys():
            # A client's own would stand beside the server's: better no answer than its wish.
            return Answer(status=500, text=_UNASKED)
        method, target, host = original[_METHOD], original[_TARGET], original.get(_HOST, "")
        name, number = original.get(_NAME), original.get(_NUMBER)
        message = at_work.read(
            method=method, authority=host, target=target, fields=(("Host", host), *fields)
        )
        if isinstance(message, Ruling):
            return said_of(message, question)
        key = None
        if number is not None:
            key = repeats.key(number, (target, host, name or ""), fields)
            if (before := ruled.find(key, method)) is not None:
                return said_of(before, question)

        def kept(found: Ruling) -> Answer:
            if key is not None:
                ruled.keep(key, method, found)
            return said_of(found, question)

        async def later() -> Answer:
            return kept(await at_work.judge(message, None, name))

        # The body stays with the server that asks.
        found = at_work.begin(message, None, name)
        return later() if found is None else kept(found)

    def said_of(found: Ruling, question: Question) -> Answer:
        told = ruling.site_fields(found, at_work.policy.answers.reasons, unseen=True)
        if (wanted := ruling.wanted(found, at_work.policy)) is not None:
            told[ruling.WANTED] = wanted
        hidden = question.path == "/auth" and not found.admitted
        return Answer(status=403 if hidden else found.status, fields=told)

    return answer


def _split(question: Question) -> tuple[list[tuple[str, str]], tuple[tuple[str, str], ...]]:
    """What the server that asks says of a request, and the request's own fields."""
    said: list[tuple[str, str]] = []
    fields: list[tuple[str, str]] = []
    for field in question.fields:
        name = field[0].lower()
        if name in _ASKED:
            said.append((name, field[1]))
        elif name not in _REPLACED and not name.startswith(_NOT_SENT):
            fields.append(field)
    return said, tuple(fields)


async def run(policy: Policy, host: str, port: int, stated: str = "the built-in policy") -> None:
    """Answer until SIGINT or SIGTERM; `stated` says to people which policy it is.

    Raises AddressUnusable, ReplayUnavailable.
    """
    _take_all_descriptors()
    ended = listening.asked_to_end()
    async with gate.opened(policy) as at_work:
        with listening.at(host, port):
            async with questions.answering(handler(at_work), host, port) as server:
                for socket in server.sockets:
                    where, at, *_ = socket.getsockname()
                    shown = f"[{where}]" if ":" in where else where
                    print(f"judging at http://{shown}:{at}/auth", flush=True)
                diagnostics.logger().info("judging", by=stated)
                if not policy.site.hosts:
                    diagnostics.logger().warning(
                        "signatures made for any host are taken",
                        hint="name yours: [site] hosts = […]",
                    )
                await ended.wait()


def _take_all_descriptors() -> None:
    """As many connections as the system lets us have: each question waits on one of its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
