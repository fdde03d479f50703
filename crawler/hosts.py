"""Where the configured origins are: whose host, in which pace scope."""

import asyncio
import socket
from collections.abc import Mapping, Sequence

from crawler.polite import target
from crawler.settings import Origin, ScopeKind, Settings


class Hosts:
    """Which origin and scope a URL belongs to: its host's, the one of the nearest folder."""

    def __init__(self, origins: Sequence[Origin], scopes: Mapping[str, str]) -> None:
        self._scopes = dict(scopes)
        self._known: dict[str, list[tuple[str, str, str]]] = {}
        for origin in origins:
            home = target.sendable(origin.url)
            assert isinstance(home, target.Target)  # noqa: S101 - the configuration was checked
            folder = home.path.rpartition("/")[0] + "/"
            known = self._known.setdefault(home.origin, [])
            known.append((folder, origin.name, scopes[origin.name]))
            known.sort(key=lambda item: -len(item[0]))

    def scope(self, origin: Origin) -> str:
        """The pace scope that an origin is in."""
        return self._scopes[origin.name]

    def __call__(self, url: str) -> tuple[str, str] | None:
        found = target.sendable(url)
        if isinstance(found, target.Unsendable) or found.origin not in self._known:
            return None
        known = self._known[found.origin]
        for folder, name, scope in known:
            if found.path.startswith(folder):
                return name, scope
        return known[-1][1], known[-1][2]


async def located(settings: Settings) -> Hosts:
    """Where each configured origin is: whose host, in which pace scope."""
    return Hosts(
        settings.origins, {origin.name: await scope_of(origin) for origin in settings.origins}
    )


async def scope_of(origin: Origin) -> str:
    """The pace scope of an origin: its host, its registrable domain, or its first address."""
    found = target.sendable(origin.url)
    assert isinstance(found, target.Target)  # noqa: S101 - the configuration was checked
    match origin.politeness.scope:
        case ScopeKind.HOST:
            return found.host
        case ScopeKind.DOMAIN:
            return target.registrable_domain(found.host)
        case ScopeKind.ADDRESS:
            try:
                loop = asyncio.get_running_loop()
                known = await loop.getaddrinfo(found.host, None, type=socket.SOCK_STREAM)
            except OSError:
                return found.host
            return min(str(item[4][0]) for item in known)
