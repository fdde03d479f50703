"""A rotation is publish, sign with, drop, by the clock and by nobody's hand."""

from pathlib import Path

import pytest
from keyrings import DAY, NOW, fresh, named, one, says, signing

from crawler.fetch import keychange, keyfiles, keyrotation
from crawler.fetch.keychange import KeyRefused, KeyUnknown
from crawler.fetch.keylife import Change, Standing
from crawler.fetch.keyrotation import Turn
from signing import algorithms, keys
from signing.keys import PrivateKey


def rotate(folder: Path, *to: str, wait: float = DAY, keep: float = DAY, now: float = NOW) -> Turn:
    (turn,) = keyrotation.rotate(folder, now, names=["ed25519"], to=to, wait=wait, keep=keep)
    return turn


@pytest.fixture
def old(tmp_path: Path) -> str:
    """The thumbprint of the key that signs in a folder that has no state.toml."""
    (file, _) = keychange.add(tmp_path, fresh("ed25519", "ml-dsa-44"), NOW)
    return file.keyid


def test_a_new_key_is_published_then_signs_and_the_old_one_is_dropped(
    tmp_path: Path, old: str
) -> None:
    turn = rotate(tmp_path)
    new = turn.new.keyid

    assert (turn.since, turn.until) == (NOW + DAY, NOW + 2 * DAY)
    assert old in signing(tmp_path)
    assert new in named(tmp_path, Standing.PUBLISHED)
    assert old in signing(tmp_path, NOW + DAY - 0.001)
    assert new in signing(tmp_path, NOW + DAY)
    assert named(tmp_path, Standing.PUBLISHED, NOW + 2 * DAY - 0.001) == {old}
    assert named(tmp_path, Standing.RETIRED, NOW + 2 * DAY) == {old}


def test_each_key_says_what_comes_next(tmp_path: Path, old: str) -> None:
    turn = rotate(tmp_path)

    assert turn.old is not None
    assert turn.new.change == Change(at=NOW + DAY, standing=Standing.SIGNING)
    assert turn.old.change == Change(at=NOW + DAY, standing=Standing.PUBLISHED)
    assert one(tmp_path, old, NOW + DAY).change == Change(
        at=NOW + 2 * DAY, standing=Standing.RETIRED
    )
    assert one(tmp_path, turn.new.keyid, NOW + DAY).since == NOW + DAY


def test_the_published_keys_carry_their_moments(tmp_path: Path, old: str) -> None:
    turn = rotate(tmp_path)
    before = one(tmp_path, old).public

    assert turn.new.public is not None
    assert before is not None
    assert (turn.new.public.not_before, turn.new.public.expires) == (NOW, None)
    assert (before.not_before, before.expires) == (None, NOW + 2 * DAY)


def test_the_key_of_another_algorithm_signs_on(tmp_path: Path, old: str) -> None:
    (second,) = signing(tmp_path) - {old}
    rotate(tmp_path)

    assert second in signing(tmp_path, NOW + 3 * DAY)


def test_several_algorithms_turn_together(tmp_path: Path, old: str) -> None:
    turns = keyrotation.rotate(
        tmp_path, NOW, names=["ed25519", "ml-dsa-44"], wait=DAY, keep=2 * DAY
    )

    assert signing(tmp_path, NOW + DAY) == {turn.new.keyid for turn in turns}
    assert old in named(tmp_path, Standing.RETIRED, NOW + 3 * DAY)


def test_without_a_wait_the_new_key_signs_at_once_and_the_old_is_gone(
    tmp_path: Path, old: str
) -> None:
    turn = rotate(tmp_path, wait=0, keep=0)

    assert turn.new.standing is Standing.SIGNING
    assert named(tmp_path, Standing.RETIRED) == {old}


def test_two_rotations_in_one_second_are_in_order(tmp_path: Path, old: str) -> None:
    first = rotate(tmp_path, wait=0)
    second = rotate(tmp_path, wait=0)

    assert first.new.keyid in signing(tmp_path, NOW)
    assert second.new.keyid in signing(tmp_path, NOW + 1)


def test_a_key_that_is_there_takes_the_place(tmp_path: Path, old: str) -> None:
    (beside,) = keychange.add(tmp_path, fresh("ed25519"), NOW)

    turn = rotate(tmp_path, beside.keyid[:20])

    assert turn.new.keyid == beside.keyid
    assert beside.keyid in signing(tmp_path, NOW + DAY)
    assert len(keyfiles.listing(tmp_path, NOW)) == 3


def test_a_key_is_not_to_sign_before_it_is_valid(tmp_path: Path, old: str) -> None:
    late = keyfiles.made(algorithms.ED25519, not_before=int(NOW + 5 * DAY))
    keychange.add(tmp_path, [late], NOW)

    turn = rotate(tmp_path, late.keyid)

    assert (turn.since, turn.until) == (NOW + 5 * DAY, NOW + 6 * DAY)
    assert old in signing(tmp_path, NOW + 5 * DAY - 1)
    assert late.keyid in signing(tmp_path, NOW + 5 * DAY)


def test_a_second_rotation_waits_for_the_first(tmp_path: Path, old: str) -> None:
    turn = rotate(tmp_path)

    with pytest.raises(KeyRefused, match=f"{turn.new.keyid} is to sign from") as caught:
        rotate(tmp_path)

    assert f"crawl keys retire {turn.new.keyid}" in (caught.value.hint or "")
    assert len(keyfiles.listing(tmp_path, NOW)) == 3


def test_the_key_that_waits_can_be_hurried(tmp_path: Path, old: str) -> None:
    turn = rotate(tmp_path)

    hurried = rotate(tmp_path, turn.new.keyid, wait=0, keep=0, now=NOW + 60)

    assert (turn.instead, hurried.instead) == (None, turn.since)
    assert turn.new.keyid in signing(tmp_path, NOW + 60)
    assert named(tmp_path, Standing.RETIRED, NOW + 60) == {old}


def test_after_a_rotation_comes_another(tmp_path: Path, old: str) -> None:
    first = rotate(tmp_path)
    second = rotate(tmp_path, now=NOW + 10 * DAY)

    assert first.new.keyid in signing(tmp_path, NOW + 10 * DAY)
    assert second.new.keyid in signing(tmp_path, NOW + 11 * DAY)
    assert named(tmp_path, Standing.RETIRED, NOW + 12 * DAY) == {old, first.new.keyid}


def test_the_file_of_a_dropped_key_may_go(tmp_path: Path, old: str) -> None:
    file = one(tmp_path, old).path
    turn = rotate(tmp_path)
    file.unlink()

    assert turn.new.keyid in signing(tmp_path, NOW + 2 * DAY)


def test_without_a_key_before_it_the_new_one_signs_at_once(tmp_path: Path) -> None:
    turn = rotate(tmp_path / "new")

    assert (turn.old, turn.until, turn.new.standing) == (None, None, Standing.SIGNING)


def test_in_the_place_of_an_unusable_key_the_new_one_signs_at_once(
    tmp_path: Path, old: str
) -> None:
    one(tmp_path, old).path.chmod(0o644)

    turn = rotate(tmp_path)

    assert turn.new.standing is Standing.SIGNING
    assert turn.new.keyid in signing(tmp_path)


def test_in_the_place_of_an_unusable_new_key_the_newer_one_signs_at_once(
    tmp_path: Path, old: str
) -> None:
    first = rotate(tmp_path, wait=0)
    first.new.path.chmod(0o644)

    second = rotate(tmp_path, now=NOW + 1)

    assert second.new.standing is Standing.SIGNING
    assert second.new.keyid in signing(tmp_path, NOW + 1)


def test_an_end_of_its_own_is_kept(tmp_path: Path) -> None:
    short = keyfiles.made(algorithms.ED25519, expires=int(NOW + 1.5 * DAY))
    keychange.add(tmp_path, [short], NOW)

    turn = rotate(tmp_path)

    assert turn.until == NOW + 1.5 * DAY
    assert one(tmp_path, short.keyid).ends == NOW + 1.5 * DAY


def test_no_gap_is_planned(tmp_path: Path) -> None:
    short = keyfiles.made(algorithms.ED25519, expires=int(NOW + DAY / 2))
    keychange.add(tmp_path, [short], NOW)

    with pytest.raises(KeyRefused, match="before another key signs") as caught:
        rotate(tmp_path)

    assert "--wait" in (caught.value.hint or "")
    assert len(list(tmp_path.glob("*.jwk"))) == 1


PRINTED = PrivateKey(
    algorithms.ED25519,
    bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"),
)


def test_a_key_that_cannot_sign_then_takes_no_place(tmp_path: Path, old: str) -> None:
    damaged, retired, ends = (
        file.keyid
        for file in keychange.add(
            tmp_path,
            [*fresh("ed25519", "ed25519"), keyfiles.made(algorithms.ED25519, expires=int(NOW + 9))],
            NOW,
        )
    )
    damaged, retired, ends = sorted(
        (damaged, retired, ends), key=lambda keyid: one(tmp_path, keyid).ends is not None
    )
    one(tmp_path, damaged).path.chmod(0o640)
    keychange.retire(tmp_path, NOW, retired)
    keyfiles.keep(tmp_path, PRINTED)

    for keyid, problem in (
        (damaged, "others may use it"),
        (retired, "is retired then"),
        (ends, "is retired then"),
        (PRINTED.keyid, "everybody has this key"),
        (old, "signs already"),
    ):
        with pytest.raises(KeyRefused, match=problem):
            rotate(tmp_path, keyid)
    with pytest.raises(KeyUnknown):
        rotate(tmp_path, "none")


def test_a_key_that_is_valid_from_a_moment_beyond_all_time_takes_no_place(
    tmp_path: Path, old: str
) -> None:
    key = keyfiles.made(algorithms.ED25519, not_before=10**30)
    keyfiles.keep(tmp_path, key)

    with pytest.raises(KeyRefused, match="no calendar has the moment"):
        rotate(tmp_path, key.keyid)


def test_two_keys_do_not_take_one_place(tmp_path: Path, old: str) -> None:
    added = keychange.add(tmp_path, fresh("ed25519", "ed25519"), NOW)

    with pytest.raises(KeyRefused, match="2 ed25519 keys cannot take one place"):
        rotate(tmp_path, *(file.keyid for file in added))


def test_a_state_file_of_before_is_taken_up(tmp_path: Path, old: str) -> None:
    (beside,) = keychange.add(tmp_path, fresh("ed25519"), NOW)
    (second,) = signing(tmp_path) - {old}
    says(tmp_path, f'signing = ["{old}", "{second}"]\nretired = ["{beside.keyid}"]\n')

    turn = rotate(tmp_path)

    assert signing(tmp_path, NOW + DAY) == {turn.new.keyid, second}
    assert named(tmp_path, Standing.RETIRED, NOW + 2 * DAY) == {old, beside.keyid}


def test_no_secret_shows_in_what_is_planned(tmp_path: Path, old: str) -> None:
    turn = rotate(tmp_path)
    for path in tmp_path.glob("*.jwk"):
        key = keys.read_private(path.read_bytes())
        secret = str(key.jwk()[key.algorithm.private_member])

        assert secret not in repr(turn)
        assert secret not in (tmp_path / keyfiles.STATE).read_text()
