"""A gate before a site: says of each request which agent has signed it, and lets in whom it may.

As a middleware of an aiohttp application:

    app = web.Application()
    gate.install(app, policy.load(Path("gate.toml")))

Each handler then finds the ruling in `request[gate.RULING]`; X-Bot-* fields, which a client may
have sent, reach none. Sites on anything else have the
standalone gate (`crawler.serve.gatehouse`) behind their own server.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Final

from aiohttp import web
from multidict import CIMultiDict

from crawler import diagnostics
from crawler.serve import discovery, ruling
from crawler.serve.discovery import Directories
from crawler.serve.policy import Policy, Store, Told
from crawler.serve.reader import Reader
from crawler.serve.replay import Memory, ReplayUnavailable, Shared
from crawler.serve.ruling import Refusal, Ruling
from signing.errors import SigningError
from signing.message import Component, Message
from signing.verifier import Outcome, Reason, Seen, Verification

RULING: Final = web.RequestKey("ruling", Ruling)
"""Where a handler behind the middleware finds what the gate says of its request."""

_AUTHORITY: Final = Component("@authority")
_SIGNED: Final = frozenset({"signature", "signature-input"})
_NO_SIGNATURE: Final = Verification(outcome=Outcome.UNVERIFIED, reason=Reason.NO_SIGNATURE)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Gate:
    """A policy at work: it finds keys, and remembers what it has seen."""

    def __init__(
        self,
        policy: Policy,
        directories: Directories,
        seen: Seen | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.policy = policy
        self.directories = directories
        self._seen = seen
        self._now = now
        self._unsigned = ruling.decide(_NO_SIGNATURE, policy)

    async def judge(
        self, message: Message, content: bytes | None = b"", served: str | None = None
    ) -> Ruling:
        """What becomes of a request; `content` is its body, for a Content-Digest that is signed.

        With None the digest is not compared: that is up to whoever has the body. `served` is the
        host whose site answers, where the server says so: it differs from what Host says where the
        request's own line names another (RFC 9112, section 3.2.2).
        """
        begun = self.begin(message, content, served)
        if begun is not None:
            return begun
        try:
            verification = await discovery.verify(
                message,
                self.directories,
                self.policy.judged_by,
                self._now(),
                self._seen,
                content,
                self._is_enough,
            )
        except ReplayUnavailable as error:
            return _unknown(error)
        return ruling.decide(verification, self.policy)

    def begin(
        self, message: Message, content: bytes | None = b"", served: str | None = None
    ) -> Ruling | None:
        """As `judge`, where nobody has to be waited for; else None, and nothing was done."""
        if not is_signed(message.fields):
            return self._unsigned  # as nearly all requests of people are
        if not self._is_ours(message, served):
            return self._refused(Refusal.FOREIGN_HOST, 403)
        judged_by, now = self.policy.judged_by, self._now()
        try:
            found = discovery.at_once(
                message, self.directories, judged_by, now, self._seen, content
            )
        except ReplayUnavailable as error:
            return _unknown(error)
        return None if found is None else ruling.decide(found, self.policy)

    def read(
        self, *, method: str, authority: str, target: str, fields: tuple[tuple[str, str], ...]
    ) -> Message | Ruling:
        """A request as it was sent; the ruling where that needs no look at its signatures."""
        if not is_signed(fields):
            return self._unsigned  # whatever else is wrong with it: that is the site's to say
        try:
            return Message(
                method=method,
                scheme=self.policy.site.scheme,
                authority=authority,
                target=target,
                fields=fields,
            )
        except SigningError:
            return self._refused(Refusal.UNREADABLE_REQUEST, 400)

    def _is_enough(self, verification: Verification) -> bool:
        """Whether no key set that is still to be read could let a request in that is not in yet."""
        decided = ruling.decide(verification, self.policy)
        return decided.outcome is Outcome.VERIFIED and decided.admitted

    def _is_ours(self, message: Message, served: str | None) -> bool:
        hosts = self.policy.site.hosts
        if not hosts and served is None:
            return True
        try:
            authority = message.component(_AUTHORITY)
        except SigningError:  # no authority that anybody could sign
            return False
        same = served is None or _host(authority) == _host(served.lower())
        return same and (not hosts or authority in hosts)

    def _refused(self, refusal: Refusal, status: int) -> Ruling:
        return ruling.refused(refusal, 200 if self.policy.admit.invalid else status)


def _unknown(error: ReplayUnavailable) -> Ruling:
    diagnostics.logger().error(str(error), hint=error.hint)
    return ruling.refused(Refusal.REPLAY_UNKNOWN, 503)


@asynccontextmanager
async def opened(policy: Policy) -> AsyncIterator[Gate]:
    """A gate with a memory and a network of its own. Raises ReplayUnavailable."""
    with ExitStack() as stack:
        seen = _memory(policy, stack)
        directories = Directories(
            Reader(policy.reach), known=policy.known, pinned=policy.pinned, told=_said
        )
        try:
            yield Gate(policy, directories, seen)
        finally:
            await directories.close()


def is_signed(fields: tuple[tuple[str, str], ...]) -> bool:
    """Whether a request speaks of signatures at all; nothing is looked at where it does not."""
    return any(name.lower() in _SIGNED for name, _ in fields)


def _host(authority: str) -> str:
    """The host alone, without port and the root's dot, which servers leave out."""
    host, _, port = authority.rpartition(":")
    return (host if host and port.isdigit() else authority).removesuffix(".")


def _memory(policy: Policy, stack: ExitStack) -> Seen | None:
    if policy.replay.store is Store.SQLITE:
        shared = Shared(policy.replay_path)
        stack.callback(shared.close)
        return shared
    return Memory(policy.replay.entries) if policy.replay.store is Store.MEMORY else None


def _said(url: str, why: str) -> None:
    diagnostics.logger().warning("a key set cannot be read", url=url, why=why)


def install(app: web.Application, policy: Policy) -> None:
    """Put a gate before every handler of an application, before it starts.

    Who is not let in gets 400, 403 (with Accept-Signature, where another signature would help), 429
    or 503, and no handler is asked.
    """
    at_work: list[Gate] = []

    async def keep(_: web.Application) -> AsyncIterator[None]:
        async with opened(policy) as gate:
            at_work.append(gate)
            yield
            at_work.clear()

    @web.middleware
    async def judged(request: web.Request, handler: Handler) -> web.StreamResponse:
        fields = fields_of(request)
        request = without_lies(request)
        found = await ruling_on(request, fields, at_work[0])
        request[RULING] = found
        return await handler(request) if found.admitted else refusal(found, policy)

    app.cleanup_ctx.append(keep)
    app.middlewares.append(judged)


def without_lies(request: web.Request) -> web.Request:
    """The request without the fields by which a gate tells a site what it thinks."""
    if not any(name in request.headers for name in ruling.FIELDS):
        return request
    lies = {name.lower() for name in ruling.FIELDS}
    return request.clone(
        headers=CIMultiDict(
            (name, value.encode("utf-8", "backslashreplace").decode())  # else it cannot be cloned
            for name, value in request.headers.items()
            if name.lower() not in lies
        )
    )


async def ruling_on(
    request: web.Request, fields: tuple[tuple[str, str], ...], gate: Gate
) -> Ruling:
    """What becomes of an aiohttp request that came with these fields.

    Its body is read only where a signature speaks of it.
    """
    signed = "content-digest" in request.headers.get("Signature-Input", "").lower()
    message = gate.read(
        method=request.method,
        authority=request.headers.get("Host", ""),
        target=request.raw_path,
        fields=fields,
    )
    if isinstance(message, Ruling):
        return message
    content = await request.read() if signed else b""
    return await gate.judge(message, content, _served(request))


def _served(request: web.Request) -> str | None:
    """The host that the request's own line names; aiohttp takes it for the request's then."""
    if request.raw_path.startswith(("/", "*")):
        return None
    return request.url.host_subcomponent or ""


def fields_of(request: web.BaseRequest) -> tuple[tuple[str, str], ...]:
    """The fields of a request as they were sent."""
    return tuple(
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in request.raw_headers
    )


def refusal(found: Ruling, policy: Policy) -> web.Response:
    """The answer to who is not let in; it has the reason only where everybody may know."""
    told = policy.answers.reasons is Told.EVERYBODY and found.reason is not None
    said = f": {found.reason}" if told else ""
    wanted = ruling.wanted(found, policy)
    return web.Response(
        status=found.status,
        text=f"this request is refused for its signature{said}\n",
        headers={} if wanted is None else {ruling.WANTED: wanted},
    )
