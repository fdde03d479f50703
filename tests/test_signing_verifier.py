"""Each signature is judged for itself, with a reason; and garbage is an outcome."""

import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from signing import fields as sf
from signing.algorithms import ECDSA_P256, ED25519, ML_DSA_44, ML_DSA_65
from signing.base import read_params, signature_base
from signing.digest import content_digest
from signing.errors import SigningError
from signing.keys import PrivateKey, PublicKey, expanded, read_public
from signing.message import Message
from signing.profile import Labels, Name, Profile, Second
from signing.signer import Keyring, sign
from signing.verifier import (
    Judgement,
    Keying,
    KeyLookup,
    Outcome,
    Policy,
    Reason,
    ReplayKey,
    Seen,
    Verification,
    verify,
)

FIRST = PrivateKey(ED25519, bytes(range(32)))
SECOND = PrivateKey(ML_DSA_44, bytes(range(32)))
KEYRING = Keyring(FIRST, SECOND)
HOME = "https://bot.example"
NOW = 1_800_000_000.0
CREATED = 1_800_000_000 - 3
PROFILES: dict[Name, Profile] = {
    name: Profile(name=name, home=HOME) for name in Name if name is not Name.AUTO
}
REQUEST = Message(
    method="GET",
    scheme="https",
    authority="shop.example",
    target="/a%2Fb?c=d",
    fields=(("Host", "shop.example"), ("Accept", "*/*")),
)


def shelf(*keys: PublicKey, url: str = HOME) -> KeyLookup:
    """Look keys up where they were published, and nowhere else."""
    published = {(url, key.keyid): key for key in keys}
    return lambda url, keyid: published.get((url, keyid), Reason.UNKNOWN_KEY)


def nobody(url: str, keyid: str) -> Reason:
    return pytest.fail(f"the key {keyid} of {url} was looked up for nothing")


def as_signed(
    profile: Profile, labels: Labels = Labels.BOTH, message: Message = REQUEST
) -> Message:
    signed = sign(message, KEYRING, profile, CREATED, bytes(64), labels)
    return replace(message, fields=(*message.fields, *signed.fields))


# What the signer makes ------------------------------------------------------------------------

WHERE = {
    Name.BRIDGE: (HOME, PROFILES[Name.BRIDGE].second_keys),
    Name.IETF_01: (PROFILES[Name.BRIDGE].directory, PROFILES[Name.BRIDGE].second_keys),
    Name.IETF_00: (HOME, PROFILES[Name.BRIDGE].second_keys),
    Name.LEGACY: (HOME, HOME),
    Name.PUBLISHED: (HOME, HOME),
}


@pytest.mark.parametrize("name", PROFILES)
def test_both_signatures_of_every_profile_verify(name: Name) -> None:
    first, second = WHERE[name]
    keys = {(first, FIRST.keyid): FIRST.public_key, (second, SECOND.keyid): SECOND.public_key}

    found = verify(as_signed(PROFILES[name]), lambda *key: keys[key], Policy(), NOW)

    assert found.outcome is Outcome.VERIFIED
    assert [(one.label, one.outcome) for one in found.labels] == [
        ("sig1", Outcome.VERIFIED),
        ("sig2", Outcome.VERIFIED),
    ]
    assert [one.agent for one in found.labels] == [first, second]
    assert [one.algorithm for one in found.labels] == ["ed25519", "ml-dsa-44"]
    assert [one.keyid for one in found.labels] == [FIRST.keyid, SECOND.keyid]


def test_a_judgement_says_what_is_covered() -> None:
    (one,) = verify(
        as_signed(PROFILES[Name.BRIDGE], Labels.FIRST), shelf(FIRST.public_key), Policy(), NOW
    ).labels

    assert one == Judgement(
        label="sig1",
        keyid=FIRST.keyid,
        agent=HOME,
        algorithm="ed25519",
        tag="web-bot-auth",
        covered=(
            '"@authority"',
            '"@method"',
            '"@path"',
            '"@query"',
            '"signature-agent";key="sig1"',
        ),
    )


def test_one_bad_neighbour_takes_nothing_from_a_good_signature() -> None:
    message = as_signed(PROFILES[Name.LEGACY])
    keys: dict[str, PublicKey | Reason] = {FIRST.keyid: FIRST.public_key}
    keys[SECOND.keyid] = Reason.DIRECTORY_UNAVAILABLE

    found = verify(message, lambda _, keyid: keys[keyid], Policy(), NOW)

    assert found.outcome is Outcome.VERIFIED
    assert [one.reason for one in found.labels] == [None, Reason.DIRECTORY_UNAVAILABLE]


def test_an_invalid_signature_outweighs_one_that_nobody_could_decide() -> None:
    message = replace(as_signed(PROFILES[Name.LEGACY]), authority="other.example")
    keys: dict[str, PublicKey | Reason] = {FIRST.keyid: FIRST.public_key}
    keys[SECOND.keyid] = Reason.UNKNOWN_KEY

    found = verify(message, lambda _, keyid: keys[keyid], Policy(), NOW)

    assert found.outcome is Outcome.INVALID
    assert [one.reason for one in found.labels] == [Reason.BAD_SIGNATURE, Reason.UNKNOWN_KEY]


def test_labels_with_other_tags_are_passed_over() -> None:
    policy = Policy(tags=frozenset({"web-bot-auth-pq"}))
    message = as_signed(PROFILES[Name.LEGACY])

    found = verify(message, shelf(SECOND.public_key), policy, NOW)

    assert found.outcome is Outcome.VERIFIED
    assert [one.label for one in found.labels] == ["sig2"]
    assert found.passed_over == ("sig1",)


@pytest.mark.parametrize("alg", ["", "ml-dsa-44", "mldsa"])
def test_the_second_signature_may_state_any_token_of_the_policy(alg: str) -> None:
    profile = Profile(name=Name.LEGACY, home=HOME, second=Second(alg=alg))

    found = verify(
        as_signed(profile),
        shelf(FIRST.public_key, SECOND.public_key),
        Policy(second_alg="mldsa"),
        NOW,
    )

    assert [one.outcome for one in found.labels] == [Outcome.VERIFIED, Outcome.VERIFIED]


UNSIGNED = [
    pytest.param((), id="no field"),
    pytest.param((("Signature", ""), ("Signature-Input", " ")), id="empty fields"),
    pytest.param((("Signature-Agent", f'"{HOME}"'),), id="an agent alone"),
    pytest.param(
        (("Signature", "a=:AA==:"), ("Signature-Input", 'a=();tag="other"')), id="somebody else's"
    ),
    pytest.param((("Signature", "a=:AA==:"), ("Signature-Input", "a=()")), id="no tag"),
    pytest.param(
        (("Signature", "a=:AA==:"), ("Signature-Input", "a=();tag=web-bot-auth")), id="a token"
    ),
]


@pytest.mark.parametrize("fields", UNSIGNED)
def test_a_request_without_a_signature_for_us_is_unverified(
    fields: tuple[tuple[str, str], ...],
) -> None:
    found = verify(replace(REQUEST, fields=fields), nobody, Policy(), NOW)

    assert found.outcome is Outcome.UNVERIFIED
    assert (found.labels, found.reason) == ((), Reason.NO_SIGNATURE)


# What is wrong in one thing only --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Crafted:
    """A request with one signature, right in everything that a case does not change.

    The signature is made over what the request states, wherever a base can be built from it, so
    that a check which is left out lets the request through.
    """

    covered: str = '"@authority" "signature-agent"'
    created: str = f";created={CREATED}"
    expires: str = f";expires={CREATED + 60}"
    keyid: str = f';keyid="{FIRST.keyid}"'
    alg: str = ';alg="ed25519"'
    tag: str = ';tag="web-bot-auth"'
    more: str = ""
    agent: str | None = f'"{HOME}"'
    input: str = "sig1={}"  # around the inner list
    value: str = "sig1={}"  # around the byte sequence
    fields: tuple[tuple[str, str], ...] = ()
    key: PrivateKey = FIRST
    then: Message | None = None  # another request that the signature is put on
    keys: KeyLookup = field(default=shelf(FIRST.public_key, SECOND.public_key))
    policy: Policy = field(default_factory=Policy)
    seen: Seen | None = None
    content: bytes | None = b""

    def message(self) -> Message:
        agent = () if self.agent is None else (("Signature-Agent", self.agent),)
        unsigned = replace(REQUEST, fields=(*self.fields, *agent))
        inner = f"({self.covered})" + "".join(
            (self.created, self.expires, self.keyid, self.alg, self.tag, self.more)
        )
        try:
            base = signature_base(unsigned, read_params(sf.parse_dictionary(f"x={inner}")["x"]))
        except SigningError:
            base = b""
        value = b64encode(expanded(self.key.algorithm, self.key.secret)(base)).decode()
        added = (
            ("Signature-Input", self.input.format(inner)),
            ("Signature", self.value.format(f":{value}:")),
        )
        carrier = self.then or unsigned
        return replace(carrier, fields=(*unsigned.fields, *added))

    def judged(self) -> Verification:
        return verify(self.message(), self.keys, self.policy, NOW, self.seen, self.content)


def test_the_crafted_request_is_right_when_nothing_is_changed() -> None:
    found = Crafted().judged()

    assert found.outcome is Outcome.VERIFIED


MEMBER = '"@authority" "signature-agent";key="sig1"'
BODY = b'{"hello":"world"}'
DIGEST = ("Content-Digest", content_digest(BODY))
WITH_DIGEST = '"@authority" "signature-agent" "content-digest"'
LARGER = PrivateKey(ML_DSA_65, bytes(range(32)))
NOBODYS = PrivateKey(ML_DSA_44, bytes(32))  # RFC 9964, appendix A
P256 = PrivateKey(ECDSA_P256, b"\x01" * 32)


def answers(reason: Reason) -> KeyLookup:
    return lambda *_: reason


def published(key: PublicKey) -> KeyLookup:
    return lambda *_: key


RIGHT = {
    "as many labels as the policy judges": Crafted(policy=Policy(max_labels=1)),
    "as many components as the policy rebuilds": Crafted(policy=Policy(max_covered=2)),
    "many labels that are not for us": Crafted(
        input="{}sig1={{}}".format("".join(f"x{n}=(), " for n in range(99))),
        value="{}sig1={{}}".format("".join(f"x{n}=1, " for n in range(99))),
    ),
    "the longest window": Crafted(expires=f";expires={CREATED + 86_400}"),
    "created at the last second of the skew": Crafted(created=";created=1800000005"),
    "expiring in the next second": Crafted(expires=";expires=1800000001"),
    "no alg": Crafted(alg=""),
    "the parameters in another order": Crafted(tag="", more=';tag="web-bot-auth"'),
    "an unknown parameter": Crafted(more=';x="y"'),
    "the target URI instead of its parts": Crafted(
        covered='"@target-uri" "signature-agent"',
        policy=Policy(required=frozenset({"@authority", "@path", "@query"})),
    ),
    "its own member": Crafted(covered=MEMBER, agent=f'sig1="{HOME}"'),
    "a member by another name, leniently": Crafted(
        covered='"@authority" "signature-agent";key="agent2"',
        agent=f'agent2="{HOME}"',
        policy=Policy(keying=Keying.LENIENT),
    ),
    "a neighbour that nobody reads": Crafted(
        input='a=(1 2);tag="x", sig1={}', value="a=token, sig1={}"
    ),
    "a digest of the body": Crafted(covered=WITH_DIGEST, fields=(DIGEST,), content=BODY),
    "a digest's member": Crafted(
        covered=WITH_DIGEST + ';key="sha-256"', fields=(DIGEST,), content=BODY
    ),
    "a digest of a body that is elsewhere": Crafted(
        covered=WITH_DIGEST, fields=(DIGEST,), content=None
    ),
    "a digest that is not covered": Crafted(fields=(DIGEST,), content=b"other"),
    "a key within its dates": Crafted(
        keys=published(replace(FIRST.public_key, not_before=int(NOW), expires=int(NOW) + 1))
    ),
    "seen for the first time": Crafted(seen=lambda *_: False),
    "another algorithm that the policy names": Crafted(
        key=P256,
        keyid=f';keyid="{P256.keyid}"',
        alg=';alg="ecdsa-p256-sha256"',
        keys=shelf(P256.public_key),
        policy=Policy(algorithms=frozenset({"ecdsa-p256-sha256"})),
    ),
}


@pytest.mark.parametrize("crafted", RIGHT.values(), ids=RIGHT.keys())
def test_what_the_policy_allows_verifies(crafted: Crafted) -> None:
    found = crafted.judged()

    assert found.outcome is Outcome.VERIFIED


WRONG = {
    # The message as a whole: doubt about which value belongs to which label.
    "no tag": (Crafted(tag=""), Reason.NO_SIGNATURE),
    "label only in Signature-Input": (Crafted(value="sig2={}"), Reason.LABEL_MISMATCH),
    "one value too many": (Crafted(value="sig1={}, sig2=:AA==:"), Reason.LABEL_MISMATCH),
    "one input too many": (Crafted(input="sig1={}, sig2=()"), Reason.LABEL_MISMATCH),
    "no Signature": (Crafted(value=""), Reason.LABEL_MISMATCH),
    "no Signature-Input": (Crafted(input=""), Reason.LABEL_MISMATCH),
    "label twice in Signature-Input": (Crafted(input="sig1={0}, sig1={0}"), Reason.DUPLICATE_LABEL),
    "label twice in Signature": (Crafted(value="sig1={0}, sig1={0}"), Reason.DUPLICATE_LABEL),
    "unclosed list": (Crafted(input='sig1=("@authority"'), Reason.SIGNATURE_INPUT_UNREADABLE),
    "trailing comma": (Crafted(input="sig1={},"), Reason.SIGNATURE_INPUT_UNREADABLE),
    "upper-case label": (Crafted(input="Sig1={}"), Reason.SIGNATURE_INPUT_UNREADABLE),
    "non-ASCII input": (Crafted(more=';x="é"'), Reason.SIGNATURE_INPUT_UNREADABLE),
    "parameter twice": (Crafted(more=";created=1"), Reason.SIGNATURE_INPUT_UNREADABLE),
    "unclosed value": (Crafted(value="sig1=:AA"), Reason.SIGNATURE_VALUE_UNREADABLE),
    "value in base64url": (Crafted(value="sig1=:-_-_:"), Reason.SIGNATURE_VALUE_UNREADABLE),
    "non-ASCII value": (Crafted(value="sig1=é"), Reason.SIGNATURE_VALUE_UNREADABLE),
    "a label more than the policy judges": (
        Crafted(policy=Policy(max_labels=0)),
        Reason.SIGNATURE_INPUT_UNREADABLE,
    ),
    # The label's own.
    "a component more than the policy rebuilds": (
        Crafted(policy=Policy(max_covered=1)),
        Reason.SIGNATURE_INPUT_UNREADABLE,
    ),
    "item instead of a list": (
        Crafted(input='sig1="x";tag="web-bot-auth"'),
        Reason.SIGNATURE_INPUT_UNREADABLE,
    ),
    "token as a component": (
        Crafted(covered=f"{Crafted.covered} date"),
        Reason.SIGNATURE_INPUT_UNREADABLE,
    ),
    "created as a string": (
        Crafted(created=f';created="{CREATED}"'),
        Reason.SIGNATURE_INPUT_UNREADABLE,
    ),
    "created as a decimal": (
        Crafted(created=f";created={CREATED}.0"),
        Reason.SIGNATURE_INPUT_UNREADABLE,
    ),
    "created as a boolean": (Crafted(created=";created"), Reason.SIGNATURE_INPUT_UNREADABLE),
    "expires as a date": (
        Crafted(expires=f";expires=@{CREATED + 60}"),
        Reason.SIGNATURE_INPUT_UNREADABLE,
    ),
    "keyid as a token": (Crafted(keyid=";keyid=abc"), Reason.SIGNATURE_INPUT_UNREADABLE),
    "alg as a token": (Crafted(alg=";alg=ed25519"), Reason.SIGNATURE_INPUT_UNREADABLE),
    "nonce as bytes": (Crafted(more=";nonce=:AA==:"), Reason.SIGNATURE_INPUT_UNREADABLE),
    "no created": (Crafted(created=""), Reason.MISSING_FIELDS),
    "no expires": (Crafted(expires=""), Reason.MISSING_FIELDS),
    "no keyid": (Crafted(keyid=""), Reason.MISSING_FIELDS),
    "value is a string": (Crafted(value='sig1="AA=="'), Reason.SIGNATURE_VALUE_UNREADABLE),
    "value is a list": (Crafted(value="sig1=({})"), Reason.SIGNATURE_VALUE_UNREADABLE),
    "value without padding": (Crafted(value="sig1=:AA:"), Reason.SIGNATURE_VALUE_UNREADABLE),
    "stray bits in the value, and the right spelling beside it": (
        Crafted(value='sig1=:AB==:;a=:AA==:, b=:AA==:;c=":AA==:"', input="sig1={}, b=()"),
        Reason.SIGNATURE_VALUE_UNREADABLE,
    ),
    "component twice": (
        Crafted(covered='"@authority" "@authority" "signature-agent"'),
        Reason.DUPLICATE_COMPONENT,
    ),
    "component twice in another order of parameters": (
        Crafted(
            covered='"@authority" "x";key="a";sf "x";sf;key="a" "signature-agent"',
            fields=(("X", "a=1"),),
        ),
        Reason.DUPLICATE_COMPONENT,
    ),
    "created past the skew": (Crafted(created=";created=1800000006"), Reason.CLOCK_AHEAD),
    "expiring as it is made, a little ahead": (
        Crafted(created=";created=1800000002", expires=";expires=1800000002"),
        Reason.EXPIRED,
    ),
    "a covered digest of no use, the body elsewhere": (
        Crafted(
            covered=WITH_DIGEST + ';key="md5"',
            fields=(("Content-Digest", "md5=:AA==:"),),
            content=None,
        ),
        Reason.CONTENT_DIGEST_MISMATCH,
    ),
    "expired this very second": (Crafted(expires=";expires=1800000000"), Reason.EXPIRED),
    "expired long ago": (
        Crafted(created=";created=1", expires=";expires=2"),
        Reason.EXPIRED,
    ),
    "expires before it was created": (
        Crafted(created=";created=1800000004", expires=";expires=1800000003"),
        Reason.EXPIRED,
    ),
    "window a second too long": (
        Crafted(expires=f";expires={CREATED + 86_401}"),
        Reason.WINDOW_TOO_LONG,
    ),
    "no target covered": (Crafted(covered='"signature-agent"'), Reason.TARGET_NOT_COVERED),
    "nothing covered": (Crafted(covered=""), Reason.TARGET_NOT_COVERED),
    "the answered request's target covered": (
        Crafted(covered='"@authority";req "signature-agent"'),
        Reason.TARGET_NOT_COVERED,
    ),
    "less covered than the policy wants": (
        Crafted(policy=Policy(required=frozenset({"@authority", "@method"}))),
        Reason.TARGET_NOT_COVERED,
    ),
    "field covered and not sent": (
        Crafted(covered=f'{Crafted.covered} "date"'),
        Reason.MISSING_COMPONENT,
    ),
    "unknown derived component": (
        Crafted(covered=f'{Crafted.covered} "@client"'),
        Reason.MISSING_COMPONENT,
    ),
    "a response's component": (
        Crafted(covered=f'{Crafted.covered} "@status"'),
        Reason.MISSING_COMPONENT,
    ),
    "the parameters covered": (
        Crafted(covered=f'{Crafted.covered} "@signature-params"'),
        Reason.MISSING_COMPONENT,
    ),
    "upper-case component": (
        Crafted(covered=f'{Crafted.covered} "Date"', fields=(("Date", "x"),)),
        Reason.MISSING_COMPONENT,
    ),
    "unknown parameter of a component": (
        Crafted(covered=f'{Crafted.covered} "date";x', fields=(("Date", "x"),)),
        Reason.MISSING_COMPONENT,
    ),
    "number as a component's parameter": (
        Crafted(covered=f'{Crafted.covered} "date";key=1', fields=(("Date", "x"),)),
        Reason.MISSING_COMPONENT,
    ),
    "non-ASCII in a covered field": (
        Crafted(covered=f'{Crafted.covered} "x"', fields=(("X", "é"),)),
        Reason.MISSING_COMPONENT,
    ),
    "agent sent and not covered": (Crafted(covered='"@authority"'), Reason.MISSING_COMPONENT),
    "no agent": (Crafted(covered='"@authority"', agent=None), Reason.SIGNATURE_AGENT_ABSENT),
    "no agent though covered": (Crafted(agent=None), Reason.SIGNATURE_AGENT_ABSENT),
    "agent unterminated": (Crafted(agent=f'"{HOME}'), Reason.SIGNATURE_AGENT_UNPARSABLE),
    "agent over http": (Crafted(agent='"http://b"'), Reason.SIGNATURE_AGENT_NOT_HTTPS),
    "somebody else's member": (
        Crafted(covered=MEMBER.replace("sig1", "a"), agent=f'a="{HOME}"'),
        Reason.SIGNATURE_AGENT_MEMBER_MISSING,
    ),
    "members and none its own": (
        Crafted(covered=MEMBER.replace("sig1", "a"), agent=f'a="{HOME}", b="{HOME}"'),
        Reason.SIGNATURE_AGENT_AMBIGUOUS_MEMBER,
    ),
    "member sent twice": (
        Crafted(covered=MEMBER, agent=f'sig1="{HOME}", sig1="{HOME}"'),
        Reason.SIGNATURE_AGENT_AMBIGUOUS_MEMBER,
    ),
    "HMAC": (Crafted(alg=';alg="hmac-sha256"'), Reason.UNSUPPORTED_ALGORITHM),
    "an alg nobody knows": (Crafted(alg=';alg="ML-DSA-44"'), Reason.UNSUPPORTED_ALGORITHM),
    "an algorithm the policy does not name": (
        Crafted(key=P256, keyid=f';keyid="{P256.keyid}"', alg="", keys=shelf(P256.public_key)),
        Reason.UNSUPPORTED_ALGORITHM,
    ),
    "the name of the other key's algorithm": (
        Crafted(alg=';alg="ml-dsa-44"'),
        Reason.ALGORITHM_MISMATCH,
    ),
    "ML-DSA under the name of Ed25519": (
        Crafted(key=SECOND, keyid=f';keyid="{SECOND.keyid}"'),
        Reason.ALGORITHM_MISMATCH,
    ),
    "ML-DSA-65 under the name of ML-DSA-44": (
        Crafted(
            key=LARGER,
            keyid=f';keyid="{LARGER.keyid}"',
            alg=';alg="ml-dsa-44"',
            keys=shelf(LARGER.public_key),
            policy=Policy(algorithms=frozenset({"ml-dsa-44", "ml-dsa-65"})),
        ),
        Reason.ALGORITHM_MISMATCH,
    ),
    "unknown key": (Crafted(keys=shelf(SECOND.public_key)), Reason.UNKNOWN_KEY),
    "a key of another publisher": (
        Crafted(keys=shelf(FIRST.public_key, url="https://other.example")),
        Reason.UNKNOWN_KEY,
    ),
    "a key listed under another's name": (
        Crafted(key=SECOND, alg="", keys=published(SECOND.public_key)),
        Reason.UNKNOWN_KEY,
    ),
    "a key of tomorrow": (
        Crafted(keys=published(replace(FIRST.public_key, not_before=int(NOW) + 1))),
        Reason.UNKNOWN_KEY,
    ),
    "a key of yesterday": (
        Crafted(keys=published(replace(FIRST.public_key, expires=int(NOW)))),
        Reason.UNKNOWN_KEY,
    ),
    "a key that the policy refuses": (
        Crafted(policy=Policy(refused_keyids=frozenset({FIRST.keyid})), keys=nobody),
        Reason.UNKNOWN_KEY,
    ),
    "a key whose secret an RFC prints": (
        Crafted(key=NOBODYS, keyid=f';keyid="{NOBODYS.keyid}"', alg="", keys=nobody),
        Reason.UNKNOWN_KEY,
    ),
    "directory unavailable": (
        Crafted(keys=answers(Reason.DIRECTORY_UNAVAILABLE)),
        Reason.DIRECTORY_UNAVAILABLE,
    ),
    "directory malformed": (
        Crafted(keys=answers(Reason.DIRECTORY_MALFORMED)),
        Reason.DIRECTORY_MALFORMED,
    ),
    "signed by another key": (Crafted(key=PrivateKey(ED25519, bytes(32))), Reason.BAD_SIGNATURE),
    "a signature of another length": (Crafted(value="sig1=:AA==:"), Reason.BAD_SIGNATURE),
    "an empty signature": (Crafted(value="sig1=::"), Reason.BAD_SIGNATURE),
    "another authority": (
        Crafted(then=replace(REQUEST, authority="other.example")),
        Reason.BAD_SIGNATURE,
    ),
    "another method": (
        Crafted(covered=f'"@method" {Crafted.covered}', then=replace(REQUEST, method="POST")),
        Reason.BAD_SIGNATURE,
    ),
    "another path": (
        Crafted(covered=f'"@path" {Crafted.covered}', then=replace(REQUEST, target="/a/b?c=d")),
        Reason.BAD_SIGNATURE,
    ),
    "another query": (
        Crafted(covered=f'"@query" {Crafted.covered}', then=replace(REQUEST, target="/a%2Fb?")),
        Reason.BAD_SIGNATURE,
    ),
    "another body": (
        Crafted(covered=WITH_DIGEST, fields=(DIGEST,), content=b"{}"),
        Reason.CONTENT_DIGEST_MISMATCH,
    ),
    "a digest that nobody can check": (
        Crafted(covered=WITH_DIGEST, fields=(("Content-Digest", "md5=:AA==:"),)),
        Reason.CONTENT_DIGEST_MISMATCH,
    ),
    "a digest that is no dictionary": (
        Crafted(covered=WITH_DIGEST, fields=(("Content-Digest", "sha-256"),), content=BODY),
        Reason.CONTENT_DIGEST_MISMATCH,
    ),
    "more digests than are read": (
        Crafted(
            covered=WITH_DIGEST,
            fields=((DIGEST[0], DIGEST[1] + "".join(f";x{n}" for n in range(3000))),),
            content=BODY,
        ),
        Reason.CONTENT_DIGEST_MISMATCH,
    ),
    "only the digest covered that nobody can check": (
        Crafted(
            covered=WITH_DIGEST + ';key="md5"',
            fields=(("Content-Digest", f"{content_digest(BODY)}, md5=:AA==:"),),
            content=BODY,
        ),
        Reason.CONTENT_DIGEST_MISMATCH,
    ),
    "seen before": (Crafted(seen=lambda *_: True), Reason.REPLAYED),
}


@pytest.mark.parametrize(("crafted", "reason"), WRONG.values(), ids=WRONG.keys())
def test_each_fault_has_its_reason(crafted: Crafted, reason: Reason) -> None:
    found = crafted.judged()

    assert (found.reason or found.labels[0].reason) is reason
    assert found.outcome is reason.outcome


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(WRONG.values())), st.sampled_from(list(WRONG.values())))
def test_a_reason_never_stands_beside_another_outcome_than_its_own(
    one: tuple[Crafted, Reason], other: tuple[Crafted, Reason]
) -> None:
    found = replace(one[0], policy=other[0].policy, keys=answers(Reason.UNKNOWN_KEY)).judged()

    assert found.reason is None or found.outcome is found.reason.outcome
    assert all(label.reason and label.outcome is label.reason.outcome for label in found.labels)


def test_every_reason_occurs() -> None:
    assert {reason for _, reason in WRONG.values()} == set(Reason)


@pytest.mark.parametrize(
    "name",
    [
        "created past the skew",
        "expired this very second",
        "window a second too long",
        "no target covered",
        "field covered and not sent",
        "agent over http",
        "HMAC",
    ],
)
def test_what_can_be_refused_without_the_network_is(name: str) -> None:
    crafted, reason = WRONG[name]

    found = replace(crafted, keys=nobody).judged()

    assert found.labels[0].reason is reason


# Replay ---------------------------------------------------------------------------------------


def test_a_good_signature_is_remembered_by_its_nonce_until_it_expires() -> None:
    memory: list[tuple[ReplayKey, int]] = []

    def seen(key: ReplayKey, until: int) -> bool:
        memory.append((key, until))
        return False

    Crafted(more=';nonce="abc"', seen=seen).judged()

    assert memory == [(ReplayKey(HOME, FIRST.keyid, "abc"), CREATED + 60)]


def test_without_a_nonce_the_signature_itself_is_remembered() -> None:
    memory: set[ReplayKey] = set()

    def seen(key: ReplayKey, until: int) -> bool:
        known = key in memory
        memory.add(key)
        return known

    outcomes = [
        Crafted(created=created, seen=seen).judged().labels[0].reason
        for created in (";created=1799999997", ";created=1799999996", ";created=1799999997")
    ]

    assert outcomes == [None, None, Reason.REPLAYED]


def test_the_other_form_of_an_ecdsa_signature_is_a_replay() -> None:
    memory: set[ReplayKey] = set()

    def seen(key: ReplayKey, until: int) -> bool:
        known = key in memory
        memory.add(key)
        return known

    crafted = replace(RIGHT["another algorithm that the policy names"], seen=seen)
    message = crafted.message()
    name, value = message.fields[-1]
    signature = b64decode(value.removeprefix("sig1=:").removesuffix(":"))
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    mirrored = signature[:32] + (order - int.from_bytes(signature[32:])).to_bytes(32)
    other = (name, f"sig1=:{b64encode(mirrored).decode()}:")

    reasons = [
        verify(one, crafted.keys, crafted.policy, NOW, seen).labels[0].reason
        for one in (message, replace(message, fields=(*message.fields[:-1], other)))
    ]

    assert reasons == [None, Reason.REPLAYED]


def test_a_forger_cannot_fill_the_memory() -> None:
    def seen(key: ReplayKey, until: int) -> bool:
        return pytest.fail("a bad signature was recorded")

    for crafted, reason in WRONG.values():
        if reason is not Reason.REPLAYED:
            replace(crafted, seen=seen).judged()

    assert Crafted(seen=lambda *_: True).judged().labels[0].reason is Reason.REPLAYED


# Laws -----------------------------------------------------------------------------------------


def _mutated(message: Message, where: str | int, mutate: Callable[[str], str]) -> Message:
    match where:
        case "method":
            return replace(message, method=mutate(message.method))
        case "authority":
            return replace(message, authority=mutate(message.authority))
        case "target":
            return replace(message, target=mutate(message.target))
        case _:
            fields = list(message.fields)
            name, value = fields[int(where)]
            fields[int(where)] = (name, mutate(value))
            return replace(message, fields=tuple(fields))


MUTABLE = ["method", "authority", "target", -1, -2, -3]
SINGLE = [
    pytest.param(as_signed(PROFILES[name], Labels.FIRST), FIRST, id=f"sig1 of {name}")
    for name in PROFILES
] + [
    pytest.param(
        Crafted(
            covered='"@authority" "@method" "@path" "@query" "signature-agent"',
            key=SECOND,
            keyid=f';keyid="{SECOND.keyid}"',
            alg=';alg="ml-dsa-44"',
        ).message(),
        SECOND,
        id="sig2",
    )
]


@pytest.mark.parametrize(("message", "key"), SINGLE)
@settings(max_examples=100, deadline=None)  # for each of the six
@given(
    where=st.sampled_from(MUTABLE),
    position=st.integers(min_value=0),
    byte=st.integers(min_value=0, max_value=255).map(chr),
)
def test_no_change_of_a_byte_that_matters_verifies(
    message: Message, key: PrivateKey, where: str | int, position: int, byte: str
) -> None:
    covered = verify(message, published(key.public_key), Policy(), NOW).labels[0].covered
    if '"@path"' not in covered and where in ("method", "target"):
        where = "authority"  # what the form does not cover may change

    def mutate(text: str) -> str:
        at = position % len(text)
        return text[:at] + byte + text[at + 1 :]

    try:
        mutated = _mutated(message, where, mutate)
    except SigningError:
        return
    # Upper and lower case make no other host.
    assume(replace(mutated, authority=mutated.authority.lower()) != message)

    found = verify(mutated, published(key.public_key), Policy(), NOW)

    assert found.outcome is not Outcome.VERIFIED


_PIECES = st.sampled_from(
    [
        "sig1=", "sig2", "(", ")", '"@authority"', '"signature-agent"', ';key="sig1"', ",", " ",
        ";", ";created=1799999997", ";expires=1800000050", f';keyid="{FIRST.keyid}"', ";tag=",
        '"web-bot-auth"', ":AA==:", ":", "@99999999999999", "?1", "-", "1.5", '%"x"', "\x00", "é",
        "\udcff", "*", "=", "\t", "\r\n ",
    ]
)  # fmt: skip
_GARBAGE = st.text() | st.lists(_PIECES).map("".join)


@settings(max_examples=500, deadline=None)
@given(
    inputs=st.lists(_GARBAGE, max_size=3),
    values=st.lists(_GARBAGE, max_size=3),
    agents=st.lists(_GARBAGE, max_size=2),
    keying=st.sampled_from(Keying),
)
def test_garbage_is_an_outcome_and_never_an_exception(
    inputs: list[str], values: list[str], agents: list[str], keying: Keying
) -> None:
    fields = (
        *(("Signature-Input", value) for value in inputs),
        *(("Signature", value) for value in values),
        *(("Signature-Agent", value) for value in agents),
    )

    found = verify(
        replace(REQUEST, fields=fields), published(FIRST.public_key), Policy(keying=keying), NOW
    )

    assert found.outcome is not Outcome.VERIFIED


# What strangers may cost ----------------------------------------------------------------------

# The blank is legal and no signer writes it: without, the smaller ones would be read another way.
TAIL = f'; created={CREATED};expires={CREATED + 60};keyid="k";tag="web-bot-auth"'


def members(count: int) -> str:
    return ", ".join(f"k{number}" for number in range(count))


def listed(count: int) -> tuple[tuple[str, str], ...]:
    """One label, which covers each member of one dictionary."""
    keyed = " ".join(f'"a";key="k{number}"' for number in range(count))
    return (
        ("Signature-Agent", 'sig1="https://a.example"'),
        ("A", members(count)),
        ("Signature-Input", f'sig1=("@authority" "signature-agent";key="sig1" {keyed}){TAIL}'),
        ("Signature", "sig1=:AAAA:"),
    )


def labelled(count: int) -> tuple[tuple[str, str], ...]:
    """Labels with an agent each."""
    names = [f"s{number}" for number in range(count)]
    covered = [f'{name}=("@authority" "signature-agent";key="{name}"){TAIL}' for name in names]
    return (
        ("Signature-Agent", ", ".join(f'{name}="https://a.example"' for name in names)),
        ("Signature-Input", ", ".join(covered)),
        ("Signature", ", ".join(f"{name}=:AAAA:" for name in names)),
    )


def unjudged(count: int) -> tuple[tuple[str, str], ...]:
    """Labels with a fault of their own, and one value among them that has all their text."""
    names = [f"s{number}" for number in range(count)]
    return (
        ("Signature-Input", ", ".join(f'{name}=();tag="web-bot-auth"' for name in names)),
        ("Signature", ", ".join(f"{name}=:AAAA:" for name in names)),
    )


def apart(count: int) -> tuple[tuple[str, str], ...]:
    """One label that covers a field after the other, each on a line of its own."""
    names = " ".join(f'"x{number}"' for number in range(count))
    return (
        ("Signature-Agent", 'sig1="https://a.example"'),
        ("Signature-Input", f'sig1=("@authority" "signature-agent";key="sig1" {names}){TAIL}'),
        ("Signature", "sig1=:AAAA:"),
        *((f"X{number}", "v") for number in range(count)),
    )


def shared(count: int) -> tuple[tuple[str, str], ...]:
    """Labels that all cover the same few members of one long dictionary."""
    keyed = " ".join(f'"a";key="k{number}"' for number in range(20))
    return (
        ("Signature-Agent", '"https://a.example"'),
        ("A", members(20 + count)),
        (
            "Signature-Input",
            ", ".join(f's{n}=("@authority" "signature-agent" {keyed}){TAIL}' for n in range(8)),
        ),
        ("Signature", ", ".join(f"s{n}=:AAAA:" for n in range(8))),
    )


def calls(fields: tuple[tuple[str, str], ...], policy: Policy) -> int:
    """Count the functions that judging these fields calls, those in C too."""
    message, counted = replace(REQUEST, fields=fields), 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        verify(message, answers(Reason.UNKNOWN_KEY), policy, NOW)
    finally:
        sys.setprofile(before)
    return counted


HOSTILE = [listed, labelled, unjudged, apart, shared]
BOUNDLESS = Policy(max_labels=10_000, max_covered=10_000)


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__doc__)
@pytest.mark.parametrize("policy", [Policy(), BOUNDLESS], ids=["default", "without the caps"])
def test_twice_as_much_of_anything_is_about_twice_the_work(
    make: Callable[[int], tuple[tuple[str, str], ...]], policy: Policy
) -> None:
    once, twice, four_times = (calls(make(count), policy) for count in (60, 120, 240))

    assert twice <= 2.2 * once
    assert four_times <= 2.2 * twice


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__doc__)
def test_however_much_is_sent_the_work_stays_that_of_some_thousand_pieces(
    make: Callable[[int], tuple[tuple[str, str], ...]],
) -> None:
    sizes = [calls(make(count), Policy()) for count in (300, 1_000, 3_000)]

    assert max(sizes) < 60_000


# Published vectors ----------------------------------------------------------------------------


def published_request(case: dict[str, str]) -> Message:
    agent = case.get("signature_agent")
    return Message(
        method="GET",
        scheme="https",
        authority="example.com",
        target="/path/to/resource",
        fields=(
            ("Signature-Input", case["signature_input"]),
            ("Signature", case["signature"]),
            *((("Signature-Agent", agent),) if agent else ()),
        ),
    )


VECTORS = ["web_bot_auth_architecture_v1.json", "web_bot_auth_architecture_v2.json"]
RSA_TOO = frozenset({"ed25519", "rsa-pss-sha512"})
ABSENT = Reason.SIGNATURE_AGENT_ABSENT  # conformant before -00
OTHER_NAME = Reason.SIGNATURE_AGENT_MEMBER_MISSING  # the label is sig2, its member agent2
NO_RSA = Reason.UNSUPPORTED_ALGORITHM


@pytest.mark.parametrize(
    ("name", "keying", "algorithms", "verdicts"),
    [
        pytest.param(
            VECTORS[0], Keying.STRICT, {"ed25519"}, [NO_RSA, NO_RSA, ABSENT, None], id="v1 strict"
        ),
        pytest.param(
            VECTORS[0], Keying.LENIENT, {"ed25519"}, [NO_RSA, NO_RSA, ABSENT, None], id="v1 lenient"
        ),
        pytest.param(
            VECTORS[0], Keying.STRICT, RSA_TOO, [ABSENT, None, ABSENT, None], id="v1 with RSA"
        ),
        pytest.param(
            VECTORS[1],
            Keying.STRICT,
            RSA_TOO,
            [ABSENT, OTHER_NAME, ABSENT, OTHER_NAME],
            id="v2 strict",
        ),
        pytest.param(
            VECTORS[1], Keying.LENIENT, {"ed25519"}, [NO_RSA, NO_RSA, ABSENT, None], id="v2 lenient"
        ),
        pytest.param(
            VECTORS[1], Keying.LENIENT, RSA_TOO, [ABSENT, None, ABSENT, None], id="v2 with RSA"
        ),
    ],
)
def test_the_web_bot_auth_vectors_get_their_verdicts(
    vectors: Path,
    name: str,
    keying: Keying,
    algorithms: set[str],
    verdicts: list[Reason | None],
) -> None:
    cases = json.loads((vectors / "webbotauth" / name).read_text())
    # Their keys are RFC 9421's, their window is a century.
    policy = Policy(
        refused_keyids=frozenset(),
        max_window=10**10,
        keying=keying,
        algorithms=frozenset(algorithms),
    )
    public = [
        {
            member: case["key"][member]
            for member in ("kty", "crv", "x", "n", "e")
            if member in case["key"]
        }
        for case in cases
    ]
    keys = shelf(*map(read_public, public), url="https://signature-agent.test")

    judged = [
        verify(published_request(case), keys, policy, case["created_ms"] / 1000).labels[0]
        for case in cases
    ]

    assert [one.reason for one in judged] == verdicts


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (Policy(keying=Keying.LENIENT, refused_keyids=frozenset()), Reason.WINDOW_TOO_LONG),
        (Policy(max_window=10**10, refused_keyids=frozenset()), "signature-agent-member-missing"),
        (Policy(max_window=10**10, keying=Keying.LENIENT), Reason.UNKNOWN_KEY),
    ],
    ids=["window", "strict keying", "test key"],
)
def test_the_default_policy_takes_none_of_the_vectors_liberties(
    vectors: Path, policy: Policy, reason: Reason
) -> None:
    case = json.loads((vectors / "webbotauth" / VECTORS[1]).read_text())[-1]

    (one,) = verify(published_request(case), nobody, policy, case["created_ms"] / 1000).labels

    assert one.reason == reason


def test_a_larger_key_needs_a_policy_that_names_it() -> None:
    keyid, keys = f';keyid="{LARGER.keyid}"', shelf(LARGER.public_key)
    crafted = Crafted(key=LARGER, keyid=keyid, alg="", keys=keys)
    larger = Policy(algorithms=frozenset({"ml-dsa-65"}))

    assert crafted.judged().labels[0].reason is Reason.UNSUPPORTED_ALGORITHM
    assert replace(crafted, policy=larger).judged().outcome is Outcome.VERIFIED
