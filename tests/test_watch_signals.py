"""What single answers look like: the measured ones of real software, and those of nobody."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import record
from watched import BOTH, ONE, failed

from crawler.events import FetchRecord, Outcome, Stage
from crawler.watch import signals
from crawler.watch.patterns import TABLE, Sight

SIZE_SURE = {
    "nginx": record(
        status=400,
        reason="Bad Request",
        server="nginx/1.22.1",
        refusal="<html>\r\n<head><title>400 Request Header Or Cookie Too Large</title></head>\r\n"
        "<body>\r\n<center><h1>400 Bad Request</h1></center>\r\n"
        "<center>Request Header Or Cookie Too Large</center>\r\n</body>\r\n</html>\r\n",
    ),
    "Apache": record(
        status=400,
        reason="Bad Request",
        refusal="<p>Your browser sent a request that this server could not understand.<br />\n"
        "Size of a request header field exceeds server limit.<br />\n</p>",
    ),
    "lighttpd": record(
        status=431,
        reason="Request Header Fields Too Large",
        refusal="<title>431 Request Header Fields Too Large</title>",
    ),
    "Tomcat with a body": record(
        status=400,
        reason="",
        refusal="<style>h1 {font-size:22px}</style>"
        + " " * 900
        + "<p><b>Message</b> Request header is too large</p>",
    ),
    "Jetty": record(status=431, refusal="<h1>Bad Message 431</h1><pre>reason: 431</pre>"),
    "Node": record(status=431, reason="Request Header Fields Too Large"),
    "Go net/http": record(status=431, refusal="431 Request Header Fields Too Large"),
    "gunicorn 27": record(status=431, refusal="limit request headers fields size"),
    "gunicorn 20": record(
        status=400,
        refusal="<h1><p>Bad Request</p></h1>\nError parsing headers: "
        "&#x27;limit request headers fields size&#x27;",
    ),
    "aiohttp.web, which echoes our field": record(
        status=400,
        reason="Bad Request",
        refusal="400, message:\n  Got more than 8190 bytes when reading: b'Signature: sig1=[...]'.",
    ),
    "nginx's own status": record(status=494),
    "CloudFront": record(status=413, reason="Request Entity Too Large"),
    "http.sys": record(
        status=400,
        refusal="<h2>Bad Request - Request Too Long</h2><hr><p>HTTP Error 400. "
        "The size of the request headers is too long.</p>",
    ),
    "a 400 that names headers": record(status=400, refusal="Invalid header"),
    "a 413 whose body names a limit": record(status=413, reason="", refusal="limit on size: 4096"),
    "a 400 in JSON": record(status=400, refusal='{"error": "header exceeds 4096 bytes"}'),
}
SIZE_POSSIBLE = {
    "HAProxy": record(
        status=400,
        reason="Bad request",
        refusal="<html><body><h1>400 Bad request</h1>\n"
        "Your browser sent an invalid request.\n</body></html>\n",
    ),
    "Varnish past its line": record(status=400, reason="Bad Request"),
    "Varnish past its fields": record(status=500, reason="Internal Server Error"),
    "Tomcat without a body": record(status=400, reason=""),
    "uvicorn with h11": record(status=400, refusal="Invalid HTTP request received."),
    "a proxy before a small buffer": record(status=502, reason="Bad Gateway"),
    "a bare 413": record(status=413, reason=""),
    "Tornado, closed with no bytes": failed(stage=Stage.FIRST_BYTE, detail="Server disconnected"),
    "a reset while the head came": failed(stage=Stage.HEAD, detail="Connection reset by peer"),
    "a page with a header element": record(
        status=400,
        refusal="<header class='header too-large'>Oops</header><style>.x{max-size:1}</style>",
    ),
    "a body cut within a tag": record(status=400, refusal="<p>Sorry</p><div class='header size"),
}
VERIFIER = {
    "npm web-bot-auth 0.1.3": record(
        status=401, refusal="Error: Multiple signatures is not supported"
    ),
    "Python http-message-signatures": record(
        status=401, refusal="Unexpected algorithm specified in the signature"
    ),
    "hand-written parsing": record(status=403, refusal="invalid signature"),
    "an origin that follows the draft": record(
        status=403, fields={"accept-signature": 'sig1=("@authority");tag="web-bot-auth"'}
    ),
    "a 400 for fields that do not parse": record(
        status=400, refusal="Signature-Input header could not be parsed"
    ),
    "Signature-Error": record(status=401, fields={"Signature-Error": "error=invalid_input"}),
    "a problem type": record(
        status=401, refusal='{"type": "urn:ietf:params:sig-error:invalid_signature"}'
    ),
    "Accept-Signature-Alg": record(status=401, fields={"accept-signature-alg": "ed25519"}),
    "a body that names an algorithm": record(status=401, refusal='{"alg": "is not allowed"}'),
    "a body that names ours": record(status=403, refusal="ML-DSA-44? Never heard of."),
    "a body that names a label": record(status=401, refusal="no such label"),
    "200 and a demotion field": record(fields={"X-Bot-Authenticated": "false"}),
    "304 and a demotion field": record(status=304, fields={"x-authenticated": "0"}),
    "200 and a text": record(refusal="invalid: 2 signatures"),
}
CHALLENGE = {
    "Cloudflare": record(status=403, fields={"cf-mitigated": "challenge"}),
    "AWS WAF, 202": record(status=202, fields={"x-amzn-waf-action": "challenge"}),
    "AWS WAF, 405": record(status=405, fields={"x-amzn-waf-action": "captcha"}),
    "a challenge that names headers": record(
        status=400, fields={"cf-mitigated": "challenge"}, refusal="headers"
    ),
}
DIRECTORY = {
    "a closed list of key types": record(status=401, refusal="unknown key type"),
    "our key's type by name": record(status=401, refusal="cannot use kty AKP"),
    "a set that does not parse": record(status=403, refusal="failed to parse JWKS"),
    "sig1 alone, refused like both": record(labels=ONE, status=401, refusal="invalid signature"),
    "sig1 alone, served and demoted": record(labels=ONE, fields={"x-authenticated": "no"}),
}
OTHER = {
    "a bare 403": record(status=403, reason="Forbidden", refusal="go away"),
    "a bare 401": record(status=401, reason="Unauthorized"),
    "a page that is not there": record(status=404, refusal="no such header"),
    "a method that is not allowed": record(status=405, reason="Method Not Allowed"),
    "a legal reason": record(status=451),
    "429": record(status=429, retry_after=5.0),
    "429 that names signatures": record(status=429, fields={"signature-error": "replayed"}),
    "503 with Retry-After": record(status=503, retry_after=5.0),
    "503 without": record(status=503),
    "504": record(status=504),
    "a page cut off": record(outcome=Outcome.FAILED, stage=Stage.BODY, status=200),
    "no such name": failed(stage=Stage.DNS),
    "nobody there": failed(stage=Stage.CONNECT),
    "a certificate that is bad": failed(stage=Stage.TLS),
    "a connection that died of age": failed(stage=Stage.STALE_CONNECTION, reused=True),
    "a close on a used connection": failed(stage=Stage.FIRST_BYTE, reused=True),
    "an answer that is no HTTP": failed(stage=Stage.HEAD, detail="Bad status line"),
    "a drip": failed(stage=Stage.MIN_RATE),
    "a failure nowhere": failed(),
    "never sent": failed(outcome=Outcome.NOT_SENT, stage=Stage.HEADER_LIMIT),
    "cut off by us, head read": record(outcome=Outcome.CANCELLED, status=431),
    "our own mistake": failed(outcome=Outcome.INTERNAL, stage=Stage.FIRST_BYTE),
}
FINE = {
    "a page": record(),
    "nothing new": record(status=304),
    "a redirect": record(status=302, fields={"x-authenticated": "false"}),
    "a page behind Cloudflare": record(fields={"cf-ray": "8e1f-PRG"}),
    "a promotion": record(fields={"x-bot-authenticated": "true"}),
    "a page too big for us": record(outcome=Outcome.TOO_BIG),
    "a film": record(outcome=Outcome.WRONG_TYPE),
}
CASES = [
    pytest.param(answer, sight, id=f"{sight}: {name}")
    for sight, answers in (
        (Sight.SIZE_SURE, SIZE_SURE),
        (Sight.SIZE_POSSIBLE, SIZE_POSSIBLE),
        (Sight.VERIFIER, VERIFIER),
        (Sight.CHALLENGE, CHALLENGE),
        (Sight.DIRECTORY, DIRECTORY),
        (Sight.OTHER, OTHER),
        (Sight.FINE, FINE),
    )
    for name, answer in answers.items()
]


@pytest.mark.parametrize(("answer", "sight"), CASES)
def test_an_answer_looks_like(answer: FetchRecord, sight: Sight) -> None:
    assert signals.classify(answer).sight is sight


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        (SIZE_SURE["nginx"], "nginx"),
        (SIZE_SURE["Apache"], "Apache"),
        (SIZE_SURE["aiohttp.web, which echoes our field"], "aiohttp.web"),
        (SIZE_SURE["Tomcat with a body"], "Tomcat"),
        (SIZE_POSSIBLE["HAProxy"], "HAProxy"),
        (VERIFIER["npm web-bot-auth 0.1.3"], "npm web-bot-auth 0.1.3"),
        (CHALLENGE["Cloudflare"], "Cloudflare"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_software_that_answers_like_that_is_named(answer: FetchRecord, source: str) -> None:
    assert signals.classify(answer).source == source


@pytest.mark.parametrize(
    ("answer", "matched"),
    [
        (record(status=431), "status 431"),
        (SIZE_SURE["nginx"], "text: Request Header Or Cookie Too Large"),
        (CHALLENGE["AWS WAF, 405"], "x-amzn-waf-action: captcha"),
        (VERIFIER["Signature-Error"], "signature-error: error=invalid_input"),
        (VERIFIER["200 and a text"], "body: invalid: 2 signatures"),
        (SIZE_POSSIBLE["Tornado, closed with no bytes"], "first-byte"),
        (SIZE_POSSIBLE["a reset while the head came"], "failure: Connection reset by peer"),
        (FINE["a page"], ""),
    ],
)
def test_what_raised_the_suspicion_is_quoted(answer: FetchRecord, matched: str) -> None:
    assert signals.classify(answer).matched == matched


def test_a_long_answer_is_quoted_in_part() -> None:
    answer = record(status=401, fields={"signature-error": "x" * 1000})

    assert len(signals.classify(answer).matched) < 200


@pytest.mark.parametrize("name", SIZE_SURE)
def test_a_size_that_was_too_much_is_so_with_one_label_too(name: str) -> None:
    """That sig2 was the cause only the control says; suspicion takes both."""
    alone = record(
        labels=ONE,
        status=SIZE_SURE[name].status,
        reason=SIZE_SURE[name].reason,
        refusal=SIZE_SURE[name].refusal,
    )

    assert signals.classify(alone).sight is Sight.SIZE_SURE
    assert not signals.suspicious(alone, Sight.SIZE_SURE)


@pytest.mark.parametrize("sight", Sight)
def test_suspicion_takes_both_labels_but_for_what_we_publish(sight: Sight) -> None:
    at_all = sight not in (Sight.FINE, Sight.OTHER)

    assert signals.suspicious(record(labels=BOTH), sight) == at_all
    assert signals.suspicious(record(labels=ONE), sight) == (sight is Sight.DIRECTORY)


@pytest.mark.parametrize(
    ("name", "is_read"),
    [
        ("signature-error", True),
        ("Accept-Signature", True),
        ("cf-mitigated", True),
        ("x-example-bot-authenticated", True),
        ("x-authenticated", True),
        ("server", False),
        ("x-authenticated-user", False),
        ("set-cookie", False),
    ],
)
def test_which_fields_a_record_keeps(name: str, is_read: bool) -> None:
    assert signals.read(name) == is_read


def test_every_row_names_its_software_and_can_be_read() -> None:
    for row in TABLE:
        re.compile(row.pattern)
        re.compile(row.name)

        assert row.source
        assert bool(row.statuses) != bool(row.stages)


PIECES = ("<style>", "<!--", "<a ", ">", "</style>", "header", "too large", "sig1", "\n", "alg")
TEXT = st.text(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(
    status=st.none() | st.integers(-1, 1000),
    outcome=st.sampled_from(Outcome),
    stage=st.none() | st.sampled_from(Stage),
    labels=st.sampled_from(((), ONE, BOTH)),
    reason=st.none() | TEXT,
    refusal=TEXT,
    detail=TEXT,
    fields=st.dictionaries(TEXT | st.sampled_from(("signature-error", "cf-mitigated")), TEXT),
    reused=st.booleans(),
)
def test_whatever_answers_looks_like_something(**given_: object) -> None:
    answer = record(**given_)
    sighting = signals.classify(answer)

    assert sighting.sight in Sight
    assert bool(sighting.source) == (sighting.sight not in (Sight.FINE, Sight.OTHER))
    if answer.outcome in (Outcome.NOT_SENT, Outcome.CANCELLED, Outcome.INTERNAL):
        assert sighting.sight is Sight.OTHER
    if answer.status == 429:
        assert sighting.sight is Sight.OTHER


@given(status=st.integers(200, 399), labels=st.sampled_from((ONE, BOTH)), reused=st.booleans())
def test_a_plain_answer_without_fields_to_read_is_fine(
    status: int, labels: tuple[str, ...], reused: bool
) -> None:
    """What the tally relies on when it does not ask."""
    assert signals.classify(record(status=status, labels=labels, reused=reused)) == signals.FINE
