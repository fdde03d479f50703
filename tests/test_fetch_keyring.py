"""Which keys sign now, and that a change of the folder is seen while the process lives."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from keyrings import NOW, one

from crawler.fetch import keychange, keyfiles, keyrotation
from crawler.fetch.keyring import Keys, Source
from crawler.fetch.keystate import KeysUnusable
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


def test_a_file_that_changes_in_place_is_looked_at_once_a_second(folder: Path) -> None:
    ring = Keys(folder)
    before = ring.current(100.0)
    second(folder).chmod(0o644)

    assert ring.current(100.9) is before
    assert ring.current(101.0).keyring.second is None


def test_a_new_name_in_the_folder_is_seen_at_once(folder: Path) -> None:
    ring = Keys(folder)
    before = ring.current(100.0)
    replace(first(folder), "ed25519")

    assert ring.current(100.0).keyring.first != before.keyring.first


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
        pytest.param(
            drop,
            "no ml-dsa-44 key signs; `crawl keys rotate --algorithm ml-dsa-44` makes one that does",
            id="missing",
        ),
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
    assert held.degraded == (
        f"{folder}: no ml-dsa-65 key signs; "
        "`crawl keys rotate --algorithm ml-dsa-65` makes one that does"
    )


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


# moments


def away(folder: Path) -> None:
    folder.rename(folder.with_name(f"{folder.name}-away"))


def rotated(folder: Path, wait: float = 60, keep: float = 60) -> tuple[str, str]:
    """The thumbprints of the Ed25519 key before and after a rotation that begins NOW."""
    (turn,) = keyrotation.rotate(folder, NOW, names=["ed25519"], wait=wait, keep=keep)
    assert turn.old is not None
    return turn.old.keyid, turn.new.keyid


def first_at(ring: Keys, now: float) -> str:
    return ring.current(now).keyring.first.keyid


def test_the_new_key_signs_from_its_moment_on_without_another_look(folder: Path) -> None:
    old, new = rotated(folder)
    ring = Keys(folder, look_every=1e9)

    assert first_at(ring, NOW) == first_at(ring, NOW + 59.99) == old
    assert first_at(ring, NOW + 60) == first_at(ring, NOW + 1000) == new


def test_nothing_is_made_anew_between_two_moments(folder: Path) -> None:
    rotated(folder)
    ring = Keys(folder)
    held = [ring.current(NOW + seconds) for seconds in (0, 59, 60, 119, 120, 500)]

    assert held[0] is held[1] is not held[2]
    assert held[2] is held[3]
    assert held[4] is held[5]


def test_a_clock_that_is_set_back_brings_no_key_back(folder: Path) -> None:
    old, new = rotated(folder)
    ring = Keys(folder)

    assert [first_at(ring, NOW + at) for at in (0, 130, 0, -1e6, 59)] == [old, *[new] * 4]


def test_what_changes_is_seen_while_the_clock_stands_back(folder: Path) -> None:
    ring = Keys(folder)
    ring.current(NOW)
    second(folder).chmod(0o644)

    assert ring.current(NOW - 500).keyring.second is None


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(away, id="gone"),
        pytest.param(lambda folder: (folder / "state.toml").write_text("["), id="broken"),
        pytest.param(lambda folder: (folder / "state.toml").unlink(), id="without state.toml"),
    ],
)
def test_moments_come_although_the_folder_can_no_longer_be_read(
    folder: Path, spoil: Callable[[Path], object]
) -> None:
    old, new = rotated(folder)
    ring = Keys(folder)
    assert first_at(ring, NOW) == old
    spoil(folder)

    assert first_at(ring, NOW + 60) == new
    assert first_at(ring, NOW + 1000) == new


def ending(folder: Path) -> tuple[str, Keys]:
    """A key that ends a minute from NOW, with none after it, and a ring that has seen it."""
    first(folder).unlink()
    key = keyfiles.made(algorithms.ED25519, expires=int(NOW + 60))
    keyfiles.keep(folder, key)
    ring = Keys(folder)
    assert first_at(ring, NOW) == key.keyid
    return key.keyid, ring


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(Path.exists, id="as it was"),
        pytest.param(away, id="gone"),
        pytest.param(lambda folder: first(folder).unlink(), id="without its file"),
        pytest.param(lambda folder: first(folder).chmod(0o644), id="open to all"),
        pytest.param(lambda folder: (folder / "state.toml").write_text("["), id="broken"),
    ],
)
def test_a_key_whose_end_has_come_does_not_sign_whatever_becomes_of_its_folder(
    folder: Path, spoil: Callable[[Path], object]
) -> None:
    keyid, ring = ending(folder)
    spoil(folder)

    assert first_at(ring, NOW + 59) == keyid
    for now in (NOW + 60, NOW + 61, NOW):
        with pytest.raises(KeysUnusable):
            ring.current(now)


def test_that_nothing_signs_any_more_is_said_with_key_and_moment(folder: Path) -> None:
    keyid, ring = ending(folder)

    with pytest.raises(KeysUnusable, match=f"no ed25519 key signs any more: {keyid} ended") as gone:
        ring.current(NOW + 60)

    assert "2027-01-15 08:01:00 UTC" in str(gone.value)
    assert gone.value.hint == "`crawl keys rotate` makes one that signs"


def test_both_problems_are_said_where_there_are_two(folder: Path) -> None:
    _, ring = ending(folder)
    (folder / "state.toml").write_text("[")

    with pytest.raises(KeysUnusable, match=r"no ed25519 key signs any more.+state.toml: is not"):
        ring.current(NOW + 60)


def test_that_nothing_signs_yet_is_said_with_key_and_moment(folder: Path) -> None:
    first(folder).unlink()
    key = keyfiles.made(algorithms.ED25519, not_before=int(NOW + 60))
    keyfiles.keep(folder, key)

    with pytest.raises(KeysUnusable, match=f"signs yet: {key.keyid} does from 2027-01-15"):
        Keys(folder).current(NOW)


def test_it_is_told_each_time_that_nothing_is_left_to_sign_with(folder: Path) -> None:
    told: list[KeysUnusable] = []
    first(folder).unlink()
    keyfiles.keep(folder, keyfiles.made(algorithms.ED25519, expires=int(NOW + 60)))
    ring = Keys(folder, spent=told.append)
    ring.current(NOW)
    for _ in range(3):
        with pytest.raises(KeysUnusable):
            ring.current(NOW + 60)
    keyfiles.create(folder, "ed25519")
    ring.current(NOW + 61)

    assert len(told) == 1


def test_a_key_that_is_retired_signs_no_more_from_that_moment(folder: Path) -> None:
    ring = Keys(folder, look_every=1e9)
    old = first_at(ring, NOW)
    (turn,) = keyrotation.rotate(folder, NOW, names=["ed25519"], wait=0, keep=1e6)
    assert first_at(ring, NOW) == turn.new.keyid
    keychange.retire(folder, NOW, turn.new.keyid)

    assert first_at(ring, NOW) == old


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param('retired = ["OLD"]\nsigning = ["none"]', None, id="for one that is missing"),
        pytest.param('retired = ["OLD"]\nsigning = ["OLD"]', None, id="and is to sign"),
        pytest.param('retired = ["OLD"]', None, id="for none"),
        pytest.param('signing = ["none"]', "OLD", id="not: it signs on"),
        pytest.param('retired = "OLD"', "OLD", id="not, as far as anybody understands"),
    ],
)
def test_a_retired_key_does_not_sign_on_where_the_rest_makes_no_sense(
    folder: Path, text: str, left: str | None
) -> None:
    ring = Keys(folder)
    old = first_at(ring, NOW)
    (folder / "state.toml").write_text(text.replace("OLD", old))

    if left is not None:
        held = ring.current(NOW)

        assert held.keyring.first.keyid == old
        assert held.unusable is not None
        return
    with pytest.raises(KeysUnusable):
        ring.current(NOW)


def test_a_retired_key_does_not_sign_on_where_the_new_one_cannot(folder: Path) -> None:
    ring = Keys(folder)
    old = first_at(ring, NOW)
    new = keyfiles.create(folder, "ed25519")
    keyid = new.name.removeprefix("ed25519-").removesuffix(".jwk")
    (folder / "state.toml").write_text(f'signing = ["{keyid}"]\nretired = ["{old}"]\n')
    new.chmod(0o644)

    with pytest.raises(KeysUnusable, match="others may use it"):
        ring.current(NOW)


def test_a_retired_key_does_not_come_back_when_state_toml_goes(folder: Path) -> None:
    ring = Keys(folder)
    old = first_at(ring, NOW)
    (turn,) = keyrotation.rotate(folder, NOW, names=["ed25519"], wait=0, keep=0)
    assert first_at(ring, NOW) == turn.new.keyid
    os.utime(one(folder, old).path, (4_000_000_000, 4_000_000_000))  # it would be the newest
    (folder / "state.toml").unlink()

    assert first_at(ring, NOW + 1) == turn.new.keyid


def test_a_key_that_is_only_published_does_not_sign_while_state_toml_is_away(
    folder: Path,
) -> None:
    ring = Keys(folder)
    old = first_at(ring, NOW)
    keychange.add(folder, [keyfiles.made(algorithms.ED25519)], NOW)
    assert first_at(ring, NOW) == old
    text = (folder / "state.toml").read_text()
    (folder / "state.toml").rename(folder / "state.toml~")

    away = ring.current(NOW + 1)
    looked_again = ring.current(NOW + 5)
    (folder / "state.toml").write_text(text)
    back = ring.current(NOW + 6)

    for held in (away, looked_again):
        assert held.keyring.first.keyid == old
        assert str(held.unusable) == f"{folder}/state.toml: is gone; what it said goes on"
    assert (back.keyring.first.keyid, back.unusable) == (old, None)


def test_a_new_key_that_cannot_sign_when_its_moment_comes_leaves_it_to_the_old(
    folder: Path,
) -> None:
    old, new = rotated(folder)
    ring = Keys(folder)
    ring.current(NOW)
    one(folder, new).path.chmod(0o644)

    held = ring.current(NOW + 60)

    assert held.keyring.first.keyid == old
    assert "others may use it" in str(held.unusable)
    with pytest.raises(KeysUnusable, match="others may use it"):
        ring.current(NOW + 120)


def test_a_second_key_ends_and_sig1_goes_alone(folder: Path) -> None:
    second(folder).unlink()
    keyfiles.keep(folder, keyfiles.made(algorithms.ML_DSA_44, expires=int(NOW + 60)))
    ring = Keys(folder)

    assert ring.current(NOW).keyring.second is not None
    assert ring.current(NOW + 60).keyring.second is None
    assert "no ml-dsa-44 key signs" in (ring.current(NOW + 60).degraded or "")


def test_without_a_folder_nothing_begins_until_there_is_one(tmp_path: Path) -> None:
    ring = Keys(tmp_path / "keys")
    with pytest.raises(KeysUnusable, match="the folder cannot be read"):
        ring.current(NOW)
    path = keyfiles.create(tmp_path / "keys", "ed25519")

    assert ring.current(NOW).keyring.first.keyid in path.name


def test_a_link_into_nowhere_does_not_stop_the_looking(folder: Path) -> None:
    ring = Keys(folder)
    before = ring.current(0.0)
    (folder / "note").symlink_to(folder / "none")

    assert ring.current(1.0) == before


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
