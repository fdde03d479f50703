"""What the quick way reads is what the general way reads, and for all else it steps aside."""

from dataclasses import replace

import pytest
from general import generally
from hypothesis import example, given, settings
from hypothesis import strategies as st

from signing import usual
from signing.algorithms import ED25519, ML_DSA_44
from signing.errors import SigningError
from signing.judgement import Keying, Policy
from signing.keys import PrivateKey
from signing.message import Message
from signing.profile import Labels, Name, Profile
from signing.signer import Keyring, sign

FIRST = PrivateKey(ED25519, bytes(range(32)))
SECOND = PrivateKey(ML_DSA_44, bytes(range(32)))
HOME = "https://bot.example"
CREATED = 1_800_000_000
BOTH = Policy()
ONE = Policy(tags=frozenset({"web-bot-auth"}))
REQUEST = Message(
    method="GET",
    scheme="https",
    authority="shop.example",
    target="/a%2Fb?c=d",
    fields=(("Host", "shop.example"), ("Accept", "*/*"), ("X", "some, text")),
)


def signed(name: Name = Name.BRIDGE, labels: Labels = Labels.BOTH) -> Message:
    fields = sign(
        REQUEST,
        Keyring(FIRST, SECOND),
        Profile(name=name, home=HOME),
        CREATED,
        bytes(range(64)),
        labels,
    ).fields
    return replace(REQUEST, fields=(*REQUEST.fields, *fields))


def crafted(
    covered: str = '"@authority" "signature-agent";key="sig1"',
    params: str = f';created={CREATED};expires={CREATED + 60};keyid="k";tag="web-bot-auth"',
    agents: str = f'sig1="{HOME}"',
    value: str = "sig1=:AAAA:",
    *more: tuple[str, str],
) -> Message:
    fields = (
        ("Signature-Agent", agents),
        ("Signature-Input", f"sig1=({covered}){params}"),
        ("Signature", value),
    )
    return replace(REQUEST, fields=(*REQUEST.fields, *fields, *more))


# What is usual --------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [ONE, BOTH], ids=["sig1", "both"])
@pytest.mark.parametrize("labels", [Labels.FIRST, Labels.BOTH])
@pytest.mark.parametrize("name", [name for name in Name if name is not Name.AUTO])
def test_all_that_our_signer_makes_is_read_as_in_the_general_way(
    name: Name, labels: Labels, policy: Policy
) -> None:
    message = signed(name, labels)

    found = usual.read(message, policy)

    assert found is not None
    assert found == generally(message, policy)
    assert len(found.ours) == (
        2 if labels is Labels.BOTH and (policy is BOTH or name is Name.PUBLISHED) else 1
    )


TAGGED = f';created={CREATED};expires={CREATED + 60};keyid="k";tag="web-bot-auth"'
USUAL = {
    "parameters in another order": crafted(
        params=f';tag="web-bot-auth";keyid="k";expires={CREATED + 60};created={CREATED}'
    ),
    "unknown parameters": crafted(
        params=f';created={CREATED};x=0;expires={CREATED + 60};y="";keyid="k";tag="web-bot-auth"'
    ),
    "a field covered": crafted('"@authority" "accept" "signature-agent";key="sig1"'),
    "all that is derived": crafted(
        '"@authority" "@method" "@scheme" "@path" "@query" "@target-uri" "@request-target" '
        '"signature-agent";key="sig1"'
    ),
    "the older form": crafted('"@authority" "signature-agent"', agents=f'"{HOME}"'),
    "an agent with per cent signs": crafted(agents=f'sig1="{HOME}/%7Ekeys"'),
    "an agent spelled otherwise": crafted(agents=f' a , sig1="{HOME}"; type=jwks_uri'),
    "two lines of another field": crafted(
        '"@authority" "via" "signature-agent";key="sig1"',
        TAGGED,
        f'sig1="{HOME}"',
        "sig1=:AAAA:",
        ("Via", "a"),
        ("Accept", "text/html"),
    ),
    "an empty value": crafted(value="sig1=::"),
    "a value with one byte": crafted(value="sig1=:AA==:"),
    "a value with two bytes": crafted(value="sig1=:AAA=:"),
}


@pytest.mark.parametrize("message", USUAL.values(), ids=USUAL.keys())
def test_what_signers_may_send_is_read_as_in_the_general_way(message: Message) -> None:
    found = usual.read(message, ONE)

    assert found is not None
    assert found == generally(message, ONE)


# What is not ----------------------------------------------------------------------------------

UNUSUAL = {
    "blanks between the parameters": crafted(params=TAGGED.replace(";", "; ")),
    "blanks in the list": crafted('"@authority"  "signature-agent";key="sig1"'),
    "blanks around the list": crafted(' "@authority" "signature-agent";key="sig1" '),
    "a leading zero": crafted(params=TAGGED.replace("=1", "=01", 1)),
    "a parameter without a value": crafted(params=f"{TAGGED};x"),
    "an escape": crafted(params=f'{TAGGED};x="\\\\"'),
    "a moment that is a text": crafted(params=TAGGED.replace(f"={CREATED};", f'="{CREATED}";')),
    "no moment": crafted(params=TAGGED.replace(f";created={CREATED}", "")),
    "a keyid that is a number": crafted(params=TAGGED.replace('"k"', "1")),
    "an alg that is a number": crafted(params=f"{TAGGED};alg=1"),
    "a nonce that is a number": crafted(params=f"{TAGGED};nonce=1"),
    "a list that is none, not for us": crafted('"@authority', params=';tag="x"'),
    "a component that no message has": crafted('"@authority" "@x" "signature-agent";key="sig1"'),
    "a component twice": crafted('"@authority" "@authority" "signature-agent";key="sig1"'),
    "an agent of another label": crafted('"@authority" "signature-agent";key="a"'),
    "a field that is not sent": crafted('"@authority" "date" "signature-agent";key="sig1"'),
    "a token": crafted(params=f"{TAGGED};x=y"),
    "a bracket in a name's key": crafted('"@authority" "signature-agent";key="sig1" "x";key="("'),
    "a field's member covered": crafted(
        '"@authority" "accept";key="a" "signature-agent";key="sig1"',
    ),
    "a digest covered": crafted(
        '"@authority" "content-digest" "signature-agent";key="sig1"',
        TAGGED,
        f'sig1="{HOME}"',
        "sig1=:AAAA:",
        ("Content-Digest", "sha-256=:AAAA:"),
    ),
    "a field with blanks covered": crafted('"@authority" "x" "signature-agent";key="sig1"'),
    "a target with a blank": replace(
        crafted('"@authority" "@path" "signature-agent";key="sig1"'), target="/a b"
    ),
    "stray bits": crafted(value="sig1=:AAB=:"),
    "no padding": crafted(value="sig1=:AAA:"),
    "a parameter of the value": crafted(value="sig1=:AAAA:;x"),
    "a label without a value": crafted(value="sig1"),
    "a comma without a blank": replace(
        REQUEST,
        fields=(
            ("Signature-Agent", f'a="{HOME}", b="{HOME}"'),
            ("Signature-Input", f'a=("@authority"){TAGGED},b=("@authority"){TAGGED}'),
            ("Signature", "a=:AAAA:,b=:AAAA:"),
        ),
    ),
    "a field on two lines": crafted(
        '"@authority" "signature-agent";key="sig1"',
        TAGGED,
        f'sig1="{HOME}"',
        "sig1=:AAAA:",
        ("Signature-Agent", f'sig2="{HOME}"'),
    ),
    "a long agent": crafted(agents=f'sig1="{HOME}/{"a" * 300}"'),
    "a long list": crafted(params=f'{TAGGED};x="{"a" * 1024}"'),
    "many labels": replace(
        REQUEST,
        fields=(
            ("Signature-Agent", f'"{HOME}"'),
            ("Signature-Input", ", ".join(f'a{n}=();tag="x"' for n in range(9))),
            ("Signature", ", ".join(f"a{n}=:AAAA:" for n in range(9))),
        ),
    ),
    "the labels in another order": replace(
        REQUEST,
        fields=(
            ("Signature-Agent", f'"{HOME}"'),
            ("Signature-Input", 'a=();tag="x", b=();tag="x"'),
            ("Signature", "b=:AAAA:, a=:AAAA:"),
        ),
    ),
    "a response": Message(status=200, fields=crafted().fields, request=REQUEST),
}


@pytest.mark.parametrize("message", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_what_is_another_spelling_or_seldom_is_for_the_general_way(message: Message) -> None:
    assert usual.read(message, ONE) is None


@pytest.mark.parametrize(
    "policy",
    [replace(BOTH, max_labels=1), replace(BOTH, max_covered=4)],
    ids=["labels", "components"],
)
def test_what_the_policy_does_not_judge_is_for_the_general_way(policy: Policy) -> None:
    assert usual.read(signed(), policy) is None


# The law --------------------------------------------------------------------------------------

_SNIPPETS = st.sampled_from(
    [
        ", ", ",", " ", ";", "=", ":", '"', "(", ")", "\\", "%", "%s", "0", "1", "A", "=:", "==:",
        "sig1", "sig2", "sig1=", '"@path"', '"@query-param";name="c"', '"accept"', '"x"', ";req",
        ";sf", ";bs", ';key="sig1"', ";tr", '"@status"', '"content-digest"', ";created=1",
        ';tag="web-bot-auth"', ";tag=1", ";nonce=1", ';alg=""', '"signature-agent"', "?1", "\t",
        "\n", "\r\n ", "é", "\udcff", "K", "٣", "\x00", f'"{HOME}"', "http", "#", "-", "1.0",
    ]
)  # fmt: skip
_TEXTS = _SNIPPETS | st.characters() | st.just("")


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """A text in which up to three pieces are exchanged for others, taken out or put in."""
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(_TEXTS) + text[at + draw(st.integers(0, 3)) :]
    return text


@st.composite
def nearly_usual(draw: st.DrawFn) -> Message:
    base = draw(st.sampled_from(_MODELS))
    fields = list(base.fields)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(fields) - 1))
        fields[at] = (fields[at][0], draw(edited(fields[at][1])))
    if draw(st.booleans()):
        fields = draw(st.permutations(fields))
    if draw(st.integers(0, 9)) == 0:
        fields.append(draw(st.sampled_from(fields)))
    try:
        return replace(
            base,
            fields=tuple(fields),
            method=draw(st.just(base.method) | edited(base.method)),
            authority=draw(st.just(base.authority) | edited(base.authority)),
            target=draw(st.just(base.target) | edited(base.target)),
        )
    except SigningError:
        return base


_MODELS = [
    *(signed(name) for name in (Name.BRIDGE, Name.LEGACY, Name.PUBLISHED)),
    signed(labels=Labels.FIRST),
    *USUAL.values(),
    *UNUSUAL.values(),
]


@settings(max_examples=1_000)
@given(
    message=nearly_usual(),
    keying=st.sampled_from(Keying),
    tags=st.sets(st.sampled_from(["web-bot-auth", "web-bot-auth-pq", "", "1"])),
)
@example(message=crafted(params=";tag=1"), keying=Keying.STRICT, tags={"1", ""})
@example(message=crafted(params=';created=1;expires=2;keyid=""'), keying=Keying.STRICT, tags={""})
def test_whatever_is_read_equals_what_the_general_way_reads(
    message: Message, keying: Keying, tags: set[str]
) -> None:
    policy = Policy(keying=keying, tags=frozenset(tags))

    found = usual.read(message, policy)

    assert found is None or found == generally(message, policy)


@settings(max_examples=500)
@given(st.text("AQgwBEZaz09+/=-_ \n:é", max_size=12))
@example("AA==")
@example("AAA=")
@example("AB==")
@example("AAB=")
@example("=AAA")
@example("AA=A")
@example("A=AAAAA=")
def test_base64_is_usual_in_its_one_spelling_alone(text: str) -> None:
    message = crafted(value=f"sig1=:{text}:")

    found = usual.read(message, ONE)

    assert found == generally(message, ONE)
