"""A body's digest is stated with SHA-256 and checked with what is known."""

from base64 import b64encode
from hashlib import sha256, sha512

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import digest
from signing.errors import FieldUnreadable

BODY = b'{"hello": "world"}'
SHA_256 = f"sha-256=:{b64encode(sha256(BODY).digest()).decode()}:"
SHA_512 = f"sha-512=:{b64encode(sha512(BODY).digest()).decode()}:"


def test_the_digest_of_a_body_is_its_sha_256() -> None:
    # RFC 9530, appendix B.2, the same body with the line feed behind it.
    stated = digest.content_digest(b'{"hello": "world"}\n')

    assert stated == "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"


@given(st.binary())
def test_what_we_state_agrees_with_its_body_and_no_other(body: bytes) -> None:
    assert digest.agrees(digest.content_digest(body), body)
    assert not digest.agrees(digest.content_digest(body), body + b"\0")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(SHA_512, True, id="SHA-512"),
        pytest.param(f"{SHA_256}, {SHA_512}", True, id="both"),
        pytest.param(f"{SHA_256}, md5=:AQ==:", True, id="an unknown one beside it"),
        pytest.param(f"{SHA_256}, sha-512=:AQ==:", False, id="one of two is wrong"),
        pytest.param("md5=:AQ==:", False, id="only an unknown one"),
        pytest.param("", False, id="none"),
        pytest.param("  ", False, id="blanks"),
        pytest.param(f" {SHA_256} ", True, id="blanks around it"),
    ],
)
def test_all_known_digests_must_agree_and_one_must_be_known(value: str, expected: bool) -> None:
    assert digest.agrees(value, BODY) is expected


@pytest.mark.parametrize("value", ["sha-256=x", "sha-256=:A:", f"{SHA_256}, {SHA_256}", "=", "é"])
def test_a_digest_that_is_none_is_unreadable(value: str) -> None:
    with pytest.raises(FieldUnreadable):
        digest.agrees(value, BODY)
