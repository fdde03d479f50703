"""Which keys sign now, and that a change of the folder is seen while the process lives."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from crawler.fetch import keyfiles
from crawler.fetch.keyfiles import KeysUnusable
from crawler.fetch.keyring import Keys, Source
from signing import algorithms, keys
from signing.keys import PrivateKey

# RFC 8037, appendix A (RFC 8032's first test), and RFC 9964, appendix A
PRINTED_FIRST = PrivateKey(
    algorithms.ED25519,
    bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"),
)
PRINTED_SECOND = PrivateKey(algorithms.ML_DSA_44, bytes(32))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a key of each kind."""
    keyfiles.create(tmp_path, "ed25519")
    keyfiles.create(tmp_path, "ml-dsa-44")
    return tmp_path


def first(folder: Path) -> Path:
    return next(folder.glob("ed25519-*.jwk"))


def second(folder: Path) -> Path:
    return next(folder.glob("ml-dsa-44-*.jwk"))


def test_both_keys_sign(folder: Path) -> None:
    held = Keys(folder).current(0.0)

    assert held.keyring.first.keyid in first(folder).name
    assert held.keyring.second is not None
    assert held.keyring.second.keyid in second(folder).name
    assert (held.degraded, held.unusable) == (None, None)


def test_nothing_is_read_again_while_nothing_changes(folder: Path) -> None:
    ring = Keys(folder)

    assert ring.current(0.0) is ring.current(0.5) is ring.current(5.0)


def test_the_folder_is_looked_at_once_a_second(folder: Path) -> None:
    ring = Keys(folder)
    before = ring.current(100.0)
    replace(first(folder), "ed25519")

    assert ring.current(100.9) is before
    assert ring.current(101.0).keyring.first != before.keyring.first


def test_a_key_replaced_while_the_process_lives_signs_with_the_new_secret(folder: Path) -> None:
    ring = Keys(folder)
    old = ring.current(0.0).keyring.second
    replace(second(folder), "ml-dsa-44")
    new = ring.current(1.0).keyring.second
    assert old is not None
    assert new is not None

    signature = keys.expanded(new.algorithm, new.secret)(b"base")

    assert new.algorithm.verify(new.public, b"base", signature)
    assert not old.algorithm.verify(old.public, b"base", signature)


def drop(path: Path) -> None:
    path.unlink()


def open_to_all(path: Path) -> None:
    path.chmod(0o644)


def spoil(path: Path) -> None:
    path.write_bytes(b"{}")


def shorten(path: Path) -> None:
    jwk = msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    path.write_bytes(msgspec.json.encode(jwk | {"priv": jwk["priv"][:-8]}))


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(drop, "no ml-dsa-44 key signs; `crawl keys new` makes one", id="missing"),
        pytest.param(open_to_all, "others may use it (mode 644); chmod 600", id="open to all"),
        pytest.param(spoil, "no usable key", id="malformed"),
        pytest.param(shorten, "no usable key", id="a wrong length"),
        pytest.param(make_folder, "cannot be read", id="unreadable"),
    ],
)
def test_without_a_usable_second_key_sig1_goes_alone(
    folder: Path, change: Callable[[Path], None], reason: str
) -> None:
    change(second(folder))

    held = Keys(folder).current(0.0)

    assert held.keyring.second is None
    assert held.degraded is not None
    assert reason in held.degraded
    assert held.unusable is None


def test_a_second_key_that_comes_back_signs_again(folder: Path) -> None:
    ring = Keys(folder)
    ring.current(0.0)
    path = second(folder)
    path.chmod(0o644)
    degraded = ring.current(1.0)
    path.chmod(0o600)

    healed = ring.current(2.0)

    assert degraded.keyring.second is None
    assert healed.keyring.second is not None
    assert healed.degraded is None


def test_a_key_of_another_algorithm_is_no_second_key(folder: Path) -> None:
    held = Keys(folder, "ml-dsa-65").current(0.0)

    assert held.keyring.second is None
    assert held.degraded == f"{folder}: no ml-dsa-65 key signs; `crawl keys new` makes one"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(drop, "no ed25519 key signs", id="missing"),
        pytest.param(open_to_all, "others may use it", id="open to all"),
        pytest.param(spoil, "no usable key", id="malformed"),
        pytest.param(make_folder, "cannot be read", id="unreadable"),
    ],
)
def test_without_a_usable_first_key_nothing_begins(
    folder: Path, change: Callable[[Path], None], problem: str
) -> None:
    path = first(folder)
    change(path)

    with pytest.raises(KeysUnusable, match=problem) as caught:
        Keys(folder).current(0.0)

    assert caught.value.place in (str(path), str(folder))
    if change is open_to_all:
        assert caught.value.hint == f"chmod 600 {path}"


def test_the_keys_of_before_sign_on_while_the_folder_is_unusable(folder: Path) -> None:
    ring = Keys(folder)
    before = ring.current(0.0)
    path = first(folder)
    path.chmod(0o644)

    during = ring.current(1.0)

    assert during.keyring == before.keyring
    assert isinstance(during.unusable, KeysUnusable)
    assert ring.current(2.0) is during
    path.chmod(0o600)
    assert ring.current(3.0).unusable is None


def test_the_keys_of_before_sign_on_when_the_folder_is_gone(folder: Path) -> None:
    ring = Keys(folder)
    before = ring.current(0.0)
    folder.rename(folder.with_name("elsewhere"))

    during = ring.current(1.0)

    assert during.keyring == before.keyring
    assert during.unusable is not None


def test_a_link_into_nowhere_does_not_stop_the_looking(folder: Path) -> None:
    ring = Keys(folder)
    before = ring.current(0.0)
    (folder / "note").symlink_to(folder / "none")

    assert ring.current(1.0) is before


def test_a_first_key_that_an_rfc_has_printed_signs_in_tests_alone(folder: Path) -> None:
    put(folder, PRINTED_FIRST)

    allowed = Keys(folder, source=Source.PUBLISHED_TEST_KEYS_TOO).current(0.0)

    assert allowed.keyring.first == PRINTED_FIRST
    with pytest.raises(KeysUnusable, match="everybody has this key"):
        Keys(folder).current(0.0)


def test_a_second_key_that_an_rfc_has_printed_signs_in_tests_alone(folder: Path) -> None:
    put(folder, PRINTED_SECOND)

    allowed = Keys(folder, source=Source.PUBLISHED_TEST_KEYS_TOO).current(0.0)
    held = Keys(folder).current(0.0)

    assert allowed.keyring.second == PRINTED_SECOND
    assert held.keyring.second is None
    assert "everybody has this key" in (held.degraded or "")


def put(folder: Path, key: PrivateKey) -> None:
    """Write a key file that is newer than any other."""
    path = folder / f"{key.algorithm.name}-{key.keyid}.jwk"
    path.write_bytes(msgspec.json.encode(key.jwk()))
    path.chmod(0o600)
    os.utime(path, (4_000_000_000, 4_000_000_000))


def replace(path: Path, algorithm: str) -> None:
    """Put a new key where the old one was, as a careful operator does: the new one first."""
    keyfiles.create(path.parent, algorithm)
    path.unlink()
