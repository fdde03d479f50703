"""Which URLs belong to a configured origin: what a crawl of it may follow."""

from enum import StrEnum

from crawler.polite.robots_pattern import spelled
from crawler.polite.target import Target


class Outside(StrEnum):
    """In what a URL differs from the origin that found it."""

    SCHEME = "other scheme"
    HOST = "other host"
    PORT = "other port"
    PATH = "outside the origin's folder"


def outside(found: Target, home: Target) -> Outside | None:
    """Why `found` is not part of the origin configured at `home`; None where it is.

    Same scheme, host and port, and a path below the folder of the configured URL: `/docs/a` and
    `/docs/` span `/docs/`.
    """
    if found.scheme != home.scheme:
        return Outside.SCHEME
    if found.host != home.host:
        return Outside.HOST
    if found.port != home.port:
        return Outside.PORT
    folder = spelled(home.path).rpartition("/")[0]
    if not spelled(found.path).startswith(f"{folder}/"):
        return Outside.PATH
    return None
