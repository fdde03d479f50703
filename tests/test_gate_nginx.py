"""A site behind a real nginx with the shipped snippets, and `crawl gate` beside it."""

import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from capture import capturing
from guarded import (
    ADDRESS,
    HOME,
    KNOWN,
    RING,
    STRANGERS,
    TARGET,
    Guarded,
    bare,
    behind,
    gate_at_work,
    guarded_by,
    page,
)
from servers import needs_nginx

from crawler import shipped
from crawler.serve import gatehouse, ruling
from signing import signature
from signing.base import SignatureParams
from signing.digest import content_digest
from signing.message import Component, Message
from signing.profile import Labels, Name
from signing.signer import Keyring

pytestmark = needs_nginx


@pytest.fixture(scope="module")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """People may come in, and signatures have to be right."""
    folder, lax = tmp_path_factory.mktemp("gate"), "underscores_in_headers on;"
    with guarded_by(folder, KNOWN, directives=lax) as guarded:
        yield guarded


@pytest.fixture(scope="module")
def strict_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Only the known agent may come in, with both signatures, and everybody hears why not."""
    policy = f"""
    [admit]
    require = ["ed25519", "ml-dsa-44"]
    unsigned = false
    unknown = false
    [answers]
    reasons = "everybody"
    [replay]
    store = "sqlite"
    {KNOWN}"""
    with guarded_by(tmp_path_factory.mktemp("gate"), policy) as guarded:
        yield guarded


@pytest.mark.parametrize("profile", [name for name in Name if name is not Name.AUTO])
def test_the_site_learns_that_both_labels_are_good(open_site: Guarded, profile: Name) -> None:
    got = open_site.ask(open_site.signed(profile=profile))

    assert (got.status, got.text) == (200, "page")
    assert got.told("X-Bot-Outcome") == "verified"
    assert got.told("X-Bot-Agent") == HOME
    assert got.told("X-Bot-Algorithms") == "ed25519, ml-dsa-44"
    assert got.told("X-Bot-Labels") == ("sig1=verified;alg=ed25519, sig2=verified;alg=ml-dsa-44")
    assert got.told("X-Bot-Reason") is None


def test_people_come_in_and_are_nobody(open_site: Guarded) -> None:
    got = open_site.ask(bare(open_site))

    assert got.status == 200
    assert got.told("X-Bot-Outcome") == "unverified"
    assert got.told("X-Bot-Reason") == "no-signature"
    assert got.told("X-Bot-Agent") is None


NAMES = (*ruling.FIELDS, *gatehouse.ORIGINAL)


@pytest.mark.parametrize("write", [str, str.lower, str.upper], ids=["as is", "lower", "upper"])
def test_nothing_that_a_client_says_of_itself_reaches_the_site(
    open_site: Guarded, write: type[str]
) -> None:
    lies = [(write(name), "a lie") for name in NAMES] * 2
    lies += [(write(name.replace("-", "_")), "a lie") for name in NAMES]
    got = open_site.ask(bare(open_site), lies)

    assert got.status == 200
    assert got.told("X-Bot-Outcome") == "unverified"
    assert got.arrived is not None
    assert b"a lie" not in got.arrived.head


@pytest.mark.parametrize(
    ("changed", "lies"),
    [
        pytest.param({"target": "/other"}, [("X-Original-URI", TARGET)], id="another page"),
        pytest.param({"method": "POST"}, [("X-Original-Method", "GET")], id="another method"),
        pytest.param(
            {"authority": "other.example"}, [("X-Original-Host", "{host}")], id="another host"
        ),
    ],
)
def test_a_captured_signature_is_good_for_nothing_else_whatever_the_client_says(
    open_site: Guarded, changed: dict[str, str], lies: list[tuple[str, str]]
) -> None:
    message = replace(open_site.signed(), **changed)  # type: ignore[arg-type]
    if "authority" in changed:
        others = [field for field in message.fields if field[0] != "Host"]
        message = replace(message, fields=(("Host", changed["authority"]), *others))
    said = [(name, value.format(host=open_site.authority)) for name, value in lies]
    got = open_site.ask(message, [*said, ("Content-Length", "0")])

    assert (got.status, got.arrived) == (403, None)


def test_a_forged_signature_gets_403_and_hears_what_is_wanted(open_site: Guarded) -> None:
    forged = replace(open_site.signed(), target="/other")
    got = open_site.ask(forged)

    assert (got.status, got.arrived) == (403, None)
    assert got.fields["accept-signature"].startswith('sig1=("@authority"')
    assert got.text == "this request is refused for its signature, or for want of one\n"


def test_a_signature_by_a_key_that_the_agent_does_not_have_makes_nobody(open_site: Guarded) -> None:
    got = open_site.ask(open_site.signed(STRANGERS))

    assert got.status == 200
    assert got.told("X-Bot-Outcome") == "unverified"
    assert got.told("X-Bot-Reason") == "unknown-key"
    assert got.told("X-Bot-Agent") is None


def test_one_good_label_is_enough_where_none_is_required(open_site: Guarded) -> None:
    good, other = open_site.signed(), open_site.signed(target="/other")
    # sig2 of another request beside sig1 of this one
    mixed = tuple(
        (name, f"{value.partition(', ')[0]}, {theirs.partition(', ')[2]}")
        if name == "Signature"
        else (name, value)
        for (name, value), (_, theirs) in zip(good.fields, other.fields, strict=True)
    )
    got = open_site.ask(replace(good, fields=mixed))

    assert got.status == 200
    assert got.told("X-Bot-Outcome") == "verified"
    assert got.told("X-Bot-Algorithms") == "ed25519"
    assert str(got.told("X-Bot-Labels")).endswith("reason=bad-signature")


def test_a_request_that_comes_again_gets_429(open_site: Guarded) -> None:
    message = open_site.signed()
    first, again = open_site.ask(message), open_site.ask(message)

    assert (first.status, again.status, again.arrived) == (200, 429, None)
    assert "accept-signature" not in again.fields


def test_what_cannot_be_read_gets_400(open_site: Guarded) -> None:
    message = open_site.signed()
    torn = tuple(
        (name, "sig1" if name == "Signature-Input" else value) for name, value in message.fields
    )
    got = open_site.ask(replace(message, fields=torn))

    assert (got.status, got.arrived) == (400, None)


def test_a_body_goes_to_the_site_and_not_to_the_gate(open_site: Guarded) -> None:
    message = replace(bare(open_site, "/form"), method="POST")
    got = open_site.ask(message, [("Content-Length", "5")], body="hello")

    assert got.status == 200
    assert got.arrived is not None
    assert got.arrived.body == b"hello"


def signed_form(guarded: Guarded, target: str) -> Message:
    """A form that is signed with its digest; its body is hello."""
    form = bare(guarded, target)
    digest = ("Content-Digest", content_digest(b"hello"))
    agent = ("Signature-Agent", f'"{HOME}"')
    message = replace(form, method="POST", fields=(*form.fields, digest, agent))
    created = int(time.time()) - 3
    params = SignatureParams(
        tuple(map(Component, ("@authority", "@method", "content-digest", "signature-agent"))),
        (
            ("created", created),
            ("expires", created + 60),
            ("keyid", RING.first.keyid),
            ("tag", "web-bot-auth"),
        ),
    )
    made = signature.sign(message, RING.first, params)
    return replace(message, fields=(*message.fields, *signature.written([made])))


def test_a_signed_digest_is_left_to_the_site_that_has_the_body(open_site: Guarded) -> None:
    sent = signed_form(open_site, "/form")
    got = open_site.ask(sent, [("Content-Length", "5")], body="hello")

    assert got.status == 200
    assert got.told("X-Bot-Agent") == HOME
    assert got.told("X-Bot-Labels") == "sig1=verified;alg=ed25519;content=unseen"


def test_a_file_of_nginx_itself_is_behind_the_gate_too(open_site: Guarded) -> None:
    message = open_site.signed(target="/file")
    got, again = open_site.ask(message), open_site.ask(message)

    assert (got.status, got.text, again.status) == (200, "a file", 429)


def test_fields_of_eight_thousand_bytes_reach_the_gate(open_site: Guarded) -> None:
    message = open_site.signed()
    longest = max(len(value) for _, value in message.fields)
    got = open_site.ask(message, [("Cookie", "c" * 7900), ("X-Odd", "\xff" * 7900)])

    assert longest > 3300
    assert got.told("X-Bot-Outcome") == "verified"


def test_a_strict_site_lets_in_who_brings_both(strict_site: Guarded) -> None:
    got = strict_site.ask(strict_site.signed())

    assert got.status == 200
    assert got.told("X-Bot-Algorithms") == "ed25519, ml-dsa-44"


@pytest.mark.parametrize(
    ("labels", "ring", "reason"),
    [
        pytest.param(Labels.FIRST, RING, "signature-missing", id="sig1 alone"),
        pytest.param(Labels.BOTH, STRANGERS, "unknown-key", id="a stranger"),
        pytest.param(None, RING, "no-signature", id="unsigned"),
    ],
)
def test_a_strict_site_refuses_others_and_says_why_and_what_is_wanted(
    strict_site: Guarded, labels: Labels | None, ring: Keyring, reason: str
) -> None:
    message = strict_site.signed(ring, labels=labels) if labels else bare(strict_site)
    got = strict_site.ask(message)

    assert (got.status, got.arrived) == (403, None)
    assert got.text.endswith(f"its signature, or for want of one: {reason}\n")
    assert got.fields["accept-signature"].count("created;expires;keyid") == 2
    assert 'alg="ml-dsa-44"' in got.fields["accept-signature"]


REDIRECTING = """
proxy_cache kept;
proxy_cache_valid any 1m;
proxy_ignore_headers Cache-Control;
location /folder/ { index index.html; }
location /front { $site }
location /tried/ { try_files $uri /front; }
location /named/ { try_files $uri @app; }
location @app { $site }
location /rewritten/ { rewrite ^ /front last; }
location /nowhere/ { root /nonexistent; error_page 404 /missing.html;
  error_page 403 = @callingcard_refused; }
location = /missing.html { }
location /closed/ { deny all; }
location /empty/ { autoindex off; }
"""


@pytest.fixture(scope="module")
def redirecting_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Much of it is elsewhere inside of nginx, and all answers are kept where nobody forbids it."""
    folder = tmp_path_factory.mktemp("gate")
    with guarded_by(
        folder,
        KNOWN,
        locations=REDIRECTING,
        directives=f"proxy_cache_path {folder}/kept keys_zone=kept:1m; proxy_intercept_errors on;",
    ) as guarded:
        yield guarded


@pytest.mark.parametrize(
    ("target", "status", "text"),
    [
        ("/folder/", 200, "an index"),
        ("/tried/x", 200, "page"),
        ("/named/x", 200, "page"),
        ("/rewritten/x", 200, "page"),
        ("/nowhere/x", 404, "not here"),
    ],
)
def test_a_redirect_inside_of_nginx_does_not_make_a_request_its_own_replay(
    redirecting_site: Guarded, target: str, status: int, text: str
) -> None:
    message = redirecting_site.signed(target=target)
    got, again = redirecting_site.ask(message), redirecting_site.ask(message)

    assert (got.status, got.text) == (status, text)
    assert got.arrived is None or got.told("X-Bot-Agent") == HOME
    assert again.status == 429


def test_a_signed_form_for_a_page_that_is_nowhere_is_no_replay_either(
    redirecting_site: Guarded,
) -> None:
    sent = signed_form(redirecting_site, "/nowhere/form")
    got = redirecting_site.ask(sent, [("Content-Length", "5")], body="hello")

    assert (got.status, got.text) == (404, "not here")


def test_no_cache_of_the_site_keeps_a_verdict(redirecting_site: Guarded) -> None:
    bot = redirecting_site.ask(redirecting_site.signed(target="/file"))
    forged = redirecting_site.ask(replace(redirecting_site.signed(target="/other"), target="/file"))
    person = redirecting_site.ask(bare(redirecting_site, "/file"))
    after = redirecting_site.ask(bare(redirecting_site, "/uncached"))

    assert (bot.status, forged.status, person.status) == (200, 403, 200)
    assert after.told("X-Bot-Outcome") == "unverified"


@pytest.mark.parametrize("target", ["/closed/x", "/empty/"])
def test_the_sites_own_403_does_not_speak_of_signatures(
    redirecting_site: Guarded, target: str
) -> None:
    got = redirecting_site.ask(bare(redirecting_site, target))

    assert (got.status, got.text) == (403, "403 Forbidden\n")
    assert "accept-signature" not in got.fields


@pytest.mark.parametrize(
    ("line", "host", "signed_for", "status"),
    [
        ("GET http://b.example/ HTTP/1.1", "a.example", "a.example", 403),
        ("GET http://b.example/ HTTP/1.1", "b.example", "b.example", 200),
        ("GET / HTTP/1.1", "B.example:80", "b.example", 200),
        ("GET / HTTP/1.1", "b.example.", "b.example.", 200),
        ("GET http://b.example/ HTTP/1.1", "a.example", None, 200),
    ],
    ids=["another site's", "absolute", "upper case", "root dot", "unsigned"],
)
def test_a_signature_counts_for_the_site_that_answers_and_not_for_the_one_that_host_names(
    open_site: Guarded, line: str, host: str, signed_for: str | None, status: int
) -> None:
    message = bare(open_site)
    if signed_for is not None:
        message = open_site.signed(target="/", authority=signed_for)
    others = [field for field in message.fields if field[0] != "Host"]
    got = open_site.say(line, [("Host", host), *others])

    assert got.status == status


MANY = [(f"X-{number}", "y") for number in range(400)]


@pytest.mark.parametrize(
    ("line", "host", "fields"),
    [
        pytest.param("GET / HTTP/1.0", None, [], id="no host"),
        pytest.param("GET http://{host}/ HTTP/1.0", None, [], id="no host, absolute"),
        pytest.param("GET / HTTP/1.1", "u@{host}", [], id="a user before the host"),
        pytest.param("GET / HTTP/1.1", "{host}", [("Cookie", "a=\x01b")], id="control byte"),
        pytest.param("GET / HTTP/1.1", "{host}", [("User-Agent", "a\x7fb\xff")], id="delete"),
        pytest.param("GET / HTTP/1.1", "{host}", [("User-Agent", "a")] * 2, id="the same twice"),
        pytest.param("GET / HTTP/1.1", "{host}", MANY, id="400 fields"),
        pytest.param("GET / HTTP/1.1", "{host}", [("Sec-WebSocket-Key1", "a")], id="old websocket"),
        pytest.param("OPTIONS * HTTP/1.1", "{host}", [], id="asterisk"),
        pytest.param("GET /\xe9?\xff HTTP/1.1", "{host}", [], id="raw octets"),
        pytest.param("GET / HTTP/1.1", "{host}", [("Signature", "")], id="empty signature"),
    ],
)
def test_what_people_send_is_never_refused_for_its_form(
    open_site: Guarded, line: str, host: str | None, fields: list[tuple[str, str]]
) -> None:
    named = [] if host is None else [("Host", host.format(host=open_site.authority))]
    got = open_site.say(line.format(host=open_site.authority), [*named, *fields])
    by_nginx = line.startswith("OPTIONS")

    assert got.status == (400 if by_nginx else 200)
    assert by_nginx or got.told("X-Bot-Outcome") == "unverified"


def test_a_bot_may_send_what_people_send_beside_its_signature(open_site: Guarded) -> None:
    got = open_site.ask(open_site.signed(), [("Cookie", "a=\x01b"), *MANY])

    assert got.told("X-Bot-Outcome") == "verified"


def test_fastcgi_gets_what_the_gate_says_and_nothing_that_a_client_says(tmp_path: Path) -> None:
    lines = [line[2:] for line in shipped.text("gate-nginx-location.conf").splitlines()]
    params = [line for line in lines if line.startswith("fastcgi_param ")]
    with socket.create_server((ADDRESS, 0)) as application, ThreadPoolExecutor() as threads:
        application.settimeout(10)
        port = application.getsockname()[1]
        at = f"location /fcgi/ {{ fastcgi_pass {ADDRESS}:{port}; {' '.join(params)} }}"
        arrived = threads.submit(fastcgi_request, application)
        with guarded_by(tmp_path, KNOWN, locations=at) as guarded:
            lies = [(name, "a lie") for name in NAMES]
            lies += [(name.replace("-", "_"), "a lie") for name in NAMES]
            got = guarded.ask(bare(guarded, "/fcgi/"), lies)
        sent = arrived.result()

    assert got.status == 200
    assert b"HTTP_X_BOT_OUTCOMEunverified" in sent
    assert b"a lie" not in sent


def fastcgi_request(application: socket.socket) -> bytes:
    """What nginx tells a FastCGI application of one request, which is answered with ok."""
    wire, _ = application.accept()
    with wire, wire.makefile("rb") as stream:
        params = b""
        while True:
            _, kind, _, length, padding, _ = struct.unpack("!BBHHBB", stream.read(8))
            content = stream.read(length + padding)[:length]
            if kind == 5 and not length:  # FCGI_STDIN, at its end
                break
            params += content if kind == 4 else b""  # FCGI_PARAMS
        text = b"Content-Type: text/plain\r\n\r\nok"
        said = struct.pack("!BBHHBB", 1, 6, 1, len(text), 0, 0) + text
        wire.sendall(said + struct.pack("!BBHHBB8x", 1, 3, 1, 8, 0, 0))
    return params


def test_while_the_gate_is_away_nobody_comes_in(tmp_path: Path) -> None:
    with capturing(page, ADDRESS) as site, gate_at_work(tmp_path, KNOWN) as port:
        pass
    with capturing(page, ADDRESS) as site, behind(site, port) as guarded:
        got = guarded.ask(bare(guarded))

    assert (got.status, got.arrived) == (500, None)


def test_the_snippets_overwrite_each_field_that_is_trusted() -> None:
    server, location = (shipped.text(name) for name in shipped.GATE[1:])
    overwritten = {
        line.split()[1] for line in location.splitlines() if line.startswith("proxy_set_header ")
    }
    asked = {line.split()[1] for line in server.splitlines() if "proxy_set_header  " in line}

    assert overwritten == set(NAMES)
    assert asked == {"Content-Length", *gatehouse.ORIGINAL}
