"""Which configurations can be read and are still not meant."""

import pytest
from imagined import origin

from crawler import doubts
from crawler.settings import Bot, Origin, Settings

HOME, CONTACT, PRODUCT = (
    'bot.home = "https://bot.example" is the example\'s',
    'bot.contact = "mailto:a@bot.example" is the example\'s',
    'bot.product = "ExampleBot" is the example\'s',
)
PUBLIC = origin()
OWN = origin("own", "https://intranet.corp/", allow_private=True)


def settings(*origins: Origin, **known: str) -> Settings:
    filled = {
        "product": "ExampleBot",
        "home": "https://bot.example",
        "contact": "mailto:a@bot.example",
        **known,
    }
    return Settings(base="/", bot=Bot(**filled), origins=origins)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, (HOME, CONTACT, PRODUCT)),
        ({"home": "https://bot.reader.io"}, (CONTACT, PRODUCT)),
        ({"contact": "mailto:a@reader.io,b@bot.example?subject=x"}, (HOME, PRODUCT)),
        ({"contact": "https://reader.io/contact"}, (HOME, PRODUCT)),
        ({"product": "Reader"}, (HOME, CONTACT)),
        (
            {"home": "https://reader.io", "contact": "mailto:a@myexample.com", "product": "Reader"},
            (),
        ),
    ],
    ids=["untouched", "home", "contact", "contact at a page", "product", "all of it"],
)
def test_the_examples_lines_are_named_until_they_are_ones_own(
    known: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert doubts.examples(settings(PUBLIC, OWN, **known)) == expected


@pytest.mark.parametrize(
    "home",
    [
        "https://EXAMPLE.com",
        "https://bot.example.net:8443",
        "https://example.org.",
        "https://x.y.example",
    ],
)
def test_every_name_that_is_reserved_for_examples_is_one(home: str) -> None:
    (found,) = doubts.examples(
        settings(PUBLIC, home=home, contact="https://reader.io/", product="Reader")
    )

    assert home in found


def test_who_tries_things_out_at_home_may_be_called_anything() -> None:
    at_home = (
        OWN,
        origin("a", "http://127.0.0.1:8080/"),
        origin("b", "http://[::1]/"),
        origin("e", "http://[::ffff:127.0.0.2]/"),
        origin("c", "http://localhost/"),
        origin("d", "http://shop.localhost/"),
    )

    assert doubts.examples(settings(*at_home)) == ()
    assert len(doubts.examples(settings(*at_home, PUBLIC))) == 3


def test_an_origin_at_an_address_that_is_never_asked_is_named() -> None:
    at = origin("at", "http://192.168.0.1/"), origin("meta", "http://169.254.169.254/")

    assert doubts.barred(settings(PUBLIC, OWN, *at)) == (
        "at: not asked (192.168.0.1 is private; allow_private = true admits it)",
        "meta: not asked (169.254.169.254 is metadata; nothing admits it)",
    )
