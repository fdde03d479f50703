"""The /bot page promises what holds at every origin, and tells how to know us."""

import re
from html import unescape

import pytest

from crawler.serve import page, publish
from crawler.settings import (
    Bot,
    Origin,
    Politeness,
    ProfileName,
    Second,
    Settings,
    Signatures,
    Unreachable,
)
from signing import directory
from signing.algorithms import ED25519, by_name
from signing.keys import PublicKey, generate

KEYS = tuple(generate(ED25519).public_key for _ in range(2))
PQ = generate(by_name("ml-dsa-44")).public_key


def told(
    *manners: Politeness,
    signing: tuple[PublicKey, ...] = (),
    contact: str = "mailto:a@bot.example",
    lifetime: int = 60,
) -> str:
    """The page of somebody who treats origins like this, as people read it."""
    settings = Settings(
        base=".",
        bot=Bot(product="ExampleBot", home="https://bot.example", contact=contact),
        signatures=Signatures(lifetime=lifetime),
        origins=tuple(
            Origin(
                name=f"o{number}",
                url=f"https://{number}.example/",
                profile=ProfileName.AUTO,
                sig2=Second.WATCH,
                politeness=one,
            )
            for number, one in enumerate(manners)
        ),
    )
    keyids = [key.keyid for key in signing]
    html = page.bot(settings, KEYS, (PQ,), signing=keyids, pq_keys=publish.PQ_KEYS, card="/card")
    _, _, body = html.partition("<body>")
    return " ".join(unescape(re.sub(r"</?code>|</?strong>", "", body)).split())


@pytest.mark.parametrize(
    ("manners", "promise"),
    [
        pytest.param((), "at least 5 seconds after the last answer", id="no origin yet"),
        pytest.param(
            (Politeness(min_delay=10.0), Politeness(min_delay=2.5), Politeness()),
            "at least 2.5 seconds after the last answer",
            id="the shortest pause",
        ),
        pytest.param(
            (Politeness(min_delay=60.0),), "at least a minute after the last answer", id="in words"
        ),
        pytest.param(
            (Politeness(min_delay=1.0),), "at least a second after the last answer", id="one second"
        ),
        pytest.param(
            (Politeness(min_delay=0.0), Politeness()),
            "one request at a time to a host and fewer where",
            id="no pause at all",
        ),
        pytest.param((Politeness(),), "for an hour, then a day, then a week;", id="the freezes"),
        pytest.param(
            (Politeness(freeze=(7200.0,)), Politeness(freeze=(10_800.0, 3600.0))),
            "for 2 hours, then an hour;",
            id="the shortest of each freeze",
        ),
        pytest.param((Politeness(),), "is waited for up to a day.", id="Retry-After"),
        pytest.param(
            (Politeness(max_retry_after=90.0), Politeness()),
            "is waited for up to 90 seconds.",
            id="the lowest ceiling of Retry-After",
        ),
        pytest.param((Politeness(),), "nothing else while it cannot be reached", id="strict"),
        pytest.param(
            (Politeness(), Politeness(unreachable_robots=Unreachable.LAST_GOOD)),
            "at some sites by the last copy that we could read, for up to 30 days",
            id="the last good copy somewhere",
        ),
        pytest.param((Politeness(),), "we have read counts for a day", id="the age of robots.txt"),
        pytest.param((Politeness(),), "never for less than 10 minutes", id="its shortest age"),
        pytest.param((Politeness(),), "3 answers in a row of 401, 403 or 451", id="refusals"),
    ],
)
def test_it_promises_what_holds_at_every_origin(
    manners: tuple[Politeness, ...], promise: str
) -> None:
    assert promise in told(*manners)


def test_it_says_what_to_compare_before_a_signature_means_anything() -> None:
    text = told(lifetime=30)

    assert '"@authority"' in text
    assert "your own host" in text
    assert "take the member sig1" in text
    assert "at most 30 seconds after it" in text
    assert f"is https://bot.example or https://bot.example{directory.WELL_KNOWN}." in text
    assert "anybody can sign with keys of their own" in text


def test_it_shows_which_keys_sign() -> None:
    rows = re.findall(
        r"<tr><td>(\w+)</td>.*?<td>([\w-]{43})</td><td>(\w+)</td>", told(signing=KEYS[:1])
    )

    assert rows == [
        ("sig1", KEYS[0].keyid, "signs"),
        ("sig1", KEYS[1].keyid, "published"),
        ("sig2", PQ.keyid, "published"),
    ]


@pytest.mark.parametrize(
    ("contact", "link"),
    [
        ("mailto:a@bot.example", '<a href="mailto:a@bot.example">a@bot.example</a>'),
        ("https://bot.example/us", '<a href="https://bot.example/us">https://bot.example/us</a>'),
    ],
    ids=["mail", "web"],
)
def test_it_links_to_a_person(contact: str, link: str) -> None:
    assert link in told(contact=contact)
