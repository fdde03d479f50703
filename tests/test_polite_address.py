"""Which resolved addresses may be asked."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.polite.address import Refusal, admits, barred, refusal
from crawler.polite.target import Target, sendable

ASKED = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:2800:220:1:248:1893:25c8:1946",
    "2001:200::1",
    "2001:db9::1",
    "2a00::1",
    "3fff:1000::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
]

REFUSED = {
    Refusal.METADATA: [
        "169.254.169.254",
        "169.254.170.2",
        "169.254.42.42",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "FD00:EC2:0::254",
        "fd20:ce::254",
        "fe80::a9fe:a9fe",
        "fe80::a9fe:a9fe%eth0",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "::169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "2001:0:a9fe:a9fe::1",
        "2001:0:808:808:0:0:5601:5601",
        "2a00::5efe:169.254.169.254",
    ],
    Refusal.LOOPBACK: ["127.0.0.1", "127.255.255.255", "::1", "::1%lo"],
    Refusal.PRIVATE: [
        "10.0.0.0",
        "10.255.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.168.0.0",
        "192.168.255.255",
        "fc00::1",
        "fdff:ffff::1",
        "fec0::1",
    ],
    Refusal.LINK_LOCAL: ["169.254.0.1", "169.254.255.255", "fe80::1", "fe80::1%eth0", "febf::1"],
    Refusal.CGNAT: ["100.64.0.0", "100.127.255.255"],
    Refusal.MULTICAST: ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    Refusal.UNSPECIFIED: ["0.0.0.0", "::"],
    Refusal.RESERVED: [
        "0.0.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "240.0.0.1",
        "255.255.255.255",
        "2001:db8::1",
        "2001:2::1",
        "2001:0:808:808::f7f7:f7f7",
        "3fff::1",
        "100::1",
        "5f00::1",
        "4000::1",
        "64:ff9b:1::808:808",
        "::8.8.8.8",
        "::ffff:0:8.8.8.8",
    ],
    Refusal.EMBEDDED: [
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:0.0.0.0",
        "::ffff:100.64.0.1",
        "::127.0.0.1",
        "::2",
        "::ffff:0:127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::192.168.0.1",
        "2002:7f00:1::1",
        "2002:c0a8:101::1",
        "2001:0:7f00:1::f7f7:f7f7",
        "2001:0:808:808::80ff:fffe",
        "2a00::5efe:10.0.0.1",
        "2a00::200:5efe:10.0.0.1",
    ],
    Refusal.UNREADABLE: [
        "",
        "localhost",
        "127.1",
        "010.0.0.1",
        "1.2.3.4.5",
        "::g",
        "[::1]",
        "0x7f",
    ],
}


@pytest.mark.parametrize("address", ASKED)
def test_is_asked(address: str) -> None:
    assert refusal(address, admitted=False) is None


@pytest.mark.parametrize(
    ("address", "reason"),
    [(address, reason) for reason, addresses in REFUSED.items() for address in addresses],
)
def test_is_refused(address: str, reason: Refusal) -> None:
    assert refusal(address, admitted=False) is reason


@pytest.mark.parametrize(
    ("address", "reason"),
    [(address, reason) for reason, addresses in REFUSED.items() for address in addresses],
)
def test_the_operators_word_opens_loopback_and_private_addresses_only(
    address: str, reason: Refusal
) -> None:
    opened = reason in (Refusal.LOOPBACK, Refusal.PRIVATE)

    assert refusal(address, admitted=True) is (None if opened else reason)


@given(st.ip_addresses())
def test_what_is_asked_is_global_by_pythons_table_too(
    address: IPv4Address | IPv6Address,
) -> None:
    if refusal(str(address), admitted=False) is None:
        assert address.is_global or inner_is_global(address)
        assert not address.is_multicast


def inner_is_global(address: IPv4Address | IPv6Address) -> bool:
    assert isinstance(address, IPv6Address)
    nat64 = address in ip_network("64:ff9b::/96")
    last = IPv4Address(int(address) & 0xFFFFFFFF) if nat64 else None
    inner = address.ipv4_mapped or address.sixtofour or last
    return inner is not None and inner.is_global


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:{}", "64:ff9b::{}", "::{}", "2a00::5efe:{}"]))
def test_hiding_an_address_in_ipv6_never_helps(inner: IPv4Address, form: str) -> None:
    hidden = str(ip_address(form.format(inner)))

    if refusal(str(inner), admitted=False) is not None:
        assert refusal(hidden, admitted=True) is not None or hidden in ("::", "::1")


def at(url: str) -> Target:
    found = sendable(url)
    assert isinstance(found, Target)
    return found


@pytest.mark.parametrize(
    ("asked", "admitted"),
    [
        ("http://intranet:8080/a", True),
        ("https://intranet:8080/", True),
        ("http://INTRANET:8080/", True),
        ("http://intranet/", False),
        ("http://intranet:8081/", False),
        ("http://10.0.0.1:8080/", False),
        ("http://www.intranet:8080/", False),
    ],
)
def test_a_word_for_one_host_and_port_is_for_no_other(asked: str, admitted: bool) -> None:
    assert admits(at("http://intranet:8080/docs/"), at(asked)) is admitted


@pytest.mark.parametrize(
    ("url", "admitted", "told"),
    [
        ("http://127.0.0.1/", False, "127.0.0.1 is loopback; allow_private = true admits it"),
        ("http://[fd00::1]:81/", False, "fd00::1 is private; allow_private = true admits it"),
        ("http://127.0.0.1/", True, None),
        ("http://169.254.169.254/", True, "169.254.169.254 is metadata; nothing admits it"),
        ("http://8.8.8.8/", False, None),
        ("http://localhost/", False, None),
    ],
)
def test_an_origin_at_an_address_that_is_not_asked_is_known_before_it_is_asked(
    url: str, admitted: bool, told: str | None
) -> None:
    home = sendable(url)
    assert isinstance(home, Target)

    assert barred(home, admitted=admitted) == told
