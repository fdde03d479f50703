"""The host of a URL in the one form in which it is resolved, compared and sent."""

import ipaddress
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import idna

_LONGEST = 1024  # characters; no more than 253 can come of it, escapes counted
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LABEL_ENDS = re.compile("[.\u3002\uff0e\uff61]")  # UTS 46, section 2.3


class Why(StrEnum):
    """What is wrong with a host."""

    UNREADABLE = "unreadable"
    UNENCODABLE = "unencodable"


@dataclass(frozen=True, slots=True)
class Unusable:
    """A host that cannot be asked, and what exactly is in the way."""

    why: Why
    detail: str


@lru_cache(maxsize=1024)
def canonical(name: str) -> str | Unusable:
    """The one form of a URL's host: lower case, A-labels, no final dot; IPv6 without brackets.

    Names by IDNA 2008 after the mapping of UTS 46. Underscores pass, since hosts have them. Short,
    octal and hexadecimal addresses (127.1, 0x7f.1) are unusable: they mean another host to each
    reader.
    """
    if len(name) > _LONGEST:
        return Unusable(Why.UNREADABLE, f"{len(name)} characters")
    if name.startswith("["):
        return _address(name)
    if "%" in name:
        try:
            name = unquote_to_bytes(name).decode("utf-8")
        except UnicodeError:
            return Unusable(Why.UNREADABLE, name)
    if name.isascii():
        name = name.lower()
    else:
        try:
            name = idna.uts46_remap(name, std3_rules=False, transitional=False)
        except idna.IDNAError as error:
            return Unusable(Why.UNENCODABLE, str(error))
    labels = _LABEL_ENDS.split(name)
    if len(labels) > 1 and not labels[-1]:
        labels.pop()  # example.com. is example.com; two names for one site would mean two paces
    try:
        labels = [
            label if label.isascii() else idna.alabel(label).decode("ascii") for label in labels
        ]
    except idna.IDNAError as error:
        return Unusable(Why.UNENCODABLE, str(error))
    host = ".".join(labels)
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
        return Unusable(Why.UNREADABLE, name)
    if _NUMERIC.fullmatch(labels[-1]) and not is_address(host):
        return Unusable(Why.UNREADABLE, name)
    return host


def is_address(host: str) -> bool:
    """True where the host is an IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _address(name: str) -> str | Unusable:
    try:
        address = ipaddress.IPv6Address(name.removeprefix("[").removesuffix("]"))
    except ValueError as error:
        return Unusable(Why.UNREADABLE, str(error))
    if not name.endswith("]") or address.scope_id:
        return Unusable(Why.UNREADABLE, name)
    if address.ipv4_mapped is not None:  # Python writes these in two ways, by its version
        low = int(address.ipv4_mapped)
        return f"::ffff:{low >> 16:x}:{low & 0xFFFF:x}"
    return str(address)
