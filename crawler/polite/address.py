"""Which resolved addresses may be asked.

The table is our own, after the IANA special-purpose registries (RFC 6890 and what updates it),
since Python's `is_global` changes with its version. IPv4 addresses inside IPv6 ones are looked at
too.
"""

from enum import StrEnum
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from crawler.polite.target import Target

_Address = IPv4Address | IPv6Address
_Network = IPv4Network | IPv6Network


class Refusal(StrEnum):
    """Why an address is not asked."""

    METADATA = "metadata"  # a cloud's secrets for whoever asks from inside; never admitted
    LOOPBACK = "loopback"
    PRIVATE = "private"
    LINK_LOCAL = "link-local"
    CGNAT = "cgnat"  # RFC 6598
    MULTICAST = "multicast"
    UNSPECIFIED = "unspecified"
    RESERVED = "reserved"
    EMBEDDED = "embedded"  # an IPv6 address that carries an IPv4 one which is refused
    UNREADABLE = "unreadable"  # not an address


_ADMISSIBLE = frozenset({Refusal.LOOPBACK, Refusal.PRIVATE})

_METADATA = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # AWS, Google, Azure, Oracle, DigitalOcean, OpenStack and others
            "169.254.169.253",  # AWS resolver
            "169.254.169.123",  # AWS clock
            "169.254.170.2",  # AWS containers
            "169.254.170.23",  # AWS Kubernetes
            "169.254.0.23",  # Tencent
            "169.254.42.42",  # Scaleway
            "100.100.100.200",  # Alibaba
            "100.96.0.96",  # Volcengine
            "168.63.129.16",  # Azure's host
            "192.0.0.192",  # Oracle classic
            "fd00:ec2::254",  # AWS
            "fd00:ec2::253",
            "fd00:ec2::123",
            "fd00:ec2::23",
            "fd20:ce::254",  # Google
            "fd00:42::42",  # Scaleway
            "fe80::a9fe:a9fe",  # OpenStack
        ),
    )
)

# The first that fits decides. What fits none is asked, in IPv6 only inside 2000::/3.
_NETWORKS: tuple[tuple[_Network, Refusal], ...] = tuple(
    (ip_network(network), refusal)
    for network, refusal in (
        ("0.0.0.0/32", Refusal.UNSPECIFIED),
        ("0.0.0.0/8", Refusal.RESERVED),
        ("10.0.0.0/8", Refusal.PRIVATE),
        ("100.64.0.0/10", Refusal.CGNAT),
        ("127.0.0.0/8", Refusal.LOOPBACK),
        ("169.254.0.0/16", Refusal.LINK_LOCAL),
        ("172.16.0.0/12", Refusal.PRIVATE),
        ("192.0.0.0/24", Refusal.RESERVED),
        ("192.0.2.0/24", Refusal.RESERVED),
        ("192.88.99.0/24", Refusal.RESERVED),
        ("192.168.0.0/16", Refusal.PRIVATE),
        ("198.18.0.0/15", Refusal.RESERVED),
        ("198.51.100.0/24", Refusal.RESERVED),
        ("203.0.113.0/24", Refusal.RESERVED),
        ("224.0.0.0/4", Refusal.MULTICAST),
        ("240.0.0.0/4", Refusal.RESERVED),
        ("::/128", Refusal.UNSPECIFIED),
        ("::1/128", Refusal.LOOPBACK),
        ("fc00::/7", Refusal.PRIVATE),
        ("fe80::/10", Refusal.LINK_LOCAL),
        ("fec0::/10", Refusal.PRIVATE),  # site-local, RFC 3879
        ("ff00::/8", Refusal.MULTICAST),
        ("2001::/23", Refusal.RESERVED),  # IETF protocols, among them Teredo and benchmarking
        ("2001:db8::/32", Refusal.RESERVED),
        ("3fff::/20", Refusal.RESERVED),
    )
)
_UNICAST = IPv6Network("2000::/3")
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052
_LAST_32_BITS = (
    _MAPPED,
    _NAT64,
    IPv6Network("::/96"),  # IPv4-compatible, RFC 4291
    IPv6Network("::ffff:0:0:0/96"),  # RFC 2765
    IPv6Network("64:ff9b:1::/48"),  # NAT64 for local use, RFC 8215
)
_6TO4 = IPv6Network("2002::/16")  # RFC 3056
_TEREDO = IPv6Network("2001::/32")  # RFC 4380
_ISATAP = (0x00005EFE, 0x02005EFE)  # RFC 5214


def refusal(address: str, *, admitted: bool) -> Refusal | None:
    """Why `address`, an IP address as text, must not be asked; None where it may.

    `admitted` is the operator's word for this host and port (`admits`): it opens loopback and
    private addresses, and nothing else.
    """
    found = _refusal(address)
    return None if admitted and found in _ADMISSIBLE else found


def said(address: str, found: Refusal) -> str:
    """Why `address` was not asked, as records have it."""
    return f"{address} is {found}"


def advised(told: str) -> str:
    """What `said` told, and what the operator can do about it."""
    admissible = told.rpartition(" is ")[2] in _ADMISSIBLE
    return f"{told}; {'allow_private = true admits it' if admissible else 'nothing admits it'}"


def barred(home: Target, *, admitted: bool) -> str | None:
    """Why an origin whose URL names an address can never be asked, and what to do; else None.

    What a name leads to shows when it is asked. `admitted` is as for `refusal`.
    """
    found = refusal(home.host, admitted=admitted)
    if found is None or found is Refusal.UNREADABLE:
        return None
    return advised(said(home.host, found))


def admits(home: Target, asked: Target) -> bool:
    """Whether `allow_private` of the origin at `home` speaks for `asked`: same host, same port."""
    return (home.host, home.port) == (asked.host, asked.port)


@lru_cache(maxsize=1024)
def _refusal(text: str) -> Refusal | None:
    try:
        address = ip_address(text.partition("%")[0])  # without a zone
    except ValueError:
        return Refusal.UNREADABLE
    return _classified(address)


def _classified(address: _Address) -> Refusal | None:
    if address in _METADATA:
        return Refusal.METADATA
    if isinstance(address, IPv6Address):
        inner = set(map(_classified, _embedded(address)))
        if Refusal.METADATA in inner:
            return Refusal.METADATA
        if inner - {None}:
            return Refusal.EMBEDDED
    for network, found in _NETWORKS:
        if address in network:
            return found
    if isinstance(address, IPv4Address) or address in _UNICAST:
        return None
    return None if address in _MAPPED or address in _NAT64 else Refusal.RESERVED


def _embedded(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to."""
    number = int(address)
    if number <= 1:
        return []  # :: and ::1
    last = number & 0xFFFFFFFF
    if any(address in network for network in _LAST_32_BITS):
        return [IPv4Address(last)]
    if address in _6TO4:
        return [IPv4Address(number >> 80 & 0xFFFFFFFF)]
    if address in _TEREDO:
        return [IPv4Address(number >> 64 & 0xFFFFFFFF), IPv4Address(last ^ 0xFFFFFFFF)]
    if number >> 32 & 0xFFFFFFFF in _ISATAP:
        return [IPv4Address(last)]
    return []
