"""The signature base that the standard wants, and those that it tempts to (RFC 9421, section 2).

Each signature is made here over text that is written down, not by what verifies it.
"""

from base64 import b64encode
from dataclasses import dataclass, replace

import pytest

from signing import fields as sf
from signing.algorithms import ED25519
from signing.base import read_params, signature_base
from signing.errors import ComponentUnavailable
from signing.keys import PrivateKey, PublicKey, expanded
from signing.message import Message
from signing.verifier import Keying, Policy, Reason, verify

R = Reason
FIRST = PrivateKey(ED25519, bytes(range(32)))
HOME = "https://bot.example"
CREATED = 1_800_000_000
NOW = CREATED + 3.0
REQUEST = Message(
    method="GET",
    scheme="https",
    authority="shop.example",
    target="/a%2Fb/c?x=1&y=2",
    fields=(("Host", "shop.example"), ("Accept", "*/*")),
)


def lookup(url: str, keyid: str) -> PublicKey | R:
    return FIRST.public_key if (url, keyid) == (HOME, FIRST.keyid) else R.UNKNOWN_KEY


PARAMS = f';created={CREATED};expires={CREATED + 60};keyid="{FIRST.keyid}";tag="web-bot-auth"'


@dataclass(frozen=True, kw_only=True)
class Trap:
    """A request, what is covered, and the lines for that: the right ones and tempting others."""

    right: str
    wrong: str
    covered: str = '"@authority"'
    request: Message = REQUEST

    def signed(self, lines: str, end: str = "") -> Message:
        covered = f'({self.covered} "signature-agent"){PARAMS}'
        base = f'{lines}\n"signature-agent": "{HOME}"\n"@signature-params": {covered}{end}'
        value = b64encode(expanded(ED25519, FIRST.secret)(base.encode())).decode()
        added = (
            ("Signature-Agent", f'"{HOME}"'),
            ("Signature-Input", f"sig1={covered}"),
            ("Signature", f"sig1=:{value}:"),
        )
        return replace(self.request, fields=(*self.request.fields, *added))


HOST = '"@authority": shop.example'
WITH_X = '"@authority" "x"'


def sent(*fields: tuple[str, str]) -> Message:
    return replace(REQUEST, fields=fields)


TRAPS = {
    "the host is in small letters": Trap(
        request=replace(REQUEST, authority="SHOP.example"),
        right=HOST,
        wrong='"@authority": SHOP.example',
    ),
    "the default port is left out": Trap(
        request=replace(REQUEST, authority="shop.example:443"),
        right=HOST,
        wrong='"@authority": shop.example:443',
    ),
    "another port stays": Trap(
        request=replace(REQUEST, authority="shop.example:8443"),
        right='"@authority": shop.example:8443',
        wrong=HOST,
    ),
    "the default port of http is none of https": Trap(
        request=replace(REQUEST, authority="shop.example:80"),
        right='"@authority": shop.example:80',
        wrong=HOST,
    ),
    "an IPv6 address keeps its brackets": Trap(
        request=replace(REQUEST, authority="[2001:DB8::1]:443"),
        right='"@authority": [2001:db8::1]',
        wrong='"@authority": 2001:db8::1',
    ),
    "an empty path is a slash": Trap(
        request=replace(REQUEST, target="?x"),
        covered='"@authority" "@path"',
        right=f'{HOST}\n"@path": /',
        wrong=f'{HOST}\n"@path": ',
    ),
    "a path keeps its escapes": Trap(
        covered='"@authority" "@path"',
        right=f'{HOST}\n"@path": /a%2Fb/c',
        wrong=f'{HOST}\n"@path": /a/b/c',
    ),
    "a query has its question mark": Trap(
        covered='"@authority" "@query"',
        right=f'{HOST}\n"@query": ?x=1&y=2',
        wrong=f'{HOST}\n"@query": x=1&y=2',
    ),
    "an absent query is a question mark": Trap(
        request=replace(REQUEST, target="/"),
        covered='"@authority" "@query"',
        right=f'{HOST}\n"@query": ?',
        wrong=f'{HOST}\n"@query": ',
    ),
    "a query keeps its pluses": Trap(
        request=replace(REQUEST, target="/?a=b+c%20d"),
        covered='"@authority" "@query"',
        right=f'{HOST}\n"@query": ?a=b+c%20d',
        wrong=f'{HOST}\n"@query": ?a=b%20c%20d',
    ),
    "a method keeps its case": Trap(
        request=replace(REQUEST, method="Get"),
        covered='"@authority" "@method"',
        right=f'{HOST}\n"@method": Get',
        wrong=f'{HOST}\n"@method": GET',
    ),
    "a target URI has no fragment": Trap(
        request=replace(REQUEST, target="/a?b#c"),
        covered='"@target-uri"',
        right='"@target-uri": https://shop.example/a?b',
        wrong='"@target-uri": https://shop.example/a?b#c',
    ),
    "lines of a field are joined with comma and blank": Trap(
        request=sent(("X", "a"), ("Y", "-"), ("x", "b")),
        covered=WITH_X,
        right=f'{HOST}\n"x": a, b',
        wrong=f'{HOST}\n"x": a,b',
    ),
    "lines of a field are trimmed before": Trap(
        request=sent(("X", " a "), ("X", "\tb\t")),
        covered=WITH_X,
        right=f'{HOST}\n"x": a, b',
        wrong=f'{HOST}\n"x":  a , \tb\t',
    ),
    "blanks inside of a field stay": Trap(
        request=sent(("X", "a  b")),
        covered=WITH_X,
        right=f'{HOST}\n"x": a  b',
        wrong=f'{HOST}\n"x": a b',
    ),
    "an empty field keeps the blank after the colon": Trap(
        request=sent(("X", "")),
        covered=WITH_X,
        right=f'{HOST}\n"x": ',
        wrong=f'{HOST}\n"x":',
    ),
    "a member is written anew": Trap(
        request=sent(("X", "a=1.50 , b=(  1   2 );c")),
        covered='"@authority" "x";key="b"',
        right=f'{HOST}\n"x";key="b": (1 2);c',
        wrong=f'{HOST}\n"x";key="b": (  1   2 );c',
    ),
    "a bare member is ?1": Trap(
        request=sent(("X", "a, b")),
        covered='"@authority" "x";key="a"',
        right=f'{HOST}\n"x";key="a": ?1',
        wrong=f'{HOST}\n"x";key="a": ',
    ),
    "a member has its parameters": Trap(
        request=sent(("X", 'a="y";b;c=1')),
        covered='"@authority" "x";key="a"',
        right=f'{HOST}\n"x";key="a": "y";b;c=1',
        wrong=f'{HOST}\n"x";key="a": "y"',
    ),
    "components stay in their order": Trap(
        covered='"@query" "@authority"',
        right=f'"@query": ?x=1&y=2\n{HOST}',
        wrong=f'{HOST}\n"@query": ?x=1&y=2',
    ),
}


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS.keys())
def test_who_walks_into_a_trap_of_the_standard_is_not_verified(trap: Trap) -> None:
    found = [
        verify(message, lookup, Policy(), NOW).labels[0].reason
        for message in (
            trap.signed(trap.right),
            trap.signed(trap.wrong),
            trap.signed(trap.right, end="\n"),
        )
    ]

    assert found == [None, R.BAD_SIGNATURE, R.BAD_SIGNATURE]


UNHAD = {
    "a missing member": ('"x";key="b"', R.MISSING_COMPONENT),
    "a member of no dictionary": ('"accept";key="b"', R.MISSING_COMPONENT),
    "a missing field": ('"date"', R.MISSING_COMPONENT),
    "an unknown parameter": ('"x";y', R.MISSING_COMPONENT),
    "a trailer": ('"x";tr', R.MISSING_COMPONENT),
    "the request that a request answers": ('"@method";req', R.MISSING_COMPONENT),
    "an unknown derived component": ('"@client-ip"', R.MISSING_COMPONENT),
    "a name in capitals": ('"X"', R.MISSING_COMPONENT),
    "a name with a blank": ('"x y"', R.MISSING_COMPONENT),
    "no name at all": ('""', R.MISSING_COMPONENT),
    "what is not ASCII": ('"y"', R.MISSING_COMPONENT),
    "a token": ("x", R.SIGNATURE_INPUT_UNREADABLE),
    "the same twice": ('"x" "x"', R.DUPLICATE_COMPONENT),
    "the same member twice": ('"x";key="a" "x";key="a"', R.DUPLICATE_COMPONENT),
}


@pytest.mark.parametrize(("covered", "reason"), UNHAD.values(), ids=UNHAD.keys())
def test_a_component_that_cannot_be_had_is_never_skipped(covered: str, reason: R) -> None:
    request = sent(("X", "a"), ("Y", "é"), ("Accept", "*/*"))
    trap = Trap(request=request, covered=f'"@authority" {covered}', right=HOST, wrong="")

    found = verify(trap.signed(HOST), lookup, Policy(), NOW)

    assert [judged.reason for judged in found.labels] == [reason]


# Whose agent it is ----------------------------------------------------------------------------

LENIENT = Policy(keying=Keying.LENIENT)
STRICT = Policy(keying=Keying.STRICT)
COVERS_1 = '"@authority" "signature-agent";key="sig1"'
KEYINGS = {
    "its own member": (f'sig1="{HOME}"', COVERS_1, None, None),
    "its own of two": (f'a="https://a.example", sig1="{HOME}"', COVERS_1, None, None),
    "the only one, by another name": (
        f'agent2="{HOME}"',
        '"@authority" "signature-agent";key="agent2"',
        R.SIGNATURE_AGENT_MEMBER_MISSING,
        None,
    ),
    "the only one covered of two, by another name": (
        f'a="https://a.example", b="{HOME}"',
        '"@authority" "signature-agent";key="b"',
        R.SIGNATURE_AGENT_AMBIGUOUS_MEMBER,
        None,
    ),
    "two covered, by other names": (
        f'a="https://a.example", b="{HOME}"',
        '"@authority" "signature-agent";key="a" "signature-agent";key="b"',
        R.SIGNATURE_AGENT_AMBIGUOUS_MEMBER,
        R.SIGNATURE_AGENT_AMBIGUOUS_MEMBER,
    ),
    "its own sent, another's covered": (
        f'sig1="https://a.example", b="{HOME}"',
        '"@authority" "signature-agent";key="b"',
        R.MISSING_COMPONENT,
        None,
    ),
    "its own in a dictionary covered as a whole": (
        f'sig1="{HOME}"',
        '"@authority" "signature-agent"',
        R.MISSING_COMPONENT,
        None,
    ),
    "several in a dictionary covered as a whole": (
        f'a="{HOME}", b="{HOME}"',
        '"@authority" "signature-agent"',
        R.SIGNATURE_AGENT_AMBIGUOUS_MEMBER,
        R.SIGNATURE_AGENT_AMBIGUOUS_MEMBER,
    ),
    "a member that was not sent": (
        f'a="{HOME}"',
        COVERS_1,
        R.SIGNATURE_AGENT_MEMBER_MISSING,
        R.SIGNATURE_AGENT_MEMBER_MISSING,
    ),
    "a member covered of the older form": (
        f'"{HOME}"',
        COVERS_1,
        R.SIGNATURE_AGENT_MEMBER_MISSING,
        R.SIGNATURE_AGENT_MEMBER_MISSING,
    ),
    "the older form": (f'"{HOME}"', '"@authority" "signature-agent"', None, None),
    "no agent covered": (
        f'sig1="{HOME}"',
        '"@authority"',
        R.MISSING_COMPONENT,
        R.MISSING_COMPONENT,
    ),
}


@pytest.mark.parametrize(
    ("sent_agent", "covered", "strictly", "leniently"), KEYINGS.values(), ids=KEYINGS.keys()
)
def test_which_member_speaks_for_a_label(
    sent_agent: str, covered: str, strictly: R | None, leniently: R | None
) -> None:
    unsigned = sent(("Signature-Agent", sent_agent))
    stated = sf.parse_dictionary(f"sig1=({covered}){PARAMS}")["sig1"]
    try:
        base = signature_base(unsigned, read_params(stated))
    except ComponentUnavailable:
        base = b""
    value = b64encode(expanded(ED25519, FIRST.secret)(base)).decode()
    added = (("Signature-Input", f"sig1=({covered}){PARAMS}"), ("Signature", f"sig1=:{value}:"))
    message = replace(unsigned, fields=(*unsigned.fields, *added))

    found = [verify(message, lookup, policy, NOW).labels[0].reason for policy in (STRICT, LENIENT)]

    assert found == [strictly, leniently]
