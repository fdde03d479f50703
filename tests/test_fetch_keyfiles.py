"""The folder of keys: what is read, what is refused, and that no secret ever shows."""

import os
from pathlib import Path

import pytest

from crawler.fetch import keyfiles
from crawler.fetch.keylife import Standing
from crawler.fetch.keystate import KeysUnusable
from signing import algorithms, keys

NOW = 1_800_000_000.0


def test_a_new_key_is_its_owners_alone_and_named_by_its_thumbprint(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "keys"

    path = keyfiles.create(folder, "ml-dsa-44")

    key = keys.read_private(path.read_bytes())
    assert path == folder / f"ml-dsa-44-{key.keyid}.jwk"
    assert path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_said_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(KeysUnusable, match="cannot be written") as caught:
        keyfiles.create(tmp_path / "file", "ed25519")

    assert caught.value.place == str(tmp_path / "file")
    assert caught.value.hint == "make the folder writable"


def test_the_newest_of_each_algorithm_signs_where_nothing_is_stated(tmp_path: Path) -> None:
    made = [keyfiles.create(tmp_path, name) for name in ("ed25519", "ml-dsa-44", "ed25519")]
    for age, path in enumerate(reversed(made)):
        os.utime(path, (1000 - age, 1000 - age))

    listed = keyfiles.listing(tmp_path, NOW)

    assert [(file.path, file.standing) for file in listed] == [
        (made[2], Standing.SIGNING),
        (made[0], Standing.PUBLISHED),
        (made[1], Standing.SIGNING),
    ]
    assert [file.keyid for file in listed] == [
        keys.read_private(file.path.read_bytes()).keyid for file in listed
    ]


def test_what_is_stated_decides_over_what_is_newest(tmp_path: Path) -> None:
    signing, retired, unnamed = (keyfiles.create(tmp_path, "ed25519") for _ in range(3))
    os.utime(signing, (1000, 1000))
    state(tmp_path, signing=[signing], published=[signing], retired=[retired])

    standing = {file.path: file.standing for file in keyfiles.listing(tmp_path, NOW)}

    assert standing == {
        signing: Standing.SIGNING,
        retired: Standing.RETIRED,
        unnamed: Standing.PUBLISHED,
    }


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    path = keyfiles.create(tmp_path, "ed25519")
    (tmp_path / "README").write_bytes(b"ours")
    (tmp_path / "ed25519-half.new").write_bytes(b"")
    (tmp_path / "rsa-1.jwk").write_bytes(b"{}")

    listed = keyfiles.listing(tmp_path, NOW)

    assert [file.path for file in listed] == [path]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("signing = [", "is not understood", id="no TOML"),
        pytest.param('signing = "x"', "is not understood", id="no list"),
        pytest.param('active = ["x"]', "is not understood", id="an unknown word"),
        pytest.param(b"\xff", "is not understood", id="no text"),
        pytest.param('signing = ["x"]', "of which there is no file", id="no such key"),
        pytest.param(
            'signing = ["KID"]\nretired = ["KID"]', "is retired and signs", id="retired and signs"
        ),
    ],
)
def test_a_state_file_that_makes_no_sense_is_refused(
    tmp_path: Path, text: str | bytes, problem: str
) -> None:
    keyid = keyfiles.create(tmp_path, "ed25519").name.removeprefix("ed25519-")[:-4]
    data = text if isinstance(text, bytes) else text.replace("KID", keyid).encode()
    (tmp_path / keyfiles.STATE).write_bytes(data)

    with pytest.raises(KeysUnusable, match=problem) as caught:
        keyfiles.listing(tmp_path, NOW)

    assert caught.value.place == str(tmp_path / keyfiles.STATE)


def test_a_state_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    keyfiles.create(tmp_path, "ed25519")
    (tmp_path / keyfiles.STATE).mkdir()

    with pytest.raises(KeysUnusable, match="cannot be read"):
        keyfiles.listing(tmp_path, NOW)


def test_two_keys_of_one_algorithm_cannot_sign(tmp_path: Path) -> None:
    both = [keyfiles.create(tmp_path, "ml-dsa-44") for _ in range(2)]
    state(tmp_path, signing=both)

    with pytest.raises(KeysUnusable, match="2 ml-dsa-44 keys are to sign"):
        keyfiles.listing(tmp_path, NOW)


def test_a_missing_folder_names_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(KeysUnusable, match="the folder cannot be read") as caught:
        keyfiles.listing(tmp_path / "none", NOW)

    assert caught.value.hint == "`crawl keys new` makes one"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_that_others_may_use_comes_with_the_chmod(tmp_path: Path, mode: int) -> None:
    path = keyfiles.create(tmp_path, "ed25519")
    path.chmod(mode)

    (file,) = keyfiles.listing(tmp_path, NOW)

    assert (file.key, file.public, file.signs) == (None, None, False)
    assert file.problem == f"others may use it (mode {mode:03o})"
    assert file.hint == f"chmod 600 {path}"
    assert path.name == f"ed25519-{file.keyid}.jwk"


SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"", "no usable key", id="empty"),
        pytest.param(
            f'{{"kty":"OKP","crv":"Ed25519","d":"{SECRET}"'.encode(), "no usable", id="torn"
        ),
        pytest.param(
            f'{{"kty":"OKP","crv":"Ed25519","x":"{SECRET}","d":"{SECRET[:-4]}"}}'.encode(),
            "no usable key",
            id="a wrong length",
        ),
    ],
)
def test_an_unusable_file_is_described_and_never_quoted(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "ed25519-x.jwk"
    path.write_bytes(content)
    path.chmod(0o600)

    (file,) = keyfiles.listing(tmp_path, NOW)

    assert file.key is None
    assert problem in file.problem
    assert SECRET[:12] not in repr(file)
    assert file.keyid == "x"


def test_a_link_into_nowhere_is_described(tmp_path: Path) -> None:
    (tmp_path / "ed25519-x.jwk").symlink_to(tmp_path / "none")

    (file,) = keyfiles.listing(tmp_path, NOW)

    assert file.problem == "cannot be read: No such file or directory"


def test_a_key_under_another_algorithms_name_is_described(tmp_path: Path) -> None:
    keyfiles.create(tmp_path, "ed25519").rename(tmp_path / "ml-dsa-44-x.jwk")

    (file,) = keyfiles.listing(tmp_path, NOW)

    assert file.algorithm is algorithms.ML_DSA_44
    assert file.problem == "the key in it is ed25519, not ml-dsa-44"


def test_no_secret_shows_in_a_listing(tmp_path: Path) -> None:
    path = keyfiles.create(tmp_path, "ed25519")

    listed = keyfiles.listing(tmp_path, NOW)

    assert listed[0].key is not None
    secret = str(listed[0].key.jwk()["d"])
    assert secret in path.read_text()
    assert secret not in repr(listed)


def state(folder: Path, **lists: list[Path]) -> None:
    """Write state.toml with the thumbprints that stand in the files' names."""
    lines = [f"{name} = {[_keyid(path) for path in paths]}\n" for name, paths in lists.items()]
    (folder / keyfiles.STATE).write_text("".join(lines).replace("'", '"'))


def _keyid(path: Path) -> str:
    return keys.read_private(path.read_bytes()).keyid
