"""Taking a key in or giving one out shows no secret, not even where it goes wrong."""

import json
import traceback
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from crawler.commands import transfer
from crawler.fetch import keyfiles
from crawler.problems import Problem
from crawler.settings import Bot, Settings
from signing import algorithms, pem
from signing.keys import PrivateKey

SEED: Final = bytes(range(100, 132))
KEY: Final = PrivateKey(algorithms.ED25519, SEED)
SPELLINGS: Final = (
    SEED.hex(),
    urlsafe_b64encode(SEED).decode().rstrip("="),
    repr(SEED)[2:-1],
    pem.write_private(KEY).decode().splitlines()[1],
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    bot = Bot(product="ExampleBot", home="https://bot.example", contact="mailto:bot@bot.example")
    return Settings(base=str(tmp_path), bot=bot)


def shown(error: BaseException) -> str:
    """What a traceback with the locals of each frame says, with all that is chained."""
    frames = traceback.TracebackException.from_exception(error, capture_locals=True)
    frames.stack[:] = [frame for frame in frames.stack if "/tests/" not in frame.filename]
    chained = (error.__cause__, error.__context__)
    return "".join(frames.format()) + "".join(shown(each) for each in chained if each is not None)


def twice(settings: Settings, file: Path) -> None:
    file.write_text(json.dumps(KEY.jwk()))
    transfer.take(settings, str(file))
    transfer.take(settings, str(file))


def torn(settings: Settings, file: Path) -> None:
    file.write_text(json.dumps(KEY.jwk())[:-1])
    transfer.take(settings, str(file))


def torn_pem(settings: Settings, file: Path) -> None:
    file.write_bytes(pem.write_private(KEY)[:-30])
    transfer.take(settings, str(file))


def into_a_folder_that_cannot_be(settings: Settings, file: Path) -> None:
    file.write_bytes(pem.write_private(KEY))
    settings.keys_directory.write_text("a file")
    transfer.take(settings, str(file))


def over_another_file(settings: Settings, file: Path) -> None:
    keyfiles.keep(settings.keys_directory, KEY)
    file.write_text("mine")
    transfer.give_private(settings, KEY.keyid, form="pem", output=str(file))


def into_nowhere(settings: Settings, file: Path) -> None:
    keyfiles.keep(settings.keys_directory, KEY)
    transfer.give_private(settings, KEY.keyid, form="jwk", output=str(file / "below"))


@pytest.mark.parametrize(
    "go_wrong",
    [twice, torn, torn_pem, into_a_folder_that_cannot_be, over_another_file, into_nowhere],
    ids=lambda attempt: attempt.__name__,
)
def test_what_goes_wrong_shows_no_secret(
    settings: Settings, tmp_path: Path, go_wrong: Callable[[Settings, Path], None]
) -> None:
    with pytest.raises(Problem) as caught:
        go_wrong(settings, tmp_path / "key")

    said = shown(caught.value)
    assert "transfer.py" in said  # it was looked for in the right place
    for spelling in SPELLINGS:
        assert spelling[-16:] not in said
