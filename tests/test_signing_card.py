"""A card says who we are by the draft's names, and leaves out what it does not know."""

import json

import pytest

from signing.card import Card, Trigger, WebBotAuth
from signing.errors import CardUnusable

WHERE = "https://bot.example/.well-known/signature-agent-card"


def test_every_member_has_the_name_that_the_draft_gives() -> None:
    card = Card(
        client_id=WHERE,
        client_name="ExampleBot",
        client_uri="https://bot.example/bot",
        contacts=("mailto:bot@bot.example",),
        jwks_uri="https://bot.example/.well-known/http-message-signatures-directory",
        web_bot_auth=WebBotAuth(
            expected_user_agent="ExampleBot/1.0",
            product_token="ExampleBot",
            compliance=("User-Agent", "Disallow"),
            trigger=Trigger.FETCHER,
            purpose="search",
            targeted_content="release notes",
            rate_control="Retry-After",
            rate_expectation="max=0.2rps",
            known_urls=("/robots.txt",),
            ips_uri="https://bot.example/ips.json",
        ),
    )

    assert json.loads(card.document()) == {
        "client_id": WHERE,
        "client_name": "ExampleBot",
        "client_uri": "https://bot.example/bot",
        "contacts": ["mailto:bot@bot.example"],
        "jwks_uri": "https://bot.example/.well-known/http-message-signatures-directory",
        "web_bot_auth": {
            "expected-user-agent": "ExampleBot/1.0",
            "rfc9309-product-token": "ExampleBot",
            "rfc9309-compliance": ["User-Agent", "Disallow"],
            "trigger": "fetcher",
            "purpose": "search",
            "targeted-content": "release notes",
            "rate-control": "Retry-After",
            "rate-expectation": "max=0.2rps",
            "known-urls": ["/robots.txt"],
            "ips_uri": "https://bot.example/ips.json",
        },
    }


def test_what_is_not_known_is_left_out() -> None:
    assert json.loads(Card(client_id=WHERE).document()) == {"client_id": WHERE}


def test_a_card_is_utf_8_and_ends_its_last_line() -> None:
    document = Card(client_id=WHERE, client_name="Přátelský Bot").document()

    assert "Přátelský Bot" in document.decode()
    assert document.endswith(b"}\n")


@pytest.mark.parametrize(
    "client_id",
    [
        pytest.param("", id="none"),
        pytest.param("http://bot.example/card", id="http"),
        pytest.param("https://bot.example", id="no path"),
        pytest.param("https:///card", id="no host"),
        pytest.param("https://me@bot.example/card", id="user info"),
        pytest.param("https://bot.example/card#top", id="fragment"),
        pytest.param("https://bot.example/a card", id="space"),
        pytest.param("https://bot.example/a/../card", id="dot segments"),
        pytest.param("https://bot.example/a/%2E", id="escaped dot segment"),
        pytest.param("https://bot.example/.?a", id="dot segment before a query"),
    ],
)
def test_a_client_id_that_cannot_be_fetched_as_it_is_is_refused(client_id: str) -> None:
    with pytest.raises(CardUnusable, match="client_id"):
        Card(client_id=client_id)


@pytest.mark.parametrize(
    "client_id",
    ["https://bot.example/", "https://[2001:db8::1]:8443/a.b/..c?d=1"],
    ids=["the root", "port, query and dots in names"],
)
def test_a_client_id_with_any_path_is_accepted(client_id: str) -> None:
    assert Card(client_id=client_id).client_id == client_id


def test_keys_and_addresses_are_looked_up_over_https_only() -> None:
    with pytest.raises(CardUnusable, match=r"jwks_uri .* is not https"):
        Card(client_id=WHERE, jwks_uri="http://bot.example/keys")
    with pytest.raises(CardUnusable, match=r"ips_uri .* is not https"):
        Card(client_id=WHERE, web_bot_auth=WebBotAuth(ips_uri="ftp://bot.example/ips"))
