"""Which keys are published, while their folder changes."""

from pathlib import Path

import pytest

from crawler.fetch import keyfiles
from crawler.fetch.keystate import KeysUnusable
from crawler.serve.site import PublishedKeys


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    keyfiles.create(tmp_path, "ed25519")
    return tmp_path


def test_a_new_key_is_published_and_a_retired_one_no_more(folder: Path) -> None:
    published = PublishedKeys(folder, look_every=0.0)
    (old,) = published.current()
    new = keyfiles.create(folder, "ed25519").stem.removeprefix("ed25519-")

    (folder / "state.toml").write_text(f'signing = ["{old.keyid}"]\n')
    beside = [key.keyid for key in published.current()]
    (folder / "state.toml").write_text(f'signing = ["{new}"]\nretired = ["{old.keyid}"]\n')
    alone = [key.keyid for key in published.current()]

    assert beside == [old.keyid, new]
    assert alone == [new]


def test_a_folder_that_cannot_be_read_leaves_the_keys_and_is_said_once(folder: Path) -> None:
    said: list[str] = []
    published = PublishedKeys(folder, said.append, look_every=0.0)
    before = published.current()

    (folder / "state.toml").write_text("signing = [")
    during = [published.current() for _ in range(3)]
    (folder / "state.toml").unlink()
    after = published.current()

    assert [before] * 3 == during
    assert after == before
    assert len(said) == 2
    assert "state.toml" in said[0]
    assert said[1] == "the keys can be read again"


def test_without_a_folder_nothing_is_published(tmp_path: Path) -> None:
    with pytest.raises(KeysUnusable):
        PublishedKeys(tmp_path / "none")
