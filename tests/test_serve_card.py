"""Our card says what the configuration says, and names the URL that it is fetched from."""

import json

import pytest

from crawler.serve import card
from crawler.settings import Bot, Card, Origin, Politeness, ProfileName, Publish, Second, Settings


def settings(*manners: Politeness, own: Card | None = None, path: str = "/card") -> Settings:
    return Settings(
        base=".",
        bot=Bot(
            product="ExampleBot",
            home="https://bot.example",
            contact="mailto:bot@bot.example",
            purpose="reads twenty sites",
        ),
        publish=Publish(card=path),
        card=own or Card(),
        origins=tuple(
            Origin(
                name=f"o{number}",
                url=f"https://secret-{number}.example/",
                start=("/hidden",),
                profile=ProfileName.AUTO,
                sig2=Second.WATCH,
                politeness=one,
            )
            for number, one in enumerate(manners)
        ),
    )


def test_it_names_its_own_url_and_where_the_keys_are() -> None:
    said = card.card(settings(), "bot.example:8443")

    assert said.client_id == "https://bot.example:8443/card"
    assert said.client_uri == "https://bot.example:8443/bot"
    assert said.jwks_uri == (
        "https://bot.example:8443/.well-known/http-message-signatures-directory"
    )


def test_every_member_that_the_configuration_knows_is_there() -> None:
    own = Card(purpose="search", targeted_content="news", ips_uri="https://bot.example/ips.json")

    said = json.loads(card.card(settings(own=own), "bot.example").document())

    assert said["client_name"] == "ExampleBot"
    assert said["contacts"] == ["mailto:bot@bot.example"]
    assert said["web_bot_auth"] == {
        "expected-user-agent": "ExampleBot/1.0 (+https://bot.example/bot; mailto:bot@bot.example)",
        "rfc9309-product-token": "ExampleBot",
        "rfc9309-compliance": ["User-Agent", "Allow", "Disallow", "Crawl-delay"],
        "trigger": "crawler",
        "purpose": "search",
        "targeted-content": "news",
        "rate-control": "Crawl-delay in robots.txt; 429 or 503 with Retry-After; RateLimit fields",
        "rate-expectation": "avg=0.0116rps;max=0.2rps",
        "known-urls": ["/robots.txt"],
        "ips_uri": "https://bot.example/ips.json",
    }


def test_without_a_purpose_of_its_own_it_takes_that_of_the_bot() -> None:
    said = card.card(settings(), "bot.example").web_bot_auth

    assert said.purpose == "reads twenty sites"
    assert b"targeted-content" not in card.card(settings(), "bot.example").document()


def test_it_does_not_tell_which_sites_are_read() -> None:
    document = card.card(settings(Politeness()), "bot.example").document()

    assert b"secret" not in document
    assert b"hidden" not in document


@pytest.mark.parametrize(
    ("manners", "rates"),
    [
        pytest.param((), "avg=0.0116rps;max=0.2rps", id="no origin yet"),
        pytest.param((Politeness(min_delay=3.0),), "avg=0.0116rps;max=0.334rps", id="rounded up"),
        pytest.param(
            (Politeness(min_delay=10.0), Politeness(min_delay=2.0, daily_requests=1)),
            "avg=0.0116rps;max=0.5rps",
            id="the origin that is asked most often",
        ),
        pytest.param((Politeness(min_delay=0.0),), "avg=0.0116rps", id="no pause at all"),
        pytest.param(
            (Politeness(daily_requests=86_400, min_delay=0.001),),
            "avg=1rps;max=1000rps",
            id="whole numbers",
        ),
        pytest.param(
            (Politeness(daily_requests=864_000_000, min_delay=1.0),),
            "avg=1rps;max=1rps",
            id="more a day than the pause admits",
        ),
        pytest.param(
            (Politeness(daily_requests=1, min_delay=86_400.0),),
            "avg=0.0000116rps;max=0.0000116rps",
            id="once a day",
        ),
    ],
)
def test_it_expects_no_more_than_the_manners_allow(
    manners: tuple[Politeness, ...], rates: str
) -> None:
    assert card.card(settings(*manners), "b.example").web_bot_auth.rate_expectation == rates
