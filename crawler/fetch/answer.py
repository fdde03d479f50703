"""An answer's head, as a record keeps it: escaped, cut, and only the fields that are read again."""

import re
from typing import Final

from aiohttp import ClientResponse
from msgspec import Struct

from crawler.fetch import redaction
from crawler.polite import answers, freshness, target
from crawler.watch import signals

LONGEST: Final = 256  # characters of a field that are kept

_FIRST: Final = frozenset(
    {
        "content-type",
        "server",
        "location",
        "etag",
        "last-modified",
        "expires",
        "date",
        "age",
    }
)
# One list, however many lines it stands on; of the fields above the first line counts.
_LISTS: Final = frozenset({"cache-control", "content-encoding", "transfer-encoding"})
# Kept under their own names for the watch, the report and the next run.
_WATCHED: Final = frozenset({"cf-ray", "retry-after", "x-robots-tag", *answers.NAMES})
_PLAIN_TYPE: Final = re.compile(
    r"(?:text/(?:html|plain|xml)|application/(?:xhtml\+xml|xml|json))"
    r"(?: ?; ?charset=\"?(?:utf-8|us-ascii|iso-8859-\d\d?|windows-125\d)\"?)?",
    re.IGNORECASE | re.ASCII,
)
_QUOTING: Final = "its Location quotes a value of ours: neither kept nor followed"
_LOOKED_AT: Final = 1024  # characters of a field that are searched for values of ours
_DEMOTIONS: Final = ("-authenticated", "-verified")


class Answer(Struct, frozen=True, kw_only=True):
    """What the head said; nothing at all where none came.

    `robots_tags` are all X-Robots-Tag fields and `accept_signature` is that field, as they came;
    `media_type` is what Content-Type says without its parameters, in lower case, "" where there is
    none. `withheld` says what is not here because it quotes a value of ours.
    """

    status: int | None = None
    reason: str | None = None
    server: str | None = None
    cf_ray: bool = False
    fields: dict[str, str] = {}
    retry_after: float | None = None
    quota: answers.Quota = answers.Quota()
    location: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    fresh_for: float | None = None
    content_type: str | None = None
    content_encoding: str | None = None
    transfer_encoding: str | None = None
    robots_tags: tuple[str, ...] = ()
    accept_signature: str | None = None
    media_type: str = ""
    withheld: str = ""

    @property
    def succeeded(self) -> bool:
        """2xx."""
        return self.status is not None and 200 <= self.status < 300


NO_ANSWER: Final = Answer()


def read(
    response: ClientResponse, ours: redaction.Ours, *, requested: float, received: float
) -> Answer:
    """The answer's head, without what it quotes of our own values.

    `requested` and `received` are when the request left and the head came, in seconds since 1970 as
    the wall clock has it: servers name moments by theirs.
    """
    found: dict[str, str] = {}
    watched: dict[str, str] = {}
    for raw, value in response.headers.items():
        name = raw.lower()
        if name in _FIRST:
            found.setdefault(name, value)
        elif name in _LISTS:
            found[name] = f"{found[name]}, {value}" if name in found else value
        elif _is_watched(name):
            watched[name] = f"{watched[name]}, {value}" if name in watched else value
    fields = freshness.Fields(
        cache_control=found.get("cache-control"),
        expires=found.get("expires"),
        date=found.get("date"),
        age=found.get("age"),
        etag=found.get("etag"),
        last_modified=found.get("last-modified"),
    )
    validators = freshness.validators(fields, received)
    location = found.get("location")
    if location is not None:
        location = _octets_escaped(location)
    quoting = location is not None and redaction.holds(location, ours)
    content_type = found.get("content-type")
    return Answer(
        status=response.status,
        reason=shown(response.reason or "", ours),
        server=shown(found["server"], ours) if "server" in found else None,
        cf_ray="cf-ray" in watched,
        fields={name: shown(value, ours) for name, value in watched.items()},
        retry_after=(
            answers.retry_after(response.headers.getall("Retry-After"), received)
            if "retry-after" in watched
            else None
        ),
        quota=answers.quota(watched, received) if watched else answers.Quota(),
        location=None if location is None or quoting else target.shown(location),
        etag=_unquoting(validators.etag, ours),
        # a date has no room for a signature
        last_modified=_unquoting(validators.last_modified, redaction.Ours(cookie=ours.cookie)),
        fresh_for=(
            freshness.granted(fields, requested=requested, received=received)
            if "cache-control" in found or "expires" in found
            else None
        ),
        content_type=None if content_type is None else _shown_type(content_type, ours),
        content_encoding=found.get("content-encoding"),
        transfer_encoding=found.get("transfer-encoding"),
        robots_tags=(
            tuple(response.headers.getall("X-Robots-Tag")) if "x-robots-tag" in watched else ()
        ),
        accept_signature=watched.get("accept-signature"),
        media_type=essence(content_type),
        withheld=_QUOTING if quoting else "",
    )


def essence(content_type: str | None) -> str:
    """A Content-Type without its parameters, in lower case."""
    return (content_type or "").partition(";")[0].strip().lower()


def shown(value: str, ours: redaction.Ours) -> str:
    """A value as a log line has it: nothing that is no text, nothing of ours, nothing long."""
    if not value.isascii():  # octets that are not UTF-8 come as surrogates, which JSON has not
        value = value.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(value) >= redaction.SHORTEST:
        left = redaction.without(value[:_LOOKED_AT].encode(), ours)
        value = left.decode("utf-8", "replace")
    return value[:LONGEST]


def _shown_type(value: str, ours: redaction.Ours) -> str:
    """The types of most pages are no secret, should a cookie have the same words."""
    return value if _PLAIN_TYPE.fullmatch(value) else shown(value, ours)


def _unquoting(value: str | None, ours: redaction.Ours) -> str | None:
    """A validator, which is sent back as it came or not at all."""
    return None if value is None or redaction.holds(value, ours) else value


def _is_watched(name: str) -> bool:
    return (
        name in _WATCHED
        or signals.read(name)
        or (name.startswith("x-") and name.endswith(_DEMOTIONS))
    )


def _octets_escaped(location: str) -> str:
    """A Location with each octet that is not UTF-8 percent-encoded, as browsers send it on."""
    if location.isascii():
        return location
    return "".join(
        f"%{ord(letter) - 0xDC00:02X}" if "\udc80" <= letter <= "\udcff" else letter
        for letter in location
    )
