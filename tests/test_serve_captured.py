"""Captured requests: what is read, and what is refused because two readers would differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.serve import captured
from crawler.serve.captured import RequestUnreadable

PLAIN = b"GET /page?q=1 HTTP/1.1\r\nHost: shop.example\r\nAccept: */*\r\n\r\n"
POST = b"POST /form HTTP/1.1\r\nHost: shop.example\r\n"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(PLAIN, id="CRLF"),
        pytest.param(PLAIN.replace(b"\r\n", b"\n"), id="LF"),
        pytest.param(PLAIN.rstrip(), id="without the empty line"),
        pytest.param(b"\r\n\n" + PLAIN, id="behind empty lines"),
        pytest.param(PLAIN + b"\r\n", id="with a newline behind it"),
        pytest.param(PLAIN.replace(b"HTTP/1.1", b"HTTP/2"), id="as curl shows HTTP/2"),
        pytest.param(PLAIN.replace(b"Host: shop.example", b"Host:\t shop.example \t"), id="blanks"),
    ],
)
def test_a_request_is_read(data: bytes) -> None:
    found = captured.parse(data, "https")
    message = found.message

    assert (message.method, message.scheme, message.authority) == ("GET", "https", "shop.example")
    assert message.target == "/page?q=1"
    assert message.fields == (("Host", "shop.example"), ("Accept", "*/*"))
    assert found.content == b""


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("GET / HTTP/1.1", ("https", "shop.example", "/")),
        ("GET http://other.example:81/a?b HTTP/1.1", ("http", "other.example:81", None)),
        ("GET HTTPS://Other.example HTTP/1.1", ("https", "Other.example", None)),
        ("OPTIONS * HTTP/1.1", ("https", "shop.example", "*")),
        ("CONNECT shop.example:443 HTTP/1.1", ("https", "shop.example", None)),
    ],
)
def test_each_form_of_a_target_says_where_it_goes(
    line: str, where: tuple[str, str, str | None]
) -> None:
    message = captured.parse(f"{line}\nHost: shop.example\n\n".encode(), "https").message

    assert (message.scheme, message.authority) == where[:2]
    assert message.target == (where[2] or line.split()[1])


def test_an_absolute_target_needs_no_host() -> None:
    assert captured.parse(b"GET https://a.example/ HTTP/1.0\n\n", "http").message.scheme == "https"


def test_a_folded_line_goes_on_with_one_blank() -> None:
    message = captured.parse(PLAIN[:-2] + b"X-A: one\r\n  two\r\n\tthree\r\n\r\n", "https").message

    assert message.field("x-a") == "one two three"


def test_folds_of_blanks_alone_add_nothing() -> None:
    message = captured.parse(PLAIN[:-2] + b"X-A:\r\n \t\r\n two\r\n \r\n\r\n", "https").message

    assert message.field("x-a") == "two"


def test_many_folds_and_many_blank_trailers_are_read_in_a_moment() -> None:
    """Each quadratic, a million lines would take hours."""
    folds = captured.parse(PLAIN[:-2] + b"X-A: one\r\n" + b" c\r\n" * 2**20, "https").message
    chunked = PLAIN[:-2] + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"

    assert len(folds.field("x-a") or "") == 3 + 2 * 2**20
    with pytest.raises(RequestUnreadable, match="bytes behind the last chunk"):
        captured.parse(chunked + b" \n" * 2**20 + b"x", "https")


@pytest.mark.parametrize(
    ("data", "whole"),
    [(PLAIN, True), (PLAIN[:-2], False), (PLAIN[:-5], False)],
    ids=["whole", "no empty line", "within a line"],
)
def test_a_capture_without_an_end_of_its_head_is_not_whole(data: bytes, whole: bool) -> None:
    assert captured.parse(data, "https").whole is whole


def test_bytes_of_a_field_stay_what_they_are() -> None:
    message = captured.parse(PLAIN[:-2] + b"X-A: caf\xc3\xa9\r\n\r\n", "https").message

    assert message.fields[-1][1].encode("latin-1") == b"caf\xc3\xa9"


@pytest.mark.parametrize(
    ("data", "content"),
    [
        pytest.param(
            POST + b"Content-Length: 5\r\n\r\na\r\n\r\n", b"a\r\n\r\n", id="by its length"
        ),
        pytest.param(POST + b"Content-Length: 5\r\n\r\nhello\n", b"hello", id="newline behind it"),
        pytest.param(POST + b"Content-Length: 0\r\n\r\n", b"", id="none"),
        pytest.param(
            POST + b"Transfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
            b"abcde",
            id="in chunks",
        ),
        pytest.param(
            POST + b"Transfer-Encoding: chunked\n\n3\nabc\n0\nX-Trailer: 1\n\n",
            b"abc",
            id="trailer",
        ),
    ],
)
def test_a_body_is_read(data: bytes, content: bytes) -> None:
    assert captured.parse(data, "https").content == content


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(b"", "it is empty", id="nothing"),
        pytest.param(b"\r\n\r\n", "it is empty", id="empty lines"),
        pytest.param(b"hello\n", "line 1: 'hello' is no request line", id="no request"),
        pytest.param(b"\n\nhello\n", "line 3: 'hello'", id="its line is counted"),
        pytest.param(b"HTTP/1.1 200 OK\n\n", "no request line", id="an answer"),
        pytest.param(b"> GET / HTTP/1.1\n> Host: a\n", "no request line", id="curl -v"),
        pytest.param(b"GET  / HTTP/1.1\nHost: a\n\n", "no request line", id="two blanks"),
        pytest.param(
            b"GET /a b HTTP/1.1\nHost: a\n\n", "no request line", id="blank in the target"
        ),
        pytest.param(b"GET page HTTP/1.1\nHost: a\n\n", "'page' is no target", id="relative"),
        pytest.param(b"GET ftp://a/ HTTP/1.1\nHost: a\n\n", "is no target", id="ftp"),
        pytest.param(b"GET http://[::1 HTTP/1.1\nHost: a\n\n", "Invalid IPv6", id="torn IPv6"),
        pytest.param(b"GET / HTTP/1.1\n\n", "there is no Host", id="no Host"),
        pytest.param(b"GET / HTTP/1.1\nHost:\n\n", "there is no Host", id="empty Host"),
        pytest.param(b"GET / HTTP/1.1\nHost: a@b\n\n", "more than a host", id="user info"),
        pytest.param(
            b"GET / HTTP/1.1\nHost: a\nhost: b\n\n", "Host stands 2 times", id="two Hosts"
        ),
        pytest.param(
            b"GET / HTTP/1.1\nHost : a\n\n", "line 2: .* is no field", id="blank and colon"
        ),
        pytest.param(b"GET / HTTP/1.1\n Host: a\n\n", "line 2: .* is no field", id="folded first"),
        pytest.param(b"GET / HTTP/1.1\nHost: a\nb\n\n", "line 3: 'b' is no field", id="no colon"),
        pytest.param(b"GET / HTTP/1.1\nHost: a\rb\n\n", "line 2: .*control", id="a bare CR"),
        pytest.param(b"GET / HTTP/1.1\nHost: a\0\n\n", "line 2: .*control", id="NUL"),
        pytest.param(PLAIN + b"GET / HTTP/1.1\r\n", "no field says so", id="two requests"),
        pytest.param(POST + b"Content-Length: 3\r\n\r\nab", "2 bytes of 3", id="a short body"),
        pytest.param(
            POST + b"Content-Length: 3\r\n\r\nabcd", "behind its 3 bytes", id="a long one"
        ),
        pytest.param(POST + b"Content-Length: +3\r\n\r\nabc", "no number", id="no number"),
        pytest.param(
            POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            "no number",
            id="two lengths",
        ),
        pytest.param(
            POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
            "two readers",
            id="length and chunks",
        ),
        pytest.param(POST + b"Transfer-Encoding: gzip\r\n\r\n", "cannot be undone", id="gzip"),
        pytest.param(
            POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
            "chunk 1 is not",
            id="long chunk",
        ),
        pytest.param(
            POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            "chunk 2 has no",
            id="torn chunks",
        ),
        pytest.param(
            POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n",
            "behind the last chunk",
            id="a request behind the chunks",
        ),
    ],
)
def test_what_is_no_single_request_says_where_and_why(data: bytes, said: str) -> None:
    with pytest.raises(RequestUnreadable, match=said):
        captured.parse(data, "https")


def test_a_copy_from_curl_says_how_to_mend_it() -> None:
    with pytest.raises(RequestUnreadable) as caught:
        captured.parse(b"> GET / HTTP/1.1\n", "https")

    assert caught.value.hint is not None
    assert "sed" in caught.value.hint


@given(st.binary() | st.binary().map(lambda tail: PLAIN[:-2] + tail))
def test_whatever_comes_is_read_or_said(data: bytes) -> None:
    try:
        found = captured.parse(data, "https")
    except RequestUnreadable:
        return

    assert found.message.authority
