"""In what encoding a page is written."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch import charset

META = b'<meta charset="windows-1251">'


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        (b"\xef\xbb\xbf" + META, "text/html; charset=koi8-r", "utf-8"),
        (b"\xff\xfea\x00", "text/html; charset=koi8-r", "utf-16-le"),
        (b"\xfe\xff\x00a", None, "utf-16-be"),
        (META, "text/html; charset=koi8-r", "koi8-r"),
        (META, 'text/html; charset="KOI8-R"', "koi8-r"),
        (META, "text/html", "cp1251"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=big5">', None, "big5hkscs"),
        (b'<?xml version="1.0" encoding="shift_jis"?>', None, "cp932"),
        (b"plain", "text/html; charset=iso-8859-1", "cp1252"),
        (b"plain", "text/html; charset=gb2312", "gb18030"),
        (b"plain", None, "utf-8"),
        ("ä".encode(), None, "utf-8"),
        ("ä".encode()[:1], None, "utf-8"),
        (b"caf\xe9!", None, "cp1252"),
        (b"caf\xe9", "text/html; charset=nonsense", "utf-8"),
        (META, "text/html; charset=nonsense", "cp1251"),
        (b"plain", "text/html; charset=utf-7", "utf-8"),
        (b"plain", "text/html; charset=rot13", "utf-8"),
        (b"plain", "text/html; charset=punycode", "utf-8"),
        (b"plain", "text/html; charset=unicode_escape", "utf-8"),
    ],
)
def test_is_found(body: bytes, content_type: str | None, encoding: str) -> None:
    assert charset.of_page(body, content_type) == encoding


@pytest.mark.parametrize("name", ["euc-jp", "iso-2022-jp", "macintosh", "iso-8859-16", "cp949"])
def test_is_named_as_python_names_it(name: str) -> None:
    found = charset.of_page(b"plain", f"text/html; charset={name}")

    assert found == codecs.lookup(name).name


@given(
    st.binary(max_size=60),
    st.sampled_from(["utf-8", "utf-16", "gb18030", "big5", "iso-2022-jp", "euc-kr", "cp874", "x"]),
)
def test_any_bytes_are_text_in_any_encoding(body: bytes, declared: str) -> None:
    encoding = charset.of_page(body, f"text/html; charset={declared}")

    assert charset.text(body, encoding).encode("utf-8") is not None


def test_the_byte_order_mark_is_no_text() -> None:
    assert charset.text(b"\xef\xbb\xbfa", "utf-8") == "a"
    assert charset.text(b"\xff\xfea\x00", "utf-16-le") == "a"
