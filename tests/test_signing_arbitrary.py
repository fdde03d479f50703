"""Whatever anybody sends or publishes, it raises what is declared and nothing else."""

from contextlib import suppress

from hypothesis import example, given, settings
from hypothesis import strategies as st

from signing import fields as sf
from signing.algorithms import ED25519, ML_DSA_44
from signing.base import read_params, signature_base
from signing.directory import key_set, read_key_set
from signing.errors import ComponentUnavailable, FieldUnreadable, KeySetUnreadable
from signing.keys import PrivateKey
from signing.message import Component, Message
from signing.verifier import Keying, Outcome, Policy, verify

FIRST = PrivateKey(ED25519, bytes(range(32)))
SECOND = PrivateKey(ML_DSA_44, bytes(range(32)))

# Surrogates stand for octets that are no UTF-8; control characters come through some servers.
_ANY = st.text(st.characters(codec=None, exclude_categories=())) | st.text(
    st.sampled_from('ab/?&=#%*:;,()"\\@[].- \t\r\n\x00é\udcff'), max_size=30
)
_NAMES = st.sampled_from(
    [
        "@method", "@target-uri", "@authority", "@scheme", "@request-target", "@path", "@query",
        "@query-param", "@status", "@signature-params", "@x", "a", "signature-agent", "signature",
        "cache-control", "accept", "age", "content-digest", "A", "", "a b",
    ]
)  # fmt: skip
_PARAMS = st.lists(
    st.tuples(
        st.sampled_from(["sf", "key", "bs", "req", "tr", "name", "x"]),
        st.booleans() | st.sampled_from(["a", "", "b%20c"]) | _ANY,
    ),
    max_size=3,
).map(tuple)
_FIELDS = st.lists(
    st.tuples(
        st.sampled_from(
            ["A", "a", "Signature-Agent", "Signature", "Signature-Input", "Cache-Control", "Accept",
             "Age", "Content-Digest"]
        ) | _ANY,
        st.sampled_from(["a=1, b", 'sig1="https://a.example"', "sig1=:AAAA:", ""]) | _ANY,
    ),
    max_size=6,
).map(tuple)  # fmt: skip


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """Requests, and responses to them, with anything at all in them."""
    request = None
    with suppress(ComponentUnavailable):
        request = Message(
            method=draw(st.sampled_from(["GET", "CONNECT", "OPTIONS"]) | _ANY),
            scheme=draw(st.sampled_from(["https", "http", "HTTP", "ftp"])),
            authority=draw(st.sampled_from(["a.example", "[::1]:443"]) | _ANY),
            target=draw(st.sampled_from(["/", "*", "?a=b", "http://b/c"]) | _ANY),
            fields=draw(_FIELDS),
        )
    if request is not None and draw(st.integers(0, 3)):
        return request
    return Message(status=draw(st.integers(0, 999)), fields=draw(_FIELDS), request=request)


@settings(max_examples=500)
@given(messages(), _NAMES, _PARAMS)
def test_a_component_has_one_line_of_ascii_or_is_unavailable(
    message: Message, name: str, params: tuple[tuple[str, str | bool], ...]
) -> None:
    try:
        value = message.component(Component(name, params))
    except ComponentUnavailable:
        return

    assert value.isascii()
    assert "\n" not in value
    assert "\r" not in value


@settings(max_examples=500)
@given(
    messages(),
    st.lists(
        st.sampled_from(
            ['"@method"', '"a"', ";key=", '"a"', ";sf", ";bs", ";req", "(", ")", " ", ";created=1",
             "?0", "1.5", '"@authority"', ";x=:AA==:", "tok", '%"x"', '"']
        )
    ).map("".join) | _ANY,
)  # fmt: skip
def test_whatever_is_stated_gives_a_base_or_what_is_declared(message: Message, text: str) -> None:
    try:
        params = read_params(sf.parse_dictionary(f"x=({text})")["x"])
        base = signature_base(message, params)
    except (FieldUnreadable, ComponentUnavailable):
        return

    assert base.count(b"\n") == len(params.covered)
    assert base.isascii()


@settings(max_examples=500)
@given(messages(), st.sampled_from(Keying), st.floats(allow_nan=False), st.binary(max_size=10))
def test_any_message_has_an_outcome(
    message: Message, keying: Keying, now: float, content: bytes
) -> None:
    found = verify(
        message, lambda *_: FIRST.public_key, Policy(keying=keying), now, content=content
    )

    assert found.outcome is not Outcome.VERIFIED


PUBLISHED = key_set([FIRST.public_key, SECOND.public_key])


@settings(max_examples=500)
@given(st.integers(0, len(PUBLISHED) - 1), st.binary(max_size=3), st.integers(0, 3))
@example(0, b"\xff", 0)
def test_a_damaged_key_set_gives_no_key_that_it_does_not_spell(
    at: int, put: bytes, cut: int
) -> None:
    damaged = PUBLISHED[:at] + put + PUBLISHED[at + cut :]
    try:
        found = read_key_set(damaged, most=10)
    except KeySetUnreadable:
        return

    assert len(found.keys) + len(found.skipped) <= 2
    for key in found.keys:
        published = key.jwk()
        assert str(published.get("x", published.get("pub"))).encode() in damaged
