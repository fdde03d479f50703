"""What a Signature-Agent value names: a place where keys are, and who speaks there.

Whoever may put a file somewhere on an origin is not the origin. So a value counts as the origin's
own only where it is the bare origin, or one of the two places where origins have their key sets.
Any other URL is an agent of its own, named by the whole of it.
"""

from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from signing.directory import WELL_KNOWN
from signing.profile import SECOND_KEYS_PATH

_KEPT: Final = 1024
_HOMES: Final = frozenset({WELL_KNOWN, SECOND_KEYS_PATH})


@lru_cache(_KEPT)
def origin(agent: str) -> str:
    """The origin of a value: scheme, host, and the port where it is not the usual one."""
    url = urlsplit(agent)
    return f"{url.scheme}://{url.netloc.lower().removesuffix(':443')}"


@lru_cache(_KEPT)
def location(agent: str) -> str:
    """The URL of the key set that a value names: a bare origin implies the well-known path."""
    url = urlsplit(agent)
    query = f"?{url.query}" if url.query else ""
    path = url.path if url.path not in ("", "/") or query else WELL_KNOWN
    return f"{origin(agent)}{path}{query}"


@lru_cache(_KEPT)
def name(agent: str) -> str:
    """Who speaks by the keys that a value names: an origin, or else the URL of the key set."""
    url = location(agent)
    return origin(agent) if is_home(url) else url


@lru_cache(_KEPT)
def is_home(url: str) -> bool:
    """Whether a key set lies where every origin has its own by convention."""
    place = urlsplit(url)
    return not place.query and place.path in _HOMES
