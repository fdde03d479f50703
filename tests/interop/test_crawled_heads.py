"""The raw request heads of a real `crawl`, before verifiers that nobody here wrote.

One crawl asks an origin for each profile with both signatures and one with sig1 alone, and comes
back with validators. Every head is looked at, those of robots.txt and of conditional requests too.
"""

import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import verifiers
from capture import Answer, Captured, CapturingServer, capturing, respond
from crawling import Operator
from verifiers import BotgateProfile

from crawler.events import FetchRecord
from crawler.settings import ProfileName
from signing.keys import PrivateKey

TARGET: Final = "/caf%C3%A9/a%2Fb;c?q=%7E&u=https://x.example/y&empty="
PROFILES: Final = [name for name in ProfileName if name is not ProfileName.AUTO]
STRING: Final = (ProfileName.LEGACY, ProfileName.PUBLISHED)  # Signature-Agent is one string
SINGLE: Final = "-alone"
ALWAYS_BOTH: Final = ProfileName.PUBLISHED
NAMES: Final = [
    *PROFILES,
    *(f"{profile}{SINGLE}" for profile in PROFILES if profile is not ALWAYS_BOTH),
]
KEYID: Final = "[A-Za-z0-9_-]{43}"


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What one origin's server received, our record of each, and the keys that signed."""

    server: CapturingServer
    requests: Sequence[Captured]
    records: Sequence[FetchRecord]
    first: PrivateKey
    second: PrivateKey

    def url(self, request: Captured) -> str:
        return self.server.url(request.target)


def answer(request: Captured) -> Answer:
    """A robots.txt, a page, and 304 to whoever has it."""
    if request.target == "/robots.txt":
        return respond(200, ("Content-Type", "text/plain"), body=b"User-agent: *\nAllow: /\n")
    if request.field("If-None-Match"):
        return respond(304)
    return respond(200, ("Content-Type", "text/html"), ("ETag", '"1, 2"'), body=b"<p>page")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Sent]]:
    with ExitStack() as stack:
        doors = {
            name: stack.enter_context(capturing(answer, f"127.0.0.{number}"))
            for number, name in enumerate(NAMES, start=1)
        }
        operator = Operator(
            folder=tmp_path_factory.mktemp("heads"),
            origins={
                name: {
                    "url": door.url("/"),
                    "start": [TARGET],
                    "profile": name.removesuffix(SINGLE),
                    "sig2": "never" if name.endswith(SINGLE) else "always",
                }
                for name, door in doors.items()
            },
        )
        ended = [operator.crawl("--once") for _ in range(2)]
        assert [(one.code, one.said) for one in ended] == [(0, ""), (0, "")]
        first, second = operator.key("ed25519"), operator.key("ml-dsa-44")
        yield {
            name: Sent(
                server=door,
                requests=door.requests,
                records=operator.records(name),
                first=first,
                second=second,
            )
            for name, door in doors.items()
        }


@pytest.fixture(params=NAMES)
def sent(crawled: dict[str, Sent], request: pytest.FixtureRequest) -> Sent:
    """The requests of each origin."""
    return crawled[request.param]


@pytest.fixture(params=PROFILES)
def dual(crawled: dict[str, Sent], request: pytest.FixtureRequest) -> Sent:
    """The requests of each profile with both signatures."""
    return crawled[request.param]


def lines(head: bytes) -> list[bytes]:
    return head.removesuffix(b"\r\n\r\n").split(b"\r\n")


def signature_lines(request: Captured) -> list[bytes]:
    names = tuple(f"{name}:".encode() for name in verifiers.SIGNATURE_FIELDS)
    return [line for line in lines(request.head) if line.lower().startswith(names)]


def test_each_origin_was_asked_for_robots_txt_for_the_page_and_whether_it_changed(
    sent: Sent,
) -> None:
    assert [one.target for one in sent.requests] == ["/robots.txt", TARGET, TARGET]
    assert [one.status for one in sent.records] == [200, 200, 304]
    assert sent.requests[2].field("If-None-Match") == '"1, 2"'


@pytest.mark.parametrize("profile", PROFILES)
def test_http_message_signatures_accepts_sig1_with_sig2_beside_it(
    crawled: dict[str, Sent], profile: ProfileName
) -> None:
    sent = crawled[profile]
    # where sig2 has the same tag, it wants sig2 to verify too, and has no ML-DSA
    label = "sig1" if profile is ALWAYS_BOTH else None
    for request in sent.requests:
        result = verifiers.first_by_message_signatures(
            request.method, sent.url(request), request.fields, sent.first.public, label=label
        )

        assert verifiers.labels(request.fields) == ["sig1", "sig2"]
        assert (result.label, result.parameters["keyid"]) == ("sig1", sent.first.keyid)


@pytest.mark.parametrize("profile", PROFILES)
def test_botgate_accepts_sig1_alone(
    crawled: dict[str, Sent], profile: ProfileName, tmp_path: Path
) -> None:
    sent = crawled[profile if profile is ALWAYS_BOTH else f"{profile}{SINGLE}"]
    form = BotgateProfile.CLOUDFLARE if profile in STRING else BotgateProfile.IETF
    for request in sent.requests:
        fields = request.fields
        if profile is ALWAYS_BOTH:
            fields = tuple(verifiers.alone(fields, "sig1"))
        complaints = verifiers.first_by_botgate(
            request.method, sent.url(request), fields, sent.first.public, form, tmp_path
        )

        assert complaints == []


def test_two_sources_of_ml_dsa_accept_sig2(dual: Sent) -> None:
    for request in dual.requests:
        asked = (request.method, dual.url(request), request.fields, dual.second.public)

        verifiers.second_by_cryptography(*asked)
        verifiers.second_by_pqcrypto(*asked)

        assert verifiers.parameters(request.fields, "sig2")["keyid"] == dual.second.keyid


def test_the_three_fields_are_one_line_each_and_sig1_comes_first(sent: Sent) -> None:
    for request, record in zip(sent.requests, sent.records, strict=True):
        found = signature_lines(request)
        names = [line.partition(b":")[0].decode() for line in found]

        assert names == ["Signature-Agent", "Signature-Input", "Signature"]
        for line in found:
            _, _, value = line.decode("ascii").partition(": ")
            if not value.startswith('"'):
                assert list(verifiers.members(value)) == list(record.labels)


def test_our_record_has_the_sizes_that_the_server_received(sent: Sent) -> None:
    for request, record in zip(sent.requests, sent.records, strict=True):
        # a line's end counts with it where bytes are added up, and not where lines are compared
        signed = sum(len(line) + len(b"\r\n") for line in signature_lines(request))
        longest = max(len(line) for line in lines(request.head))
        sizes = (record.header_bytes, record.signature_bytes, record.longest_line)

        assert sizes == (len(request.head), signed, longest)


def test_the_published_form_is_that_of_the_first_dual_signing_bot(
    crawled: dict[str, Sent],
) -> None:
    covered = r'\("@authority" "signature-agent"\)'
    times = r"created=(\d+);expires=(\d+)"
    input_form = re.compile(
        rf'sig1={covered};{times};keyid="({KEYID})";alg="ed25519";tag="web-bot-auth", '
        rf'sig2={covered};{times};keyid="({KEYID})";alg="ml-dsa-44";tag="web-bot-auth"'
    )
    signature_form = re.compile(r"sig1=:[A-Za-z0-9+/]{86}==:, sig2=:[A-Za-z0-9+/]{3227}=:")
    sent = crawled[ALWAYS_BOTH]
    for request in sent.requests:
        found = input_form.fullmatch(request.field("Signature-Input") or "")

        assert found is not None, request.field("Signature-Input")
        assert (found[3], found[6]) == (sent.first.keyid, sent.second.keyid)
        assert (found[1], found[2]) == (found[4], found[5])
        assert int(found[2]) == int(found[1]) + 60
        assert request.at - 10 < int(found[1]) <= request.at - 3
        assert request.field("Signature-Agent") == '"https://bot.example"'
        assert signature_form.fullmatch(request.field("Signature") or "")


@pytest.mark.parametrize(
    ("profile", "agent"),
    [
        pytest.param(
            ProfileName.BRIDGE,
            'sig1="https://bot.example", sig2="https://bot.example/.well-known/bot-pq-jwks.json"',
            id="bridge",
        ),
        pytest.param(
            ProfileName.IETF_01,
            'sig1="https://bot.example/.well-known/http-message-signatures-directory", '
            'sig2="https://bot.example/.well-known/bot-pq-jwks.json"',
            id="ietf-01",
        ),
        pytest.param(ProfileName.LEGACY, '"https://bot.example"', id="legacy"),
    ],
)
def test_each_label_says_where_its_key_is_found(
    crawled: dict[str, Sent], profile: ProfileName, agent: str
) -> None:
    assert {one.field("Signature-Agent") for one in crawled[profile].requests} == {agent}


@pytest.mark.parametrize("name", [name for name in NAMES if name is not ALWAYS_BOTH])
def test_sig1_has_another_nonce_and_so_another_value_each_time(
    crawled: dict[str, Sent], name: str
) -> None:
    fields = [request.fields for request in crawled[name].requests]
    nonces = {verifiers.parameters(each, "sig1")["nonce"] for each in fields}
    signatures = {verifiers.signature(each, "sig1") for each in fields}

    assert len(nonces) == len(signatures) == len(fields) == 3
    assert {len(b64decode(nonce, validate=True)) for nonce in nonces} == {64}
