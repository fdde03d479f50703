"""The value of each component: the traps of RFC 9421, section 2, one by one."""

import re
from urllib.parse import quote, unquote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing.errors import ComponentUnavailable
from signing.message import Component, Message


def request(
    target: str = "/",
    *,
    method: str = "GET",
    scheme: str = "https",
    authority: str = "example.com",
    fields: tuple[tuple[str, str], ...] = (),
) -> Message:
    return Message(method=method, scheme=scheme, authority=authority, target=target, fields=fields)


def value(message: Message, name: str, *params: tuple[str, str | bool]) -> str:
    return message.component(Component(name, params))


@pytest.mark.parametrize(
    ("scheme", "authority", "expected"),
    [
        pytest.param("https", "WWW.Example.COM", "www.example.com", id="lower case"),
        pytest.param("https", "example.com:443", "example.com", id="default port of https"),
        pytest.param("http", "example.com:80", "example.com", id="default port of http"),
        pytest.param("HTTPS", "example.com:443", "example.com", id="scheme in upper case"),
        pytest.param("https", "example.com:80", "example.com:80", id="the other scheme's port"),
        pytest.param("http", "example.com:443", "example.com:443", id="and the other way round"),
        pytest.param("https", "example.com:8443", "example.com:8443", id="another port"),
        pytest.param("http", "example.com:8080", "example.com:8080", id="a port that begins so"),
        pytest.param("https", "example.com:", "example.com", id="an empty port"),
        pytest.param("https", "[2001:DB8::1]", "[2001:db8::1]", id="IPv6 keeps its brackets"),
        pytest.param("https", "[2001:db8::1]:443", "[2001:db8::1]", id="IPv6, default port"),
        pytest.param("https", "[2001:db8::443]", "[2001:db8::443]", id="IPv6 that ends like it"),
        pytest.param("http", "127.0.0.1:80", "127.0.0.1", id="IPv4"),
    ],
)
def test_the_authority_is_normalized(scheme: str, authority: str, expected: str) -> None:
    message = request(scheme=scheme, authority=authority)

    assert value(message, "@authority") == expected


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        pytest.param("/a/b?x=1", "/a/b", "?x=1", id="path and query"),
        pytest.param("/", "/", "?", id="an absent query is ?"),
        pytest.param("/a?", "/a", "?", id="an empty query is ? too"),
        pytest.param("", "/", "?", id="an empty path is /"),
        pytest.param("?x=1", "/", "?x=1", id="a query without a path"),
        pytest.param("/%7Ea/%2f%C3%A9", "/%7Ea/%2f%C3%A9", "?", id="percent-encoding untouched"),
        pytest.param("/a/../b/./c//", "/a/../b/./c//", "?", id="dots and slashes untouched"),
        pytest.param("/a?b?c=%20+", "/a", "?b?c=%20+", id="a ? inside the query"),
        pytest.param(
            "/go?to=http://a.example/x", "/go", "?to=http://a.example/x", id="a URL in it"
        ),
        pytest.param("/a?x=1#top", "/a", "?x=1", id="no fragment"),
        pytest.param("/a#b?c", "/a", "?", id="a ? inside the fragment"),
        pytest.param("*", "/", "?", id="asterisk form"),
        pytest.param("http://example.com/a?b", "/a", "?b", id="absolute form"),
        pytest.param("http://example.com", "/", "?", id="absolute form without a path"),
        pytest.param("http://example.com?b", "/", "?b", id="absolute form, query only"),
    ],
)
def test_path_and_query_are_those_of_the_target_as_sent(target: str, path: str, query: str) -> None:
    message = request(target)

    assert value(message, "@path") == path
    assert value(message, "@query") == query


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param("/a%2Fb?x=1", "https://example.com/a%2Fb?x=1", id="origin form"),
        pytest.param("/a?x=1#top", "https://example.com/a?x=1", id="no fragment"),
        pytest.param("/a?", "https://example.com/a?", id="an empty query keeps its ?"),
        pytest.param("", "https://example.com/", id="empty path"),
        pytest.param("?x", "https://example.com/?x", id="empty path with a query"),
        pytest.param("*", "https://example.com/", id="asterisk form"),
        pytest.param("https://example.com:443/a", "https://example.com/a", id="absolute form"),
    ],
)
def test_the_target_uri_is_assembled_from_normalized_parts(target: str, expected: str) -> None:
    message = request(target, scheme="HTTPS", authority="Example.com:443")

    assert value(message, "@target-uri") == expected


def test_the_method_is_case_sensitive() -> None:
    assert value(request(method="GET"), "@method") == "GET"
    assert value(request(method="get"), "@method") == "get"


def test_the_scheme_is_in_lower_case() -> None:
    assert value(request(scheme="HTTP"), "@scheme") == "http"


@pytest.mark.parametrize("target", ["/a?b#c", "*", "http://example.com/a", ""])
def test_the_request_target_is_exactly_what_is_sent(target: str) -> None:
    assert value(request(target), "@request-target") == target


def test_lines_of_one_field_are_trimmed_and_joined_whatever_their_case() -> None:
    message = request(fields=(("X-List", " a, b \t"), ("x-other", "z"), ("x-LIST", "\tc")))

    assert value(message, "x-list") == "a, b, c"
    assert message.field("x-list") == "a, b, c"


def test_an_empty_field_is_there_and_empty() -> None:
    message = request(fields=(("X-Empty", ""), ("X-Twice", ""), ("X-Twice", "")))

    assert value(message, "x-empty") == ""
    assert value(message, "x-twice") == ", "


@pytest.mark.parametrize("fold", ["\r\n ", "\n\t", " \r\n  \t "])
def test_a_folded_line_is_unfolded_to_one_space(fold: str) -> None:
    message = request(fields=(("X-Folded", f"a{fold}b"),))

    assert value(message, "x-folded") == "a b"


def test_each_line_is_unfolded_before_they_are_joined() -> None:
    message = request(fields=(("X-Folded", "a"), ("X-Folded", "\r\n b")))

    assert value(message, "x-folded") == "a,  b"


@given(st.text("a \t\r\n", max_size=30))
def test_each_fold_is_one_space_whatever_stands_around_it(text: str) -> None:
    message = request(fields=(("X-Folded", text),))

    assert message.field("x-folded") == re.sub(r"[ \t]*\r?\n[ \t]+", " ", text.strip(" \t"))


def test_a_long_run_of_blanks_before_no_fold_is_looked_at_once() -> None:
    blanks = " " * 2_000_000  # if each began a look of its own, this would take days

    assert request(fields=(("X", f"a{blanks}b\n c"),)).field("x") == f"a{blanks}b c"


def test_a_tab_inside_a_value_is_kept() -> None:
    assert value(request(fields=(("X-Tab", "a\tb"),)), "x-tab") == "a\tb"


def test_an_absent_field_is_none_to_look_at_and_an_error_to_cover() -> None:
    message = request()

    assert message.field("date") is None
    with pytest.raises(ComponentUnavailable, match="no such field") as caught:
        value(message, "date")
    assert caught.value.component == '"date"'


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param("café", id="not ASCII"),
        pytest.param("a\nb", id="a line feed"),
        pytest.param("a\rb", id="a carriage return"),
        pytest.param("a\0b", id="a NUL"),
        pytest.param("a\x7fb", id="another control character"),
        pytest.param('x\n"@method": POST', id="a forged line of the base"),
    ],
)
def test_a_value_that_would_break_the_base_is_an_error(bad: str) -> None:
    with pytest.raises(ComponentUnavailable, match="not ASCII, or a control character"):
        value(request(fields=(("X-Bad", bad),)), "x-bad")


@pytest.mark.parametrize(
    ("name", "target", "authority"),
    [
        pytest.param("@path", "/é", "example.com", id="path"),
        pytest.param("@query", "/?é", "example.com", id="query"),
        pytest.param("@authority", "/", "bücher.example", id="authority"),
        pytest.param("@target-uri", "/é", "example.com", id="target URI"),
        pytest.param("@path", "/a\nb", "example.com", id="line break"),
    ],
)
def test_a_derived_value_that_is_not_ascii_is_an_error(
    name: str, target: str, authority: str
) -> None:
    with pytest.raises(ComponentUnavailable, match=name):
        value(request(target, authority=authority), name)


@pytest.mark.parametrize(
    ("field", "key", "expected"),
    [
        pytest.param('sig1="https://bot.example"', "sig1", '"https://bot.example"', id="string"),
        pytest.param("a=1, b=2;x=1;y=2", "b", "2;x=1;y=2", id="with its parameters in order"),
        pytest.param("a=1, b", "b", "?1", id="a bare member is ?1"),
        pytest.param("b;x", "b", "?1;x", id="a bare member with a parameter"),
        pytest.param("c=( a   b )", "c", "(a b)", id="inner list, spaces normalized"),
        pytest.param("d=1.50 ", "d", "1.5", id="decimal, strictly written"),
        pytest.param("n=:AQI:", "n", ":AQI=:", id="byte sequence, padded"),
    ],
)
def test_a_dictionary_member_is_serialized_anew(field: str, key: str, expected: str) -> None:
    message = request(fields=(("Example-Dict", field),))

    assert value(message, "example-dict", ("key", key)) == expected


def test_the_members_of_a_dictionary_may_stand_on_several_lines() -> None:
    message = request(fields=(("Example-Dict", "a=1"), ("Example-Dict", " b=2")))

    assert value(message, "example-dict", ("key", "b")) == "2"


@pytest.mark.parametrize(
    ("field", "why"),
    [
        pytest.param("a=1", "no such member", id="missing member"),
        pytest.param("", "no such member", id="empty field"),
        pytest.param('"https://bot.example"', "no dictionary", id="an item"),
        pytest.param("b=1, b=2", "twice", id="a member that stands twice"),
        pytest.param('b="é"', "not ASCII", id="not ASCII"),
    ],
)
def test_a_dictionary_member_that_cannot_be_had_is_an_error(field: str, why: str) -> None:
    message = request(fields=(("Example-Dict", field),))

    with pytest.raises(ComponentUnavailable, match=why) as caught:
        value(message, "example-dict", ("key", "b"))
    assert caught.value.component == '"example-dict";key="b"'


FLAG = True
EXAMPLE = request(
    fields=(
        ("Host", "www.example.com"),
        ("Date", "Tue, 20 Apr 2021 02:07:56 GMT"),
        ("X-OWS-Header", "   Leading and trailing whitespace.   "),
        ("X-Obs-Fold-Header", "Obsolete\r\n    line folding. "),
        ("Cache-Control", "max-age=60"),
        ("Cache-Control", "   must-revalidate"),
        ("Example-Dict", "  a=1,    b=2;x=1;y=2,   c=(a   b   c)"),
        ("Example-Dict", " d"),
        ("X-Empty-Header", ""),
    )
)


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        (Component("host"), "www.example.com"),
        (Component("date"), "Tue, 20 Apr 2021 02:07:56 GMT"),
        (Component("x-ows-header"), "Leading and trailing whitespace."),
        (Component("x-obs-fold-header"), "Obsolete line folding."),
        (Component("cache-control"), "max-age=60, must-revalidate"),
        (Component("example-dict"), "a=1,    b=2;x=1;y=2,   c=(a   b   c), d"),
        (Component("x-empty-header"), ""),
        (Component("cache-control", (("sf", FLAG),)), "max-age=60, must-revalidate"),
        (Component("example-dict", (("key", "a"),)), "1"),
        (Component("example-dict", (("key", "b"),)), "2;x=1;y=2"),
        (Component("example-dict", (("key", "c"),)), "(a b c)"),
        (Component("example-dict", (("key", "d"),)), "?1"),
    ],
    ids=str,
)
def test_rfc_9421_section_2_1_has_these_values(component: Component, expected: str) -> None:
    assert EXAMPLE.component(component) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("value, with, lots", "of, commas"),
            ":dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:",
            id="two lines, RFC 9421, 2.1.3",
        ),
        pytest.param(
            ("value, with, lots, of, commas",),
            ":dmFsdWUsIHdpdGgsIGxvdHMsIG9mLCBjb21tYXM=:",
            id="one line, RFC 9421, 2.1.3",
        ),
        pytest.param(("  of,\r\n  commas\t",), ":b2YsIGNvbW1hcw==:", id="trimmed and unfolded"),
        pytest.param(("",), "::", id="an empty line"),
        pytest.param(("café",), ":Y2Fmw6k=:", id="UTF-8"),
        pytest.param(("caf\udce9",), ":Y2Fm6Q==:", id="an octet that is no UTF-8"),
    ],
)
def test_each_line_of_a_field_is_wrapped_on_its_own(lines: tuple[str, ...], expected: str) -> None:
    message = request(fields=tuple(("Example-Header", line) for line in lines))

    assert value(message, "example-header", ("bs", FLAG)) == expected


def test_text_that_no_octets_stand_for_cannot_be_wrapped() -> None:
    with pytest.raises(ComponentUnavailable, match="no octets stand for position 1"):
        value(request(fields=(("X", "a\ud800"),)), "x", ("bs", FLAG))


@pytest.mark.parametrize(
    ("name", "sent", "expected"),
    [
        pytest.param(
            "cache-control", "  max-age=60,   must-revalidate ", "max-age=60, must-revalidate"
        ),
        pytest.param("accept", "text/html ,  */*;q=0.10", "text/html, */*;q=0.1"),
        pytest.param("age", " 007 ", "7"),
        pytest.param(
            "content-digest",
            "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:",
            "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:",
        ),
        pytest.param(
            "signature-input", 'sig1=( "@method"  );created=1', 'sig1=("@method");created=1'
        ),
    ],
)
def test_a_field_of_known_type_is_strictly_written(name: str, sent: str, expected: str) -> None:
    message = request(fields=((name.title(), sent),))

    assert value(message, name, ("sf", FLAG)) == expected
    assert value(message, name, ("sf", FLAG)) == expected


@pytest.mark.parametrize(
    ("name", "sent", "why"),
    [
        pytest.param("x-own", "1", "no structured type that we know", id="unknown field"),
        pytest.param("user-agent", "a", "no structured type that we know", id="not structured"),
        pytest.param("sf-date", "@1", "no structured type that we know", id="a name never sent"),
        pytest.param("cache-control", "a=", "Empty item", id="no dictionary"),
        pytest.param("accept", "text/html, é", "not ASCII", id="no list"),
        pytest.param("age", "1, 2", ".", id="no item"),
        pytest.param("cache-control", "a=1, a=2", "twice", id="a member that stands twice"),
        pytest.param("cache-control", "", "empty", id="an empty dictionary"),
        pytest.param("accept", " ", "empty", id="an empty list"),
    ],
)
def test_a_field_without_a_strict_form_is_an_error(name: str, sent: str, why: str) -> None:
    with pytest.raises(ComponentUnavailable, match=why):
        value(request(fields=((name.title(), sent),)), name, ("sf", FLAG))


def test_a_member_may_be_asked_for_strictly_too() -> None:
    message = request(fields=(("Example-Dict", "a=(1   2)"),))

    assert value(message, "example-dict", ("sf", FLAG), ("key", "a")) == "(1 2)"


QUERIES = [
    pytest.param("/path?param=value&foo=bar&baz=batman&qux=", "baz", "batman", id="2.2.8"),
    pytest.param("/path?param=value&foo=bar&baz=batman&qux=", "qux", "", id="2.2.8, empty"),
    pytest.param("/path?param=value&foo=bar&baz=batman&qux=", "param", "value", id="2.2.8, first"),
    pytest.param(
        "/parameters?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace"
        "&fa%C3%A7ade%22%3A%20=something",
        "var",
        "this%20is%20a%20big%0Amultiline%20value",
        id="2.2.8, several lines",
    ),
    pytest.param(
        "/parameters?bar=with+plus+whitespace", "bar", "with%20plus%20whitespace", id="2.2.8, plus"
    ),
    pytest.param(
        "/parameters?fa%C3%A7ade%22%3A%20=something",
        "fa%C3%A7ade%22%3A%20",
        "something",
        id="2.2.8, an encoded name",
    ),
    pytest.param("/?a", "a", "", id="no equals sign"),
    pytest.param("/?=x", "", "x", id="no name"),
    pytest.param("/?a=b=c", "a", "b%3Dc", id="another equals sign"),
    pytest.param("/?a=1;b=2", "a", "1%3Bb%3D2", id="a semicolon separates nothing"),
    pytest.param("/?&&a=1&", "a", "1", id="empty parts"),
    pytest.param("/?a=~!'()*-._", "a", "%7E%21%27%28%29*-._", id="all that forms encode"),
    pytest.param("/?a=%", "a", "%25", id="a percent sign alone"),
    pytest.param("/?a=%zz", "a", "%25zz", id="no hex digits"),
    pytest.param("/?a=%E9", "a", "%EF%BF%BD", id="no UTF-8"),
    pytest.param("/?a=%c3%a9", "a", "%C3%A9", id="hex digits in lower case"),
    pytest.param("http://example.com/?a=1#?a=2", "a", "1", id="absolute form"),
    pytest.param("/?%61=1", "a", "1", id="a name that need not be encoded"),
]


@pytest.mark.parametrize(("target", "name", "expected"), QUERIES)
def test_a_query_parameter_is_read_as_of_a_form_and_encoded_anew(
    target: str, name: str, expected: str
) -> None:
    message = request(target)

    assert value(message, "@query-param", ("name", name)) == expected
    assert value(message, "@query-param", ("name", name)) == expected


@pytest.mark.parametrize(
    ("target", "name", "why"),
    [
        pytest.param("/?a=1", "b", "is not in it", id="absent"),
        pytest.param("/", "a", "is not in it", id="no query"),
        pytest.param("/?a=1&a=1", "a", "more than once; cover @query", id="twice the same"),
        pytest.param("/?a=1&%61=2", "a", "more than once", id="twice, spelled otherwise"),
        pytest.param("/?a+b=1", "a b", "try 'a%20b'", id="a name with a raw space"),
        pytest.param("/?a+b=1", "a+b", "try 'a%2Bb'", id="a name with a plus"),
        pytest.param("/?%C3%A9=1", "%c3%a9", "try '%25c3%25a9'", id="a name in lower-case hex"),
        pytest.param("/?é=1", "%C3%A9", "not ASCII", id="a query that is not ASCII"),
        pytest.param("/?" + "&" * 3000, "a", "more than 2048 pieces", id="too many"),
        pytest.param("*", "a", "is not in it", id="asterisk form"),
    ],
)
def test_a_query_parameter_that_cannot_be_had_for_certain_is_an_error(
    target: str, name: str, why: str
) -> None:
    with pytest.raises(ComponentUnavailable, match=why):
        value(request(target), "@query-param", ("name", name))


@given(st.text("ab=&+%é ~*", max_size=12), st.text("ab=&+%é ~*", min_size=1, max_size=6))
def test_whatever_a_form_sends_is_found_under_its_encoded_name(text: str, name: str) -> None:
    target = f"/?{urlencode([(name, text), ('other!', 'x')])}"
    spelled = quote(name, safe="*").replace("~", "%7E")

    found = value(request(target), "@query-param", ("name", spelled))

    assert unquote(found) == text
    assert found.isascii()


@pytest.mark.parametrize(
    ("name", "params"),
    [
        pytest.param("date", (("tr", FLAG),), id=";tr"),
        pytest.param("date", (("other", "x"),), id="one that nobody knows"),
        pytest.param("date", (("other", FLAG),), id="a flag that nobody knows"),
        pytest.param("date", (("req", False),), id="req=?0"),
        pytest.param("date", (("req", "x"),), id="req with a string"),
        pytest.param("date", (("sf", False),), id="sf=?0"),
        pytest.param("date", (("bs", "x"),), id="bs with a string"),
        pytest.param("date", (("key", FLAG),), id="key without a value"),
        pytest.param("date", (("name", "x"),), id="name of a field"),
        pytest.param("date", (("bs", FLAG), ("sf", FLAG)), id="bs with sf"),
        pytest.param("date", (("key", "x"), ("bs", FLAG)), id="bs with key"),
        pytest.param("@method", (("key", "x"),), id="key of a derived component"),
        pytest.param("@method", (("name", "x"),), id="name of a derived component"),
        pytest.param("@method", (("sf", FLAG),), id="sf of a derived component"),
        pytest.param("@query", (("bs", FLAG),), id="bs of a derived component"),
        pytest.param("@query-param", (("name", FLAG),), id="a query parameter without a name"),
        pytest.param("@query-param", (("name", "a"), ("key", "a")), id="key of a query parameter"),
    ],
)
def test_parameters_that_do_not_go_together_are_an_error_and_never_skipped(
    name: str, params: tuple[tuple[str, str | bool], ...]
) -> None:
    message = request("/?a=1", fields=(("Date", "x=1"),))

    with pytest.raises(ComponentUnavailable):
        value(message, name, *params)


def test_a_trailer_is_refused_by_name() -> None:
    with pytest.raises(ComponentUnavailable, match="trailers are not read; take out ;tr"):
        value(request(fields=(("Date", "x"),)), "date", ("tr", FLAG))


@pytest.mark.parametrize("name", ["@query-params", "@query-param", "@status", "@nothing"])
def test_a_component_that_a_request_has_not_is_an_error(name: str) -> None:
    with pytest.raises(ComponentUnavailable, match="does not have it"):
        value(request("/?a=1"), name)


@pytest.mark.parametrize(
    ("method", "target", "path", "uri"),
    [
        pytest.param("OPTIONS", "*", "/", "http://www.example.com", id="the server as a whole"),
        pytest.param(
            "OPTIONS", "http://www.example.com", "/", "http://www.example.com", id="via a proxy"
        ),
        pytest.param("OPTIONS", "/a", "/a", "http://www.example.com/a", id="one resource"),
        pytest.param("CONNECT", "www.example.com:80", "/", "http://www.example.com", id="CONNECT"),
    ],
)
def test_a_request_to_no_resource_has_no_path_in_its_target_uri(
    method: str, target: str, path: str, uri: str
) -> None:
    message = request(target, method=method, scheme="http", authority="www.example.com")

    assert value(message, "@request-target") == target
    assert value(message, "@path") == path
    assert value(message, "@query") == "?"
    assert value(message, "@target-uri") == uri


@pytest.mark.parametrize(
    ("method", "target"),
    [
        pytest.param("GET ", "/", id="a space behind"),
        pytest.param(" GET", "/", id="a space before"),
        pytest.param("GET\tx", "/", id="a tab"),
        pytest.param("GET\n", "/", id="a line end"),
    ],
)
def test_a_derived_value_neither_begins_nor_ends_with_a_space_and_has_no_tab(
    method: str, target: str
) -> None:
    with pytest.raises(ComponentUnavailable, match="@method"):
        value(request(target, method=method), "@method")


def test_a_response_has_a_status_fields_and_its_request() -> None:
    asked = request("/dir?q=1", authority="Bot.example", fields=(("Signature", "sig1=:AQ==:"),))
    response = Message(status=200, fields=(("Content-Type", "text/plain"),), request=asked)

    assert value(response, "@status") == "200"
    assert value(response, "content-type") == "text/plain"
    assert value(response, "@authority", ("req", True)) == "bot.example"
    assert value(response, "signature", ("req", True), ("key", "sig1")) == ":AQ==:"
    assert value(response, "signature", ("key", "sig1"), ("req", True)) == ":AQ==:"
    assert value(response, "signature", ("bs", True), ("req", True)) == ":c2lnMT06QVE9PTo=:"
    assert value(response, "signature", ("req", True), ("sf", True)) == "sig1=:AQ==:"
    assert value(response, "@query-param", ("req", True), ("name", "q")) == "1"


@pytest.mark.parametrize("name", ["@method", "@authority", "@path", "@query-param"])
def test_a_response_does_not_lend_itself_the_components_of_its_request(name: str) -> None:
    response = Message(status=200, request=request())

    with pytest.raises(ComponentUnavailable, match="does not have it"):
        value(response, name)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(request(), id="a request"),
        pytest.param(Message(status=200), id="a response without its request"),
    ],
)
def test_there_is_no_request_to_look_at(message: Message) -> None:
    with pytest.raises(ComponentUnavailable, match="no request"):
        value(message, "@method", ("req", True))


@pytest.mark.parametrize(
    ("fields", "component"),
    [
        pytest.param({"method": ""}, '"@method"', id="no method"),
        pytest.param({"scheme": "ftp"}, '"@scheme"', id="another scheme"),
        pytest.param({"scheme": ""}, '"@scheme"', id="no scheme"),
        pytest.param({"authority": ""}, '"@authority"', id="no host"),
        pytest.param({"authority": ":443"}, '"@authority"', id="a port alone"),
        pytest.param({"authority": "example.com::443"}, '"@authority"', id="two colons"),
        pytest.param({"authority": "[::1"}, '"@authority"', id="a bracket that is not closed"),
        pytest.param({"authority": "me:secret@example.com"}, '"@authority"', id="user info"),
    ],
)
def test_a_request_is_valid_from_birth(fields: dict[str, str], component: str) -> None:
    with pytest.raises(ComponentUnavailable) as caught:
        request(**fields)  # type: ignore[arg-type]

    assert caught.value.component == component
    assert "secret" not in str(caught.value)


def test_a_component_is_written_as_a_structured_item() -> None:
    plain, keyed = Component("@authority"), Component("signature-agent", (("key", "sig1"),))

    assert str(plain) == '"@authority"'
    assert str(keyed) == keyed.identifier == '"signature-agent";key="sig1"'
    assert str(Component("@authority", (("req", True),))) == '"@authority";req'


@pytest.mark.parametrize(
    ("name", "params"),
    [
        pytest.param("Date", (), id="upper case"),
        pytest.param("", (), id="empty"),
        pytest.param("a b", (), id="a space"),
        pytest.param("date\n", (), id="a line break"),
        pytest.param("daté", (), id="not ASCII"),
        pytest.param("@signature-params", (), id="the parameters themselves"),
        pytest.param("date", (("key", "é"),), id="a parameter that is not ASCII"),
        pytest.param("date", (("Key", "x"),), id="a parameter in upper case"),
    ],
)
def test_a_component_that_no_message_has_cannot_be_made(
    name: str, params: tuple[tuple[str, str | bool], ...]
) -> None:
    with pytest.raises(ComponentUnavailable):
        Component(name, params)


@given(st.text(), st.text(), st.text(), st.sampled_from(["@path", "@query", "@authority", "x"]))
def test_every_value_that_comes_out_is_one_line_of_ascii(
    target: str, authority: str, text: str, name: str
) -> None:
    try:
        found = value(request(target, authority=authority, fields=(("x", text),)), name)
    except ComponentUnavailable:
        return

    assert found.isascii()
    assert found.replace("\t", "").isprintable()
