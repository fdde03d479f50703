"""What leaves, byte for byte, what the record says of it, and what never leaves."""

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from capture import Answer, Captured, Then, capturing, respond
from msgspec.structs import replace
from visitor import BOT, SIGNATURES, origin, until, visiting, with_second

from crawler.events import Arm, Kind, Outcome, Stage, Why, Without, encode
from crawler.fetch import keyfiles
from crawler.fetch.keystate import KeysUnusable
from crawler.fetch.middleware import Seen
from crawler.settings import NonceForm, ProfileName, Second
from signing.budget import head_size

TYPE = ("Content-Type", "text/html; charset=utf-8")
BODY = b"<title>one</title>"
COOKIE = "session=0123456789abcdef; theme=dark"


def page(_: Captured) -> Answer:
    return respond(200, TYPE, body=BODY)


def lines(head: bytes) -> list[bytes]:
    return head.split(b"\r\n")[:-2]


def names(request: Captured) -> list[str]:
    return [name for name, _ in request.fields]


async def test_the_head_is_what_it_is_said_to_be_and_in_this_order(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            received = await visitor.fetch("/a%2Fb?x=%7E&y=%C3%A9")

    (request,) = server.requests
    assert lines(request.head)[0] == b"GET /a%2Fb?x=%7E&y=%C3%A9 HTTP/1.1"
    assert names(request) == [
        "Host",
        "User-Agent",
        "From",
        "Accept",
        "Accept-Encoding",
        "Signature-Agent",
        "Signature-Input",
        "Signature",
    ]
    assert request.field("host") == f"127.0.0.1:{server.port}"
    assert request.field("user-agent") == BOT.user_agent
    assert request.field("from") == "bot@bot.example"
    assert request.field("accept") == ", ".join((*visitor.origin.politeness.types, "*/*;q=0.1"))
    assert request.field("accept-encoding") == "gzip, deflate"
    assert received.record.labels == ("sig1", "sig2")
    assert received.body == BODY


@pytest.mark.parametrize("profile", [name for name in ProfileName if name is not ProfileName.AUTO])
@pytest.mark.parametrize("sig2", list(Second))
@pytest.mark.parametrize(
    "task",
    [
        pytest.param({}, id="plain"),
        pytest.param({"etag": 'W/"a b"', "last_modified": "today"}, id="validators"),
        pytest.param({"kind": Kind.ROBOTS}, id="robots"),
        pytest.param({"target": "/" + "x" * 5000}, id="a line longer than the signatures"),
    ],
)
async def test_sizes_in_the_record_are_those_that_arrived(
    tmp_path: Path, profile: ProfileName, sig2: Second, task: dict[str, Any]
) -> None:
    with capturing(page) as server:
        asked = origin(
            server.url("/"),
            profile=profile,
            sig2=sig2,
            cookie=COOKIE,
            politeness={"header_limit": 20_000},
        )
        async with visiting(asked, tmp_path) as visitor:
            record = (await visitor.fetch(**task)).record

    (request,) = server.requests
    ours = [line for line in lines(request.head) if line.startswith(b"Signature")]
    assert record.header_bytes == len(request.head)
    assert record.header_bytes == head_size("GET", request.target, request.fields)
    assert record.signature_bytes == sum(len(line) + 2 for line in ours)
    assert record.longest_line == max(map(len, lines(request.head)))
    assert record.cookie_bytes == len(COOKIE)
    assert [line.partition(b":")[0] for line in ours] == [
        b"Signature-Agent",
        b"Signature-Input",
        b"Signature",
    ]
    assert record.conditional is ("etag" in task)
    assert 0 < record.sign_us < 1_000_000


@pytest.mark.parametrize("name", BOT.always_sent)
async def test_each_field_that_can_be_covered_is_on_each_request(tmp_path: Path, name: str) -> None:
    components = ("@target-uri", name, "@authority")
    with capturing(page) as server:
        async with visiting(origin(server.url("/"), components=components), tmp_path) as visitor:
            records = [
                (await visitor.fetch("/a?b", **task)).record
                for task in ({}, {"kind": Kind.ROBOTS}, {"etag": '"a"'})
            ]

    for request, record in zip(server.requests, records, strict=True):
        stated = request.field("Signature-Input") or ""
        assert request.field(name)
        assert f'sig1=("@target-uri" "{name}" "@authority" "signature-agent";key="sig1")' in stated
        assert record.header_bytes == len(request.head)
        assert (record.asked_for, record.wish) == ("", "")


async def test_each_request_is_signed_anew(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            for _ in range(3):
                await visitor.fetch()

    assert len({request.field("signature") for request in server.requests}) == 3
    assert len({request.field("signature-input") for request in server.requests}) == 3


async def test_created_lies_back_by_the_skew_and_expires_after_the_lifetime(
    tmp_path: Path,
) -> None:
    signatures = replace(SIGNATURES, skew=7, lifetime=40)
    with capturing(page) as server:
        async with visiting(
            origin(server.url("/")), tmp_path, signatures=signatures, wall=lambda: 1_800_000_007.9
        ) as visitor:
            await visitor.fetch()

    stated = server.requests[0].field("signature-input") or ""
    assert stated.count(";created=1800000000;expires=1800000040;") == 2


async def test_sig2_looks_as_configured(tmp_path: Path) -> None:
    signatures = with_second(SIGNATURES, label="pq", tag="own-tag", alg="", algorithm="ml-dsa-65")
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path, signatures=signatures) as visitor:
            record = (await visitor.fetch()).record

    stated = (server.requests[0].field("signature-input") or "").partition("pq=")[2]
    assert 'tag="own-tag"' in stated
    assert "alg=" not in stated
    assert record.labels == ("sig1", "pq")
    assert record.second_tag == "own-tag"
    assert record.header_bytes == len(server.requests[0].head)


@pytest.mark.parametrize(("form", "tail"), [(NonceForm.BASE64, '=="'), (NonceForm.BASE64URL, '"')])
async def test_the_nonce_has_the_configured_form(
    tmp_path: Path, form: NonceForm, tail: str
) -> None:
    with capturing(page) as server:
        async with visiting(
            origin(server.url("/")), tmp_path, signatures=replace(SIGNATURES, nonce=form)
        ) as visitor:
            await visitor.fetch()

    nonce = (server.requests[0].field("signature-input") or "").partition(';nonce="')[2]
    assert nonce[86 : 86 + len(tail)] == tail


@pytest.mark.parametrize(
    ("known", "task", "labels", "without"),
    [
        pytest.param({}, {}, 2, None, id="watch sends both"),
        pytest.param({"sig2": Second.ALWAYS}, {}, 2, None, id="always"),
        pytest.param({"sig2": Second.NEVER}, {}, 1, Without.SETTING, id="never"),
        pytest.param({}, {"arm": Arm.FIRST_ONLY}, 1, Without.CONTROL, id="a control"),
        pytest.param(
            {},
            {"arm": Arm.FIRST_ONLY, "kind": Kind.ROBOTS},
            1,
            Without.ROBOTS_CONTROL,
            id="a control of a robots.txt",
        ),
        pytest.param(
            {"sig2": Second.NEVER},
            {"arm": Arm.FIRST_ONLY},
            1,
            Without.CONTROL,
            id="never, a control",
        ),
        pytest.param({"profile": ProfileName.LEGACY}, {}, 1, Without.PROFILE, id="legacy"),
        pytest.param(
            {"profile": ProfileName.LEGACY, "sig2": Second.ALWAYS}, {}, 2, None, id="legacy, always"
        ),
        pytest.param(
            {"profile": ProfileName.LEGACY, "sig2": Second.NEVER},
            {},
            1,
            Without.SETTING,
            id="legacy, never",
        ),
        pytest.param({"profile": ProfileName.PUBLISHED}, {}, 2, None, id="published"),
        pytest.param(
            {"profile": ProfileName.PUBLISHED, "sig2": Second.NEVER},
            {},
            1,
            Without.SETTING,
            id="published, never",
        ),
    ],
)
async def test_which_signatures_a_request_carries(
    tmp_path: Path,
    known: dict[str, Any],
    task: dict[str, Any],
    labels: int,
    without: Without | None,
) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/"), **known), tmp_path) as visitor:
            record = (await visitor.fetch(**task)).record

    stated = server.requests[0].field("signature-input") or ""
    assert record.labels == ("sig1", "sig2")[:labels]
    assert stated.startswith("sig1=(")
    assert ("sig2=(" in stated) is (labels == 2)
    assert record.without is without
    assert (record.second_tag is not None) is (labels == 2)


async def test_auto_takes_each_answer_into_account(tmp_path: Path) -> None:
    answers = iter(
        [("Server", "cloudflare"), ("CF-RAY", "8f1-PRG"), ("Server", "nginx"), ("Server", "nginx")]
    )
    with capturing(lambda _: respond(200, TYPE, next(answers), body=BODY)) as server:
        asked = origin(server.url("/"), profile=ProfileName.AUTO)
        async with visiting(asked, tmp_path) as visitor:
            records = [(await visitor.fetch()).record for _ in range(4)]

    assert [(record.profile, record.profile_reason) for record in records] == [
        (ProfileName.BRIDGE, "nothing-shows-cloudflare"),
        (ProfileName.LEGACY, "server-is-cloudflare"),
        (ProfileName.LEGACY, "has-cf-ray"),
        (ProfileName.BRIDGE, "nothing-shows-cloudflare"),
    ]
    assert [record.without for record in records] == [
        None,
        Without.PROFILE,
        Without.PROFILE,
        None,
    ]
    assert records[1].fields == {"cf-ray": "8f1-PRG"}


async def test_auto_begins_with_what_an_earlier_run_has_seen(tmp_path: Path) -> None:
    with capturing(page) as server:
        asked = origin(server.url("/"), profile=ProfileName.AUTO)
        async with visiting(asked, tmp_path) as visitor:
            visitor.seen[server.url("")] = Seen("cloudflare")
            record = (await visitor.fetch()).record

    assert record.profile is ProfileName.LEGACY
    assert visitor.seen == {server.url(""): Seen(None)}


async def test_a_configured_profile_is_kept_whatever_an_answer_shows(tmp_path: Path) -> None:
    with capturing(lambda _: respond(200, TYPE, ("Server", "cloudflare"), body=BODY)) as server:
        asked = origin(server.url("/"), profile=ProfileName.IETF_01)
        async with visiting(asked, tmp_path) as visitor:
            await visitor.fetch()
            record = (await visitor.fetch()).record

    assert (record.profile, record.profile_reason) == (ProfileName.IETF_01, "configured")


async def size_of(tmp_path: Path, sig2: Second) -> int:
    """The head's size where nothing is left out."""
    with capturing(page) as server:
        async with visiting(origin(server.url("/"), sig2=sig2), tmp_path) as visitor:
            await visitor.fetch()
            # a port of five digits has the same length in each test
            return len(server.requests[0].head) - len(str(server.port)) + 5


async def test_the_header_budget_leaves_sig2_out_first(tmp_path: Path) -> None:
    both = await size_of(tmp_path / "a", Second.ALWAYS)
    alone = await size_of(tmp_path / "b", Second.NEVER)
    outcomes = {}
    with capturing(page) as server:
        spare = 5 - len(str(server.port))
        for limit in (both, both - 1, alone, alone - 1):
            asked = origin(server.url("/"), politeness={"header_limit": limit - spare})
            async with visiting(asked, tmp_path / str(limit)) as visitor:
                outcomes[limit] = (await visitor.fetch()).record
                arrived = server.requests[-1]
                if outcomes[limit].labels:
                    assert len(arrived.head) == outcomes[limit].header_bytes <= limit

    assert outcomes[both].without is None
    assert outcomes[both - 1].labels == ("sig1",)
    assert outcomes[both - 1].without is Without.BUDGET
    assert outcomes[alone].labels == ("sig1",)
    assert len(server.requests) == 3
    refused = outcomes[alone - 1]
    assert (refused.outcome, refused.stage) == (Outcome.NOT_SENT, Stage.HEADER_LIMIT)
    assert (refused.labels, refused.without) == ((), Without.BUDGET)
    assert refused.header_bytes == refused.signature_bytes == refused.longest_line == 0
    assert refused.profile is ProfileName.BRIDGE
    assert f"the limit is {alone - 1 - spare}" in refused.detail


async def test_a_cookie_is_sent_as_it_is_and_never_comes_into_the_log(tmp_path: Path) -> None:
    with capturing(lambda it: respond(403, TYPE, body=it.head)) as server:
        async with visiting(origin(server.url("/"), cookie=COOKIE), tmp_path) as visitor:
            record = (await visitor.fetch()).record

    (request,) = server.requests
    assert request.field("cookie") == COOKIE
    assert record.cookie_bytes == len(COOKIE)
    assert b"0123456789abcdef" not in encode(record)
    assert (request.field("signature") or "")[8:40].encode() not in encode(record)
    assert "[...]" in record.refusal
    assert "User-Agent: ExampleBot" in record.refusal


async def test_validators_are_sent_exactly(tmp_path: Path) -> None:
    with capturing(lambda _: respond(304, ("ETag", '"new"'))) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            received = await visitor.fetch(
                etag='W/"x, y"', last_modified="Sun, 06 Nov 1994 08:49:37 GMT", digest="d"
            )

    (request,) = server.requests
    assert request.field("if-none-match") == 'W/"x, y"'
    assert request.field("if-modified-since") == "Sun, 06 Nov 1994 08:49:37 GMT"
    record = received.record
    assert (record.status, record.conditional, record.unchanged) == (304, True, True)
    assert (record.etag, record.digest, received.body) == ('"new"', None, None)


async def test_the_same_body_counts_as_unchanged(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            first = (await visitor.fetch()).record
            again = (await visitor.fetch(digest=first.digest)).record

    assert (first.unchanged, again.unchanged) == (False, True)
    assert first.digest == again.digest is not None


async def test_a_contact_that_is_no_mail_address_sends_no_from(tmp_path: Path) -> None:
    bot = replace(BOT, contact="https://bot.example/contact")
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path, bot=bot) as visitor:
            await visitor.fetch()

    assert server.requests[0].field("from") is None


async def test_a_robots_txt_is_asked_for_as_text(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            await visitor.fetch("/robots.txt", kind=Kind.ROBOTS)

    assert server.requests[0].field("accept") == "text/plain, */*;q=0.1"


async def test_what_the_task_knows_stands_in_the_record(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            times = iter([100.0, 100.25, 101.5])
            visitor.now = lambda: next(times)
            record = (
                await visitor.fetch(
                    id="r-1-2",
                    depth=2,
                    attempt=3,
                    via=("http://a/",),
                    control_of="r-1-1",
                    waited=4.5,
                    waited_for=Why.RETRY_AFTER,
                    robots="abc",
                    crawl_delay=2.0,
                )
            ).record

    assert (record.id, record.origin, record.scope) == ("r-1-2", "one", "one")
    assert (record.depth, record.attempt, record.via) == (2, 3, ("http://a/",))
    assert record.control_of == "r-1-1"
    assert (record.waited, record.waited_for) == (4.5, Why.RETRY_AFTER)
    assert (record.robots, record.crawl_delay) == ("abc", 2.0)
    assert (record.at, record.first_byte, record.elapsed) == (100.0, 0.25, 1.5)
    assert record.address == "127.0.0.1"
    assert (record.outcome, record.stage, record.detail) == (Outcome.ANSWERED, None, "")


async def test_without_a_second_key_sig1_goes_alone_and_it_is_said_once(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path, second_key=False) as visitor:
            records = [(await visitor.fetch()).record for _ in range(3)]

    assert {record.labels for record in records} == {("sig1",)}
    assert {record.without for record in records} == {Without.NO_KEY}
    assert {record.outcome for record in records} == {Outcome.ANSWERED}
    (held,) = visitor.told
    assert "no ml-dsa-44 key signs" in (held.degraded or "")


async def test_keys_replaced_while_the_client_lives_sign_the_next_request(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            await visitor.fetch()
            old = {path: visitor.keyids() for path in visitor.folder.iterdir()}
            for algorithm in ("ed25519", "ml-dsa-44"):
                keyfiles.create(visitor.folder, algorithm)
            for path in old:
                path.unlink()
            await visitor.fetch()
            new = visitor.keyids()

    before, after = (request.field("signature-input") or "" for request in server.requests)
    assert len(visitor.told) == 2
    assert all(keyid in after and keyid not in before for keyid in new)


async def test_a_second_key_that_becomes_unusable_costs_no_request(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            whole = (await visitor.fetch()).record
            path = next(visitor.folder.glob("ml-dsa-44-*"))
            path.chmod(0o644)
            degraded = [(await visitor.fetch()).record for _ in range(2)]
            path.chmod(0o600)
            healed = (await visitor.fetch()).record

    assert [held.degraded is not None for held in visitor.told] == [False, True, False]
    assert f"chmod 600 {path}" in (visitor.told[1].degraded or "")
    assert whole.labels == healed.labels == ("sig1", "sig2")
    assert [record.labels for record in degraded] == [("sig1",), ("sig1",)]
    assert [len(request.head) for request in server.requests] == [
        record.header_bytes for record in (whole, *degraded, healed)
    ]


async def test_nothing_leaves_without_a_first_key(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            path = next(visitor.folder.glob("ed25519-*"))
            path.unlink()
            record = (await visitor.fetch()).record

    assert server.requests == []
    assert (record.outcome, record.stage, record.left) == (Outcome.CANCELLED, None, False)
    assert record.detail == f"{visitor.folder}: no ed25519 key signs"
    with pytest.raises(KeysUnusable):
        visitor.ring.current(time.time())


async def test_what_could_not_be_signed_as_it_is_sent_does_not_leave(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            record = (await visitor.fetch("/é")).record

    assert server.requests == []
    assert record.outcome is Outcome.NOT_SENT
    assert record.detail.startswith('component "@path"')


async def test_our_own_mistake_is_a_record_with_its_place_and_no_message(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path, wall=lambda: 0.0) as visitor:
            record = (await visitor.fetch()).record

    assert server.requests == []
    assert record.outcome is Outcome.INTERNAL
    assert record.detail.startswith("ValueError at signer.py:")
    assert "created" not in record.detail


async def test_nothing_is_sent_a_second_time_by_itself(tmp_path: Path) -> None:
    answers = iter([respond(200, TYPE, body=BODY), Answer(then=Then.CLOSE)])
    with capturing(lambda _: next(answers)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            await visitor.fetch()
            record = (await visitor.fetch()).record

    assert len(server.requests) == 2
    assert server.requests[0].connection == server.requests[1].connection
    assert (record.outcome, record.stage) == (Outcome.FAILED, Stage.STALE_CONNECTION)
    assert record.reused
    assert record.labels == ("sig1", "sig2")


async def test_redirects_are_recorded_and_not_followed(tmp_path: Path) -> None:
    location = ("Location", "/there?a=1")
    with capturing(lambda _: respond(301, location, TYPE, body=b"moved")) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            received = await visitor.fetch()

    assert len(server.requests) == 1
    assert (received.record.status, received.record.location) == (301, "/there?a=1")
    assert (received.body, received.record.refusal, received.record.digest) == (None, "", None)


async def test_no_cookie_is_kept(tmp_path: Path) -> None:
    with capturing(lambda _: respond(200, TYPE, ("Set-Cookie", "a=b"), body=BODY)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            await visitor.fetch()
            await visitor.fetch()

    assert [request.field("cookie") for request in server.requests] == [None, None]


async def test_proxies_of_the_environment_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with capturing(page) as server, capturing(page) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url(""))
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            await visitor.fetch()

    assert (len(server.requests), len(proxy.requests)) == (1, 0)


async def test_a_connection_is_used_again_at_once_and_not_after_two_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            records = [(await visitor.fetch()).record for _ in range(2)]
            idle = time.monotonic() + 2.001
            monkeypatch.setattr(aiohttp.connector, "monotonic", lambda: idle)
            records.append((await visitor.fetch()).record)

    assert [record.reused for record in records] == [False, True, False]
    assert [request.connection for request in server.requests] == [0, 0, 1]
    assert {record.address for record in records} == {"127.0.0.1"}


async def test_a_crawl_that_is_to_end_ends_what_is_under_way(tmp_path: Path) -> None:
    with capturing(lambda _: Answer(pieces=(b"", b""), pause=30.0)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            waiting = asyncio.create_task(visitor.fetch())
            await until(lambda: len(server.requests) == 1)
            visitor.client.hurry(60.0)
            visitor.client.hurry(0.0)
            record = (await waiting).record
            later = (await visitor.fetch()).record
            visitor.client.hurry(30.0)  # no reprieve
            latest = (await visitor.fetch()).record

    assert (record.outcome, record.stage) == (Outcome.CANCELLED, None)
    assert record.labels == ("sig1", "sig2")
    assert (later.outcome, later.labels, later.header_bytes) == (Outcome.CANCELLED, (), 0)
    assert latest.outcome is Outcome.CANCELLED
    assert len(server.requests) == 1


async def test_a_request_that_ends_in_time_is_not_hurried(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            visitor.client.hurry(30.0)
            record = (await visitor.fetch()).record

    assert record.outcome is Outcome.ANSWERED


async def test_a_refusal_whose_head_is_here_counts_although_the_crawl_ends(tmp_path: Path) -> None:
    head = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 10\r\n\r\n"
    with capturing(lambda _: Answer(pieces=(head, b""), pause=30.0)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            waiting = asyncio.create_task(visitor.fetch())
            await until(lambda: bool(visitor.seen))
            visitor.client.hurry(0.0)
            record = (await waiting).record

    assert (record.outcome, record.status) == (Outcome.ANSWERED, 403)


async def test_a_cancelled_task_ends_its_connection(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10\r\n\r\n"
    with capturing(lambda _: Answer(pieces=(head, b""), pause=30.0)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            waiting = asyncio.create_task(visitor.fetch())
            await until(lambda: bool(visitor.seen))
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    assert len(server.requests) == 1


async def test_a_reloaded_origin_counts_from_the_next_request_on(tmp_path: Path) -> None:
    with capturing(page) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            await visitor.fetch()
            visitor.origin = replace(visitor.origin, cookie=COOKIE)
            await visitor.fetch()

    assert [request.field("cookie") for request in server.requests] == [None, COOKIE]
