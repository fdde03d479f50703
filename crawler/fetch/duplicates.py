"""What tells that two URLs are one page: computed for each link that is found, so it must be cheap.

Most links have nothing that could be written in two ways, and are their own key.
"""

import re
from functools import lru_cache

from crawler.polite import target

_PLAIN = re.compile(r"https?://[a-z0-9.-]+(?::[0-9]+)?/[A-Za-z0-9/._~-]*")


def key(url: str) -> str:
    """What a sendable URL shares with its duplicates; `target.duplicate_key`, sooner."""
    if _PLAIN.fullmatch(url) and "/." not in url:
        return url
    return _involved(url)


@lru_cache(maxsize=4096)  # the links of a site's navigation stand on each of its pages
def _involved(url: str) -> str:
    return target.duplicate_key(url)
