"""In what encoding a page is written: byte order mark, Content-Type, then its own declaration."""

from w3lib import encoding as w3lib_encoding

# The encodings that browsers know (https://encoding.spec.whatwg.org), as Python's codecs call them.
# Python has others that are no text (rot13) or take quadratic time (punycode), and a page may name
# any. (Asking `codecs` for these names would load all of them, 10 ms at each start.)
_KNOWN = frozenset(
    (
        *("utf-8", "utf-16", "utf-16-be", "utf-16-le", "utf-32-be", "utf-32-le"),
        *(f"cp{number}" for number in (866, 874, 932, 949, *range(1250, 1259))),
        *(f"iso8859-{number}" for number in (*range(2, 9), 10, *range(13, 17))),
        *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "gb18030", "big5hkscs"),
        *("euc_jp", "iso2022_jp", "shift_jis"),
    )
)
_WITHOUT_ANY = "utf-8"
_WITHOUT_ANY_NOR_UTF8 = "cp1252"


def of_page(body: bytes, content_type: str | None) -> str:
    """The Python name of a page's encoding.

    Without any declaration it is UTF-8 where the bytes are, else windows-1252, as in browsers.
    """
    marked, _ = w3lib_encoding.read_bom(body)
    if marked is not None:
        return marked
    for declared in (
        w3lib_encoding.http_content_type_encoding(content_type),
        w3lib_encoding.html_body_declared_encoding(body),
    ):
        if declared in _KNOWN:
            return declared
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end < len(body) or error.reason != "unexpected end of data":
            return _WITHOUT_ANY_NOR_UTF8
    return _WITHOUT_ANY


def text(body: bytes, encoding: str) -> str:
    """The page's text; what cannot be decoded is U+FFFD. Never fails."""
    return w3lib_encoding.to_unicode(body, encoding).removeprefix("\ufeff")
