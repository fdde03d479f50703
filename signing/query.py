"""The parameters of a query, as forms write them (RFC 9421, section 2.2.8; WHATWG URL, 5)."""

from urllib.parse import parse_qsl, quote, unquote


def parameters(query: str) -> dict[str, list[str]]:
    """Each name with its values, decoded, in their order; `query` is ASCII, without the `?`.

    Octets that are no UTF-8 become U+FFFD, as in a browser: they cannot be told apart.
    """
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        found.setdefault(name, []).append(value)
    return found


def encoded(text: str) -> str:
    """A name or a value in the one spelling that is signed: all but letters, digits and ``*-._``
    percent-encoded, the space too."""
    return quote(text, safe="*").replace("~", "%7E")


def decoded(name: str) -> str | None:
    """The name that an identifier spells; None if that is not the one spelling of it."""
    text = unquote(name)
    return text if encoded(text) == name else None
