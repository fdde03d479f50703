"""How long public keys and signatures are: always the same, or, with RSA, as long as the key is."""

from dataclasses import dataclass
from typing import Final, Protocol

_LEAST_BITS: Final = 2048
_MOST_BITS: Final = 4096
# What OpenSSL takes with every modulus; a longer exponent makes verifying slow, and nobody has one.
_LONGEST_EXPONENT: Final = 8  # bytes


class Sizes(Protocol):
    """How a public key's bytes and the members of its JWK belong together.

    Raises ValueError, which says what a length should be, for what no key of the algorithm has.
    """

    def split(self, public: bytes) -> tuple[bytes, ...]: ...
    def join(self, parts: tuple[bytes, ...]) -> bytes: ...
    def fault(self, parts: tuple[bytes, ...]) -> tuple[int, str] | None: ...
    def signature(self, public: bytes) -> int: ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """The public key is `parts` JWK members of `part` bytes each, the signature `size` bytes."""

    part: int
    size: int
    parts: int = 1

    def split(self, public: bytes) -> tuple[bytes, ...]:
        """The members of a public key, which is simply all of them in a row."""
        self.signature(public)
        return tuple(public[at : at + self.part] for at in range(0, len(public), self.part))

    def join(self, parts: tuple[bytes, ...]) -> bytes:
        """The public key of its members, which were found without fault."""
        return b"".join(parts)

    def fault(self, parts: tuple[bytes, ...]) -> tuple[int, str] | None:
        """Which member has another length than it must have, and what it must have."""
        for index, part in enumerate(parts):
            if len(part) != self.part:
                return index, f"must have {self.part} bytes, has {len(part)}"
        return None

    def signature(self, public: bytes) -> int:
        """The length of this key's signatures in bytes."""
        if len(public) != self.part * self.parts:
            raise ValueError(f"has {self.part * self.parts} bytes, this one {len(public)}")
        return self.size


class Rsa:
    """Modulus and exponent, as in RFC 3110: the exponent's length in one octet, it, the modulus.

    Members are in the order of JWKs, the modulus first.
    """

    def split(self, public: bytes) -> tuple[bytes, ...]:
        """Modulus and exponent of a public key."""
        end = 1 + public[0] if public else 0
        parts = public[end:], public[1:end]
        if (found := self.fault(parts)) is not None:
            raise ValueError(f"has a modulus and an exponent; {('n', 'e')[found[0]]} {found[1]}")
        return parts

    def join(self, parts: tuple[bytes, ...]) -> bytes:
        """The public key of its members, which were found without fault."""
        modulus, exponent = parts
        return bytes([len(exponent)]) + exponent + modulus

    def fault(self, parts: tuple[bytes, ...]) -> tuple[int, str] | None:
        """Which member is none of a usable key, and what it must have."""
        modulus, exponent = parts
        bits = int.from_bytes(modulus).bit_length()
        if not _LEAST_BITS <= bits <= _MOST_BITS:
            return 0, f"must have {_LEAST_BITS} to {_MOST_BITS} bits, has {bits}"
        if not _is_odd(modulus):
            return 0, "must be odd, without a zero in front"
        if not _is_odd(exponent) or exponent == b"\1" or len(exponent) > _LONGEST_EXPONENT:
            return 1, f"must be odd, above 1 and of at most {_LONGEST_EXPONENT} bytes"
        return None

    def signature(self, public: bytes) -> int:
        """The length of this key's signatures in bytes, which is that of its modulus."""
        return len(self.split(public)[0])


def _is_odd(number: bytes) -> bool:
    return bool(number) and number[0] != 0 and number[-1] % 2 == 1
