"""Any message can be signed by any key, over any components, and checked."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import fields, signature
from signing.algorithms import ED25519, ML_DSA_44, RSA_PSS_SHA512, TABLE, Algorithm
from signing.base import SignatureParams
from signing.errors import (
    AlgorithmUnsupported,
    ComponentUnavailable,
    DuplicateMember,
    FieldUnreadable,
    FieldUnwritable,
    LabelMismatch,
)
from signing.judgement import Reason
from signing.keys import PrivateKey
from signing.message import Component, Message
from signing.signature import Signature

KEY = PrivateKey(ED25519, bytes(range(32)))
REQUEST = Message(
    method="POST",
    scheme="https",
    authority="shop.example",
    target="/a?b=1&c=2",
    fields=(("Content-Type", "text/plain"), ("Example-Dict", "a=1, b=(x   y)")),
)
RESPONSE = Message(status=201, fields=(("Location", "/a/1"),), request=REQUEST)
REQ = ("req", True)
EVERY_KIND = (
    *(Component(name) for name in ("@method", "@target-uri", "@authority", "@scheme", "@path")),
    *(Component(name) for name in ("@request-target", "@query", "content-type")),
    Component("@query-param", (("name", "c"),)),
    Component("content-type", (("bs", True),)),
    Component("content-type", (("sf", True),)),
    Component("example-dict", (("key", "b"),)),
)
OF_THE_REQUEST = (
    Component("@status"),
    Component("location"),
    *(Component(item.name, (*item.params, REQ)) for item in EVERY_KIND),
)


def signed(message: Message, *signatures: Signature) -> Message:
    return replace(message, fields=(*message.fields, *signature.written(signatures)))


@pytest.mark.parametrize(
    "algorithm", [one for one in TABLE if one.signs], ids=lambda algorithm: algorithm.name
)
@pytest.mark.parametrize(
    ("message", "covered"),
    [
        pytest.param(REQUEST, EVERY_KIND, id="request"),
        pytest.param(RESPONSE, OF_THE_REQUEST, id="response"),
        pytest.param(REQUEST, (), id="nothing"),
    ],
)
def test_what_any_key_signs_over_any_components_is_read_and_verifies(
    algorithm: Algorithm, message: Message, covered: tuple[Component, ...]
) -> None:
    key = PrivateKey(algorithm, bytes(range(1, 33)))
    params = SignatureParams(covered, (("created", 1), ("alg", algorithm.name), ("own", True)))

    made = signature.sign(message, key, params, "my-label")

    assert signature.read(signed(message, made)) == (made,)
    assert made.fault(message, key.public_key) is None
    assert made.fault(message, PrivateKey(algorithm, bytes(range(2, 34))).public_key) is (
        Reason.BAD_SIGNATURE
    )


def test_several_signatures_stand_in_the_two_fields_in_their_order() -> None:
    first = signature.sign(REQUEST, KEY, SignatureParams((Component("@path"),)), "z")
    second = signature.sign(REQUEST, KEY, SignatureParams((Component("@query"),)), "a")

    message = signed(REQUEST, first, second)

    assert message.field("signature-input") == 'z=("@path"), a=("@query")'
    assert signature.read(message) == (first, second)


def test_a_later_signature_may_cover_an_earlier_one() -> None:
    first = signature.sign(REQUEST, KEY, SignatureParams((Component("@path"),)), "sig1")
    message = signed(REQUEST, first)
    over = SignatureParams((Component("signature", (("key", "sig1"),)),))

    second = signature.sign(message, KEY, over, "sig2")

    both = signed(message, second)
    assert signature.read(both) == (first, second)
    assert second.fault(both, KEY.public_key) is None
    assert second.fault(signed(REQUEST, replace(first, value=bytes(64))), KEY.public_key) is (
        Reason.BAD_SIGNATURE
    )


@pytest.mark.parametrize("label", ["", "Sig", "a b", "é", 'a"'])
def test_a_label_is_a_structured_field_key(label: str) -> None:
    with pytest.raises(FieldUnwritable):
        signature.sign(REQUEST, KEY, SignatureParams(()), label)


def test_a_label_that_the_message_has_already_is_refused() -> None:
    message = signed(REQUEST, signature.sign(REQUEST, KEY, SignatureParams(())))

    with pytest.raises(FieldUnwritable, match="'sig1' already; take another label"):
        signature.sign(message, KEY, SignatureParams(()))


def test_a_label_that_stands_in_signature_alone_is_taken_too() -> None:
    message = replace(REQUEST, fields=(*REQUEST.fields, ("Signature", "sig1=:AA==:")))

    with pytest.raises(FieldUnwritable, match="'sig1' already; take another label"):
        signature.sign(message, KEY, SignatureParams(()))


def test_a_label_is_not_written_twice_and_nothing_is_not_written() -> None:
    made = signature.sign(REQUEST, KEY, SignatureParams(()))

    with pytest.raises(FieldUnwritable, match="'sig1' stands twice"):
        signature.written([made, made])
    with pytest.raises(FieldUnwritable):
        signature.written([])


def test_what_the_message_lacks_cannot_be_signed() -> None:
    with pytest.raises(ComponentUnavailable, match="@status"):
        signature.sign(REQUEST, KEY, SignatureParams((Component("@status"),)))


@pytest.mark.parametrize("alg", [ML_DSA_44.name, RSA_PSS_SHA512.name, "none", ""])
def test_an_alg_that_is_not_the_keys_is_neither_signed_nor_verified(alg: str) -> None:
    params = SignatureParams((), (("alg", alg),))

    with pytest.raises(AlgorithmUnsupported, match="the key is ed25519"):
        signature.sign(REQUEST, KEY, params)
    assert Signature("a", params, bytes(64)).fault(REQUEST, KEY.public_key) is (
        Reason.ALGORITHM_MISMATCH
    )


def test_an_alg_that_is_no_text_is_unreadable() -> None:
    params = SignatureParams((), (("alg", 1),))

    with pytest.raises(FieldUnreadable):
        signature.sign(REQUEST, KEY, params)
    assert Signature("a", params, bytes(64)).fault(REQUEST, KEY.public_key) is (
        Reason.SIGNATURE_INPUT_UNREADABLE
    )


def test_what_is_covered_and_gone_is_a_fault() -> None:
    made = signature.sign(REQUEST, KEY, SignatureParams((Component("content-type"),)))

    assert made.fault(replace(REQUEST, fields=()), KEY.public_key) is Reason.MISSING_COMPONENT


def test_a_message_without_the_fields_has_no_signatures() -> None:
    assert signature.read(REQUEST) == ()


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        pytest.param({"Signature": "a=:AA==:"}, LabelMismatch, id="no input"),
        pytest.param({"Signature-Input": "a=()"}, LabelMismatch, id="no value"),
        pytest.param(
            {"Signature-Input": "a=(), a=()", "Signature": "a=:AA==:"}, DuplicateMember, id="twice"
        ),
        pytest.param(
            {"Signature-Input": "a=1", "Signature": "a=:AA==:"}, FieldUnreadable, id="no list"
        ),
        pytest.param(
            {"Signature-Input": "a=()", "Signature": "a=:AA:"}, FieldUnreadable, id="no padding"
        ),
        pytest.param(
            {"Signature-Input": 'a=("A")', "Signature": "a=:AA==:"}, ComponentUnavailable, id="name"
        ),
    ],
)
def test_fields_that_are_none_are_unreadable(lines: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        signature.read(replace(REQUEST, fields=tuple(lines.items())))


@given(
    label=st.from_regex(r"[a-z*][a-z0-9_.*-]{0,9}", fullmatch=True),
    covered=st.lists(st.sampled_from(EVERY_KIND), unique=True),
    nonce=st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)),
)
def test_what_is_signed_and_written_is_read_as_the_same(
    label: str, covered: list[Component], nonce: str
) -> None:
    params = SignatureParams(tuple(covered), (("nonce", nonce),))

    made = signature.sign(REQUEST, KEY, params, label)

    assert signature.read(signed(REQUEST, made)) == (made,)
    assert made.fault(REQUEST, KEY.public_key) is None
    assert fields.parse_dictionary(dict(signature.written([made]))["Signature"]) == {
        label: fields.Item(made.value)
    }
