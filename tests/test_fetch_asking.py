"""What a request says besides the signatures, and to whom."""

import pytest
from visitor import BOT, origin
from yarl import URL

from crawler.fetch.asking import Door, server_of
from crawler.polite.frontier import FetchTask

HOME = "https://example.com/news/"
COOKIE = "session=0123456789"


def url(text: str) -> URL:
    return URL(text, encoded=True)


@pytest.mark.parametrize(
    ("asked", "admitted"),
    [
        pytest.param("https://example.com/other", True, id="the same host and port"),
        pytest.param("https://example.com:443/", True, id="the port in digits"),
        pytest.param("https://example.com:8443/", False, id="another port"),
        pytest.param("http://example.com/", False, id="another scheme's port"),
        pytest.param("https://www.example.com/", False, id="another host"),
        pytest.param("https://example.com.evil.example/", False, id="a longer host"),
    ],
)
@pytest.mark.parametrize("allowed", [True, False])
def test_the_word_for_private_addresses_is_for_one_host_and_port(
    asked: str, admitted: bool, allowed: bool
) -> None:
    door = Door(BOT, origin(HOME, allow_private=allowed))

    assert door.admits(url(asked)) is (admitted and allowed)


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        pytest.param("https://example.com/robots.txt", True, id="at home"),
        pytest.param("http://example.com/robots.txt", False, id="without TLS"),
        pytest.param("https://example.com:8443/robots.txt", False, id="another port"),
        pytest.param("https://www.example.com/robots.txt", False, id="another host"),
    ],
)
def test_the_cookie_goes_home_only(asked: str, sent: bool) -> None:
    door = Door(BOT, origin(HOME, cookie=COOKIE))
    task = FetchTask(origin="one", url=asked)

    fields = door.fields(task, server_of(url(asked)))

    assert fields.get("Cookie") == (COOKIE if sent else None)


def test_one_request_leaves_nothing_for_the_next() -> None:
    door = Door(BOT, origin(HOME))
    server = server_of(url(HOME))
    door.fields(FetchTask(origin="one", url=HOME, etag='"a"'), server)

    plain = door.fields(FetchTask(origin="one", url=HOME), server)

    assert "If-None-Match" not in plain


@pytest.mark.parametrize(
    ("contact", "sent"),
    [
        ("mailto:bot@bot.example", "bot@bot.example"),
        ("mailto:bot@bot.example?subject=crawl", "bot@bot.example"),
        ("mailto:bot%2Bcrawl@bot.example", "bot+crawl@bot.example"),
        ("mailto:bot@bot.example%0D%0AX:", None),
        ("https://bot.example/contact", None),
    ],
)
def test_from_is_the_address_of_the_contact(contact: str, sent: str | None) -> None:
    bot = type(BOT)(product="ExampleBot", home="https://bot.example", contact=contact)

    fields = Door(bot, origin(HOME)).fields(FetchTask(origin="one", url=HOME), "")

    assert fields.get("From") == sent


@pytest.mark.parametrize(
    ("asked", "server"),
    [
        ("https://example.com/a?b", "https://example.com"),
        ("https://example.com:443/", "https://example.com"),
        ("http://example.com:8080/", "http://example.com:8080"),
        ("http://[::1]:80/", "http://[::1]"),
    ],
)
def test_a_server_is_a_scheme_and_an_authority(asked: str, server: str) -> None:
    assert server_of(url(asked)) == server
