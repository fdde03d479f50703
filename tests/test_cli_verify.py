"""`crawl verify` as a person runs it on a request from a log or a capture."""

import asyncio
import io
import json
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import keyhouse
import pytest
from aiohttp import web
from keyhouse import NOW

from crawler.commands import verifying
from crawler.problems import Problem
from crawler.serve import account
from signing import algorithms, directory, keys, signer
from signing.label import Second
from signing.message import Message
from signing.profile import Labels, Name, Profile
from signing.signer import Keyring
from signing.verifier import Reason

CRAWL = str(Path(sys.executable).with_name("crawl"))
HOME = "https://bot.example"
RING = Keyring(keys.generate(algorithms.ED25519), keys.generate(algorithms.ML_DSA_44))
assert RING.second is not None
SET = directory.key_set([RING.first.public_key, RING.second.public_key])


def raw(message: Message, end: str = "\r\n") -> bytes:
    lines = [f"{message.method} {message.target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in message.fields]
    return (end.join(lines) + end + end).encode("latin-1")


@dataclass(frozen=True, kw_only=True)
class Ran:
    code: int
    answer: str
    said: str


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "keys.json").write_bytes(SET)
    (tmp_path / "request").write_bytes(raw(keyhouse.signed(RING, HOME)))
    return tmp_path


def crawl(folder: Path, *arguments: str, given: bytes | None = None) -> Ran:
    """Run the command in the folder."""
    ended = subprocess.run(
        [CRAWL, "verify", *arguments], cwd=folder, input=given, capture_output=True, check=False
    )
    return Ran(code=ended.returncode, answer=ended.stdout.decode(), said=ended.stderr.decode())


def test_a_good_request_is_told_label_by_label(folder: Path) -> None:
    ran = crawl(folder, "request", "--keys", "keys.json", "--at", str(NOW + 1))

    assert (ran.code, ran.said) == (0, "")
    assert ran.answer == (
        "verified: GET /page?q=1 at https://shop.example, judged as of 2027-01-15T08:00:01Z\n"
        "\n"
        "sig1: verified\n"
        "  agent       https://bot.example\n"
        f"  key         {RING.first.keyid} (ed25519)\n"
        '  covers      "@authority", "@method", "@path", "@query", "signature-agent";key="sig1"\n'
        "  leaves open @scheme, accept, user-agent\n"
        "\n"
        "sig2: verified\n"
        "  agent       https://bot.example/.well-known/bot-pq-jwks.json\n"
        f"  key         {RING.second.keyid if RING.second else None} (ml-dsa-44)\n"
        '  covers      "@authority", "@method", "@path", "@query", "signature-agent";key="sig2"\n'
        "  leaves open @scheme, accept, user-agent\n"
    )


def test_a_policy_judges_as_the_gate_would(folder: Path) -> None:
    (folder / "gate.toml").write_text(
        f"""
        [signatures]
        tags = ["web-bot-auth"]
        [[agent]]
        origin = "{HOME}"
        keys = ["keys.json"]
        """
    )
    ran = crawl(folder, "request", "--policy", "gate.toml", "--at", "created")
    wrong = crawl(folder, "request", "--policy", "request")

    assert (ran.code, ran.said) == (0, "")
    assert "sig1: verified" in ran.answer
    assert "sig2: verified" not in ran.answer
    assert wrong.code == 1
    assert "request" in wrong.said


def test_an_algorithm_that_the_gate_would_not_take_is_judged_all_the_same(folder: Path) -> None:
    ring = Keyring(keys.generate(algorithms.ED25519), keys.generate(algorithms.ML_DSA_65))
    assert ring.second is not None
    (folder / "65.json").write_bytes(
        directory.key_set([ring.first.public_key, ring.second.public_key])
    )
    form = Profile(name=Name.BRIDGE, home=HOME, second=Second(algorithm="ml-dsa-65", alg=""))
    bare = Message(method="GET", scheme="https", authority="shop.example", target="/")
    sent = signer.sign(bare, ring, form, NOW, bytes(64))
    message = replace(bare, fields=(("Host", "shop.example"), *sent.fields))
    ran = crawl(folder, "--keys", "65.json", "--at", "created", given=raw(message))

    assert (ran.code, ran.said) == (0, "")
    assert "sig2: verified" in ran.answer


def test_standard_input_with_bare_newlines_will_do(folder: Path) -> None:
    given = raw(keyhouse.signed(RING, HOME), end="\n")
    runs = [
        crawl(folder, *file, "--keys", "keys.json", "--at", "created", given=given)
        for file in ((), ("-",))
    ]

    assert [ran.code for ran in runs] == [0, 0]


def test_a_captured_request_has_expired_and_the_answer_says_how_to_look_back(folder: Path) -> None:
    ran = crawl(folder, "request", "--keys", "keys.json", "--at", str(NOW + 3600))

    assert ran.code == 3
    assert ran.answer.startswith("invalid: GET /page?q=1")
    assert "sig1: invalid, expired" in ran.answer
    assert "--at created" in ran.answer


def test_json_says_the_same(folder: Path) -> None:
    ran = crawl(folder, "request", "--keys", "keys.json", "--at", "created", "--format", "json")
    told = json.loads(ran.answer)

    assert ran.code == 0
    assert (told["outcome"], told["method"], told["authority"]) == (
        "verified",
        "GET",
        "shop.example",
    )
    assert [(one["label"], one["outcome"], one["algorithm"]) for one in told["signatures"]] == [
        ("sig1", "verified", "ed25519"),
        ("sig2", "verified", "ml-dsa-44"),
    ]
    assert told["signatures"][0]["uncovered"] == ["@scheme", "accept", "user-agent"]


@pytest.mark.parametrize(
    ("arguments", "given", "code", "problem"),
    [
        pytest.param(("none",), None, 1, "none: No such file or directory", id="no file"),
        pytest.param((), b"hello\n", 1, "line 1: 'hello' is no request line", id="no request"),
        pytest.param(("--keys", "none"), b"", 1, "empty", id="nothing"),
        pytest.param(("request", "--keys", "none"), None, 1, "--keys none: No such", id="no keys"),
        pytest.param(
            ("request", "--keys", "request"), None, 1, "--keys request: no JWK Set", id="other keys"
        ),
        pytest.param(("request", "--at", "soon"), None, 2, "'soon' is no moment", id="no moment"),
        pytest.param(("request", "--at", "²"), None, 2, "'²' is no moment", id="no such number"),
        pytest.param(
            ("request", "--keys", "/dev/zero"), None, 1, "more than 65536", id="keys without end"
        ),
        pytest.param(
            ("--at", "created"),
            b"GET / HTTP/1.1\nHost: a\n\n",
            2,
            "no signature says when it was created",
            id="no created",
        ),
        pytest.param(("--scheme", "ftp"), None, 2, "ftp", id="no scheme"),
        pytest.param(("a", "b"), None, 2, "b", id="two files"),
    ],
)
def test_what_cannot_be_judged_is_said_with_its_exit_code(
    folder: Path, arguments: tuple[str, ...], given: bytes | None, code: int, problem: str
) -> None:
    ran = crawl(folder, *arguments, given=given or b"")

    assert (ran.code, ran.answer) == (code, "")
    assert ran.said.startswith("crawl: error: ")
    assert problem in ran.said


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        pytest.param(("none",), "name a file with a captured request, or - for stdin", id="file"),
        pytest.param(("request", "--at", "soon"), "for example created, 5m (ago)", id="moment"),
        pytest.param(
            ("request", "--at", "9999-01-01"), "for example created, 5m (ago)", id="to come"
        ),
    ],
)
def test_what_is_wanted_instead_is_said(
    folder: Path, arguments: tuple[str, ...], hint: str
) -> None:
    assert f"\ncrawl: hint: {hint}" in crawl(folder, *arguments).said


@pytest.mark.parametrize("created", [999999999999999, -999999999999999, 253402300800, -62135596801])
def test_a_moment_that_no_calendar_has_is_shown_as_the_bare_number(
    folder: Path, created: int
) -> None:
    given = raw(keyhouse.signed(RING, HOME)).replace(b"created=%d" % NOW, b"created=%d" % created)
    ran = crawl(folder, "--keys", "keys.json", "--at", "created", given=given)

    assert (ran.code, ran.said) == (3, "")
    assert f"judged as of {created}\n" in ran.answer


# in this process, where more can be seen


def tell(
    message: Message | bytes,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    keys: str | None = None,
    at: str | None = "created",
    form: str = "text",
) -> tuple[int, str]:
    data = message if isinstance(message, bytes) else raw(message)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    code = verifying.verify("-", keys=keys, policy=None, scheme="https", at=at, form=form)
    return code, capsys.readouterr().out


@contextmanager
def plain_server(
    body: bytes, status: int = 200, context: ssl.SSLContext | None = None
) -> Iterator[str]:
    """The URL of a key set on this machine, served from another thread; over plain http at will."""
    loop = asyncio.new_event_loop()

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, status=status, content_type="application/json")

    async def begin() -> tuple[web.AppRunner, int]:
        app = web.Application()
        app.router.add_get("/keys", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        return runner, runner.addresses[0][1]

    runner, port = loop.run_until_complete(begin())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{port}/keys"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_keys_may_lie_behind_a_url_on_this_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with plain_server(SET) as url:
        code, _ = tell(keyhouse.signed(RING, HOME), capsys, monkeypatch, keys=url)

    assert code == 0


def test_a_url_without_keys_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with plain_server(b"", status=404) as url, pytest.raises(Problem, match="it answers 404"):
        tell(keyhouse.signed(RING, HOME), capsys, monkeypatch, keys=url)


def test_an_authority_that_is_not_trusted_is_told_with_what_has_it_trusted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "server.pem").write_bytes(keyhouse.certificate())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with plain_server(SET, context=context) as url, pytest.raises(Problem) as caught:
        tell(keyhouse.signed(RING, HOME), capsys, monkeypatch, keys=url)

    assert "CERTIFICATE_VERIFY_FAILED" in str(caught.value)
    assert "SSL_CERT_FILE" in (caught.value.hint or "")


def test_without_keys_those_that_the_request_names_are_looked_up_and_never_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    message = keyhouse.signed(RING, "https://127.0.0.1:1", labels=Labels.FIRST)
    code, told = tell(message, capsys, monkeypatch)

    assert code == 3
    assert "sig1: unverified, directory-unavailable" in told
    assert "note: https://127.0.0.1:1/.well-known/http-message-signatures-directory: " in told
    assert "127.0.0.1 is loopback" in told


def test_entries_of_a_key_set_that_cannot_be_used_are_noted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    document = json.loads(SET)
    document["keys"].append({"kty": "new"})
    (tmp_path / "keys.json").write_text(json.dumps(document))
    path = str(tmp_path / "keys.json")
    code, told = tell(keyhouse.signed(RING, HOME), capsys, monkeypatch, keys=path)

    assert code == 0
    assert f"note: {path}: keys[2]: " in told


def test_a_key_set_that_is_too_large_is_not_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "keys.json").write_bytes(SET.ljust(70_000))

    with pytest.raises(Problem, match="more than 65536 bytes"):
        tell(keyhouse.signed(RING, HOME), capsys, monkeypatch, keys=str(tmp_path / "keys.json"))


def test_a_request_that_is_too_large_is_not_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Problem, match="more than 16777216 bytes"):
        tell(b" " * (16 * 2**20 + 1), capsys, monkeypatch)


@pytest.mark.parametrize("moment", [None, "0s"], ids=["now", "no time ago"])
def test_without_a_moment_it_is_judged_now(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    moment: str | None,
) -> None:
    (tmp_path / "keys.json").write_bytes(SET)
    message = keyhouse.signed(RING, HOME, created=int(time.time()) - 3)
    code, _ = tell(message, capsys, monkeypatch, keys=str(tmp_path / "keys.json"), at=moment)

    assert code == 0


@pytest.mark.parametrize(
    ("data", "first_lines"),
    [
        pytest.param(
            b"GET / HTTP/1.1\nHost: a\n\n",
            ["unverified: GET / at https://a, ", "  no-signature: there is no signature"],
            id="unsigned",
        ),
        pytest.param(
            b'GET / HTTP/1.1\nHost: a\nSignature-Input: x=("@method");tag="own"\n'
            b"Signature: x=:AAAA:\n\n",
            ["unverified: ", "  no-signature: ", "", "not judged, for their tags: x"],
            id="another tag",
        ),
        pytest.param(
            b"GET / HTTP/1.1\nHost: a\nSignature-Input: x=();x=1, y\n\n",
            ["invalid: ", "  label-mismatch: a label stands in one"],
            id="one field",
        ),
        pytest.param(
            b"GET /\x9b31m HTTP/1.1\nHost: a\n\n",
            ["unverified: GET /\\x9b31m at https://a"],
            id="what a terminal would obey",
        ),
    ],
)
def test_what_is_wrong_with_the_whole_comes_first(
    data: bytes,
    first_lines: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, told = tell(data, capsys, monkeypatch, at=str(NOW))

    assert code == 3
    for line, expected in zip(told.splitlines(), first_lines, strict=False):
        assert line.startswith(expected)


@pytest.mark.parametrize(
    ("fields", "notes"),
    [
        pytest.param(
            b'Signature-Input: sig1=("@authority";created=1\nSignature: sig1=:AAAA:\n\n',
            [
                "Signature-Input: End of inner list not found at position 28 (in 'sig1')",
            ],
            id="input",
        ),
        pytest.param(
            b"Signature-Input: sig1=();created=1\nSignature: sig1=:AA*A:\n\n",
            [
                "Signature: Binary Sequence contained disallowed character at position 8 "
                "(in 'sig1')",
            ],
            id="value",
        ),
        pytest.param(
            b'Signature-Input: a=("@authority");created=1;expires=2;keyid="k";tag="web-bot-auth"\n'
            b"Signature: a=AAAA\n\n",
            ["Signature, a: the value is no byte sequence"],
            id="the value of one",
        ),
        pytest.param(
            b"Signature-Input: sig1=(), sig2=()\nSignature: sig1=:AAAA:\n\n",
            ["label 'sig2' stands only in Signature-Input"],
            id="a label",
        ),
        pytest.param(
            b"Signature-Input: sig1=();created=1\nSignature: sig1=:AA",
            [
                "Signature: Binary Sequence didn't contain ending ':' at position 8 (in 'sig1')",
                "the capture ends before the empty line that ends a head: it looks cut off",
            ],
            id="cut off",
        ),
        pytest.param(
            b"Signature-Input: a=();tag=web-bot-auth, b=();tag=1\nSignature: a=:AA:",
            [
                "label 'b' stands only in Signature-Input",
                "the capture ends before the empty line that ends a head: it looks cut off",
            ],
            id="cut off later",
        ),
        pytest.param(b"Accept: */*", [], id="no signature"),
    ],
)
def test_signature_fields_that_cannot_be_read_are_told_with_the_place(
    fields: bytes,
    notes: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "keys.json").write_bytes(SET)
    code, told = tell(
        b"GET / HTTP/1.1\nHost: a\n" + fields,
        capsys,
        monkeypatch,
        keys=str(tmp_path / "keys.json"),
        at=str(NOW),
        form="json",
    )

    assert code == 3
    assert json.loads(told)["notes"] == notes


def test_a_label_that_covers_too_much_has_no_place_to_say(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = b" ".join(b'"x-%d"' % number for number in range(70))
    head = b"GET / HTTP/1.1\nHost: a\nSignature: x=:AAAA:\nSignature-Input: x=(%s)" % names
    code, told = tell(head + b';tag="web-bot-auth"\n\n', capsys, monkeypatch, at=str(NOW))

    assert code == 3
    assert "signature-input-unreadable" in told
    assert "note" not in told


def test_what_a_signature_leaves_open_counts_the_body_and_what_the_target_holds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    head = (
        b"POST /form HTTP/1.1\nHost: a\nContent-Length: 2\nSignature: x=:AAAA:\n"
        b'Signature-Input: x=("@target-uri");created=1;expires=2;keyid="k";tag="web-bot-auth"\n\nhi'
    )
    _, told = tell(head, capsys, monkeypatch, at=str(NOW))

    assert "leaves open @method, content-length, the body" in told


def test_a_test_key_of_an_rfc_is_called_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    message = keyhouse.signed(RING, HOME, labels=Labels.FIRST, profile=Name.LEGACY)
    public = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
    _, told = tell(
        raw(message).replace(RING.first.keyid.encode(), public.encode()), capsys, monkeypatch
    )

    assert "sig1: unverified, unknown-key" in told
    assert "everybody has its secret" in told


def test_each_reason_is_explained() -> None:
    assert set(account.EXPLAINED) == set(Reason)


def test_a_moment_is_found_only_in_what_can_be_read() -> None:
    def message(stated: str) -> Message:
        fields = (("Signature-Input", stated),)
        return Message(method="GET", scheme="https", authority="a", target="/", fields=fields)

    assert account.created(message("a=();created=5, b=();created=7, c=();created=?1")) == 7.0
    assert account.created(message("a=(")) is None
    assert account.created(message("a=()")) is None


@pytest.mark.parametrize("what", ["policy", "nginx", "nginx-location"])
def test_gate_shows_its_files(what: str) -> None:
    ended = subprocess.run(
        [CRAWL, "gate", "--show", what], capture_output=True, check=True, text=True
    )

    assert "gate" in ended.stdout
    assert ended.stderr == ""


def test_gate_says_what_is_wrong_with_its_policy(tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text("[admit]\nunknown = false\n")
    ended = subprocess.run(
        [CRAWL, "gate", "--policy", str(tmp_path / "gate.toml")],
        capture_output=True,
        check=False,
        text=True,
    )

    assert ended.returncode == 1
    assert ended.stderr.startswith("crawl: error: gate.toml: admit.unknown: no agent is known")
