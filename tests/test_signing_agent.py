"""Which Signature-Agent value speaks for a label, in both forms of the field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import agent
from signing.judgement import Keying, Reason
from signing.message import Component, Message

HOME = "https://bot.example"
WHOLE = Component("signature-agent")
AUTHORITY = Component("@authority")


def keyed(*names: str) -> tuple[Component, ...]:
    return tuple(Component("signature-agent", (("key", name),)) for name in names)


def resolve(
    fields: tuple[str, ...], covered: tuple[Component, ...], keying: Keying = Keying.STRICT
) -> str | Reason:
    message = Message(
        method="GET",
        scheme="https",
        authority="shop.example",
        target="/",
        fields=tuple(("Signature-Agent", value) for value in fields),
    )
    return agent.resolve(message, "sig1", (AUTHORITY, *covered), keying)


FOUND = [
    pytest.param((f'"{HOME}"',), (WHOLE,), HOME, id="the string form"),
    pytest.param((f'"{HOME}/keys.json?a=b";x=y',), (WHOLE,), f"{HOME}/keys.json?a=b", id="a URL"),
    pytest.param((f'sig1="{HOME}"',), keyed("sig1"), HOME, id="the only member"),
    pytest.param((f'a="https://a", sig1="{HOME}"',), keyed("sig1"), HOME, id="one of two"),
    pytest.param(('a="https://a"', f'sig1="{HOME}"'), keyed("sig1"), HOME, id="two lines"),
    pytest.param((f'sig1="{HOME}";type=jwks_uri',), keyed("sig1"), HOME, id="with a type"),
    pytest.param((f'sig1="{HOME}", a="x"',), keyed("a", "sig1"), HOME, id="another covered too"),
    pytest.param((f'sig1="{HOME}"',), (*keyed("sig1"), WHOLE), HOME, id="the whole covered too"),
    pytest.param(('sig1="HTTPS://bot.example"',), keyed("sig1"), "HTTPS://bot.example", id="as is"),
    pytest.param(
        ('sig1="https://my_bot.a-b.example:443"',),
        keyed("sig1"),
        "https://my_bot.a-b.example:443",
        id="port",
    ),
    pytest.param(('sig1="https://[::1]:8443"',), keyed("sig1"), "https://[::1]:8443", id="address"),
]


@pytest.mark.parametrize(("fields", "covered", "url"), FOUND)
@pytest.mark.parametrize("keying", Keying)
def test_the_members_value_is_given_as_it_was_sent(
    fields: tuple[str, ...], covered: tuple[Component, ...], url: str, keying: Keying
) -> None:
    assert resolve(fields, covered, keying) == url


LENIENTLY = [
    pytest.param(f'agent2="{HOME}"', keyed("agent2"), HOME, id="the only one covered"),
    pytest.param(f'a="https://a", b="{HOME}"', keyed("b"), HOME, id="the only one covered of two"),
    pytest.param(f'sig1="{HOME}", a="https://a"', (WHOLE,), HOME, id="its own in a whole field"),
    pytest.param(f'a="{HOME}"', (WHOLE,), HOME, id="the only one in a whole field"),
    pytest.param(
        'a="https://a", b="https://b"',
        keyed("a", "b"),
        Reason.SIGNATURE_AGENT_AMBIGUOUS_MEMBER,
        id="two covered and none its own",
    ),
    pytest.param(
        'a="https://a", b="https://b"',
        (WHOLE,),
        Reason.SIGNATURE_AGENT_AMBIGUOUS_MEMBER,
        id="two in a whole field and none its own",
    ),
    pytest.param(f'a="{HOME}"', (), Reason.MISSING_COMPONENT, id="nothing covered"),
]


@pytest.mark.parametrize(("value", "covered", "expected"), LENIENTLY)
def test_lenient_keying_takes_the_only_candidate(
    value: str, covered: tuple[Component, ...], expected: str | Reason
) -> None:
    assert resolve((value,), covered, Keying.LENIENT) == expected


REFUSED = [
    pytest.param((), (WHOLE,), Reason.SIGNATURE_AGENT_ABSENT, id="no field"),
    pytest.param(("",), (WHOLE,), Reason.SIGNATURE_AGENT_ABSENT, id="an empty field"),
    pytest.param((f'"{HOME}"',), (), Reason.MISSING_COMPONENT, id="string not covered"),
    pytest.param(
        (f'"{HOME}"',),
        keyed("sig1"),
        Reason.SIGNATURE_AGENT_MEMBER_MISSING,
        id="a member of a string",
    ),
    pytest.param((f'sig1="{HOME}"',), (), Reason.MISSING_COMPONENT, id="member not covered"),
    pytest.param((f'sig1="{HOME}"',), (WHOLE,), Reason.MISSING_COMPONENT, id="covered as a whole"),
    pytest.param(
        (f'sig1="{HOME}", sig2="https://b"',),
        keyed("sig2"),
        Reason.MISSING_COMPONENT,
        id="only the neighbour's covered",
    ),
    pytest.param(
        (f'sig2="{HOME}"',), keyed("sig2"), Reason.SIGNATURE_AGENT_MEMBER_MISSING, id="not its own"
    ),
    pytest.param(
        (f'sig2="{HOME}"',), keyed("sig1"), Reason.SIGNATURE_AGENT_MEMBER_MISSING, id="not there"
    ),
    pytest.param(
        ('a="https://a", b="https://b"',),
        keyed("a", "b"),
        Reason.SIGNATURE_AGENT_AMBIGUOUS_MEMBER,
        id="two and none its own",
    ),
    pytest.param(
        (f'sig1="https://a", sig1="{HOME}"',),
        keyed("sig1"),
        Reason.SIGNATURE_AGENT_AMBIGUOUS_MEMBER,
        id="its own twice",
    ),
    pytest.param(
        (f'sig1="{HOME}',), keyed("sig1"), Reason.SIGNATURE_AGENT_UNPARSABLE, id="unterminated"
    ),
    pytest.param(
        (f'"{HOME}", "https://b"',), (WHOLE,), Reason.SIGNATURE_AGENT_UNPARSABLE, id="two strings"
    ),
    pytest.param((HOME,), (WHOLE,), Reason.SIGNATURE_AGENT_UNPARSABLE, id="no quotation marks"),
    pytest.param(("sig1=https",), keyed("sig1"), Reason.SIGNATURE_AGENT_UNPARSABLE, id="a token"),
    pytest.param(("sig1",), keyed("sig1"), Reason.SIGNATURE_AGENT_UNPARSABLE, id="a bare member"),
    pytest.param(
        (f'sig1=("{HOME}")',), keyed("sig1"), Reason.SIGNATURE_AGENT_UNPARSABLE, id="an inner list"
    ),
    pytest.param(
        ('sig1="https://bücher.example"',),
        keyed("sig1"),
        Reason.SIGNATURE_AGENT_UNPARSABLE,
        id="non-ASCII",
    ),
    pytest.param(
        ('sig1="http://bot.example"',), keyed("sig1"), Reason.SIGNATURE_AGENT_NOT_HTTPS, id="http"
    ),
    pytest.param(
        ('"data:application/json,{}"',), (WHOLE,), Reason.SIGNATURE_AGENT_NOT_HTTPS, id="data"
    ),
]


@pytest.mark.parametrize(("fields", "covered", "reason"), REFUSED)
def test_an_unusable_field_has_its_reason(
    fields: tuple[str, ...], covered: tuple[Component, ...], reason: Reason
) -> None:
    assert resolve(fields, covered) is reason


URLS = [
    "bot.example",
    "//bot.example",
    "https:",
    "https:///keys",
    "https://user@bot.example",
    "https://bot.example#keys",
    "https://bot.example/a b",
    "https://bot.example:port",
    "https://bot.example:99999",
    "https://[::1",
    "",
    "https://bot.example.",
    "https://bot..example",
    "https://bot.example:",
    "https://bot.example:0443",
    "https://bot.example:443:443",
    "https://bot.example,https://good.example",
    "https://bot.example;x",
    "https://bot.example'--",
    "https://bot.example&x",
    "https://bot%2eexample",
    "https://bot.example/a|b",
    "https://bot.example/<keys>",
    "https://bot.example\\\\@good.example",
]


@pytest.mark.parametrize("url", URLS)
def test_a_value_that_is_no_url_to_fetch_is_unparsable(url: str) -> None:
    assert resolve((f'sig1="{url}"',), keyed("sig1")) is Reason.SIGNATURE_AGENT_UNPARSABLE


@given(
    st.lists(st.text() | st.sampled_from(['sig1="https://a"', "sig1", '"https://a"', ","])),
    st.sampled_from([(), (WHOLE,), keyed("sig1"), keyed("a", "sig1")]),
    st.sampled_from(Keying),
)
def test_no_field_is_an_exception_and_none_but_https_is_found(
    fields: list[str], covered: tuple[Component, ...], keying: Keying
) -> None:
    found = resolve(tuple(fields), covered, keying)

    assert isinstance(found, Reason) or found.lower().startswith("https://")
