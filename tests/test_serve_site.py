"""Which keys are published, while their folder changes."""

import json
from pathlib import Path

import pytest
from keyrings import DAY, NOW

from crawler.fetch import keyfiles, keyrotation
from crawler.fetch.keystate import KeysUnusable
from crawler.serve.site import PublishedKeys
from crawler.settings import Bot, Settings
from signing import directory


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


def rotating(folder: Path) -> tuple[PublishedKeys, list[float], str, str]:
    """The published keys of a rotation, a clock to set, and the old and the new key."""
    clock = [NOW]
    (turn,) = keyrotation.rotate(folder, NOW, names=["ed25519"], wait=DAY, keep=DAY)
    assert turn.old is not None
    published = PublishedKeys(folder, look_every=1e9, wall=lambda: clock[0])
    return published, clock, turn.old.keyid, turn.new.keyid


def test_what_is_published_follows_the_clock_and_what_signs_comes_first(folder: Path) -> None:
    published, clock, old, new = rotating(folder)
    steps = []
    for clock[0] in (NOW, NOW + DAY, NOW + 2 * DAY, NOW):  # the last one: set back
        steps.append([key.keyid for key in published.current()])

    assert steps == [[old, new], [new, old], [new], [new]]


def test_an_old_key_is_published_with_its_end_and_a_new_one_with_its_beginning(
    folder: Path,
) -> None:
    published, _, old, new = rotating(folder)
    bot = Bot(product="ExampleBot", home="https://bot.example", contact="mailto:bot@bot.example")
    documents = published.documents(Settings(base=str(folder), bot=bot))
    told = {key["kid"]: key for key in json.loads(documents[directory.WELL_KNOWN].body)["keys"]}

    assert told[old]["exp"] == NOW + 2 * DAY
    assert told[new]["nbf"] == NOW
    assert "nbf" not in told[old]
    assert "exp" not in told[new]


def test_a_dropped_key_is_published_no_more_although_the_folder_cannot_be_read(
    folder: Path,
) -> None:
    published, clock, _, new = rotating(folder)
    (folder / "state.toml").write_text("[")
    clock[0] = NOW + 2 * DAY

    assert [key.keyid for key in published.current()] == [new]


def test_without_a_folder_nothing_is_published(tmp_path: Path) -> None:
    with pytest.raises(KeysUnusable):
        PublishedKeys(tmp_path / "none")
