"""Our Signature Agent Card: what the configuration says of us, in the draft's terms.

Like the /bot page it speaks to every site at once, so its rates are those of the origin that we
ask most often. Which sites we read is nobody's business: of their URLs only robots.txt is named.
"""

from collections.abc import Sequence
from math import ceil, floor, inf, log10
from typing import Final

from crawler.settings import Politeness, Settings
from signing import directory
from signing.card import Card, Trigger, WebBotAuth

# Directives as they stand in robots.txt; "CrawlDelay", in one of the draft's examples, does not.
_COMPLIANCE: Final = ("User-Agent", "Allow", "Disallow", "Crawl-delay")
_CONTROL: Final = "Crawl-delay in robots.txt; 429 or 503 with Retry-After; RateLimit fields"


def card(settings: Settings, authority: str) -> Card:
    """The card that stands at `publish.card` of this authority."""
    bot, own, home = settings.bot, settings.card, f"https://{authority}"
    return Card(
        client_id=home + settings.publish.card,
        client_name=bot.product,
        client_uri=f"{home}/bot",
        contacts=(bot.contact,),
        jwks_uri=home + directory.WELL_KNOWN,
        web_bot_auth=WebBotAuth(
            expected_user_agent=bot.user_agent,
            product_token=bot.product,
            compliance=_COMPLIANCE,
            trigger=Trigger.CRAWLER,
            purpose=own.purpose or bot.purpose,
            targeted_content=own.targeted_content,
            rate_control=_CONTROL,
            rate_expectation=_rates([one.politeness for one in settings.origins]),
            known_urls=("/robots.txt",),
            ips_uri=own.ips_uri,
        ),
    )


def _rates(manners: Sequence[Politeness]) -> str:
    """Requests a second to one origin, in the form that the draft considers; never more."""
    manners = manners or [Politeness()]
    highest = max(1 / one.min_delay if one.min_delay else inf for one in manners)
    average = min(max(one.daily_requests for one in manners) / 86_400, highest)
    stated = f"avg={_at_most(average)}rps"
    return f"{stated};max={_at_most(highest)}rps" if highest < inf else stated


def _at_most(rate: float) -> str:
    """Three digits of a rate, the last rounded up, without an exponent."""
    digits = 2 - floor(log10(rate))
    scaled = ceil(rate * 10.0**digits - 1e-6)
    text = f"{scaled / 10.0**digits:.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
