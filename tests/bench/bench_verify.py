"""What verifying one signature costs beside the raw verification in it.

    python tests/bench/bench_verify.py [--short]

CPU of `verify()` of sig1 in a request that carries sig2 too, divided by that of checking the same
signature over the same bytes with a key that is open already; one after the other for each
message, and no message comes twice. The head is the crawler's in its default profile. Fails (exit
code 1) past 1.5. What both labels cost is shown too, and what all would cost if every request were
read in the general way, with http-sf. Not in --short, which allows a fifth more of what is ours,
since other work beside it stretches that more than the rest.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from time import thread_time_ns
from typing import Final
from unittest import mock

from cryptography.hazmat.primitives.asymmetric import ed25519, mldsa

from signing import algorithms, claim, keys, usual
from signing.base import SignatureParams, signature_base
from signing.keys import PublicKey
from signing.message import Message
from signing.profile import Name, Profile
from signing.signer import Keyring, sign
from signing.verifier import Outcome, Policy, verify

LIMIT: Final = 1.5
SHORT_LIMIT: Final = 1.6
REPEATED: Final = 3  # times that it is measured again where it fails
MESSAGES, SHORT, WARMING = 5_000, 1_500, 20
NOW: Final = 1_800_000_000
HOME: Final = "https://bot.example"
FIRST: Final = Policy(tags=frozenset({"web-bot-auth"}))
BOTH: Final = Policy()


@dataclass(kw_only=True)
class Meter:
    """Nanoseconds of CPU: of whole calls, and of the raw verifications of the same signatures."""

    whole: int = 0
    raw: int = 0
    messages: int = 0

    @property
    def ratio(self) -> float:
        """What a whole call takes for each unit of raw verification in it."""
        return self.whole / self.raw

    def __str__(self) -> str:
        whole, raw = (total / self.messages / 1e3 for total in (self.whole, self.raw))
        return f"{whole:7.1f} µs CPU, raw {raw:7.1f} µs, the rest {whole - raw:5.1f} µs"


def requests(count: int, keyring: Keyring) -> list[Message]:
    """Requests as twenty origins get them from the crawler, no target twice."""
    bridge = Profile(name=Name.BRIDGE, home=HOME)
    made = []
    for number in range(count):
        host = f"site{number % 20}.example"
        unsigned = Message(
            method="GET",
            scheme="https",
            authority=host,
            target=f"/articles/{number:06}/some-title-of-a-page.html?page={number % 7}",
            fields=(
                ("Host", host),
                ("User-Agent", f"ExampleBot/1.0 (+{HOME}/bot; bot@bot.example)"),
                ("From", "bot@bot.example"),
                ("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1"),
                ("Accept-Encoding", "gzip, deflate"),
            ),
        )
        signed = sign(unsigned, keyring, bridge, NOW - 3, number.to_bytes(64))
        made.append(replace(unsigned, fields=(*unsigned.fields, *signed.fields)))
    return made


def raw_checks(message: Message, policy: Policy, keyring: Keyring) -> Iterator[Callable[[], None]]:
    """What checks each signature that the policy looks at, without a thought about its origin."""
    second = keyring.second
    assert second is not None
    first = ed25519.Ed25519PublicKey.from_public_bytes(keyring.first.public)
    other = mldsa.MLDSA44PublicKey.from_public_bytes(second.public)
    opened = {keyring.first.keyid: first.verify, second.keyid: other.verify}
    found = claim.read(message, policy)
    assert isinstance(found, claim.Claims)
    for _, _, stated in found.ours:
        assert isinstance(stated, claim.Claim)
        assert isinstance(stated.source, SignatureParams)
        base = signature_base(message, stated.source)
        yield partial(opened[stated.keyid], stated.signature, base)


def measure(messages: list[Message], policy: Policy, keyring: Keyring) -> Meter:
    """Verify every message, and every signature again on its own."""
    meter = Meter()
    published = {key.keyid: key.public_key for key in (keyring.first, keyring.second) if key}

    def lookup(_: str, keyid: str) -> PublicKey:
        return published[keyid]

    prepared = [list(raw_checks(replace(sent), policy, keyring)) for sent in messages]
    for number, (sent, checks) in enumerate(zip(messages, prepared, strict=True)):
        message = replace(sent)  # nothing of it was read
        began = thread_time_ns()
        found = verify(message, lookup, policy, float(NOW))
        whole = thread_time_ns() - began
        began = thread_time_ns()
        for check in checks:
            check()
        raw = thread_time_ns() - began
        assert found.outcome is Outcome.VERIFIED
        assert len(found.labels) == len(checks)
        if number >= WARMING:
            meter.messages += 1
            meter.whole += whole
            meter.raw += raw
    return meter


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help=f"{SHORT} messages, not {MESSAGES}")
    short = parser.parse_args().short
    keyring = Keyring(keys.generate(algorithms.ED25519), keys.generate(algorithms.ML_DSA_44))
    limit = SHORT_LIMIT if short else LIMIT
    messages = requests(SHORT if short else MESSAGES, keyring)

    one = measure(messages, FIRST, keyring)
    for _ in range(REPEATED):  # what else the machine does only ever adds
        if one.ratio > limit:
            one = min(one, measure(messages, FIRST, keyring), key=lambda meter: meter.ratio)
    verdict = "FAILED" if one.ratio > limit else "ok"
    print(f"verify() of requests with two signatures, means of {len(messages)} messages")
    print(f"sig1 of both   {one}, ratio {one.ratio:.3f} (at most {limit}) {verdict}")
    if not short:
        both = measure(messages, BOTH, keyring)
        print(f"both labels    {both}, ratio {both.ratio:.3f}")
        with mock.patch.object(usual, "read", return_value=None):
            general = measure(messages, FIRST, keyring)
        print(f"http-sf always {general}, ratio {general.ratio:.3f}")
    return int(one.ratio > limit)


if __name__ == "__main__":
    sys.exit(main())
