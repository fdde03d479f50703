"""What an Accept-Signature asks for is granted by the next request to that server, and logged."""

from pathlib import Path

import pytest
from capture import Answer, Captured, capturing, respond
from msgspec.structs import replace
from visitor import SIGNATURES, Visitor, origin, visiting

from crawler.events import Arm, Kind, Without
from crawler.fetch import keyfiles
from crawler.settings import ProfileName, Second
from signing import verifier
from signing.judgement import Policy, Reason
from signing.keys import PublicKey
from signing.message import Message

TAG = ';tag="web-bot-auth"'
WANTED = f'mine=("@path" "user-agent" "@authority");nonce="abc \\"x\\"";created;expires{TAG}'
DEFAULT = '("@authority" "@method" "@path" "@query" "signature-agent";key="sig1")'


class Asking:
    """A site that asks for these, one answer after the other, and then for nothing."""

    def __init__(self, *fields: str | None) -> None:
        self._fields = [*fields]

    def __call__(self, request: Captured) -> Answer:
        field = self._fields.pop(0) if self._fields else None
        wanted = [] if field is None else [("Accept-Signature", field)]
        return respond(403 if wanted else 200, ("Content-Type", "text/html"), *wanted)


def stated(request: Captured) -> str:
    return request.field("Signature-Input") or ""


def reasons(request: Captured, visitor: Visitor) -> dict[str, Reason | None]:
    """What a verifier says of each label."""
    ring = visitor.told[-1].keyring
    known = {key.keyid: key.public_key for key in (ring.first, ring.second) if key is not None}

    def lookup(_: str, keyid: str) -> PublicKey | Reason:
        return known.get(keyid, Reason.UNKNOWN_KEY)

    message = Message(
        method=request.method,
        scheme="http",
        authority=request.field("Host") or "",
        target=request.target,
        fields=request.fields,
    )
    found = verifier.verify(message, lookup, Policy(), request.at)
    return {label.label: label.reason for label in found.labels}


async def test_a_wish_is_granted_once_whatever_the_next_request_is(tmp_path: Path) -> None:
    with capturing(Asking(WANTED)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            first = (await visitor.fetch("/", id="a")).record
            second = (await visitor.fetch("/robots.txt", id="b", kind=Kind.ROBOTS)).record
            third = (await visitor.fetch("/x", id="c")).record

    before, granted, after = server.requests
    assert first.asked_for == "next: mine over @path, user-agent, @authority, with its nonce"
    assert (first.wish, second.wish, third.wish) == ("", "a", "")
    assert (second.asked_for, third.asked_for) == ("", "")
    assert second.labels == ("mine", "sig2")
    assert stated(before).startswith(f"sig1={DEFAULT};created=")
    assert stated(granted).startswith(
        'mine=("@path" "user-agent" "@authority" "signature-agent";key="mine");created='
    )
    assert ';nonce="abc \\"x\\"";tag="web-bot-auth", sig2=(' in stated(granted)
    assert (granted.field("Signature-Agent") or "").startswith('mine="https://bot.example", sig2=')
    assert stated(after).startswith(f"sig1={DEFAULT};created=")
    assert reasons(granted, visitor) == {"mine": None, "sig2": None}
    assert second.header_bytes == len(granted.head)


async def test_the_newest_wish_counts(tmp_path: Path) -> None:
    asked = [f'sig1=("@authority");nonce="{nonce}"{TAG}' for nonce in ("one", "two", "three")]
    with capturing(Asking(*asked)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            records = [(await visitor.fetch(id=name)).record for name in "abcd"]

    assert [record.wish for record in records] == ["", "a", "b", "c"]
    for request, nonce in zip(server.requests[1:], ("one", "two", "three"), strict=True):
        assert f';nonce="{nonce}"' in stated(request)


async def test_a_wish_is_for_the_server_that_asked_and_no_other(tmp_path: Path) -> None:
    with capturing(Asking(WANTED)) as asking, capturing(Asking()) as other:
        async with visiting(origin(asking.url("/")), tmp_path) as visitor:
            await visitor.fetch(id="a")
            elsewhere = origin(other.url("/"), name="two")
            visitor.client._inside.add(
                other.url("")[:-1] if other.url("").endswith("/") else other.url("")
            )
            visitor.origin, home = elsewhere, visitor.origin
            there = (await visitor.fetch(id="b")).record
            visitor.origin = home
            back = (await visitor.fetch(id="c")).record

    assert (there.wish, back.wish) == ("", "a")
    assert stated(other.requests[0]).startswith(f"sig1={DEFAULT}")


@pytest.mark.parametrize(
    ("field", "why"),
    [
        pytest.param('sig1=("@authority")', "its tag is not web-bot-auth", id="no tag"),
        pytest.param(f'sig1=("@path"){TAG}', "'@authority' is not in it", id="any host"),
        pytest.param(f'sig1=("@authority" "cookie"){TAG}', "others may see", id="cookie"),
        pytest.param(f'sig1=("@authority" "authorization"){TAG}', "others may see", id="secret"),
        pytest.param(f'sig1=("@authority" "content-digest"){TAG}', "a body", id="digest"),
        pytest.param(f'sig1=("@authority");keyid="other"{TAG}', "the key is not", id="keyid"),
        pytest.param(f'sig1=("@authority");alg="hmac-sha256"{TAG}', "the algorithm", id="alg"),
        pytest.param("sig1=(", "cannot be read", id="torn"),
    ],
)
async def test_what_is_not_granted_changes_nothing_and_is_logged(
    tmp_path: Path, field: str, why: str
) -> None:
    with capturing(Asking(field)) as server:
        async with visiting(origin(server.url("/"), cookie="a=secret"), tmp_path) as visitor:
            first = (await visitor.fetch(id="a")).record
            second = (await visitor.fetch(id="b")).record

    assert first.asked_for.startswith("not granted: ")
    assert why in first.asked_for
    assert second.wish == ""
    assert stated(server.requests[1]).startswith(f"sig1={DEFAULT}")


async def test_our_own_key_may_be_named(tmp_path: Path) -> None:
    with capturing(_echoing) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            first = (await visitor.fetch(id="a")).record
            second = (await visitor.fetch(id="b")).record

    assert first.asked_for == "next: sig1 over @authority"
    assert second.wish == "a"
    assert 'sig1=("@authority" "signature-agent";key="sig1")' in stated(server.requests[1])


def _echoing(request: Captured) -> Answer:
    keyid = stated(request).partition('keyid="')[2].partition('"')[0]
    field = f'sig1=("@authority");keyid="{keyid}";alg="ed25519"{TAG}'
    return respond(401, ("Content-Type", "text/html"), ("Accept-Signature", field))


async def test_a_key_that_was_rotated_meanwhile_grants_nothing(tmp_path: Path) -> None:
    with capturing(Asking(WANTED)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            await visitor.fetch(id="a")
            (old,) = visitor.folder.glob("ed25519-*.jwk")
            keyfiles.create(visitor.folder, "ed25519")
            old.unlink()
            record = (await visitor.fetch(id="b")).record

    assert record.wish == "not a: it is of another key or form"
    assert stated(server.requests[1]).startswith(f"sig1={DEFAULT}")


async def test_a_wish_costs_no_signature(tmp_path: Path) -> None:
    long = f'sig1=("@authority" "@method" "@path" "@query");nonce="{"n" * 256}"{TAG}'
    with capturing(Asking(None, long)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            size = (await visitor.fetch(id="a")).record.header_bytes
            tight = origin(server.url("/"), politeness={"header_limit": size})
            visitor.origin = tight
            await visitor.fetch(id="b")
            record = (await visitor.fetch(id="c")).record

    assert record.wish == "not b: no room for it"
    assert record.labels == ("sig1", "sig2")
    assert record.header_bytes <= size


async def test_a_wish_may_make_room_for_a_signature(tmp_path: Path) -> None:
    short = f'sig1=("@authority");nonce="n"{TAG}'
    with capturing(Asking(None, short)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            size = (await visitor.fetch(id="a")).record.header_bytes
            visitor.origin = origin(server.url("/"), politeness={"header_limit": size - 1})
            without = (await visitor.fetch(id="b")).record
            granted = (await visitor.fetch(id="c")).record

    assert without.without is Without.BUDGET
    assert (granted.wish, granted.labels) == ("b", ("sig1", "sig2"))


async def test_a_control_grants_it_too_with_sig1_alone(tmp_path: Path) -> None:
    with capturing(Asking(WANTED)) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            await visitor.fetch(id="a")
            record = (await visitor.fetch(id="b", arm=Arm.FIRST_ONLY)).record

    assert (record.wish, record.labels) == ("a", ("mine",))


@pytest.mark.parametrize(
    ("profile", "agent"),
    [
        pytest.param(ProfileName.LEGACY, '"signature-agent"', id="legacy"),
        pytest.param(ProfileName.IETF_01, '"signature-agent";key="mine"', id="ietf-01"),
    ],
)
async def test_the_agent_stays_in_the_profiles_own_form(
    tmp_path: Path, profile: ProfileName, agent: str
) -> None:
    with capturing(Asking(WANTED)) as server:
        asked = origin(server.url("/"), profile=profile, sig2=Second.ALWAYS)
        async with visiting(asked, tmp_path) as visitor:
            await visitor.fetch(id="a")
            await visitor.fetch(id="b")

    assert f'mine=("@path" "user-agent" "@authority" {agent});created=' in stated(
        server.requests[1]
    )
    assert reasons(server.requests[1], visitor) == {"mine": None, "sig2": None}


async def test_the_published_form_grants_nothing(tmp_path: Path) -> None:
    with capturing(Asking(WANTED)) as server:
        asked = origin(server.url("/"), profile=ProfileName.PUBLISHED)
        async with visiting(asked, tmp_path) as visitor:
            first = (await visitor.fetch(id="a")).record
            second = (await visitor.fetch(id="b")).record

    assert first.asked_for == "not granted: the published profile is one form"
    assert second.wish == ""


async def test_a_wish_that_quotes_our_signature_does_not_bring_it_into_the_log(
    tmp_path: Path,
) -> None:
    def quoting(request: Captured) -> Answer:
        signature = (request.field("Signature") or "").partition(":")[2].partition(":")[0]
        field = f'sig1=("@authority" "{signature[:60]}"){TAG}'
        return respond(403, ("Content-Type", "text/html"), ("Accept-Signature", field))

    with capturing(quoting) as server:
        async with visiting(origin(server.url("/")), tmp_path) as visitor:
            record = (await visitor.fetch(id="a")).record

    signature = (server.requests[0].field("Signature") or "").partition(":")[2]
    assert record.asked_for.startswith("not granted: sig1: ")
    assert signature[:20] not in record.asked_for
    assert "[...]" in record.asked_for


@pytest.mark.parametrize("label", ["sig2", "pq"])
async def test_the_second_label_is_never_given_away(tmp_path: Path, label: str) -> None:
    signatures = replace(SIGNATURES, second=replace(SIGNATURES.second, label=label))
    with capturing(Asking(f'{label}=("@authority"){TAG}')) as server:
        async with visiting(origin(server.url("/")), tmp_path, signatures=signatures) as visitor:
            first = (await visitor.fetch(id="a")).record

    assert "the label of our second signature" in first.asked_for
