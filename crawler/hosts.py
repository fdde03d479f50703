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
        self._doors: dict[str, frozenset[str]] = {}
        for origin in origins:
            scope = scopes[origin.name]
            self._doors[scope] = self.doors(scope) | {target.door(origin.url)}
            home = target.sendable(origin.url)
            assert isinstance(home, target.Target)  # noqa: S101 - the configuration was checked
            folder = home.path.rpartition("/")[0] + "/"
            known = self._known.setdefault(home.origin, [])
            known.append((folder, origin.name, scope))
            known.sort(key=lambda item: -len(item[0]))

    def scope(self, origin: Origin) -> str:
        """The pace scope that an origin is in."""
        return self._scopes[origin.name]

    def doors(self, scope: str) -> frozenset[str]:
        """Scheme, host and port of each origin in a scope."""
        return self._doors.get(scope, frozenset())

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
    """Where each configured origin is: whose host, in which pace scope.

    Where the origins of one host do not agree on a scope, the widest counts; an origin in a domain
    that another one takes as its scope joins that.
    """
    wide = {_host(origin): await scope_of(origin) for origin in _narrow_first(settings.origins)}
    domains = {
        target.registrable_domain(_host(origin))
        for origin in settings.origins
        if origin.politeness.scope is ScopeKind.DOMAIN
    }
    scopes = {}
    for origin in settings.origins:
        domain = target.registrable_domain(_host(origin)) if domains else ""
        scopes[origin.name] = domain if domain in domains else wide[_host(origin)]
    return Hosts(settings.origins, scopes)


async def scope_of(origin: Origin) -> str:
    """The pace scope of an origin: its host, its registrable domain, or its first address."""
    host = _host(origin)
    match origin.politeness.scope:
        case ScopeKind.HOST:
            return host
        case ScopeKind.DOMAIN:
            return target.registrable_domain(host)
        case ScopeKind.ADDRESS:
            try:
                loop = asyncio.get_running_loop()
                known = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            except OSError:
                return host
            return min(str(item[4][0]) for item in known)


def _narrow_first(origins: Sequence[Origin]) -> list[Origin]:
    """So that the widest scope comes last for a host, and counts."""
    order = [ScopeKind.HOST, ScopeKind.ADDRESS, ScopeKind.DOMAIN]
    return sorted(origins, key=lambda origin: order.index(origin.politeness.scope))


def _host(origin: Origin) -> str:
    found = target.sendable(origin.url)
    assert isinstance(found, target.Target)  # noqa: S101 - the configuration was checked
    return found.host
