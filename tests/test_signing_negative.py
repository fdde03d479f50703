"""What becomes of a request with two signatures when one thing about it is changed.

Every case begins with the very head that the crawler sends. Each says what is made of the message,
or of each label in the order of Signature-Input: None is a signature that verifies.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import msgspec
import pytest

from signing.algorithms import ED25519, ML_DSA_44
from signing.directory import key_set, read_key_set
from signing.errors import KeySetUnreadable
from signing.jwk import encode
from signing.keys import PrivateKey, PublicKey
from signing.message import Message
from signing.profile import Name, Profile
from signing.signer import Keyring, sign
from signing.verifier import KeyLookup, Outcome, Policy, Reason, ReplayKey, Seen, verify

FIRST = PrivateKey(ED25519, bytes(range(32)))
SECOND = PrivateKey(ML_DSA_44, bytes(range(32)))
STRANGER = PrivateKey(ED25519, bytes(range(1, 33)))
HOME = "https://bot.example"
PROFILE = Profile(name=Name.BRIDGE, home=HOME)
PQ_KEYS = PROFILE.second_keys
CREATED = 1_800_000_000
NOW = CREATED + 3.0
REQUEST = Message(
    method="GET",
    scheme="https",
    authority="shop.example",
    target="/a%2Fb/c?x=1&y=2",
    fields=(("Host", "shop.example"), ("Accept", "*/*"), ("Accept-Encoding", "gzip")),
)
SIGNED = sign(REQUEST, Keyring(FIRST, SECOND), PROFILE, CREATED, bytes(range(64)))
AGENT, INPUT, VALUE = (value for _, value in SIGNED.fields)
INPUTS = dict(zip(("sig1", "sig2"), INPUT.split(", "), strict=True))
VALUES = dict(zip(("sig1", "sig2"), VALUE.split(", "), strict=True))
AGENTS = dict(zip(("sig1", "sig2"), AGENT.split(", "), strict=True))

Labels: TypeAlias = tuple[Reason | None, ...]
Change: TypeAlias = Callable[[Message], Message]


def directory(sets: Mapping[str, bytes]) -> KeyLookup:
    """Look keys up in what is published, by URL and keyid, as a discovery that has it all would."""

    def lookup(url: str, keyid: str) -> PublicKey | Reason:
        if url not in sets:
            return Reason.DIRECTORY_UNAVAILABLE
        try:
            return read_key_set(sets[url], most=10).find(keyid) or Reason.UNKNOWN_KEY
        except KeySetUnreadable:
            return Reason.DIRECTORY_MALFORMED

    return lookup


def published(first: bytes | None = None, second: bytes | None = None) -> KeyLookup:
    """Our two key sets, or others at their URLs."""
    return directory(
        {
            HOME: key_set([FIRST.public_key]) if first is None else first,
            PQ_KEYS: key_set([SECOND.public_key]) if second is None else second,
        }
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    """A change and what comes of it: a reason for the message, or what each label gets."""

    change: Change
    expected: Labels | Reason
    policy: Policy = field(default_factory=Policy)
    keys: KeyLookup = field(default_factory=published)
    now: float = NOW
    seen: Seen | None = None


def head(
    agent: str | None = AGENT, stated: str | None = INPUT, value: str | None = VALUE
) -> Change:
    """Send other values in the three fields, or none."""

    def change(message: Message) -> Message:
        sent = (("Signature-Agent", agent), ("Signature-Input", stated), ("Signature", value))
        fields = tuple((name, text) for name, text in sent if text is not None)
        return replace(message, fields=(*REQUEST.fields, *fields))

    return change


def swap(old: str, new: str) -> Change:
    """Exchange a piece that stands in exactly one of the three fields, once."""

    def change(message: Message) -> Message:
        assert sum(value.count(old) for _, value in message.fields) == 1
        return replace(
            message, fields=tuple((name, text.replace(old, new)) for name, text in message.fields)
        )

    return change


def both(one: str, two: str) -> str:
    return f"{one}, {two}"


def second(old: str, new: str) -> Change:
    """Have sig2 state something else than what was signed."""
    assert INPUTS["sig2"].count(old) == 1
    return head(stated=both(INPUTS["sig1"], INPUTS["sig2"].replace(old, new)))


def flipped(value: str) -> str:
    """A signature with one of its first bits changed."""
    label, _, text = value.partition("=:")
    return f"{label}=:{'B' if text[0] == 'A' else 'A'}{text[1:]}"


def other(**changed: str) -> Change:
    """Another request that the signatures are put on."""
    return lambda message: replace(message, **changed)  # type: ignore[arg-type]


def with_fields(*fields: tuple[str, str]) -> Change:
    return lambda message: replace(message, fields=(*message.fields, *fields))


def sized(value: str, size: int) -> str:
    """A signature of that many bytes under the same label."""
    return f"{value.partition('=:')[0]}=:{b64encode(bytes(size)).decode()}:"


R = Reason
STILL: dict[str, Case] = {
    "nothing": Case(change=head(), expected=(None, None)),
    "sig2 taken out of all three fields": Case(
        change=head(AGENTS["sig1"], INPUTS["sig1"], VALUES["sig1"]), expected=(None,)
    ),
    "sig2 taken out, its agent left": Case(
        change=head(AGENT, INPUTS["sig1"], VALUES["sig1"]), expected=(None,)
    ),
    "sig1 taken out of all three fields": Case(
        change=head(AGENTS["sig2"], INPUTS["sig2"], VALUES["sig2"]), expected=(None,)
    ),
    "sig2 first in every field": Case(
        change=head(
            both(AGENTS["sig2"], AGENTS["sig1"]),
            both(INPUTS["sig2"], INPUTS["sig1"]),
            both(VALUES["sig2"], VALUES["sig1"]),
        ),
        expected=(None, None),
    ),
    "sig2 first in Signature alone": Case(
        change=head(value=both(VALUES["sig2"], VALUES["sig1"])), expected=(None, None)
    ),
    "each label on a line of its own": Case(
        change=lambda message: replace(
            head(AGENT, INPUTS["sig1"], VALUES["sig1"])(message),
            fields=(
                *head(AGENT, INPUTS["sig1"], VALUES["sig1"])(message).fields,
                ("signature-input", INPUTS["sig2"]),
                ("SIGNATURE", VALUES["sig2"]),
            ),
        ),
        expected=(None, None),
    ),
    "blanks around the commas": Case(
        change=head(AGENT.replace(", ", " ,\t"), INPUT.replace(", ", " ,  "), f" {VALUE}\t"),
        expected=(None, None),
    ),
    "a third label that is not for us": Case(
        change=head(stated=f'{INPUT}, x=("date");tag="y"', value=f"{VALUE}, x=:AA==:"),
        expected=(None, None),
    ),
    "another agent beside ours": Case(
        change=head(agent=f'{AGENT}, proxy="https://proxy.example"'), expected=(None, None)
    ),
    "the host in capitals": Case(change=other(authority="Shop.Example"), expected=(None, None)),
    "the default port said": Case(
        change=other(authority="shop.example:443"), expected=(None, None)
    ),
    "the target in absolute form": Case(
        change=other(target="https://shop.example/a%2Fb/c?x=1&y=2"), expected=(None, None)
    ),
    "Signature-Input cut off before sig2's tag": Case(
        change=head(stated=INPUT.removesuffix(';tag="web-bot-auth-pq"')), expected=(None,)
    ),
    "another field beside": Case(change=with_fields(("Via", "1.1 proxy")), expected=(None, None)),
    "a bit of sig1 flipped": Case(
        change=head(value=both(flipped(VALUES["sig1"]), VALUES["sig2"])),
        expected=(R.BAD_SIGNATURE, None),
    ),
    "a bit of sig2 flipped": Case(
        change=head(value=both(VALUES["sig1"], flipped(VALUES["sig2"]))),
        expected=(None, R.BAD_SIGNATURE),
    ),
    "sig2 first and flipped": Case(
        change=head(
            stated=both(INPUTS["sig2"], INPUTS["sig1"]),
            value=both(flipped(VALUES["sig2"]), VALUES["sig1"]),
        ),
        expected=(R.BAD_SIGNATURE, None),
    ),
    "sig2 first, sig1 flipped": Case(
        change=head(
            stated=both(INPUTS["sig2"], INPUTS["sig1"]),
            value=both(VALUES["sig2"], flipped(VALUES["sig1"])),
        ),
        expected=(None, R.BAD_SIGNATURE),
    ),
    "sig1 a byte short": Case(
        change=head(value=both(sized("sig1", 63), VALUES["sig2"])),
        expected=(R.BAD_SIGNATURE, None),
    ),
    "sig1 a byte long": Case(
        change=head(value=both(sized("sig1", 65), VALUES["sig2"])),
        expected=(R.BAD_SIGNATURE, None),
    ),
    "sig2 a byte short": Case(
        change=head(value=both(VALUES["sig1"], sized("sig2", 2419))),
        expected=(None, R.BAD_SIGNATURE),
    ),
    "sig2 as long as an ML-DSA-65 signature": Case(
        change=head(value=both(VALUES["sig1"], sized("sig2", 3309))),
        expected=(None, R.BAD_SIGNATURE),
    ),
    "sig2 empty": Case(
        change=head(value=both(VALUES["sig1"], "sig2=::")), expected=(None, R.BAD_SIGNATURE)
    ),
    "sig1's value under both labels": Case(
        change=head(value=both(VALUES["sig1"], VALUES["sig1"].replace("sig1", "sig2"))),
        expected=(None, R.BAD_SIGNATURE),
    ),
    "sig2's padding taken away": Case(
        change=head(value=VALUE.removesuffix("=:") + ":"),
        expected=(None, R.SIGNATURE_VALUE_UNREADABLE),
    ),
    "sig2's value a token": Case(
        change=head(value=both(VALUES["sig1"], "sig2=abc")),
        expected=(None, R.SIGNATURE_VALUE_UNREADABLE),
    ),
    "sig2's value a list": Case(
        change=head(value=both(VALUES["sig1"], "sig2=(:AA==:)")),
        expected=(None, R.SIGNATURE_VALUE_UNREADABLE),
    ),
    "sig2 states an item, no list": Case(
        change=head(stated=both(INPUTS["sig1"], 'sig2="x";tag="web-bot-auth-pq"')),
        expected=(None, R.SIGNATURE_INPUT_UNREADABLE),
    ),
    "sig2 covers a component twice": Case(
        change=second('"@query"', '"@query" "@query"'),
        expected=(None, R.DUPLICATE_COMPONENT),
    ),
    "sig2 covers a field that is not there": Case(
        change=second('"@query"', '"@query" "date"'),
        expected=(None, R.MISSING_COMPONENT),
    ),
    "sig2 covers what no request has": Case(
        change=second('"@query"', '"@query" "@status"'),
        expected=(None, R.MISSING_COMPONENT),
    ),
    "sig2 covers no host": Case(
        change=second('"@authority" ', ""),
        expected=(None, R.TARGET_NOT_COVERED),
    ),
    "sig2 covers the agent of sig1 alone": Case(
        change=second('key="sig2"', 'key="sig1"'),
        expected=(None, R.MISSING_COMPONENT),
    ),
    "sig2 covers fewer components than it did": Case(
        change=second(' "@query"', ""),
        expected=(None, R.BAD_SIGNATURE),
    ),
    "sig2 covers the same in another order": Case(
        change=second('"@path" "@query"', '"@query" "@path"'),
        expected=(None, R.BAD_SIGNATURE),
    ),
    "sig2's parameters in another order": Case(
        change=second(
            f";created={CREATED};expires={CREATED + 60}",
            f";expires={CREATED + 60};created={CREATED}",
        ),
        expected=(None, R.BAD_SIGNATURE),
    ),
    "sig2 without expires": Case(
        change=second(f";expires={CREATED + 60}", ""),
        expected=(None, R.MISSING_FIELDS),
    ),
    "sig2 without keyid": Case(
        change=second(f';keyid="{SECOND.keyid}"', ""),
        expected=(None, R.MISSING_FIELDS),
    ),
    "sig2 created by a clock that says milliseconds": Case(
        change=second(f"created={CREATED}", f"created={CREATED}000"),
        expected=(None, R.CLOCK_AHEAD),
    ),
    "sig2's expires a string": Case(
        change=second(f"expires={CREATED + 60}", f'expires="{CREATED + 60}"'),
        expected=(None, R.SIGNATURE_INPUT_UNREADABLE),
    ),
    "sig2's life made longer": Case(
        change=second(f"expires={CREATED + 60}", f"expires={CREATED + 61}"),
        expected=(None, R.BAD_SIGNATURE),
    ),
    "sig2 says ed25519": Case(
        change=swap('alg="ml-dsa-44"', 'alg="ed25519"'), expected=(None, R.ALGORITHM_MISMATCH)
    ),
    "sig2 says the name that JOSE has for it": Case(
        change=swap('alg="ml-dsa-44"', 'alg="ML-DSA-44"'),
        expected=(None, R.UNSUPPORTED_ALGORITHM),
    ),
    "sig2 says no algorithm any more": Case(
        change=swap(';alg="ml-dsa-44"', ""), expected=(None, R.BAD_SIGNATURE)
    ),
    "sig1 says ml-dsa-44": Case(
        change=swap('alg="ed25519"', 'alg="ml-dsa-44"'), expected=(R.ALGORITHM_MISMATCH, None)
    ),
    "sig1 says HMAC": Case(
        change=swap('alg="ed25519"', 'alg="hmac-sha256"'),
        expected=(R.UNSUPPORTED_ALGORITHM, None),
    ),
    "sig1 says another nonce": Case(
        change=swap(';nonce="AAEC', ';nonce="BAEC'), expected=(R.BAD_SIGNATURE, None)
    ),
    "sig1 with sig2's tag": Case(
        change=swap('tag="web-bot-auth",', 'tag="web-bot-auth-pq",'),
        expected=(R.BAD_SIGNATURE, None),
    ),
    "sig1's keyid padded": Case(
        change=swap(f'keyid="{FIRST.keyid}"', f'keyid="{FIRST.keyid}="'),
        expected=(R.UNKNOWN_KEY, None),
    ),
    "sig1 by a key that is nowhere": Case(
        change=swap(FIRST.keyid, STRANGER.keyid), expected=(R.UNKNOWN_KEY, None)
    ),
    "sig1 under the name of sig2's key": Case(
        change=swap(FIRST.keyid, SECOND.keyid), expected=(R.UNKNOWN_KEY, None)
    ),
    "sig1's agent another, with a set of its own": Case(
        change=swap(f'sig1="{HOME}"', 'sig1="https://evil.example"'),
        keys=directory(
            {
                "https://evil.example": key_set([STRANGER.public_key]),
                HOME: key_set([FIRST.public_key]),
                PQ_KEYS: key_set([SECOND.public_key]),
            }
        ),
        expected=(R.UNKNOWN_KEY, None),
    ),
    "sig1's agent another, that publishes our key as its own": Case(
        change=swap(f'sig1="{HOME}"', 'sig1="https://evil.example"'),
        keys=directory(
            {
                "https://evil.example": key_set([FIRST.public_key]),
                PQ_KEYS: key_set([SECOND.public_key]),
            }
        ),
        expected=(R.BAD_SIGNATURE, None),
    ),
    "sig1's agent over http": Case(
        change=swap(f'sig1="{HOME}"', 'sig1="http://bot.example"'),
        expected=(R.SIGNATURE_AGENT_NOT_HTTPS, None),
    ),
    "sig1's agent with a user": Case(
        change=swap(f'sig1="{HOME}"', 'sig1="https://bot.example@evil.example"'),
        expected=(R.SIGNATURE_AGENT_UNPARSABLE, None),
    ),
    "sig1's agent a token": Case(
        change=swap(f'sig1="{HOME}"', "sig1=bot"), expected=(R.SIGNATURE_AGENT_UNPARSABLE, None)
    ),
    "sig1's agent with a parameter added": Case(
        change=swap(f'sig1="{HOME}"', f'sig1="{HOME}";type=jwks_uri'),
        expected=(R.BAD_SIGNATURE, None),
    ),
    "sig1's agent with a slash added": Case(
        change=swap(f'sig1="{HOME}"', f'sig1="{HOME}/"'), expected=(R.DIRECTORY_UNAVAILABLE, None)
    ),
    "sig1's agent taken out": Case(
        change=head(agent=AGENTS["sig2"]), expected=(R.SIGNATURE_AGENT_MEMBER_MISSING, None)
    ),
}

INVALID: dict[str, Case] = {
    "a comma before the first label": Case(
        change=head(stated=f", {INPUTS['sig1']}", value=f", {VALUES['sig1']}"),
        expected=Reason.SIGNATURE_INPUT_UNREADABLE,
    ),
    "sig2 in Signature-Input alone": Case(
        change=head(value=VALUES["sig1"]), expected=R.LABEL_MISMATCH
    ),
    "sig2 in Signature alone": Case(change=head(stated=INPUTS["sig1"]), expected=R.LABEL_MISMATCH),
    "sig1 in Signature-Input alone": Case(
        change=head(value=VALUES["sig2"]), expected=R.LABEL_MISMATCH
    ),
    "a third label in Signature alone": Case(
        change=head(value=f"{VALUE}, x=:AA==:"), expected=R.LABEL_MISMATCH
    ),
    "sig2 called otherwise in Signature": Case(
        change=swap("sig2=:", "sig3=:"), expected=R.LABEL_MISMATCH
    ),
    "no Signature": Case(change=head(value=None), expected=R.LABEL_MISMATCH),
    "no Signature-Input": Case(change=head(stated=None), expected=R.LABEL_MISMATCH),
    "sig1 twice in Signature-Input": Case(
        change=head(stated=both(INPUTS["sig1"], INPUT)), expected=R.DUPLICATE_LABEL
    ),
    "sig2 twice in Signature": Case(
        change=head(value=both(VALUE, VALUES["sig2"])), expected=R.DUPLICATE_LABEL
    ),
    "sig1 a second time on a line of its own": Case(
        change=with_fields(("Signature", VALUES["sig1"])), expected=R.DUPLICATE_LABEL
    ),
    "sig1 twice in both fields": Case(
        change=head(
            stated=both(INPUTS["sig1"], INPUTS["sig1"]), value=both(VALUES["sig1"], VALUES["sig1"])
        ),
        expected=R.DUPLICATE_LABEL,
    ),
    "Signature-Input twice, as a proxy may": Case(
        change=with_fields(("Signature-Input", INPUT)), expected=R.DUPLICATE_LABEL
    ),
    "Signature cut off at 1 KiB": Case(
        change=head(value=VALUE[:1024]), expected=R.SIGNATURE_VALUE_UNREADABLE
    ),
    "Signature cut off after the comma": Case(
        change=head(value=f"{VALUES['sig1']},"), expected=R.SIGNATURE_VALUE_UNREADABLE
    ),
    "Signature-Input cut off in the middle": Case(
        change=head(stated=INPUT[:-10]), expected=R.SIGNATURE_INPUT_UNREADABLE
    ),
    "sig2 in base64url": Case(
        change=head(value=both(VALUES["sig1"], VALUES["sig2"][:-8] + "-_-_=:")),
        expected=R.SIGNATURE_VALUE_UNREADABLE,
    ),
    "sig2 without its colons": Case(
        change=head(value=both(VALUES["sig1"], VALUES["sig2"].replace(":", ""))),
        expected=R.SIGNATURE_VALUE_UNREADABLE,
    ),
    "sig2 folded in the middle": Case(
        change=head(value=both(VALUES["sig1"], f"{VALUES['sig2'][:80]}\r\n {VALUES['sig2'][80:]}")),
        expected=R.SIGNATURE_VALUE_UNREADABLE,
    ),
    "sig2's padding in the middle": Case(
        change=head(value=both(VALUES["sig1"], "sig2=:AA==AAAA:")),
        expected=R.SIGNATURE_VALUE_UNREADABLE,
    ),
    "no comma between the labels": Case(
        change=head(stated=INPUT.replace(", ", " ")), expected=R.SIGNATURE_INPUT_UNREADABLE
    ),
    "labels in capitals": Case(
        change=head(stated=INPUT.replace("sig2=", "Sig2=")), expected=R.SIGNATURE_INPUT_UNREADABLE
    ),
    "a typographic quotation mark": Case(
        change=second('"@path"', "“@path”"), expected=R.SIGNATURE_INPUT_UNREADABLE
    ),
    "sig2's created twice": Case(
        change=second(f";created={CREATED}", f";created={CREATED};created={CREATED}"),
        expected=R.SIGNATURE_INPUT_UNREADABLE,
    ),
    "sig2's created too long for an integer": Case(
        change=second(f";created={CREATED}", ";created=1234567890123456"),
        expected=R.SIGNATURE_INPUT_UNREADABLE,
    ),
    "more labels than the policy judges": Case(
        change=head(), policy=Policy(max_labels=1), expected=R.SIGNATURE_INPUT_UNREADABLE
    ),
    "the values of the labels exchanged": Case(
        change=head(
            value=both(
                VALUES["sig2"].replace("sig2=", "sig1="), VALUES["sig1"].replace("sig1=", "sig2=")
            )
        ),
        expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE),
    ),
    "both flipped": Case(
        change=head(value=both(flipped(VALUES["sig1"]), flipped(VALUES["sig2"]))),
        expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE),
    ),
    "sig1 flipped, and nobody knows the key of sig2": Case(
        change=head(value=both(flipped(VALUES["sig1"]), VALUES["sig2"])),
        keys=published(second=key_set([])),
        expected=(R.BAD_SIGNATURE, R.UNKNOWN_KEY),
    ),
    "sig2 flipped, and nobody knows the key of sig1": Case(
        change=head(value=both(VALUES["sig1"], flipped(VALUES["sig2"]))),
        keys=published(first=key_set([])),
        expected=(R.UNKNOWN_KEY, R.BAD_SIGNATURE),
    ),
    "the agents exchanged": Case(
        change=head(agent=f'sig1="{PQ_KEYS}", sig2="{HOME}"'),
        keys=directory(
            dict.fromkeys([HOME, PQ_KEYS], key_set([FIRST.public_key, SECOND.public_key]))
        ),
        expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE),
    ),
    "an agent twice": Case(
        change=head(agent=both(AGENT, AGENTS["sig1"])),
        expected=(R.SIGNATURE_AGENT_AMBIGUOUS_MEMBER, R.SIGNATURE_AGENT_AMBIGUOUS_MEMBER),
    ),
    "agents under other names": Case(
        change=head(agent=AGENT.replace("sig1", "a").replace("sig2", "b")),
        expected=(R.SIGNATURE_AGENT_MEMBER_MISSING, R.SIGNATURE_AGENT_MEMBER_MISSING),
    ),
    "the older form of the agent, which the labels do not cover": Case(
        change=head(agent=f'"{HOME}"'),
        expected=(R.SIGNATURE_AGENT_MEMBER_MISSING, R.SIGNATURE_AGENT_MEMBER_MISSING),
    ),
    "an agent that is no field of any kind": Case(
        change=head(agent=f"<{HOME}>"),
        expected=(R.SIGNATURE_AGENT_UNPARSABLE, R.SIGNATURE_AGENT_UNPARSABLE),
    ),
    "another host": Case(
        change=other(authority="other.example"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "a host below": Case(
        change=other(authority="www.shop.example"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "another port": Case(
        change=other(authority="shop.example:8443"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "the default port of the other scheme": Case(
        change=other(authority="shop.example:80"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "another method": Case(
        change=other(method="HEAD"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "the method in small letters": Case(
        change=other(method="get"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "another path": Case(
        change=other(target="/a%2Fb/d?x=1&y=2"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "the path decoded": Case(
        change=other(target="/a/b/c?x=1&y=2"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "the path's escapes in small letters": Case(
        change=other(target="/a%2fb/c?x=1&y=2"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "the path's slashes doubled": Case(
        change=other(target="//a%2Fb/c?x=1&y=2"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "no query": Case(change=other(target="/a%2Fb/c"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)),
    "the query in another order": Case(
        change=other(target="/a%2Fb/c?y=2&x=1"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "the query's end escaped": Case(
        change=other(target="/a%2Fb/c?x=1&y=%32"), expected=(R.BAD_SIGNATURE, R.BAD_SIGNATURE)
    ),
    "a line break in the target": Case(
        change=other(target='/a%2Fb/c?x=1&y=2\n"@query": ?'),
        expected=(R.MISSING_COMPONENT, R.MISSING_COMPONENT),
    ),
    "a target that is not ASCII": Case(
        change=other(target="/ä/c?x=1&y=2"), expected=(R.MISSING_COMPONENT, R.MISSING_COMPONENT)
    ),
    "a policy that wants more covered": Case(
        change=head(),
        policy=Policy(required=frozenset({"@authority", "@scheme"})),
        expected=(R.TARGET_NOT_COVERED, R.TARGET_NOT_COVERED),
    ),
    "a policy that rebuilds less": Case(
        change=head(),
        policy=Policy(max_covered=4),
        expected=(R.SIGNATURE_INPUT_UNREADABLE, R.SIGNATURE_INPUT_UNREADABLE),
    ),
    # Windows, skew, replay.
    "seen a second before the skew allows": Case(
        change=head(), now=CREATED - 5.5, expected=(R.CLOCK_AHEAD, R.CLOCK_AHEAD)
    ),
    "seen a second early where no skew is allowed": Case(
        change=head(),
        now=CREATED - 1.0,
        policy=Policy(skew=0),
        expected=(R.CLOCK_AHEAD, R.CLOCK_AHEAD),
    ),
    "seen in the second in which they expire": Case(
        change=head(), now=CREATED + 60.0, expected=(R.EXPIRED, R.EXPIRED)
    ),
    "seen the day after": Case(change=head(), now=CREATED + 86_400.0, expected=(R.EXPIRED,) * 2),
    "a window longer than the policy's": Case(
        change=head(),
        policy=Policy(max_window=59),
        expected=(R.WINDOW_TOO_LONG, R.WINDOW_TOO_LONG),
    ),
    "both seen before": Case(
        change=head(), seen=lambda *_: True, expected=(R.REPLAYED, R.REPLAYED)
    ),
    "sig1 seen before, sig2 taken out since": Case(
        change=head(AGENTS["sig1"], INPUTS["sig1"], VALUES["sig1"]),
        seen=lambda *_: True,
        expected=(R.REPLAYED,),
    ),
}

UNVERIFIED: dict[str, Case] = {
    "all three fields taken out": Case(change=head(None, None, None), expected=R.NO_SIGNATURE),
    "the agent left alone": Case(change=head(AGENT, None, None), expected=R.NO_SIGNATURE),
    "empty fields": Case(change=head(AGENT, "", " "), expected=R.NO_SIGNATURE),
    "tags of other applications": Case(
        change=head(), policy=Policy(tags=frozenset({"other"})), expected=R.NO_SIGNATURE
    ),
    "the agent taken out": Case(
        change=head(agent=None),
        expected=(R.SIGNATURE_AGENT_ABSENT, R.SIGNATURE_AGENT_ABSENT),
    ),
    "the agent emptied": Case(
        change=head(agent=""), expected=(R.SIGNATURE_AGENT_ABSENT, R.SIGNATURE_AGENT_ABSENT)
    ),
    "algorithms that nobody has": Case(
        change=lambda message: swap('alg="ml-dsa-44"', 'alg="x"')(
            swap('alg="ed25519"', 'alg="y"')(message)
        ),
        expected=(R.UNSUPPORTED_ALGORITHM, R.UNSUPPORTED_ALGORITHM),
    ),
    "algorithms that the policy does not take": Case(
        change=head(),
        policy=Policy(algorithms=frozenset({"ecdsa-p256-sha256"})),
        expected=(R.UNSUPPORTED_ALGORITHM, R.UNSUPPORTED_ALGORITHM),
    ),
    "keys that the policy refuses": Case(
        change=head(),
        policy=Policy(refused_keyids=frozenset({FIRST.keyid, SECOND.keyid})),
        expected=(R.UNKNOWN_KEY, R.UNKNOWN_KEY),
    ),
    "directories that do not answer": Case(
        change=head(),
        keys=directory({}),
        expected=(R.DIRECTORY_UNAVAILABLE, R.DIRECTORY_UNAVAILABLE),
    ),
    "keys that stand in each other's set": Case(
        change=head(),
        keys=published(key_set([SECOND.public_key]), key_set([FIRST.public_key])),
        expected=(R.UNKNOWN_KEY, R.UNKNOWN_KEY),
    ),
}


def check(case: Case) -> Outcome:
    message = case.change(head()(REQUEST))

    found = verify(message, case.keys, case.policy, case.now, case.seen)

    expected = case.expected
    if isinstance(expected, Reason):
        assert (found.reason, found.labels) == (expected, ())
    else:
        assert tuple(judged.reason for judged in found.labels) == expected
    return found.outcome


@pytest.mark.parametrize("case", STILL.values(), ids=STILL.keys())
def test_one_good_signature_is_enough(case: Case) -> None:
    assert check(case) is Outcome.VERIFIED


@pytest.mark.parametrize("case", INVALID.values(), ids=INVALID.keys())
def test_what_is_wrong_is_invalid(case: Case) -> None:
    assert check(case) is Outcome.INVALID


@pytest.mark.parametrize("case", UNVERIFIED.values(), ids=UNVERIFIED.keys())
def test_what_nobody_can_decide_is_unverified(case: Case) -> None:
    assert check(case) is Outcome.UNVERIFIED


# Replay ---------------------------------------------------------------------------------------


def memory() -> Seen:
    known: set[ReplayKey] = set()

    def seen(key: ReplayKey, until: int) -> bool:
        before = len(known)
        known.add(key)
        return len(known) == before

    return seen


def test_each_label_is_remembered_for_itself() -> None:
    """What was seen with sig1 alone makes no replay of sig2."""
    seen, alone = memory(), head(AGENTS["sig1"], INPUTS["sig1"], VALUES["sig1"])(REQUEST)

    found = [
        verify(message, published(), Policy(), NOW, seen)
        for message in (alone, head()(REQUEST), head()(REQUEST))
    ]

    assert [tuple(judged.reason for judged in one.labels) for one in found] == [
        (None,),
        (R.REPLAYED, None),
        (R.REPLAYED, R.REPLAYED),
    ]
    assert [one.outcome for one in found] == [
        Outcome.VERIFIED,
        Outcome.VERIFIED,
        Outcome.INVALID,
    ]


def test_a_bad_signature_makes_no_replay_of_the_good_one() -> None:
    seen = memory()
    forged = head(value=both(flipped(VALUES["sig1"]), flipped(VALUES["sig2"])))(REQUEST)

    verify(forged, published(), Policy(), NOW, seen)
    found = verify(head()(REQUEST), published(), Policy(), NOW, seen)

    assert [judged.reason for judged in found.labels] == [None, None]


# What key sets say ----------------------------------------------------------------------------


def jwks(*keys: Mapping[str, object]) -> bytes:
    return msgspec.json.encode({"keys": keys})


ONE, TWO = FIRST.public_key.jwk(), SECOND.public_key.jwk()


def without(jwk: Mapping[str, object], member: str) -> dict[str, object]:
    return {name: value for name, value in jwk.items() if name != member}


SETS: dict[str, tuple[bytes, bytes, Labels]] = {
    "both keys in one set": (jwks(ONE, TWO), jwks(ONE, TWO), (None, None)),
    "a key of tomorrow": (jwks({**ONE, "nbf": int(NOW) + 1}), jwks(TWO), (R.UNKNOWN_KEY, None)),
    "a key as of now": (jwks({**ONE, "nbf": int(NOW)}), jwks(TWO), (None, None)),
    "a key of yesterday": (jwks(ONE), jwks({**TWO, "exp": int(NOW)}), (None, R.UNKNOWN_KEY)),
    "a key until the next second": (jwks(ONE), jwks({**TWO, "exp": int(NOW) + 1}), (None, None)),
    "nbf in milliseconds": (
        jwks({**ONE, "nbf": int(NOW) * 1000}),
        jwks(TWO),
        (R.UNKNOWN_KEY, None),
    ),
    "nbf a text": (jwks({**ONE, "nbf": "today"}), jwks(TWO), (R.UNKNOWN_KEY, None)),
    "AKP without alg": (jwks(ONE), jwks(without(TWO, "alg")), (None, R.UNKNOWN_KEY)),
    "AKP with the alg of a larger key": (
        jwks(ONE),
        jwks({**TWO, "alg": "ML-DSA-65"}),
        (None, R.UNKNOWN_KEY),
    ),
    "AKP a byte short": (
        jwks(ONE),
        jwks({**TWO, "pub": encode(SECOND.public[:-1])}),
        (None, R.UNKNOWN_KEY),
    ),
    "AKP by the name of its HTTP algorithm": (
        jwks(ONE),
        jwks({**TWO, "alg": "ml-dsa-44"}),
        (None, R.UNKNOWN_KEY),
    ),
    "OKP with its secret beside": (
        jwks({**ONE, "d": encode(FIRST.secret)}),
        jwks(TWO),
        (R.UNKNOWN_KEY, None),
    ),
    "AKP with its seed beside": (
        jwks(ONE),
        jwks({**TWO, "priv": encode(SECOND.secret)}),
        (None, R.UNKNOWN_KEY),
    ),
    "OKP in padded base64": (
        jwks({**ONE, "x": f"{encode(FIRST.public)}="}),
        jwks(TWO),
        (R.UNKNOWN_KEY, None),
    ),
    "OKP of another curve": (jwks({**ONE, "crv": "X25519"}), jwks(TWO), (R.UNKNOWN_KEY, None)),
    "a key for encryption": (jwks({**ONE, "use": "enc"}), jwks(TWO), (R.UNKNOWN_KEY, None)),
    "another key under our kid": (
        jwks({**STRANGER.public_key.jwk(), "kid": FIRST.keyid}),
        jwks(TWO),
        (R.UNKNOWN_KEY, None),
    ),
    "our key under another kid": (jwks({**ONE, "kid": "mine"}), jwks(TWO), (None, None)),
    "an unusable key before ours": (
        jwks({"kty": "oct", "k": "AA"}, without(TWO, "alg"), ONE),
        jwks(TWO),
        (None, None),
    ),
    "no keys": (jwks(), jwks(TWO), (R.UNKNOWN_KEY, None)),
    "HTML": (b"<!doctype html>", jwks(TWO), (R.DIRECTORY_MALFORMED, None)),
    "nothing": (b"", jwks(TWO), (R.DIRECTORY_MALFORMED, None)),
    "a list": (b"[]", jwks(TWO), (R.DIRECTORY_MALFORMED, None)),
    "keys that are no list": (b'{"keys":{}}', jwks(TWO), (R.DIRECTORY_MALFORMED, None)),
    "brackets without end": (b'{"keys":' + b"[" * 9999, jwks(TWO), (R.DIRECTORY_MALFORMED, None)),
    "no UTF-8": (b'{"keys":["\xff"]}', jwks(TWO), (R.DIRECTORY_MALFORMED, None)),
    "more keys than are read": (jwks(*[ONE] * 11), jwks(TWO), (R.DIRECTORY_MALFORMED, None)),
}


@pytest.mark.parametrize(("first", "second_set", "expected"), SETS.values(), ids=SETS.keys())
def test_what_a_key_set_gives(first: bytes, second_set: bytes, expected: Labels) -> None:
    found = verify(head()(REQUEST), published(first, second_set), Policy(), NOW)

    assert tuple(judged.reason for judged in found.labels) == expected
