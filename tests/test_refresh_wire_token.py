"""sig2's wire token is one setting on each side: what we send and what a verifier takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pytest
from capture import Captured, capturing, respond
from crawling import Operator

from signing import verifier
from signing.judgement import Outcome, Policy, Reason
from signing.keys import PublicKey
from signing.message import Message
from signing.profile import SECOND_KEYS_PATH

TOKEN: Final = "fips204-44"
HOME: Final = "https://bot.example"


@dataclass(frozen=True)
class Site:
    """What came to a site of a crawl whose sig2 says TOKEN, and the keys that were used."""

    requests: Sequence[Captured]
    keys: dict[tuple[str, str], PublicKey]

    def judged(self, request: Captured, policy: Policy) -> dict[str, Reason | None]:
        """What a verifier with this policy says of each label."""
        message = Message(
            method=request.method,
            scheme="http",
            authority=request.field("Host") or "",
            target=request.target,
            fields=request.fields,
        )

        def lookup(url: str, keyid: str) -> PublicKey | Reason:
            return self.keys.get((url, keyid), Reason.UNKNOWN_KEY)

        found = verifier.verify(message, lookup, policy, request.at)

        assert found.outcome is Outcome.VERIFIED  # sig1 stands, whatever sig2 says
        return {label.label: label.reason for label in found.labels}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with capturing(lambda _: respond(200, ("Content-Type", "text/plain"))) as door:
        operator = Operator(
            folder=tmp_path_factory.mktemp("token"),
            origins={"one": {"url": door.url()}},
            signatures={"profile": "bridge", "second.alg": TOKEN},
        )
        assert operator.crawl("--once").code == 0
        first, second = operator.key("ed25519"), operator.key("ml-dsa-44")
        yield Site(
            door.requests,
            {
                (HOME, first.keyid): first.public_key,
                (HOME + SECOND_KEYS_PATH, second.keyid): second.public_key,
            },
        )


def test_the_setting_is_what_is_sent(site: Site) -> None:
    stated = [request.field("Signature-Input") or "" for request in site.requests]

    assert len(stated) == 2  # robots.txt and a page
    assert all(f';alg="{TOKEN}"' in one and 'alg="ml-dsa-44"' not in one for one in stated)


def test_a_verifier_with_the_same_setting_accepts_both_signatures(site: Site) -> None:
    for request in site.requests:
        assert site.judged(request, Policy(second_alg=TOKEN)) == {"sig1": None, "sig2": None}


@pytest.mark.parametrize("old", ["", "ml-dsa-44", "fips204-draft"])
def test_a_verifier_with_the_old_token_refuses_sig2_alone(site: Site, old: str) -> None:
    for request in site.requests:
        assert site.judged(request, Policy(second_alg=old)) == {
            "sig1": None,
            "sig2": Reason.UNSUPPORTED_ALGORITHM,
        }
