"""Keys are what they say, and their secrets show nowhere."""

import copy
import json
import pickle
import traceback
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import keys
from signing.algorithms import ECDSA_P256, ED25519, ML_DSA_44, TABLE, Algorithm
from signing.errors import AlgorithmUnsupported, KeyUnreadable, SigningError
from signing.keys import PrivateKey, PublicKey, Secret

SIGNING = [algorithm for algorithm in TABLE if algorithm.signs]
EACH = pytest.mark.parametrize("algorithm", SIGNING, ids=lambda algorithm: algorithm.name)
SEED = bytes(range(100, 132))
SPELLINGS = (
    SEED.hex(),
    SEED.hex().upper(),
    urlsafe_b64encode(SEED).decode().rstrip("="),
    b64encode(SEED).decode().rstrip("="),
    repr(SEED)[2:-1],
    SEED.decode("latin-1"),
)


def shows_the_seed(text: str) -> bool:
    return any(spelling[:16] in text for spelling in SPELLINGS)


def private_jwk(algorithm: Algorithm, **changes: object) -> bytes:
    members = {**PrivateKey(algorithm, SEED).jwk(), **changes}
    return json.dumps(
        {name: value for name, value in members.items() if value is not None}
    ).encode()


@EACH
def test_a_new_key_signs_and_its_public_key_verifies(algorithm: Algorithm) -> None:
    key = keys.generate(algorithm)

    signature = keys.expanded(key.algorithm, key.secret)(b"message")

    assert key.public_key.algorithm.verify(key.public, b"message", signature)


@EACH
def test_a_private_key_comes_back_from_its_jwk(algorithm: Algorithm) -> None:
    key = keys.generate(algorithm)

    read = keys.read_private(json.dumps(key.jwk()).encode())

    assert read == key
    assert (read.secret, read.public, read.keyid) == (key.secret, key.public, key.keyid)


@EACH
def test_a_private_jwk_has_the_public_members_the_thumbprint_and_the_secret(
    algorithm: Algorithm,
) -> None:
    members = PrivateKey(algorithm, SEED).jwk()
    wanted = {
        "OKP": {"kty", "crv", "x", "d", "kid"},
        "EC": {"kty", "crv", "x", "y", "d", "kid"},
        "AKP": {"kty", "alg", "pub", "priv", "kid"},
    }

    assert members.keys() == wanted[algorithm.kty]
    assert members[algorithm.private_member] == SPELLINGS[2]


@EACH
def test_a_private_key_comes_back_from_its_jwk_with_its_times(algorithm: Algorithm) -> None:
    key = keys.generate(algorithm, not_before=1_800_000_000, expires=1_900_000_000)

    read = keys.read_private(json.dumps(key.jwk()).encode())

    assert read == key
    assert (read.public_key.not_before, read.public_key.expires) == (1_800_000_000, 1_900_000_000)
    assert (key.jwk()["nbf"], key.jwk()["exp"]) == (1_800_000_000, 1_900_000_000)


@EACH
def test_a_public_key_comes_back_from_its_jwk_with_its_times(algorithm: Algorithm) -> None:
    key = PublicKey(
        algorithm=algorithm,
        public=algorithm.public(SEED),
        not_before=1_800_000_000,
        expires=1_900_000_000,
    )

    assert keys.read_public(key.jwk()) == key
    assert key.jwk()["nbf"] == 1_800_000_000
    assert key.jwk()["exp"] == 1_900_000_000
    assert key.jwk()["use"] == "sig"
    assert key.jwk()["kid"] == key.keyid


@EACH
def test_a_public_jwk_never_has_a_private_member(algorithm: Algorithm) -> None:
    members = PrivateKey(algorithm, SEED).public_key.jwk()

    assert not members.keys() & {"d", "priv", "nbf", "exp"}
    assert not shows_the_seed(json.dumps(members))


@pytest.mark.parametrize("algorithm", [ED25519, ECDSA_P256], ids=lambda algorithm: algorithm.name)
def test_a_jwk_says_alg_only_where_its_type_demands_it(algorithm: Algorithm) -> None:
    assert "alg" not in PrivateKey(algorithm, SEED).public_key.jwk()
    assert PrivateKey(ML_DSA_44, SEED).public_key.jwk()["alg"] == "ML-DSA-44"


def test_a_foreign_kid_is_not_looked_at_in_a_public_jwk() -> None:
    key = PrivateKey(ED25519, SEED).public_key

    assert keys.read_public({**key.jwk(), "kid": "main"}).keyid == key.keyid


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"d": "AQ"}, "private member 'd'", id="it publishes its secret"),
        pytest.param({"priv": "AQ"}, "private member 'priv'", id="it publishes its seed"),
        pytest.param({"use": "enc"}, "not for signatures", id="for encryption"),
        pytest.param({"x": "AQ"}, "'x' must have 32 bytes", id="wrong length"),
        pytest.param({"x": None}, "no text member 'x'", id="no key"),
        pytest.param({"exp": "never"}, "'exp' is no whole number", id="no time"),
        pytest.param({"nbf": 1.5}, "'nbf' is no whole number", id="half a second"),
        pytest.param({"alg": "ES256"}, "'alg' does not go with", id="another algorithm"),
    ],
)
def test_a_public_jwk_that_cannot_be_used_says_why(
    changes: dict[str, object], message: str
) -> None:
    members = {**PrivateKey(ED25519, SEED).public_key.jwk(), **changes}

    with pytest.raises(KeyUnreadable, match=message):
        keys.read_public(members)


def test_a_public_jwk_of_another_type_is_unsupported() -> None:
    with pytest.raises(AlgorithmUnsupported, match="'OKP' with the curve 'X25519'"):
        keys.read_public({"kty": "OKP", "crv": "X25519", "x": "AQ"})


def test_a_public_key_of_a_wrong_length_cannot_be_made() -> None:
    with pytest.raises(KeyUnreadable, match="has 1312 bytes, this one 32"):
        PublicKey(algorithm=ML_DSA_44, public=bytes(32))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "one JSON object", id="empty file"),
        pytest.param(b"[]", "one JSON object", id="a list"),
        pytest.param(b"{", "one JSON object", id="torn"),
        pytest.param(b"\xff\xfe", "one JSON object", id="no UTF-8"),
        pytest.param(b'{"kty":"\xff"}', "one JSON object", id="no UTF-8 in a member"),
        pytest.param(b'{"a":' + b"[" * 100_000, "one JSON object", id="too deep"),
        pytest.param(b"{}", "no text member 'kty'", id="no members"),
        pytest.param(private_jwk(ED25519, d=None), "no text member 'd'", id="no secret"),
        pytest.param(private_jwk(ED25519, x=None), "no text member 'x'", id="no public member"),
        pytest.param(
            private_jwk(ML_DSA_44, alg=None), "no text member 'alg'", id="AKP without alg"
        ),
        pytest.param(
            private_jwk(ML_DSA_44, pub=None), "no text member 'pub'", id="AKP without pub"
        ),
        pytest.param(private_jwk(ML_DSA_44, priv="AQ"), "32 bytes, this one 1", id="short seed"),
        pytest.param(
            private_jwk(ML_DSA_44, priv="A" * 3414), "32 bytes, this one 2560", id="expanded key"
        ),
        pytest.param(private_jwk(ML_DSA_44, pub="AQ"), "must have 1312 bytes", id="short pub"),
        pytest.param(private_jwk(ED25519, d="A+=="), "'d' is not base64url", id="not base64url"),
        pytest.param(private_jwk(ED25519, x="A" * 43), "do not belong", id="another's public key"),
        pytest.param(private_jwk(ML_DSA_44, pub="A" * 1750), "do not belong", id="another's pub"),
        pytest.param(private_jwk(ED25519, kid="main"), "must be its thumbprint", id="another kid"),
        pytest.param(private_jwk(ED25519, exp="2027"), "'exp' is no whole number", id="no moment"),
        pytest.param(
            private_jwk(ED25519, kid=1), "must be its thumbprint", id="a kid that is a number"
        ),
        pytest.param(
            private_jwk(ED25519, kty="RSA"), "none of ours: Ed25519, ML-DSA-44", id="type"
        ),
        pytest.param(private_jwk(ED25519, crv="Ed448"), "none of ours", id="curve"),
        pytest.param(private_jwk(ML_DSA_44, alg="ML-DSA-44-ES256"), "none of ours", id="alg"),
        pytest.param(private_jwk(ED25519, alg="ES256"), "'alg' does not go with", id="alg at odds"),
    ],
)
def test_a_private_jwk_that_cannot_be_used_says_why(data: bytes, message: str) -> None:
    with pytest.raises(KeyUnreadable, match=message) as caught:
        keys.read_private(data)

    assert not shows_the_seed(everything_shown(caught.value))


def test_a_private_jwk_may_do_without_a_kid() -> None:
    assert (
        keys.read_private(private_jwk(ED25519, kid=None)).keyid == PrivateKey(ED25519, SEED).keyid
    )


def everything_shown(error: BaseException) -> str:
    """What a traceback with the locals of each frame says, causes and contexts included."""
    frames = traceback.TracebackException.from_exception(error, capture_locals=True)
    chained = (error.__cause__, error.__context__)
    inner = (everything_shown(each) for each in chained if each is not None)
    # The frames of the test itself hold the file on purpose.
    frames.stack[:] = [frame for frame in frames.stack if "/signing/" in frame.filename]
    return "".join(frames.format()) + "".join(inner)


@given(
    st.permutations(["kty", "crv", "x", "d", "kid", "alg", "pub", "priv", "y", "use", "nbf"]),
    st.sampled_from(SIGNING),
)
def test_no_mixture_of_members_makes_an_error_show_the_secret(
    names: list[str], algorithm: Algorithm
) -> None:
    """Somebody's file may have the seed under any name."""
    values = PrivateKey(algorithm, SEED).jwk().values()
    data = json.dumps(dict(zip(names, values, strict=False))).encode()

    try:
        keys.read_private(data)
    except KeyUnreadable as error:
        assert not shows_the_seed(everything_shown(error))  # noqa: PT017 - it may also be right
        assert error.__cause__ is None  # noqa: PT017
        assert error.__context__ is None  # noqa: PT017


@given(st.binary())
def test_nothing_in_a_key_file_raises_another_exception(data: bytes) -> None:
    with pytest.raises(KeyUnreadable):
        keys.read_private(data)


@given(
    st.dictionaries(
        st.sampled_from(["kty", "crv", "alg", "x", "pub", "use", "nbf", "exp", "kid"]),
        st.one_of(
            st.sampled_from(["OKP", "AKP", "EC", "RSA", "Ed25519", "ML-DSA-44", "ES256", "sig"]),
            st.text(max_size=5),
            st.integers(),
            st.none(),
            st.lists(st.text(), max_size=2),
        ),
    )
)
def test_nothing_in_a_public_jwk_raises_another_exception(members: dict[str, object]) -> None:
    with pytest.raises(SigningError):
        keys.read_public(members)


@pytest.mark.parametrize(
    "show",
    [repr, str, "{}".format, "%s".__mod__, "{!r:>80}".format, lambda key: repr([key, {1: key}])],
    ids=["repr", "str", "format", "percent", "format with a width", "inside of others"],
)
def test_a_key_and_its_secret_show_no_secret(show: Callable[[object], str]) -> None:
    key = PrivateKey(ML_DSA_44, SEED)

    for thing in (key, key.secret, key.public_key):
        assert not shows_the_seed(show(thing))
    assert repr(key) == f"<private ml-dsa-44 key {key.keyid}>"
    assert str(key.secret) == "<32 secret bytes>"


PARTS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("all of it", lambda secret: secret[:]),
    ("a part", lambda secret: secret[2:30]),
    ("backwards", lambda secret: secret[::-1]),
    ("something behind it", lambda secret: secret + b"\0"),
    ("nothing behind it", lambda secret: secret + b""),
    ("a bytearray behind it", lambda secret: secret + bytearray(b"\0")),
    ("something before it", lambda secret: b"\0" + secret),
    ("a bytearray's bytes before it", lambda secret: bytes(bytearray(1)) + secret),
    ("itself behind it", lambda secret: secret + secret),
    ("twice", lambda secret: secret * 2),
    ("twice, from the left", lambda secret: 2 * secret),
]


@pytest.mark.parametrize("part", [part for _, part in PARTS], ids=[name for name, _ in PARTS])
def test_what_is_made_of_a_secret_is_a_secret_of_the_same_bytes(
    part: Callable[[bytes], bytes],
) -> None:
    made = part(Secret(SEED))

    assert made.hex() == part(SEED).hex()
    assert repr(made) == f"<{len(made)} secret bytes>"


def test_one_byte_of_a_secret_is_a_number() -> None:
    assert Secret(SEED)[3] == SEED[3]
    assert list(Secret(SEED)) == list(SEED)


@pytest.mark.parametrize(
    "dump",
    [pickle.dumps, copy.copy, copy.deepcopy, msgspec.json.encode, msgspec.to_builtins, json.dumps],
    ids=["pickle", "copy", "deepcopy", "msgspec", "msgspec builtins", "json"],
)
def test_a_key_and_its_secret_are_written_by_nothing_but_jwk(
    dump: Callable[[object], object],
) -> None:
    key = PrivateKey(ED25519, SEED)

    for thing in (key, key.secret, {"key": key}, [key.secret]):
        if dump is copy.copy and not isinstance(thing, PrivateKey | Secret):
            continue  # a shallow copy of a container holds the same key
        with pytest.raises(TypeError):
            dump(thing)
    with pytest.raises(TypeError):
        asdict(key)


@EACH
@pytest.mark.parametrize("size", [0, 31, 33, 64, 2560])
def test_a_secret_of_a_wrong_length_makes_no_key_and_shows_nowhere(
    algorithm: Algorithm, size: int
) -> None:
    secret = (SEED * 80)[:size]

    for use in (PrivateKey, keys.expanded):
        with pytest.raises(KeyUnreadable, match=f"has 32 bytes, this one {size}") as caught:
            use(algorithm, secret)
        assert not shows_the_seed(everything_shown(caught.value))


def test_a_key_is_frozen() -> None:
    key = PrivateKey(ED25519, SEED)

    with pytest.raises(FrozenInstanceError):
        key.secret = Secret(bytes(32))  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        key.public_key.expires = 1  # type: ignore[misc]


def test_keys_of_the_same_secret_are_equal_and_keys_of_two_algorithms_are_not() -> None:
    assert PrivateKey(ED25519, SEED) == PrivateKey(ED25519, SEED)
    assert PrivateKey(ED25519, SEED) != PrivateKey(ECDSA_P256, SEED)
    assert len({PrivateKey(ED25519, SEED), PrivateKey(ED25519, SEED)}) == 1


@EACH
def test_a_key_is_expanded_once_and_found_again_by_its_raw_secret(algorithm: Algorithm) -> None:
    first = keys.expanded(algorithm, SEED)

    assert keys.expanded(algorithm, SEED) is first
    assert keys.expanded(algorithm, PrivateKey(algorithm, SEED).secret) is first
    assert keys.expanded(algorithm, bytes(bytearray(SEED))) is first


def test_a_rotated_key_is_expanded_anew_under_the_same_file_and_names(tmp_path: Path) -> None:
    file = tmp_path / "ml-dsa-44.jwk"
    signatures = []
    for seed in (bytes(32), bytes(31) + b"\1"):
        file.write_text(json.dumps(PrivateKey(ML_DSA_44, seed).jwk()))
        key = keys.read_private(file.read_bytes())
        signatures.append((key.public, keys.expanded(key.algorithm, key.secret)(b"message")))
    (old, _), (new, second) = signatures

    assert ML_DSA_44.verify(new, b"message", second)
    assert not ML_DSA_44.verify(old, b"message", second)


def test_one_secret_under_two_algorithms_is_two_keys() -> None:
    assert len(keys.expanded(ED25519, SEED)(b"m")) == 64
    assert len(keys.expanded(ML_DSA_44, SEED)(b"m")) == 2420


def test_the_cache_is_bounded() -> None:
    for index in range(100):
        keys.expanded(ED25519, bytes(30) + index.to_bytes(2))

    assert keys.expanded.cache_info().currsize == keys.expanded.cache_info().maxsize == 16


@pytest.mark.parametrize(
    ("algorithm", "secret"),
    [
        pytest.param(
            ED25519,
            "9f8362f87a484a954e6e740c5b4c0e84229139a20aa8ab56ff66586f6a7d29c5",
            id="B.1.4, Ed25519",
        ),
        pytest.param(
            ECDSA_P256,
            "529b85f3597e90ec5b8dfed3e26352bf4af9b4debb1a29bbae77fa105a5c603b",
            id="B.1.3, P-256",
        ),
    ],
)
def test_the_published_test_keys_of_rfc_9421_are_recognized(
    algorithm: Algorithm, secret: str
) -> None:
    key = PrivateKey(algorithm, bytes.fromhex(secret))

    assert keys.is_published_test_key(key.keyid)
    assert not keys.is_published_test_key(keys.generate(algorithm).keyid)


def test_the_all_zero_seed_of_rfc_9964_is_recognized() -> None:
    mldsa = [algorithm for algorithm in TABLE if algorithm.kty == "AKP"]

    assert all(keys.is_published_test_key(PrivateKey(each, bytes(32)).keyid) for each in mldsa)


def test_a_set_of_public_keys_is_called_one() -> None:
    with pytest.raises(KeyUnreadable, match="set of public keys"):
        keys.read_private(b'{"keys": []}')
