"""How origins behave: functions from a request to a reply, some of them around others.

They decide and send nothing, so each can be tested without a server. What is random is drawn from a
seed and the number of the request: a second run meets the same failures.
"""

from collections.abc import Mapping
from dataclasses import replace
from email.utils import formatdate
from hashlib import sha256
from math import floor
from random import Random

from crawler.demo.reply import Answer, Ask, Drip, Manner, Reply, Reset
from crawler.demo.site import page
from signing.algorithms import ED25519, ML_DSA_44

TWO_LABELS = "Multiple signatures is not supported"
DEMOTION = "X-Bot-Authenticated"
LAST_MODIFIED = "Sun, 01 Nov 2026 09:30:00 GMT"

_ROBOTS = "User-agent: *\nDisallow: /never/\n"
REQUIRED = (ED25519.name, ML_DSA_44.name)
_WANTED = (
    'sig1=("@authority" "signature-agent";key="sig1");created;expires;keyid'
    f';alg="{ED25519.name}";tag="web-bot-auth", '
    'sig2=("@authority" "signature-agent";key="sig2");created;expires;keyid'
    f';alg="{ML_DSA_44.name}";tag="web-bot-auth-pq"'
)


def site(pages: Mapping[str, Answer | Drip], robots: str | Answer = _ROBOTS) -> Manner:
    """Gives what it has, 404 for anything else; `robots` is a file's text or another answer."""
    file = (
        Answer(body=robots.encode(), type="text/plain; charset=utf-8")
        if isinstance(robots, str)
        else robots
    )

    def manner(ask: Ask) -> Reply:
        if ask.for_robots:
            return file
        return pages.get(ask.target, Answer(status=404, body=page("There is no such page")))

    return manner


def slow(inner: Manner, seconds: float) -> Manner:
    """Takes `seconds` to begin each answer."""

    def manner(ask: Ask) -> Reply:
        reply = inner(ask)
        return replace(reply, after=seconds) if isinstance(reply, Answer) else reply

    return manner


def validated(inner: Manner, dated: frozenset[str]) -> Manner:
    """Answers 304 to whoever has the page: by its ETag, for the targets in `dated` by its date."""

    def manner(ask: Ask) -> Reply:
        reply = inner(ask)
        if not isinstance(reply, Answer) or reply.status != 200:
            return reply
        etag = f'"{sha256(reply.body).hexdigest()[:16]}"'
        known = ask.fields.get("if-none-match") == etag
        fields = (("ETag", etag),)
        if ask.target in dated:
            known = ask.fields.get("if-modified-since") == LAST_MODIFIED
            fields = (("Last-Modified", LAST_MODIFIED),)
        if known:
            return Answer(status=304, fields=fields)
        return replace(reply, fields=(*reply.fields, *fields))

    return manner


def busy(inner: Manner, *, in_seconds: Mapping[str, int], by_date: Mapping[str, int]) -> Manner:
    """Sends the first request for a target away for so many seconds.

    `in_seconds` says 429 and the seconds, `by_date` 503 and the moment, which HTTP cuts to a whole
    second: it is up to one second nearer.
    """

    def manner(ask: Ask) -> Reply:
        if ask.visit > 1:
            return inner(ask)
        if (seconds := in_seconds.get(ask.target)) is not None:
            return _away(429, str(seconds))
        if (seconds := by_date.get(ask.target)) is not None:
            return _away(503, formatdate(floor(ask.now) + seconds, usegmt=True))
        return inner(ask)

    return manner


def _away(status: int, until: str) -> Answer:
    return Answer(status=status, fields=(("Retry-After", until),), body=page("Not now"))


def narrow(inner: Manner, limit: int) -> Manner:
    """Refuses request heads of more than `limit` bytes in all, as lighttpd and Jetty do."""

    def manner(ask: Ask) -> Reply:
        if ask.size > limit:
            return Answer(status=431, body=page("431 Request Header Fields Too Large"))
        return inner(ask)

    return manner


def strict(inner: Manner) -> Manner:
    """Lets in only who brings a good Ed25519 and a good ML-DSA-44 signature, and no bad one."""

    def manner(ask: Ask) -> Reply:
        if not set(ask.algorithms).issuperset(REQUIRED) or ask.verified != ask.labels:
            fields = (("Accept-Signature", _WANTED),)
            return Answer(status=403, fields=fields, body=page("Two signatures, please"))
        return inner(ask)

    return manner


def single(inner: Manner) -> Manner:
    """Refuses whatever carries more than one signature, as one published verifier does."""

    def manner(ask: Ask) -> Reply:
        if len(ask.labels) > 1:
            return Answer(status=401, body=TWO_LABELS.encode(), type="text/plain")
        return inner(ask)

    return manner


def demoting(inner: Manner) -> Manner:
    """Answers 200 to everybody and says in a field that it takes the dual-signed for strangers."""

    def manner(ask: Ask) -> Reply:
        reply = inner(ask)
        if not isinstance(reply, Answer):
            return reply
        known = "false" if len(ask.labels) > 1 else "true"
        return replace(reply, fields=(*reply.fields, (DEMOTION, known)))

    return manner


def torn(inner: Manner, resets: Mapping[str, int]) -> Manner:
    """Resets the first so many connections that ask for a target.

    Each answer is the last on its connection: a reset on one that had served before would say
    nothing about the origin.
    """

    def manner(ask: Ask) -> Reply:
        if ask.visit <= resets.get(ask.target, 0):
            return Reset()
        reply = inner(ask)
        return replace(reply, last=True) if isinstance(reply, Answer) else reply

    return manner


def failing(inner: Manner, *, share: float, seed: int) -> Manner:
    """Answers 500 to a random `share` of the requests for pages."""

    def manner(ask: Ask) -> Reply:
        drawn = Random(f"{seed}/{ask.turn}").random()  # noqa: S311 - a demo, repeatable on purpose
        if not ask.for_robots and drawn < share:
            return Answer(status=500, body=page("Something broke"))
        return inner(ask)

    return manner


def posing(inner: Manner, fields: tuple[tuple[str, str], ...]) -> Manner:
    """Adds fields to each answer, for example those of a well-known edge server."""

    def manner(ask: Ask) -> Reply:
        reply = inner(ask)
        return (
            replace(reply, fields=(*reply.fields, *fields)) if isinstance(reply, Answer) else reply
        )

    return manner
