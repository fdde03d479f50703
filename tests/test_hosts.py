"""Where the configured origins are."""

import pytest
from imagined import origin

from crawler import hosts
from crawler.hosts import Hosts
from crawler.polite import target
from crawler.settings import Bot, Politeness, ScopeKind, Settings

KNOWN = Hosts(
    (
        origin("site", "https://one.example/"),
        origin("docs", "https://one.example/docs/"),
        origin("other", "https://one.example:8443/a/b"),
    ),
    {"site": "s", "docs": "d", "other": "o"},
)


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("https://one.example/", ("site", "s")),
        ("https://one.example/docs", ("site", "s")),
        ("https://one.example/docs/x?y", ("docs", "d")),
        ("https://ONE.example:443/docs/", ("docs", "d")),
        ("https://one.example:8443/a/c", ("other", "o")),
        ("https://one.example:8443/elsewhere", ("other", "o")),
        ("http://one.example/", None),
        ("https://two.example/", None),
        ("mailto:a@one.example", None),
    ],
)
def test_a_url_belongs_to_its_hosts_origin_the_nearest_folder_first(
    url: str, where: tuple[str, str] | None
) -> None:
    assert KNOWN(url) == where


@pytest.mark.parametrize(
    ("kind", "url", "scope"),
    [
        (ScopeKind.HOST, "https://www.one.example.co.uk:8443/", "www.one.example.co.uk"),
        (ScopeKind.DOMAIN, "https://www.one.example.co.uk/", "example.co.uk"),
        (ScopeKind.DOMAIN, "http://192.0.2.1/", "192.0.2.1"),
        (ScopeKind.ADDRESS, "http://127.0.0.1:8080/", "127.0.0.1"),
        (ScopeKind.ADDRESS, "http://no-such-name.invalid/", "no-such-name.invalid"),
    ],
)
async def test_a_scope_is_a_host_a_registrable_domain_or_an_address(
    kind: ScopeKind, url: str, scope: str
) -> None:
    one = origin("one", url, politeness=Politeness(scope=kind))
    bot = Bot(product="B", home="https://bot.example", contact="mailto:a@bot.example")

    found = await hosts.located(Settings(base=".", bot=bot, origins=(one,)))

    assert found.scope(one) == scope


@pytest.mark.parametrize(
    ("origins", "scopes"),
    [
        pytest.param(
            [("http://127.0.0.1:1/", ScopeKind.HOST), ("http://127.0.0.1:2/", ScopeKind.HOST)],
            ["127.0.0.1", "127.0.0.1"],
            id="two ports of one host",
        ),
        pytest.param(
            [("http://localhost:1/", ScopeKind.HOST), ("http://localhost:1/a/", ScopeKind.ADDRESS)],
            ["127.0.0.1", "127.0.0.1"],
            id="the wider scope counts for both",
        ),
        pytest.param(
            [
                ("https://www.one.example.com/", ScopeKind.DOMAIN),
                ("https://docs.example.com/", ScopeKind.HOST),
                ("https://other.example.org/", ScopeKind.HOST),
            ],
            ["example.com", "example.com", "other.example.org"],
            id="a domain takes in its hosts",
        ),
    ],
)
async def test_origins_that_share_a_host_share_its_scope(
    origins: list[tuple[str, ScopeKind]], scopes: list[str]
) -> None:
    bot = Bot(product="B", home="https://bot.example", contact="mailto:a@bot.example")
    configured = tuple(
        origin(f"o{number}", url, politeness=Politeness(scope=kind))
        for number, (url, kind) in enumerate(origins)
    )

    found = await hosts.located(Settings(base=".", bot=bot, origins=configured))

    assert [found.scope(one).replace("::1", "127.0.0.1") for one in configured] == scopes
    assert found.doors(found.scope(configured[0])) >= {target.door(configured[0].url)}
