"""Keys come into the folder and are retired; a crawl at work never sees a wrong one sign."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from keyrings import DAY, NOW, fresh, named, one, says, signing

from crawler.fetch import keychange, keyfiles, keyrotation, keystate
from crawler.fetch.keychange import KeyRefused, KeyUnknown
from crawler.fetch.keyfolder import KeyFile
from crawler.fetch.keylife import Standing
from crawler.fetch.keystate import KeysUnusable, State
from signing import algorithms, keys
from signing.keys import PrivateKey

BOTH = ("ed25519", "ml-dsa-44")
PRINTED = PrivateKey(algorithms.ML_DSA_44, bytes(32))  # RFC 9964, appendix A


def add(folder: Path, *names: str) -> tuple[KeyFile, ...]:
    return keychange.add(folder, fresh(*names), NOW)


def test_first_keys_sign_at_once_and_need_no_state_file(tmp_path: Path) -> None:
    added = add(tmp_path / "keys", *BOTH)

    assert [(file.algorithm.name, file.standing) for file in added] == [
        ("ed25519", Standing.SIGNING),
        ("ml-dsa-44", Standing.SIGNING),
    ]
    assert not (tmp_path / "keys" / keyfiles.STATE).exists()


def test_a_key_beside_one_that_signs_is_published_only(tmp_path: Path) -> None:
    first = add(tmp_path, *BOTH)

    added = add(tmp_path, *BOTH)

    assert [file.standing for file in added] == [Standing.PUBLISHED] * 2
    assert signing(tmp_path) == {file.keyid for file in first}
    assert not list(tmp_path.glob("*.new"))


def test_the_first_key_of_another_algorithm_signs_beside_what_signs_already(tmp_path: Path) -> None:
    (first, _) = add(tmp_path, *BOTH)

    (_, added) = add(tmp_path, "ed25519", "ml-dsa-65")

    assert added.standing is Standing.SIGNING
    assert {first.keyid, added.keyid} < signing(tmp_path)


def test_a_key_beside_one_that_cannot_sign_signs_at_once(tmp_path: Path) -> None:
    (damaged, second) = add(tmp_path, *BOTH)
    damaged.path.write_bytes(b"{}")

    (added,) = add(tmp_path, "ed25519")

    assert added.standing is Standing.SIGNING
    assert signing(tmp_path) == {added.keyid, second.keyid}


def test_a_state_file_of_the_owners_is_not_written_over_for_a_new_key(tmp_path: Path) -> None:
    (old,) = add(tmp_path, "ed25519")
    text = f'# mine\nsigning = ["{old.keyid}"]\n'
    says(tmp_path, text)

    (added,) = add(tmp_path, "ed25519")

    assert added.standing is Standing.PUBLISHED
    assert (tmp_path / keyfiles.STATE).read_text() == text


def test_a_new_key_signs_where_the_one_before_is_retired(tmp_path: Path) -> None:
    first, second = add(tmp_path, *BOTH)
    keychange.retire(tmp_path, NOW, second.keyid)

    another, instead = add(tmp_path, *BOTH)

    assert (another.standing, instead.standing) == (Standing.PUBLISHED, Standing.SIGNING)
    assert named(tmp_path, Standing.SIGNING) == {first.keyid, instead.keyid}
    assert named(tmp_path, Standing.RETIRED) == {second.keyid}


def test_a_new_key_waits_where_another_is_to_sign(tmp_path: Path) -> None:
    _, second = add(tmp_path, *BOTH)
    (turn,) = keyrotation.rotate(tmp_path, NOW, names=["ml-dsa-44"], wait=DAY, keep=DAY)
    keychange.retire(tmp_path, NOW, second.keyid)

    (added,) = add(tmp_path, "ml-dsa-44")

    assert added.standing is Standing.PUBLISHED
    assert added.keyid != turn.new.keyid


def test_what_a_killed_command_left_is_taken_away_and_nothing_else(tmp_path: Path) -> None:
    add(tmp_path, "ed25519")
    left = {f"ed25519-{'x' * 43}.new", f"ml-dsa-44-{'_' * 43}.new", "state.new"}
    kept = {"mine.new", f"rsa-{'x' * 43}.new", "ed25519-short.new"}
    for name in left | kept:
        (tmp_path / name).write_bytes(b"secret")
    link = tmp_path / f"ed25519-{'y' * 43}.new"
    link.symlink_to("mine.new")

    add(tmp_path, "ml-dsa-44")

    there = {path.name for path in tmp_path.glob("*.new")}
    assert there == {*kept, link.name}


def test_what_cannot_be_taken_away_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path, "ed25519")
    (tmp_path / "state.new").write_bytes(b"")

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(KeysUnusable, match="what a killed command left cannot be removed"):
        add(tmp_path, "ml-dsa-44")


def test_a_state_file_that_cannot_be_written_makes_no_key(tmp_path: Path) -> None:
    (old,) = add(tmp_path, "ed25519")
    (tmp_path / "state.new").mkdir()

    with pytest.raises(KeysUnusable, match="cannot be written"):
        add(tmp_path, "ed25519")

    assert list(tmp_path.glob("*.jwk")) == [old.path]


def test_a_folder_that_cannot_be_made_is_said_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(KeysUnusable, match="cannot be written") as caught:
        add(tmp_path / "file" / "keys", "ed25519")

    assert caught.value.place == str(tmp_path / "file" / "keys")


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        pytest.param(PRINTED, "everybody has this key", id="printed in an RFC"),
        pytest.param(
            keys.generate(algorithms.ECDSA_P256), "not signed with ecdsa", id="of no use here"
        ),
    ],
)
def test_a_key_that_may_not_sign_does_not_come_in(
    tmp_path: Path, key: PrivateKey, problem: str
) -> None:
    with pytest.raises(KeyRefused, match=problem):
        keychange.add(tmp_path, [key], NOW)

    assert not list(tmp_path.iterdir())


def test_a_key_that_is_there_does_not_come_in_twice(tmp_path: Path) -> None:
    (key,) = fresh("ed25519")
    (file,) = keychange.add(tmp_path, [key], NOW)
    file.path.write_bytes(b"{}")  # not even where its file is damaged

    with pytest.raises(KeyRefused, match=f"{file.path}: this key is there already"):
        keychange.add(tmp_path, [key], NOW)

    assert file.path.read_bytes() == b"{}"


def test_a_key_is_found_by_the_beginning_of_its_thumbprint(tmp_path: Path) -> None:
    added = add(tmp_path, *BOTH)

    assert keychange.find(added, added[1].keyid[:30]) is added[1]
    with pytest.raises(KeyUnknown, match="there is no such key"):
        keychange.find(added, "!")
    with pytest.raises(KeyUnknown, match=": 2 keys begin so"):
        keychange.find(added, "")


# retired


def test_a_retired_key_neither_signs_nor_is_published_at_once(tmp_path: Path) -> None:
    _, second = add(tmp_path, *BOTH)

    done = keychange.retire(tmp_path, NOW, second.keyid[:12])

    assert (done.file.keyid, done.file.standing) == (second.keyid, Standing.RETIRED)
    assert (done.signs, done.kept) == (None, None)
    assert named(tmp_path, Standing.RETIRED) == {second.keyid}
    assert second.path.exists()


def test_retiring_twice_is_retiring_once(tmp_path: Path) -> None:
    _, second = add(tmp_path, *BOTH)
    keychange.retire(tmp_path, NOW, second.keyid)
    text = (tmp_path / keyfiles.STATE).read_text()

    keychange.retire(tmp_path, NOW, second.keyid)

    assert (tmp_path / keyfiles.STATE).read_text() == text


def test_the_only_ed25519_key_that_signs_is_not_retired(tmp_path: Path) -> None:
    (first, _) = add(tmp_path, *BOTH)

    with pytest.raises(KeyRefused, match="without it no ed25519 key signs") as caught:
        keychange.retire(tmp_path, NOW, first.keyid)

    assert "rotate --algorithm ed25519 --wait 0s --keep 0s" in (caught.value.hint or "")
    assert first.keyid in signing(tmp_path)
    assert not (tmp_path / keyfiles.STATE).exists()


def test_a_published_key_that_could_take_its_place_is_named(tmp_path: Path) -> None:
    (first,) = add(tmp_path, "ed25519")
    (beside,) = add(tmp_path, "ed25519")

    with pytest.raises(KeyRefused) as caught:
        keychange.retire(tmp_path, NOW, first.keyid)

    assert f"rotate --to {beside.keyid} --wait 0s --keep 0s" in (caught.value.hint or "")


def test_an_unusable_ed25519_key_may_be_retired_since_it_does_not_sign(tmp_path: Path) -> None:
    (first, _) = add(tmp_path, *BOTH)
    first.path.chmod(0o644)

    done = keychange.retire(tmp_path, NOW, first.keyid)

    assert done.file.standing is Standing.RETIRED


def test_ending_a_rotation_keeps_the_key_that_was_to_be_dropped(tmp_path: Path) -> None:
    (old,) = add(tmp_path, "ed25519")
    (turn,) = keyrotation.rotate(tmp_path, NOW, names=["ed25519"], wait=DAY, keep=DAY)

    done = keychange.retire(tmp_path, NOW + 60, turn.new.keyid)

    assert done.kept is not None
    assert done.kept.keyid == old.keyid
    assert signing(tmp_path, NOW + 100 * DAY) == {old.keyid}
    assert named(tmp_path, Standing.RETIRED, NOW + 60) == {turn.new.keyid}


def test_a_new_key_that_is_retired_gives_its_place_back(tmp_path: Path) -> None:
    (old,) = add(tmp_path, "ed25519")
    (turn,) = keyrotation.rotate(tmp_path, NOW, names=["ed25519"], wait=DAY, keep=DAY)

    done = keychange.retire(tmp_path, NOW + 1.5 * DAY, turn.new.keyid)

    assert done.signs is not None
    assert done.signs.keyid == old.keyid
    assert signing(tmp_path, NOW + 100 * DAY) == {old.keyid}


def test_an_end_stays_where_something_takes_the_place(tmp_path: Path) -> None:
    (old,) = add(tmp_path, "ed25519")
    (turn,) = keyrotation.rotate(tmp_path, NOW, names=["ed25519"], wait=DAY, keep=DAY)
    (beside,) = add(tmp_path, "ed25519")

    done = keychange.retire(tmp_path, NOW + 60, beside.keyid)

    assert done.kept is None
    assert signing(tmp_path, NOW + 3 * DAY) == {turn.new.keyid}
    assert old.keyid in named(tmp_path, Standing.RETIRED, NOW + 3 * DAY)


def test_a_file_of_a_retired_key_may_go(tmp_path: Path) -> None:
    first, second = add(tmp_path, *BOTH)
    keychange.retire(tmp_path, NOW, second.keyid)
    second.path.unlink()

    assert signing(tmp_path) == {first.keyid}


def test_what_is_retired_and_to_sign_is_refused(tmp_path: Path) -> None:
    (first,) = add(tmp_path, "ed25519")
    moment = datetime(2026, 12, 2, tzinfo=UTC)
    state = State(retired=(first.keyid,), sign_from={first.keyid: moment})
    keystate.write(tmp_path, state, {})

    with pytest.raises(KeysUnusable, match="is retired and signs"):
        one(tmp_path, first.keyid)
