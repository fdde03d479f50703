"""The gate as a middleware, and as a server that other servers ask."""

import asyncio
import base64
import hashlib
import signal
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import MappingProxyType

import keyhouse
import msgspec
import pytest
from aiohttp import ClientConnectorError, ClientSession, web
from aiohttp.test_utils import TestClient, TestServer, unused_port
from structlog.testing import capture_logs

from crawler.serve import gate, gatehouse, listening, policy, questions, ruling
from crawler.serve.discovery import Directories
from crawler.serve.gate import Gate
from crawler.serve.policy import Admit, Answers, Policy, Replay, Site, Store, Told
from crawler.serve.reader import Reader
from crawler.serve.replay import ReplayUnavailable
from signing import algorithms, keys
from signing.base import SignatureParams, signature_base
from signing.directory import KeySet
from signing.message import Component, Message
from signing.profile import Labels
from signing.signer import Keyring
from signing.verifier import ReplayKey

HOME = "https://bot.example"
RING = Keyring(keys.generate(algorithms.ED25519), keys.generate(algorithms.ML_DSA_44))
STRANGERS = Keyring(keys.generate(algorithms.ED25519), None)
assert RING.second is not None
PINNED = {HOME: KeySet((RING.first.public_key, RING.second.public_key))}
USUAL = msgspec.structs.replace(
    policy.default(), pinned=PINNED, site=Site(scheme="http"), known=frozenset({HOME})
)
NONCES = count()


def site(**changed: object) -> Policy:
    return msgspec.structs.replace(USUAL, **changed)


def request(authority: str, ring: Keyring = RING, *, labels: Labels = Labels.BOTH) -> Message:
    """A request that is signed now, unlike any other."""
    return keyhouse.signed(
        ring,
        HOME,
        labels=labels,
        authority=authority,
        scheme="http",
        created=int(time.time()) - 3,
        nonce=next(NONCES).to_bytes(64),
    )


async def who(request: web.Request) -> web.Response:
    found = request[gate.RULING]
    lies = [name for name in request.headers if name.lower().startswith("x-bot-")]
    return web.Response(text=f"{found.outcome} {found.agent} {found.reason}" + "".join(lies))


@asynccontextmanager
async def guarded(stated: Policy) -> AsyncIterator[TestClient[web.Request, web.Application]]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", who)
    gate.install(app, stated)
    async with TestClient(TestServer(app)) as client:
        yield client


async def ask(
    client: TestClient[web.Request, web.Application],
    ring: Keyring = RING,
    fields: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, str, str | None]:
    """Send a signed request, its fields changed; status, text and what is wanted."""
    message = request(f"{client.host}:{client.port}", ring)
    sent = {name: value for name, value in message.fields if name != "Host"} | dict(fields)
    async with client.get("/page?q=1", headers=sent) as response:
        return response.status, await response.text(), response.headers.get("Accept-Signature")


async def test_a_handler_finds_the_ruling_on_its_request() -> None:
    async with guarded(site()) as client:
        signed = await ask(client)
        async with client.get("/") as response:
            unsigned = response.status, await response.text()

    assert signed == (200, f"verified {HOME} None", None)
    assert unsigned == (200, "unverified None no-signature")


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (Told.NOBODY, "this request is refused for its signature\n"),
        (Told.SITE, "this request is refused for its signature\n"),
        (Told.EVERYBODY, "this request is refused for its signature: unknown-key\n"),
    ],
)
async def test_who_is_refused_learns_what_is_wanted_and_why_only_by_the_policy(
    told: Told, text: str
) -> None:
    stated = site(admit=Admit(unsigned=False), answers=Answers(reasons=told))
    async with guarded(stated) as client:
        refused = await ask(client, STRANGERS)

    assert refused[:2] == (403, text)
    assert str(refused[2]).startswith('sig1=("@authority" "signature-agent";key="sig1")')


@pytest.mark.parametrize("odd", ["", "\udcff"], ids=["text", "no text"])
async def test_what_a_client_says_in_the_gates_own_words_reaches_no_handler(odd: str) -> None:
    lies = dict.fromkeys(ruling.FIELDS, "verified") | {"X-Odd": f"odd{odd}"}
    async with guarded(site()) as client:
        signed = await ask(client, fields=lies)
        async with client.post("/", headers=lies, data=b"hello") as response:
            unsigned = response.status, await response.text()

    assert signed == (200, f"verified {HOME} None", None)
    assert unsigned == (200, "unverified None no-signature")


async def test_a_request_that_comes_again_whole_is_refused_though_a_half_came_first() -> None:
    async with guarded(site()) as client:
        message = request(f"{client.host}:{client.port}", RING)
        whole = {name: value for name, value in message.fields if name != "Host"}
        half = {
            name: value.partition(", sig2=")[0] if name.startswith("Signature") else value
            for name, value in whole.items()
        }
        answers = [
            (await client.get("/page?q=1", headers=headers)).status
            for headers in (half, whole, whole)
        ]

    assert answers == [200, 429, 429]


async def test_what_cannot_be_read_is_400() -> None:
    async with guarded(site()) as client:
        answers = [
            await ask(client, fields=spoiled)
            for spoiled in ({"Signature": "sig1=:x"}, {"Signature-Input": "sig1=()"})
        ]

    assert [(status, wanted) for status, _, wanted in answers] == [(400, None)] * 2


@pytest.mark.parametrize("store", [Store.MEMORY, Store.SQLITE])
async def test_a_request_that_comes_again_is_429(store: Store, tmp_path: Path) -> None:
    stated = site(replay=Replay(store=store), replay_path=tmp_path / "replay.db")
    async with guarded(stated) as client:
        message = request(f"{client.host}:{client.port}")
        sent = {name: value for name, value in message.fields if name != "Host"}
        answers = [(await client.get("/page?q=1", headers=sent)).status for _ in range(3)]

    assert answers == [200, 429, 429]


async def test_without_a_memory_it_may_come_again() -> None:
    async with guarded(site(replay=Replay(store=Store.OFF))) as client:
        message = request(f"{client.host}:{client.port}")
        sent = {name: value for name, value in message.fields if name != "Host"}
        answers = [(await client.get("/page?q=1", headers=sent)).status for _ in range(2)]

    assert answers == [200, 200]


async def test_a_body_is_looked_at_where_a_signature_speaks_of_it() -> None:
    body = b'{"hello": "world"}'
    value = base64.b64encode(hashlib.sha256(body).digest()).decode()
    async with guarded(site(admit=Admit(unsigned=False))) as client:
        authority = f"{client.host}:{client.port}"
        now = int(time.time())
        sent = {"Content-Digest": f"sha-256=:{value}:", "Signature-Agent": f'"{HOME}"'}
        message = Message(
            method="POST",
            scheme="http",
            authority=authority,
            target="/form",
            fields=tuple(sent.items()),
        )
        params = SignatureParams(
            tuple(map(Component, ("@authority", "content-digest", "signature-agent"))),
            (
                ("created", now),
                ("expires", now + 60),
                ("keyid", RING.first.keyid),
                ("tag", "web-bot-auth"),
            ),
        )
        sign = keys.expanded(RING.first.algorithm, RING.first.secret)
        raw = base64.b64encode(sign(signature_base(message, params))).decode()
        sent |= {"Signature-Input": f"a={params.serialize()}", "Signature": f"a=:{raw}:"}
        other = await client.post("/form", headers=sent, data=b"another")
        same = await client.post("/form", headers=sent, data=body)

    assert (other.status, same.status) == (403, 200)


async def sent(client: TestClient[web.Request, web.Application], head: str) -> str:
    """The answer to a head that no client library would send."""
    assert client.port is not None
    reader, writer = await asyncio.open_connection(client.host, client.port)
    writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode("latin-1"))
    answer = (await reader.read()).decode()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("line", "host", "status"),
    [
        ("GET http://b.example/page?q=1 HTTP/1.1", "a.example", 403),
        ("GET http://A.example:8080/page?q=1 HTTP/1.1", "a.example", 200),
        ("GET /page?q=1 HTTP/1.1", "A.example:80", 200),
    ],
)
async def test_a_signature_counts_for_the_site_that_the_requests_own_line_names(
    line: str, host: str, status: int
) -> None:
    message = request("a.example")
    signed = [f"{name}: {value}" for name, value in message.fields if name != "Host"]
    async with guarded(site()) as client:
        answer = await sent(client, "\r\n".join([line, f"Host: {host}", *signed]))

    assert answer.startswith(f"HTTP/1.1 {status} ")


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/1.0",
        "GET http://b.example/ HTTP/1.1\r\nHost: a.example",
        "GET / HTTP/1.1\r\nHost: u@a.example",
        "GET / HTTP/1.1\r\nHost: ",
        "GET / HTTP/1.1\r\nHost: a b\r\nUser-Agent: \xff",
    ],
)
async def test_an_unsigned_request_is_refused_for_no_signature(head: str) -> None:
    async with guarded(site(site=Site(scheme="http", hosts=("shop.example",)))) as client:
        answer = await sent(client, head)

    assert answer.endswith("unverified None no-signature")


async def test_a_message_without_signatures_is_nobodys() -> None:
    directories = Directories(Reader())
    bare = Message(method="GET", scheme="http", authority="shop.example", target="/")
    found = await Gate(site(), directories).judge(bare)
    await directories.close()

    assert (found.status, found.reason) == (200, "no-signature")


async def test_a_memory_that_fails_lets_nobody_in() -> None:
    def seen(_key: ReplayKey, _until: int) -> bool:
        raise ReplayUnavailable("disk full")

    directories = Directories(Reader(), pinned=PINNED)
    found = await Gate(site(), directories, seen).judge(request("shop.example"))
    await directories.close()

    assert (found.status, found.reason) == (503, "replay-unknown")


@pytest.mark.parametrize(
    ("hosts", "authority", "invalid", "status"),
    [
        ((), "anything.example", False, 200),
        (("shop.example",), "Shop.example:80", False, 200),
        (("shop.example",), "other.example", False, 403),
        (("shop.example",), "other.example", True, 200),
        (("shop.example",), "sh\xf6p.example", False, 403),
    ],
)
async def test_what_was_signed_for_another_site_is_refused(
    hosts: tuple[str, ...], authority: str, invalid: bool, status: int
) -> None:
    stated = site(site=Site(scheme="http", hosts=hosts), admit=Admit(invalid=invalid))
    directories = Directories(Reader(), pinned=PINNED)
    message = replace(request("anything.example"), authority=authority)
    found = await Gate(stated, directories).judge(
        request(authority) if authority.isascii() else message
    )
    await directories.close()

    assert found.status == status


async def test_an_agent_whose_keys_the_site_does_not_have_is_looked_up() -> None:
    stated = site(pinned={}, reach=keyhouse.reach(), site=Site())
    async with (
        keyhouse.opened(keyhouse.published(PINNED[HOME].keys)) as house,
        gate.opened(stated) as at_work,
    ):
        message = keyhouse.signed(RING, house.url(), created=int(time.time()) - 3)
        found = await at_work.judge(message)

    assert (found.agent, found.algorithms) == (house.url(), ("ed25519", "ml-dsa-44"))


@pytest.mark.parametrize(
    ("require", "algorithms"),
    [((), ("ed25519",)), (("ed25519", "ml-dsa-44"), ("ed25519", "ml-dsa-44"))],
    ids=["any", "both"],
)
async def test_a_request_waits_for_the_keys_that_the_policy_requires_alone(
    require: tuple[str, ...], algorithms: tuple[str, ...]
) -> None:
    go = asyncio.Event()
    well = keyhouse.published(PINNED[HOME].keys)

    async def answer(request: web.Request) -> web.StreamResponse:
        if "pq" in request.path:
            await go.wait()
        return await well(request)

    stated = site(pinned={}, reach=keyhouse.reach(), site=Site(), admit=Admit(require=require))
    async with keyhouse.opened(answer) as house, gate.opened(stated) as at_work:
        await at_work.directories.ask(house.url())
        message = keyhouse.signed(RING, house.url(), created=int(time.time()) - 3)
        asked = asyncio.create_task(at_work.judge(message))
        await house.reached(2)  # a set that nothing depends on is read all the same
        if require:
            go.set()
        found = await asked
        go.set()

    assert (found.status, found.algorithms) == (200, algorithms)


async def test_a_key_set_that_cannot_be_read_is_said() -> None:
    with capture_logs() as told:
        async with gate.opened(site(pinned={})) as at_work:
            message = keyhouse.signed(RING, "https://127.0.0.1:1", created=int(time.time()) - 3)
            found = await at_work.judge(message)

    assert found.reason == "directory-unavailable"
    assert told[0]["why"] == "127.0.0.1 is loopback; [discovery] private = true admits it"


# the standalone gate


@asynccontextmanager
async def asked(stated: Policy) -> AsyncIterator[str]:
    """The URL of a gate at work."""
    async with gate.opened(stated) as at_work:
        answer = gatehouse.handler(at_work)
        async with questions.answering(answer, "127.0.0.1", 0) as server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def question(message: Message, **changed: str | None) -> list[tuple[str, str]]:
    """A request as a server puts it to the gate."""
    original = {
        "X-Original-Method": message.method,
        "X-Original-URI": message.target,
        "X-Original-Host": message.authority,
    } | {name.replace("_", "-"): value for name, value in changed.items()}
    own = [(name, value) for name, value in original.items() if value is not None]
    return own + [field for field in message.fields if field[0] != "Host"]


async def answer(url: str, fields: list[tuple[str, str]]) -> tuple[int, dict[str, str]]:
    async with ClientSession() as session, session.get(url, headers=fields) as response:
        told = {name: value for name, value in response.headers.items() if name.startswith("X-")}
        return response.status, told


async def test_a_server_learns_the_outcome_of_both_labels() -> None:
    async with asked(site()) as url:
        status, told = await answer(f"{url}/auth", question(request("shop.example")))

    assert status == 200
    assert told == {
        "X-Bot-Outcome": "verified",
        "X-Bot-Status": "200",
        "X-Bot-Agent": HOME,
        "X-Bot-Algorithms": "ed25519, ml-dsa-44",
        "X-Bot-Labels": "sig1=verified;alg=ed25519, sig2=verified;alg=ml-dsa-44",
    }


async def test_auth_knows_403_alone_and_check_every_status() -> None:
    async with asked(site()) as url:
        again = question(request("shop.example"))
        await answer(f"{url}/auth", again)
        auth, told = await answer(f"{url}/auth", again)
        check, same = await answer(f"{url}/check", again)

    assert (auth, check) == (403, 429)
    assert told == same
    assert told["X-Bot-Status"] == "429"


async def test_the_signature_that_is_wanted_is_said() -> None:
    async with asked(site(admit=Admit(unsigned=False))) as url, ClientSession() as session:
        bare = [("X-Original-Method", "GET"), ("X-Original-URI", "/"), ("X-Original-Host", "a")]
        async with session.get(f"{url}/auth", headers=bare) as response:
            wanted = response.headers["Accept-Signature"]

    assert wanted.endswith('tag="web-bot-auth"')


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        pytest.param({"X_Original_Host": None}, 403, id="no host"),
        pytest.param({"X_Original_URI": None}, 500, id="no target"),
        pytest.param({"X_Original_Method": None}, 500, id="no method"),
        pytest.param({"X_Original_Host": "a@b"}, 403, id="no host that could be"),
        pytest.param({"X_Original_Host": ""}, 403, id="empty host"),
    ],
)
async def test_a_question_that_is_none_is_not_answered_with_yes(
    changed: dict[str, str | None], status: int
) -> None:
    async with asked(site()) as url:
        found, _ = await answer(f"{url}/auth", question(request("shop.example"), **changed))

    assert found == status


@pytest.mark.parametrize(
    ("host", "name", "status"),
    [
        ("shop.example", "shop.example", 200),
        ("Shop.example:80", "SHOP.example", 200),
        ("[::1]:8080", "[::1]", 200),
        ("shop.example.", "shop.example", 200),
        ("shop.example", "other.example", 403),
        ("shop.example", "", 403),
    ],
)
async def test_a_signature_counts_for_the_site_that_answers(
    host: str, name: str, status: int
) -> None:
    async with asked(site()) as url:
        found, _ = await answer(f"{url}/auth", question(request(host), X_Original_Name=name))

    assert found == status


async def test_the_same_request_of_a_server_gets_the_same_answer_and_another_does_not() -> None:
    message = request("shop.example")
    async with asked(site()) as url:
        first = await answer(f"{url}/auth", question(message, X_Original_Id="1"))
        again = await answer(f"{url}/auth", question(message, X_Original_Id="1"))
        others = [
            (await answer(f"{url}/auth", question(other, **changed)))[0]
            for other, changed in (
                (message, {"X_Original_Id": "2"}),
                (message, {}),
                (replace(message, target="/other"), {"X_Original_Id": "1"}),
                (replace(message, method="POST"), {"X_Original_Id": "1"}),
                (request("other.example", STRANGERS), {"X_Original_Id": "1"}),
            )
        ]

    assert first == again
    assert first[1]["X-Bot-Outcome"] == "verified"
    assert others == [403, 403, 403, 403, 200]


@pytest.mark.parametrize("missing", [{"X_Original_Host": None}, {"X_Original_Host": "u@a"}])
async def test_an_unsigned_question_passes_whatever_its_host(
    missing: dict[str, str | None],
) -> None:
    bare = Message(method="GET", scheme="http", authority="shop.example", target="/")
    async with asked(site()) as url:
        status, told = await answer(f"{url}/auth", question(bare, **missing))

    assert (status, told["X-Bot-Reason"]) == (200, "no-signature")


async def test_a_field_that_the_client_has_sent_beside_the_servers_is_an_error() -> None:
    message = request("shop.example")
    async with asked(site()) as url:
        double = [*question(message), ("X-Original-Host", "shop.example")]
        status, _ = await answer(f"{url}/auth", double)
        elsewhere, _ = await answer(f"{url}/", question(message))

    assert (status, elsewhere) == (500, 404)


async def test_what_a_client_says_about_itself_is_not_repeated() -> None:
    lies = [("X-Bot-Outcome", "verified"), ("X-Bot-Agent", HOME)]
    bare = Message(method="GET", scheme="http", authority="shop.example", target="/")
    async with asked(site()) as url:
        status, told = await answer(f"{url}/auth", question(bare) + lies)

    assert status == 200
    assert told["X-Bot-Outcome"] == "unverified"
    assert "X-Bot-Agent" not in told


async def test_a_port_that_is_taken_is_said() -> None:
    port = unused_port()
    taken = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", port)
    with pytest.raises(listening.AddressUnusable, match=str(port)):
        await gatehouse.run(site(), "127.0.0.1", port)
    taken.close()


@pytest.mark.parametrize(
    ("hosts", "warnings"), [((), ["signatures made for any host are taken"]), (("a.example",), [])]
)
async def test_it_says_by_what_it_judges_and_answers_until_it_is_asked_to_end(
    hosts: tuple[str, ...], warnings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    stated = site(site=Site(scheme="http", hosts=hosts))
    with capture_logs() as lines:
        running = asyncio.create_task(gatehouse.run(stated, "127.0.0.1", 0, "/etc/gate.toml"))
        said = ""
        while not said:
            await asyncio.sleep(0)
            said = capsys.readouterr().out
        url = said.removeprefix("judging at ").strip()
        status, told = await answer(url, question(request("a.example")))
        signal.raise_signal(signal.SIGTERM)
        await running

    assert (status, told["X-Bot-Outcome"]) == (200, "verified")
    assert [line["by"] for line in lines if line["event"] == "judging"] == ["/etc/gate.toml"]
    assert [line["event"] for line in lines if line["log_level"] == "warning"] == warnings
    with pytest.raises(ClientConnectorError):
        await answer(url, [])
