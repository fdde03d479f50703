"""How long keys and signatures are, and of RSA, which keys are usable at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing.sizes import Fixed, Rsa

MODULUS = b"\x80" + bytes(254) + b"\1"  # of 2048 bits
EXPONENT = b"\1\0\1"


def test_a_key_of_fixed_size_is_its_members_in_a_row() -> None:
    sizes = Fixed(part=2, parts=2, size=9)

    assert sizes.split(b"abcd") == (b"ab", b"cd")
    assert sizes.join((b"ab", b"cd")) == b"abcd"
    assert sizes.fault((b"ab", b"cd")) is None
    assert sizes.signature(b"abcd") == 9


def test_members_of_unequal_lengths_do_not_make_up_for_each_other() -> None:
    assert Fixed(part=2, parts=2, size=9).fault((b"ab", b"c")) == (1, "must have 2 bytes, has 1")
    assert Fixed(part=2, parts=2, size=9).fault((b"a", b"bcd")) == (0, "must have 2 bytes, has 1")


def test_a_key_of_another_length_has_no_members_and_no_signature() -> None:
    for use in (Fixed(3, 9).split, Fixed(3, 9).signature):
        with pytest.raises(ValueError, match="has 3 bytes, this one 2"):
            use(b"ab")


@pytest.mark.parametrize(
    "modulus",
    [MODULUS, b"\1" + MODULUS, b"\xff" * 512],
    ids=["2048 bits", "2049 bits", "4096 bits"],
)
@pytest.mark.parametrize("exponent", [b"\3", EXPONENT, b"\xff" * 8], ids=bytes.hex)
def test_an_rsa_key_comes_back_from_its_members(modulus: bytes, exponent: bytes) -> None:
    sizes = Rsa()
    public = sizes.join((modulus, exponent))

    assert sizes.fault((modulus, exponent)) is None
    assert sizes.split(public) == (modulus, exponent)
    assert sizes.signature(public) == len(modulus)


FAULTS = [
    pytest.param(b"", EXPONENT, 0, "2048 to 4096 bits, has 0", id="nothing"),
    pytest.param(b"\x7f" + b"\xff" * 255, EXPONENT, 0, "bits, has 2047", id="a bit too short"),
    pytest.param(b"\1" + b"\xff" * 512, EXPONENT, 0, "bits, has 4097", id="a bit too long"),
    pytest.param(b"\0" + MODULUS, EXPONENT, 0, "without a zero in front", id="another spelling"),
    pytest.param(MODULUS[:-1] + b"\2", EXPONENT, 0, "must be odd", id="an even modulus"),
    pytest.param(MODULUS, b"", 1, "must be odd", id="no exponent"),
    pytest.param(MODULUS, b"\1", 1, "above 1", id="the exponent that signs nothing"),
    pytest.param(MODULUS, b"\2", 1, "must be odd", id="an even exponent"),
    pytest.param(MODULUS, b"\0\3", 1, "must be odd", id="a zero before the exponent"),
    pytest.param(MODULUS, b"\1" * 9, 1, "at most 8 bytes", id="a long exponent"),
]


@pytest.mark.parametrize(("modulus", "exponent", "index", "fault"), FAULTS)
def test_an_rsa_key_that_nobody_should_use_is_refused(
    modulus: bytes, exponent: bytes, index: int, fault: str
) -> None:
    found = Rsa().fault((modulus, exponent))

    assert found is not None
    assert found[0] == index
    assert fault in found[1]
    with pytest.raises(ValueError, match=r"a modulus and an exponent; [ne] must"):
        Rsa().split(Rsa().join((modulus, exponent)))


@given(st.binary(max_size=600))
def test_bytes_are_one_rsa_key_or_none(public: bytes) -> None:
    try:
        parts = Rsa().split(public)
    except ValueError:
        return

    assert Rsa().join(parts) == public
