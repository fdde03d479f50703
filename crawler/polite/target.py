"""URLs in the one form in which they are sent, compared and kept.

Nothing else is ever put on the wire: what is signed must be what is sent. Existing escapes are left
as they are, since a server may tell `%2F` from `/`; what a URL cannot have is escaped (RFC 3986). A
host that could be read in two ways is refused rather than guessed.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from crawler.polite import hostname

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

LONGEST = 16_384  # characters of a URL that are looked at

_PORTS = {"http": 80, "https": 443}
_SPLIT = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?")
_BREAKS = str.maketrans("", "", "\t\n\r")  # browsers ignore them: links break over lines
_AROUND = "".join(map(chr, range(0x21)))  # and these at both ends
_PATH_ODD = re.compile(rb"%(?![0-9A-Fa-f]{2})|[^!$%&'()*+,\-./0-9:;=@A-Z_a-z~]")
_QUERY_ODD = re.compile(rb"%(?![0-9A-Fa-f]{2})|[^!$%&'()*+,\-./0-9:;=?@A-Z_a-z~]")
_NOTHING_TO_DO = re.compile(
    r"/(?!/)[!$&'()*+,\-./0-9:;=@A-Z_a-z~]*(?:\?[!$&'()*+,\-./0-9:;=?@A-Z_a-z~]+)?"
)
_DOT_SEGMENT = re.compile(r"/(?:\.|%2[Ee]){1,2}(?:/|$)")
_USER_INFO = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*:)?([/\\]*)[^/?#]*@")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Reason(StrEnum):
    """Why a URL cannot be asked for."""

    SCHEME = "scheme is neither http nor https"
    NO_HOST = "no host"
    USER_INFO = "user info in a URL is never sent"
    BAD_HOST = "host cannot be read"
    BAD_NAME = "name cannot be encoded (IDNA 2008)"
    BAD_PORT = "port is not between 1 and 65535"
    TOO_LONG = "longer than 16384 characters"


_HOST_REASONS = {
    hostname.Why.UNREADABLE: Reason.BAD_HOST,
    hostname.Why.UNENCODABLE: Reason.BAD_NAME,
}


@dataclass(frozen=True, slots=True)
class Unsendable:
    """A URL that cannot be asked for, why, and what exactly is in the way."""

    url: str
    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A URL exactly as it is sent, ASCII only, with the parts that a request needs.

    Made by `sendable` and `joined`. `host` is in lower case and without brackets, `authority` is
    what Host and `@authority` say, `target` is path and query.
    """

    url: str
    scheme: str
    host: str
    port: int
    authority: str
    target: str

    @property
    def origin(self) -> str:
        """Scheme, host and port, a default port left out: what a robots.txt speaks for."""
        return f"{self.scheme}://{self.authority}"

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


def sendable(url: str) -> Target | Unsendable:
    """Bring an absolute URL, as configured or found, into the form in which it is sent.

    Scheme and host in lower case, names by IDNA 2008, no default port, no fragment, dot segments
    resolved (escaped ones too: servers do), at least `/`, no lone `?` (which aiohttp would lose),
    characters that a URL cannot have escaped as UTF-8. Doing it again changes nothing.
    """
    if len(url) > LONGEST:
        return Unsendable(shown(url[:LONGEST]), Reason.TOO_LONG)
    scheme, authority, path, query = _split(url)
    scheme = (scheme or "").lower()
    if scheme not in _PORTS:
        return Unsendable(shown(url), Reason.SCHEME, scheme)
    if not authority:
        return Unsendable(shown(url), Reason.NO_HOST)
    if "@" in authority:
        return Unsendable(shown(url), Reason.USER_INFO)
    name, port = _name_and_port(authority)
    host = hostname.canonical(name)
    if isinstance(host, hostname.Unusable):
        return Unsendable(url, _HOST_REASONS[host.why], host.detail)
    if port and not (port.isascii() and port.isdigit() and 1 <= int(port[:9]) <= 65535):
        return Unsendable(url, Reason.BAD_PORT, port)
    number = int(port) if port else _PORTS[scheme]
    literal = f"[{host}]" if ":" in host else host
    where = literal if number == _PORTS[scheme] else f"{literal}:{number}"
    target = _resolved(_escaped(path, _PATH_ODD)) or "/"
    if query:
        target = f"{target}?{_escaped(query, _QUERY_ODD)}"
    return _at(scheme, host, number, where, target)


def joined(base: str, reference: str) -> Target | Unsendable:
    """Resolve a link or a Location against the sendable URL it was found at (RFC 3986, 5.2)."""
    start = _base(base)
    if isinstance(start, Unsendable):
        return start
    if len(reference) > LONGEST:
        return Unsendable(reference[:LONGEST], Reason.TOO_LONG)
    short = reference.removeprefix(start.origin)
    if _NOTHING_TO_DO.fullmatch(short) and "/." not in short:
        return _at(start.scheme, start.host, start.port, start.authority, short)
    scheme, authority, path, query = _split(reference)
    if scheme is not None:
        return sendable(reference)
    if authority is not None:
        return sendable(f"{start.scheme}:{reference.strip(_AROUND)}")
    if not path:
        kept = start.target if query is None else f"{start.path}?{query}"
        return sendable(f"{start.origin}{kept}")
    if not path.startswith("/"):
        path = f"{start.path.rpartition('/')[0]}/{path}"
    return sendable(f"{start.origin}{path}" if query is None else f"{start.origin}{path}?{query}")


def shown(url: str) -> str:
    """A URL, or what was meant to be one, as it may be shown: user info may be a password."""
    return _USER_INFO.sub(r"\1\2…@", url, count=1) if _USER_INFO.match(url) else url


def door(url: str) -> str:
    """Scheme, host and port of a URL that is in sendable form already, at little cost."""
    return url[: url.index("/", url.index("//") + 2)]


def origin_key(url: str) -> str:
    """Scheme, host and port of a URL that can be sent; ValueError for any other."""
    found = sendable(url)
    if isinstance(found, Unsendable):
        raise ValueError(f"{found.url!r} cannot be sent: {found}")
    return found.origin


def duplicate_key(url: str) -> str:
    """What two sendable URLs share when they are probably one page. Never sent."""
    from w3lib.url import canonicalize_url  # only where a crawl follows links

    return canonicalize_url(url)


@lru_cache(maxsize=1024)
def registrable_domain(host: str) -> str:
    """The domain that somebody registered (Public Suffix List).

    An address, and what is itself a public suffix, stand for themselves.
    """
    if hostname.is_address(host):
        return host
    return _suffixes().privatesuffix(host) or host


@lru_cache(maxsize=1)
def _suffixes() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList  # reads a list of 10,000 lines

    return PublicSuffixList()


def _at(scheme: str, host: str, port: int, authority: str, target: str) -> Target:
    return Target(
        url=f"{scheme}://{authority}{target}",
        scheme=scheme,
        host=host,
        port=port,
        authority=authority,
        target=target,
    )


def _split(url: str) -> tuple[str | None, str | None, str, str | None]:
    match = _SPLIT.match(url.strip(_AROUND).translate(_BREAKS))
    assert match is not None  # noqa: S101  # each part is optional
    return match[1], match[2], match[3], match[4]


_base = lru_cache(maxsize=16)(sendable)


def _name_and_port(authority: str) -> tuple[str, str]:
    name, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        return authority, ""
    return name, port


def _escaped(text: str, odd: re.Pattern[bytes]) -> str:
    try:
        octets = text.encode("utf-8", "surrogateescape")  # header bytes come as surrogates
    except UnicodeEncodeError:
        octets = _SURROGATES.sub("\ufffd", text).encode("utf-8")
    return odd.sub(lambda match: b"%%%02X" % match[0][0], octets).decode("ascii")


def _resolved(path: str) -> str:
    if not _DOT_SEGMENT.search(path):
        return path
    kept: list[str] = []
    *segments, last = path.split("/")[1:]
    for segment in (*segments, last):
        match segment.lower().replace("%2e", "."):
            case ".":
                pass
            case "..":
                del kept[-1:]
            case _:
                kept.append(segment)
    if last.lower().replace("%2e", ".") in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)
