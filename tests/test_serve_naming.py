"""Whose a Signature-Agent value is, and where it leads."""

import pytest

from crawler.serve import naming
from signing.directory import WELL_KNOWN
from signing.profile import SECOND_KEYS_PATH

BOT = "https://bot.example"


@pytest.mark.parametrize(
    ("agent", "url"),
    [
        (BOT, f"{BOT}{WELL_KNOWN}"),
        (f"{BOT}/", f"{BOT}{WELL_KNOWN}"),
        (f"{BOT}?", f"{BOT}{WELL_KNOWN}"),
        ("HTTPS://Bot.Example:443", f"{BOT}{WELL_KNOWN}"),
        (f"{BOT}:8443", f"{BOT}:8443{WELL_KNOWN}"),
        (f"{BOT}/keys.json", f"{BOT}/keys.json"),
        ("https://BOT.example:443/Keys.json", f"{BOT}/Keys.json"),
        (f"{BOT}/?set=1", f"{BOT}/?set=1"),
    ],
)
def test_a_bare_origin_implies_the_well_known_path(agent: str, url: str) -> None:
    assert naming.location(agent) == url


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (BOT, BOT),
        ("https://BOT.example:443/", BOT),
        (f"{BOT}:8443", f"{BOT}:8443"),
        (f"{BOT}{WELL_KNOWN}", BOT),
        (f"{BOT}{SECOND_KEYS_PATH}", BOT),
        *(
            (f"{BOT}{path}", f"{BOT}{path}")
            for path in (
                "/uploads/mallory.json",
                "/?keys",
                "/.well-known",
                "/.well-known/",
                "/.well-known/bots/keys.json",
                "/.well-known/acme-challenge/token",
                "/.well-known/../uploads/mallory.json",
                "/.well-known/%2e%2e/uploads/mallory.json",
                "/.well-known//keys",
                "/.well-known/echo?body=keys",
                "/uploads/.well-known/keys",
                f"/..{WELL_KNOWN}",
            )
        ),
    ],
)
def test_only_what_is_for_its_owner_alone_speaks_for_an_origin(agent: str, name: str) -> None:
    assert naming.name(agent) == name


@pytest.mark.parametrize(
    ("path", "home"),
    [
        (WELL_KNOWN, True),
        (SECOND_KEYS_PATH, True),
        (f"{WELL_KNOWN}?1", False),
        ("/.well-known/keys.json", False),
    ],
)
def test_an_origin_has_two_homes(path: str, home: bool) -> None:
    assert naming.is_home(f"{BOT}{path}") is home
