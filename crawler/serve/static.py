"""What we publish, as files for a web server of somebody else's, and the fields that it adds.

Nothing signs at such a server, so the response signatures are made here and have an end. Two forms
carry them: directives for nginx, and the `_headers` file that Netlify and Cloudflare Pages read.
Both are pure text from values; `crawler.serve.folder` writes them.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from crawler.serve import publish
from crawler.serve.publish import Document, Fields
from signing import directory
from signing.keys import PrivateKey

NGINX: Final = "nginx-snippet.conf"
HEADERS: Final = "_headers"
_PORT: Final = re.compile(r":\d+$")
_FILES: Final = {"/": "index.html", "/bot": "bot.html"}  # what static hosts serve at these paths


class Term(Struct, frozen=True, kw_only=True):
    """From when until when the signatures are good, in Unix seconds.

    `ends` is when the first of the published keys is to be published no more, where one is.
    `renew` is the last moment at which to publish anew: who fetched just before it may keep a copy
    for as long as `Cache-Control` says.
    """

    created: int
    expires: int
    ends: int | None = None

    @property
    def renew(self) -> int:
        latest = self.expires - publish.MAX_AGE
        return latest if self.ends is None else min(latest, self.ends)


def written(seconds: int) -> str:
    """A moment as people read it, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def first_end(documents: Mapping[str, Document]) -> int | None:
    """When the first of the published keys ends, in Unix seconds; None where none has an end."""
    sets = [documents[path].body for path in (directory.WELL_KNOWN, publish.PQ_KEYS)]
    keys = [key for body in sets for key in directory.read_key_set(body, most=len(body)).keys]
    return min((key.expires for key in keys if key.expires is not None), default=None)


def files(
    documents: Mapping[str, Document],
    active: Iterable[PrivateKey],
    *,
    authority: str,
    term: Term,
) -> dict[str, bytes]:
    """Each file by its path below the folder: the documents first, then what speaks of them."""
    keys = tuple(active)
    found: dict[str, bytes] = {}
    fields: dict[str, Fields] = {}
    for path, document in documents.items():
        found[_file(path)] = document.body
        signatures = publish.signed(
            document, keys, authority=authority, created=term.created, expires=term.expires
        )
        fields[path] = (*document.fields, *signatures)
    about = (
        f"Published at https://{authority} by `crawl publish`, which writes this file anew.",
        f"The signatures expire {written(term.expires)}. Publish again by {written(term.renew)}.",
    )
    found[HEADERS] = _headers(about, fields).encode()
    found[NGINX] = _nginx(about, fields, authority).encode()
    return found


def _file(path: str) -> str:
    return _FILES.get(path, path.removeprefix("/"))


def _headers(about: Iterable[str], fields: Mapping[str, Fields]) -> str:
    lines = [f"# {line}" for line in about]
    for path, own in fields.items():
        lines += ["", path, *(f"  {name}: {value}" for name, value in own)]
    return "\n".join(lines) + "\n"


def _nginx(about: Iterable[str], fields: Mapping[str, Fields], authority: str) -> str:
    """Directives for a server block whose root is the folder.

    nginx makes ETag, Last-Modified and 304 by itself, and says them with these fields. They name
    the digest of the file as it lies there, so nothing may compress, recode or cut it.
    """
    head = [
        *about,
        "Digests and signatures are of the files that were written with it: reload nginx at once.",
        "",
        "server {",
        f"    server_name {_PORT.sub('', authority)};  # and listen, ssl_certificate ...",
        "    root /where/these/files/are;",
        f"    include /where/these/files/are/{NGINX};",
        "}",
    ]
    lines = [f"# {line}".rstrip() for line in head]
    for path, own in fields.items():
        media_type = dict(own)["Content-Type"]
        lines += [
            "",
            f"location = {path} {{",
            "    types { }",
            f"    default_type {_quoted(media_type)};",
            "    charset off;",
            "    gzip off;",
            "    etag on;",
            "    max_ranges 0;",
            "    if ($request_method = OPTIONS) {",
            *_added(publish.PREFLIGHT, "        "),
            "        return 204;",
            "    }",
            "    if ($request_method !~ ^(GET|HEAD|OPTIONS)$) {",
            f"        add_header Allow {_quoted(publish.METHODS)} always;",
            "        return 405;",
            "    }",
            *_added((field for field in own if field[0] != "Content-Type"), "    "),
            f"    try_files /{_file(path)} =404;",
            "}",
        ]
    return "\n".join(lines) + "\n"


def _added(fields: Iterable[tuple[str, str]], indent: str) -> list[str]:
    return [f"{indent}add_header {name} {_quoted(value)};" for name, value in fields]


def _quoted(value: str) -> str:
    """A value between the quotes that nginx strips; `$` would begin one of its variables."""
    if "$" in value or "\\" in value or ('"' in value and "'" in value):
        raise ValueError(f"{value!r} cannot be written in an nginx configuration")
    quote = "'" if '"' in value else '"'
    return f"{quote}{value}{quote}"
