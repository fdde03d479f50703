"""Structured fields are read strictly, and written as they were read."""

from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import fields
from signing.errors import DuplicateMember, FieldUnreadable, FieldUnwritable, LabelMismatch
from signing.fields import InnerList, Item, Token

KEYS = st.from_regex(r"[a-z*][a-z0-9_.*-]{0,8}", fullmatch=True)
BARE = st.one_of(
    st.integers(-999_999_999_999_999, 999_999_999_999_999),
    st.booleans(),
    st.binary(max_size=20),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20),
    st.from_regex(r"[A-Za-z*][A-Za-z0-9:/!#$%&'*+.^_`|~-]{0,8}", fullmatch=True).map(Token),
    st.decimals(-999_999_999, 999_999_999, places=3).map(
        lambda value: value.quantize(Decimal("0.001"))
    ),
    st.integers(0, 4_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(fields.DisplayString),
)
PARAMS = st.dictionaries(KEYS, BARE, max_size=3).map(lambda params: tuple(params.items()))
ITEMS = st.builds(Item, BARE, PARAMS)
MEMBERS = st.one_of(ITEMS, st.builds(InnerList, st.lists(ITEMS, max_size=3).map(tuple), PARAMS))


def test_a_dictionary_keeps_its_members_their_parameters_and_all_orders() -> None:
    parsed = fields.parse_dictionary('sig1=("@method" "date");z=1;a="x", flag, n=:AQI=:;p')

    assert list(parsed.items()) == [
        ("sig1", InnerList((Item("@method"), Item("date")), (("z", 1), ("a", "x")))),
        ("flag", Item(True)),
        ("n", Item(b"\1\2", (("p", True),))),
    ]


def test_an_empty_field_is_a_dictionary_without_members() -> None:
    assert fields.parse_dictionary("") == {}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        pytest.param("sig1=1, sig1=2", "sig1", id="another value"),
        pytest.param("a=1, b=2, a=1", "a", id="the same value, far apart"),
        pytest.param("sig1=(), sig1=()", "sig1", id="inner lists"),
        pytest.param("a, a", "a", id="bare members"),
    ],
)
def test_a_member_that_stands_twice_is_refused_though_the_library_takes_the_last(
    text: str, key: str
) -> None:
    with pytest.raises(DuplicateMember) as caught:
        fields.parse_dictionary(text)

    assert caught.value.key == key


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('sig1=("date");created=1;created=2', id="of an inner list"),
        pytest.param('sig1=("date";req;req)', id="of an item inside"),
        pytest.param("sig1=1;a;a", id="of an item"),
    ],
)
def test_a_parameter_that_stands_twice_is_refused_but_is_no_duplicate_label(text: str) -> None:
    with pytest.raises(FieldUnreadable, match="stands twice") as caught:
        fields.parse_dictionary(text)

    assert not isinstance(caught.value, DuplicateMember)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('sig1=("date"', id="open inner list"),
        pytest.param("sig1=:AQ", id="open byte sequence"),
        pytest.param("sig1=:A_-Q:", id="base64url"),
        pytest.param('sig1="date', id="open string"),
        pytest.param("Sig1=1", id="upper-case key"),
        pytest.param("sig1=1,", id="trailing comma"),
        pytest.param("sig1=1 sig2=2", id="no comma"),
        pytest.param("sig1=1234567890123456", id="integer of 16 digits"),
        pytest.param("sig1='x'", id="single quotes"),
        pytest.param('sig1="é"', id="not ASCII"),
        pytest.param("sig1=1\n", id="line break"),
        pytest.param("sig1=1;", id="empty parameter"),
        pytest.param("=1", id="no key"),
    ],
)
def test_what_does_not_parse_is_unreadable(text: str) -> None:
    with pytest.raises(FieldUnreadable):
        fields.parse_dictionary(text)


def test_text_that_is_not_ascii_is_unreadable_with_the_position() -> None:
    with pytest.raises(FieldUnreadable, match="not ASCII at position 5"):
        fields.parse_item('"bot/ü"')


@given(st.one_of(st.text(), st.binary(), st.text('ab=,;"():?1@%*. \t', max_size=30)))
def test_nothing_that_anybody_sends_raises_another_exception(value: str | bytes) -> None:
    for parse in (fields.parse_dictionary, fields.parse_item):
        with suppress(FieldUnreadable):
            parse(value)


@given(st.dictionaries(KEYS, MEMBERS, min_size=1, max_size=4))
def test_what_is_written_reads_back_as_the_same(members: dict[str, fields.Member]) -> None:
    written = fields.serialize_dictionary(members)

    assert fields.parse_dictionary(written) == members
    assert fields.parse_dictionary(written.encode("ascii")) == members


@given(ITEMS)
def test_an_item_reads_back_as_the_same(item: Item) -> None:
    assert fields.parse_item(fields.serialize_member(item)) == item


def test_a_token_is_no_string() -> None:
    assert not isinstance(fields.parse_item("ed25519").value, str)
    assert isinstance(fields.parse_item('"ed25519"').value, str)


def test_labels_are_paired_in_the_order_of_signature_input() -> None:
    inputs = fields.parse_dictionary("sig1=(), sig2=()")
    signatures = fields.parse_dictionary("sig2=:Ag==:, sig1=:AQ==:")

    assert fields.pair(inputs, signatures) == (
        ("sig1", InnerList(()), Item(b"\1")),
        ("sig2", InnerList(()), Item(b"\2")),
    )


@pytest.mark.parametrize(
    ("inputs", "signatures", "label", "field"),
    [
        pytest.param("sig1=(), sig2=()", "sig1=:AQ==:", "sig2", "Signature-Input", id="no value"),
        pytest.param("sig1=()", "sig1=:AQ==:, x=:AQ==:", "x", "Signature", id="no parameters"),
        pytest.param("sig1=()", "sig2=:AQ==:", "sig1", "Signature-Input", id="two names"),
        pytest.param("", "sig1=:AQ==:", "sig1", "Signature", id="empty Signature-Input"),
    ],
)
def test_a_label_in_one_field_only_is_refused_with_its_name(
    inputs: str, signatures: str, label: str, field: str
) -> None:
    with pytest.raises(LabelMismatch, match=f"only in {field}$") as caught:
        fields.pair(fields.parse_dictionary(inputs), fields.parse_dictionary(signatures))

    assert caught.value.label == label


def test_a_signature_in_padded_standard_base64_gives_its_bytes() -> None:
    field = "sig1=:+/8=:, sig2=:AQID:"
    members = fields.parse_dictionary(field)
    texts = fields.own_texts(field, members)

    assert fields.byte_sequence(members["sig1"], texts["sig1"]) == b"\xfb\xff"
    assert fields.byte_sequence(members["sig2"], texts["sig2"]) == b"\1\2\3"
    assert (
        fields.byte_sequence(fields.parse_dictionary("a=:AQID:;x")["a"], "a=:AQID:;x") == b"\1\2\3"
    )


@pytest.mark.parametrize(
    "field",
    [
        pytest.param("sig1=:+/8:", id="padding missing"),
        pytest.param("sig1=:+/9=:", id="stray bits behind the last byte"),
        pytest.param("sig1=:AB==:;x=:AA==:", id="the right spelling in a parameter"),
        pytest.param('sig1=:AB==:;x="=:AA==:"', id="the right spelling in a parameter's string"),
        pytest.param("sig1=:AB==:, b=:AA==:", id="the right spelling in the next member"),
        pytest.param('a=", sig1=:AA==:", sig1=:AB==:', id="the right spelling in a string before"),
        pytest.param('a=%",\\", sig1=:AB==:, b=":AA==:"', id="a backslash in a display string"),
        pytest.param("sig1=AQID", id="a token, no colons"),
        pytest.param('sig1="AQ=="', id="a string"),
        pytest.param("sig1=(:AQ==:)", id="an inner list"),
        pytest.param("sig1", id="a bare member"),
    ],
)
def test_anything_else_than_padded_standard_base64_is_no_signature(field: str) -> None:
    members = fields.parse_dictionary(field)
    text = fields.own_texts(field, members)["sig1"]

    with pytest.raises(FieldUnreadable, match=r"byte sequence"):
        fields.byte_sequence(members["sig1"], text)


@given(
    st.dictionaries(KEYS, MEMBERS, min_size=1, max_size=4),
    st.sampled_from([",", ", ", "\t,  \t", " ,"]),
)
def test_each_member_has_its_own_text(members: dict[str, fields.Member], comma: str) -> None:
    field = comma.join(fields.serialize_dictionary({key: one}) for key, one in members.items())

    texts = fields.own_texts(field, fields.parse_dictionary(field))

    assert {key: fields.parse_dictionary(text.strip(" \t")) for key, text in texts.items()} == {
        key: {key: one} for key, one in members.items()
    }


@pytest.mark.parametrize(
    ("member", "text"),
    [
        pytest.param(Item(True), "?1", id="a bare member alone is ?1"),
        pytest.param(Item(True, (("x", 1),)), "?1;x=1", id="a bare member with parameters"),
        pytest.param(Item('a"b\\c'), r'"a\"b\\c"', id="quotes and backslashes are escaped"),
        pytest.param(Item(Decimal("1.50")), "1.5", id="decimals lose their trailing zeros"),
        pytest.param(
            InnerList((Item("a"), Item(Token("b"), (("p", True),))), (("q", b"\1"),)),
            '("a" b;p);q=:AQ==:',
            id="inner list",
        ),
    ],
)
def test_a_member_alone_is_serialized_strictly(member: fields.Member, text: str) -> None:
    assert fields.serialize_member(member) == text


def test_parameters_keep_their_order_and_none_is_nothing() -> None:
    assert fields.serialize_params((("z", 1), ("a", "x"), ("flag", True))) == ';z=1;a="x";flag'
    assert fields.serialize_params(()) == ""


def test_strings_and_byte_sequences_have_a_writer_of_their_own() -> None:
    assert fields.serialize_string('say "hi"') == r'"say \"hi\""'
    assert fields.serialize_byte_sequence(b"\xfb\xff") == ":+/8=:"


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(Item("café"), id="not ASCII"),
        pytest.param(Item("a\nb"), id="line break"),
        pytest.param(Item(10**15), id="integer of 16 digits"),
        pytest.param(Item(Token("a b")), id="space in a token"),
        pytest.param(Item(1, (("Upper", 1),)), id="upper-case parameter"),
        pytest.param(Item(datetime(2026, 1, 1)), id="a date without its zone"),
    ],
)
def test_what_has_no_form_is_unwritable(member: fields.Member) -> None:
    with pytest.raises(FieldUnwritable, match="not writable"):
        fields.serialize_member(member)


def test_a_dictionary_without_members_is_unwritable_since_the_field_must_be_absent() -> None:
    with pytest.raises(FieldUnwritable):
        fields.serialize_dictionary({})
