"""A label writes what strict serialization of the same values would."""

from hypothesis import given
from hypothesis import strategies as st

from signing.base import SignatureParams
from signing.label import Label
from signing.message import Component

_PRINTABLE = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E))
_BASE64 = st.text(st.sampled_from("AZaz09+/=-_"), max_size=88)
_SECONDS = st.integers(min_value=10**9, max_value=10**10 - 1)


@given(
    alg=_PRINTABLE, tag=_PRINTABLE, nonced=st.booleans(), keyid=_BASE64, nonce=_BASE64, at=_SECONDS
)
def test_prepared_text_equals_strict_serialization(
    alg: str, tag: str, nonced: bool, keyid: str, nonce: str, at: int
) -> None:
    covered = (Component("@authority"), Component("signature-agent", (("key", "sig2"),)))
    label = Label(name="sig2", covered=covered, agent='"x"', alg=alg, tag=tag, nonced=nonced)
    params = (
        *(("created", at), ("expires", at + 1), ("keyid", keyid)),
        *((("alg", alg),) if alg else ()),
        *((("nonce", nonce),) if nonced else ()),
        *((("tag", tag),) if tag else ()),
    )

    written = label.write(at, at + 1, keyid, nonce)

    assert written == SignatureParams(covered, params).serialize()


@given(alg=_PRINTABLE, tag=_PRINTABLE, nonce=_PRINTABLE, at=_SECONDS)
def test_a_nonce_that_was_asked_for_is_escaped_and_stands_in_the_same_place(
    alg: str, tag: str, nonce: str, at: int
) -> None:
    covered = (Component("@authority"), Component("signature-agent"))
    label = Label(
        name="x", covered=covered, agent='"x"', alg=alg, tag=tag, nonced=False, nonce=nonce
    )
    params = (
        *(("created", at), ("expires", at + 1), ("keyid", "k")),
        *((("alg", alg),) if alg else ()),
        *((("nonce", nonce),) if nonce else ()),
        *((("tag", tag),) if tag else ()),
    )

    assert label.write(at, at + 1, "k", "unused") == SignatureParams(covered, params).serialize()


def test_the_agent_line_is_the_last_before_the_parameters() -> None:
    covered = (Component("@authority"), Component("signature-agent", (("key", "sig1"),)))

    label = Label(name="sig1", covered=covered, agent='"https://x"', alg="", tag="", nonced=False)

    assert label.agent_line == '"signature-agent";key="sig1": "https://x"\n'
