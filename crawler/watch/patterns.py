"""What real receivers answer when two signatures are too much for them, as a table.

Each row was seen from the software that it names. Rows are tried in order and the first one that
matches decides, so what is particular to one server stands before what any server may say. Nothing
here says that sig2 *was* the cause: only a control, the same request with sig1 alone, says that.
"""

from enum import StrEnum

from msgspec import Struct

from crawler.events import Stage


class Sight(StrEnum):
    """What one answer looks like, seen by itself."""

    SIZE_SURE = "size-sure"  # the request was too big
    SIZE_POSSIBLE = "size-possible"  # it may have been
    VERIFIER = "verifier"  # a verifier was not content
    CHALLENGE = "challenge"
    DIRECTORY = "directory"  # what we publish was not taken: sig1 alone fails too
    OTHER = "other"  # no page, and nothing that points to the signatures
    FINE = "fine"


class Where(StrEnum):
    """What a row's pattern is searched in."""

    ANYWHERE = "anywhere"  # no pattern: the status or the stage says it
    TEXT = "text"  # the reason phrase and the body, its markup taken out
    START = "start"  # the beginning of the body
    FIELD = "field"  # the value of the answer field that `name` matches
    DETAIL = "detail"  # what a failure without an answer said


class Row(Struct, frozen=True, kw_only=True):
    """One way to say no. `pattern` and `name` are regular expressions, case does not count."""

    sight: Sight
    statuses: frozenset[int] = frozenset()
    stages: frozenset[Stage] = frozenset()  # of failures on a fresh connection, without a status
    where: Where = Where.ANYWHERE
    name: str = ""
    pattern: str = ""
    source: str


_SERVED = frozenset((*range(200, 300), 304))
_REFUSED = frozenset((*range(200, 300), *range(400, 600)))  # a challenge may call itself 200
_BAD = frozenset((400, 413))
_AUTH = frozenset((401, 403))
_UNCONTENT = frozenset((400, 401, 403))
_ANY = "any server"
_KEY_DRAFT = "draft-hardt-httpbis-signature-key"


def _field(
    sight: Sight, statuses: frozenset[int], name: str, source: str, pattern: str = ""
) -> Row:
    return Row(
        sight=sight,
        statuses=statuses,
        where=Where.FIELD,
        name=name,
        pattern=pattern,
        source=source,
    )


def _text(sight: Sight, statuses: frozenset[int], pattern: str, source: str) -> Row:
    return Row(sight=sight, statuses=statuses, where=Where.TEXT, pattern=pattern, source=source)


TABLE: tuple[Row, ...] = (
    # Challenges, whatever their cause.
    _field(Sight.CHALLENGE, _REFUSED, "cf-mitigated", "Cloudflare", r"challenge"),
    _field(Sight.CHALLENGE, _REFUSED, "x-amzn-waf-action", "AWS WAF", r"challenge|captcha"),
    # Size, sure: 431 and 494 whatever the body, 400 and 413 that name headers or a size.
    Row(
        sight=Sight.SIZE_SURE,
        statuses=frozenset((431, 494)),
        source="lighttpd, Jetty, Node, Go net/http, gunicorn 27, Apache over HTTP/2",
    ),
    _text(Sight.SIZE_SURE, _BAD, r"request header or cookie too large", "nginx"),
    _text(Sight.SIZE_SURE, _BAD, r"size of a request header field exceeds server limit", "Apache"),
    _text(Sight.SIZE_SURE, _BAD, r"limit request headers? fields?", "gunicorn 20"),
    _text(Sight.SIZE_SURE, _BAD, r"got more than \d+ bytes", "aiohttp.web"),
    _text(Sight.SIZE_SURE, _BAD, r"request header is too large", "Tomcat"),
    _text(
        Sight.SIZE_SURE,
        _BAD,
        r"\btoo (?:large|big|long|many)\b|\bmore than \d+ bytes"
        r"|\bexceed\w*\b.{0,40}\b(?:size|length|bytes)\b"
        r"|\b(?:size|length|bytes|headers?|fields?|cookies?)\b.{0,60}\bexceed"
        r"|\b(?:size|length)\b.{0,40}\blimit|\blimit\b.{0,40}\b(?:size|length)\b"
        r"|\bmax(?:imum)?\b.{0,20}\b(?:size|length|bytes)\b",
        _ANY,
    ),
    # Verifiers: fields first, they say most; a 400 names signatures, 401 and 403 more than that.
    _field(Sight.VERIFIER, _UNCONTENT, "signature-error", _KEY_DRAFT),
    _field(Sight.VERIFIER, _UNCONTENT, "accept-signature-alg", _KEY_DRAFT),
    _field(Sight.VERIFIER, _UNCONTENT, "accept-signature", "an origin that follows the draft"),
    _text(Sight.VERIFIER, _UNCONTENT, r"urn:ietf:params:sig-error:[\w-]+", _KEY_DRAFT),
    _text(
        Sight.DIRECTORY,
        _UNCONTENT,
        r"\bAKP\b|\bkty\b|\b(?:unsupported|unknown|invalid) key type"
        r"|\b(?:jwks?|key set|key directory)\b.{0,40}"
        r"\b(?:invalid|malformed|unavailable|unreadable|unsupported|fail\w*|pars\w+)\b"
        r"|\b(?:invalid|malformed|unavailable|unreadable|unsupported|fail\w*|pars\w+)\b.{0,40}"
        r"\b(?:jwks?|key set|key directory)\b",
        "a verifier that reads a key set with a closed list of key types",
    ),
    _text(Sight.VERIFIER, _UNCONTENT, r"multiple signatures", "npm web-bot-auth 0.1.3"),
    _text(
        Sight.VERIFIER,
        _UNCONTENT,
        r"unexpected algorithm",
        "Python http-message-signatures with expect_tag",
    ),
    _text(
        Sight.VERIFIER,
        _UNCONTENT,
        r"\b(?:invalid|bad|wrong|unknown) signature\b",
        "a verifier that takes all that follows sig1=",
    ),
    _text(Sight.VERIFIER, _UNCONTENT, r"\bsignatures?\b|\bsig[12]\b", "any verifier"),
    _text(Sight.VERIFIER, _AUTH, r"\balg\b|\bml-dsa\b|\bed25519\b|\blabels?\b", "any verifier"),
    _field(
        Sight.VERIFIER,
        _SERVED,
        r"x-(?:.+-)?authenticated",
        "a test service that serves the page and says that it took us for nobody",
        r"^\s*(?:false|no|0)\s*$",
    ),
    Row(
        sight=Sight.VERIFIER,
        statuses=_SERVED,
        where=Where.START,
        pattern=r"invalid:[^\n]*",
        source="a test service that answers 200 and a text",
    ),
    # A 400 that speaks of headers and of nothing above.
    _text(Sight.SIZE_SURE, _BAD, r"\bheaders?\b", _ANY),
    # Size, possible.
    _text(Sight.SIZE_POSSIBLE, _BAD, r"your browser sent an invalid request", "HAProxy"),
    _text(Sight.SIZE_POSSIBLE, _BAD, r"invalid HTTP request received", "uvicorn with h11"),
    Row(
        sight=Sight.SIZE_POSSIBLE,
        statuses=frozenset((400, 413, 500, 502)),
        source="Varnish, Tomcat without a body, an application server behind a proxy",
    ),
    Row(
        sight=Sight.SIZE_POSSIBLE,
        stages=frozenset((Stage.FIRST_BYTE,)),
        source="Tornado, PHP's built-in server, Varnish past its total",
    ),
    Row(
        sight=Sight.SIZE_POSSIBLE,
        stages=frozenset((Stage.HEAD,)),
        where=Where.DETAIL,
        pattern=r"reset|disconnected|closed",
        source="a server that closes while we still write",
    ),
)
