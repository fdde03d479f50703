"""The signature base is what both sides must build to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import base, fields
from signing.base import SignatureParams
from signing.errors import ComponentUnavailable, FieldUnreadable, FieldUnwritable
from signing.fields import Token
from signing.message import Component, Message

REQUEST = Message(
    method="POST",
    scheme="https",
    authority="Example.com:443",
    target="/foo?Pet=dog",
    fields=(("Date", "today"), ("X-Empty", ""), ("Signature-Agent", 'sig1="https://b.example"')),
)


def covering(*names: str, **params: int | str) -> SignatureParams:
    return SignatureParams(tuple(map(Component, names)), tuple(params.items()))


def test_the_base_has_a_line_for_each_component_and_the_parameters_last() -> None:
    params = SignatureParams(
        (Component("date"), Component("@method"), Component("signature-agent", (("key", "sig1"),))),
        (("created", 1), ("keyid", "k")),
    )

    assert base.signature_base(REQUEST, params) == (
        b'"date": today\n'
        b'"@method": POST\n'
        b'"signature-agent";key="sig1": "https://b.example"\n'
        b'"@signature-params": ("date" "@method" "signature-agent";key="sig1");created=1;keyid="k"'
    )


def test_there_is_no_newline_after_the_parameters() -> None:
    assert not base.signature_base(REQUEST, covering("date")).endswith(b"\n")


def test_an_empty_field_keeps_the_space_after_the_colon() -> None:
    assert base.signature_base(REQUEST, covering("x-empty")).startswith(b'"x-empty": \n')


def test_nothing_covered_leaves_the_parameters_alone() -> None:
    assert base.signature_base(REQUEST, covering(created=1)) == b'"@signature-params": ();created=1'


def test_components_and_parameters_stand_in_the_given_order_not_sorted() -> None:
    params = covering("date", "@authority", tag="t", created=2, alg="a")

    assert params.serialize() == '("date" "@authority");tag="t";created=2;alg="a"'
    assert base.signature_base(REQUEST, params).startswith(b'"date": today\n"@authority": ')


def test_parameters_are_serialized_with_their_own_types() -> None:
    params = SignatureParams((), (("alg", Token("x")), ("n", b"\1"), ("flag", True), ("s", "x")))

    assert params.serialize() == '();alg=x;n=:AQ==:;flag;s="x"'


@pytest.mark.parametrize(
    "covered",
    [
        pytest.param((Component("date"), Component("@path"), Component("date")), id="plain"),
        pytest.param(
            (
                Component("a", (("req", True), ("key", "x"))),
                Component("a", (("key", "x"), ("req", True))),
            ),
            id="parameters in another order",
        ),
    ],
)
def test_a_component_that_is_covered_twice_is_an_error(covered: tuple[Component, ...]) -> None:
    with pytest.raises(ComponentUnavailable, match="covered twice") as caught:
        SignatureParams(covered)

    assert caught.value.component == covered[-1].identifier


def test_the_same_name_with_other_parameters_is_another_component() -> None:
    covered = (Component("a", (("key", "x"),)), Component("a", (("key", "y"),)), Component("a"))

    assert SignatureParams(covered).covered == covered


def test_a_component_that_the_message_lacks_is_an_error() -> None:
    with pytest.raises(ComponentUnavailable, match='component "content-digest"'):
        base.signature_base(REQUEST, covering("date", "content-digest"))


def test_a_parameter_that_cannot_be_written_is_an_error() -> None:
    with pytest.raises(FieldUnwritable):
        covering(tag="é")


def test_a_member_of_signature_input_reads_back_as_it_was_written() -> None:
    text = '("@authority";req "signature-agent";key="sig1");created=1;keyid="k";alg=tok;x'
    member = fields.parse_dictionary(f"sig1={text}")["sig1"]

    read = base.read_params(member)

    assert read.serialize() == text
    assert read.covered == (
        Component("@authority", (("req", True),)),
        Component("signature-agent", (("key", "sig1"),)),
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('sig1="date"', id="an item"),
        pytest.param("sig1", id="a bare member"),
        pytest.param("sig1=(date)", id="a token among the components"),
        pytest.param("sig1=(1)", id="a number among the components"),
    ],
)
def test_a_member_that_is_no_list_of_strings_is_unreadable(text: str) -> None:
    with pytest.raises(FieldUnreadable):
        base.read_params(fields.parse_dictionary(text)["sig1"])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('sig1=("date" "date")', id="twice"),
        pytest.param('sig1=("Date")', id="upper case"),
        pytest.param('sig1=("@signature-params")', id="the parameters themselves"),
        pytest.param('sig1=("date";key=tok)', id="a parameter that is a token"),
        pytest.param('sig1=("date";key=1)', id="a parameter that is a number"),
        pytest.param('sig1=("")', id="no name"),
    ],
)
def test_a_component_that_no_message_has_is_an_error_of_its_label(text: str) -> None:
    with pytest.raises(ComponentUnavailable):
        base.read_params(fields.parse_dictionary(text)["sig1"])


def test_parameters_are_asked_for_by_type() -> None:
    params = covering(created=1, keyid="k")

    assert params.integer("created") == 1
    assert params.string("keyid") == "k"
    assert params.integer("expires") is None
    assert params.string("tag") is None


@pytest.mark.parametrize(
    "written",
    [
        pytest.param('"1"', id="a string"),
        pytest.param("1.0", id="a decimal"),
        pytest.param("?1", id="a boolean, though Python counts it an int"),
        pytest.param("@1", id="a date"),
        pytest.param("tok", id="a token"),
        pytest.param(":AQ==:", id="a byte sequence"),
    ],
)
def test_a_timestamp_is_an_sf_integer_and_nothing_else(written: str) -> None:
    params = base.read_params(fields.parse_dictionary(f"sig1=();created={written}")["sig1"])

    with pytest.raises(FieldUnreadable, match="'created' is no integer"):
        params.integer("created")


@pytest.mark.parametrize("written", ["ed25519", "1", "?1", ":AQ==:"])
def test_a_name_is_an_sf_string_and_no_token(written: str) -> None:
    params = base.read_params(fields.parse_dictionary(f"sig1=();alg={written}")["sig1"])

    with pytest.raises(FieldUnreadable, match="'alg' is no string"):
        params.string("alg")


NAMES = st.from_regex(r"@?[a-z0-9!#$%&'*+.^_`|~-]{1,8}", fullmatch=True)
COMPONENTS = st.builds(
    Component,
    NAMES.filter(lambda name: name != "@signature-params"),
    st.dictionaries(
        st.from_regex(r"[a-z*][a-z0-9_.*-]{0,4}", fullmatch=True),
        st.one_of(st.booleans(), st.text(st.characters(codec="ascii", categories=["L"]))),
        max_size=2,
    ).map(lambda params: tuple(params.items())),
)


@given(
    st.lists(COMPONENTS, max_size=4, unique_by=lambda item: (item.name, frozenset(item.params))),
    st.dictionaries(
        st.sampled_from(["created", "expires", "keyid", "tag"]),
        st.one_of(st.integers(0, 10**12), st.text(st.characters(codec="ascii", categories=["L"]))),
    ),
)
def test_what_a_signer_writes_a_verifier_reads_as_the_same(
    covered: list[Component], params: dict[str, int | str]
) -> None:
    written = SignatureParams(tuple(covered), tuple(params.items()))

    read = base.read_params(fields.parse_dictionary(f"sig1={written.serialize()}")["sig1"])

    assert read == written
    assert read.serialize() == written.serialize()
