"""What can be read and is still not meant: the example's values, addresses never asked."""

from urllib.parse import urlsplit

from crawler.polite import address, target
from crawler.settings import Origin, Settings

EXAMPLE_PRODUCT = "ExampleBot"
_RESERVED = ("example", "example.com", "example.net", "example.org")  # RFC 2606


def examples(settings: Settings) -> tuple[str, ...]:
    """The lines of [bot] that are still the example's, which a site would take for our word.

    None where every origin is on this machine or in a network of the operator's own: that is how
    one tries things out, and no stranger is told.
    """
    if all(origin.allow_private or _is_no_stranger(origin) for origin in settings.origins):
        return ()
    bot = settings.bot
    found = {
        "home": (bot.home, _reserved(urlsplit(bot.home).hostname or "")),
        "contact": (bot.contact, _reserved(_host_of(bot.contact))),
        "product": (bot.product, bot.product == EXAMPLE_PRODUCT),
    }
    return tuple(
        f'bot.{name} = "{value}" is the example\'s'
        for name, (value, is_example) in found.items()
        if is_example
    )


def barred(settings: Settings) -> tuple[str, ...]:
    """The origins at an address that is never asked, each with what would admit it."""
    found = ((origin.name, _barred(origin)) for origin in settings.origins)
    return tuple(f"{name}: not asked ({told})" for name, told in found if told is not None)


def _barred(origin: Origin) -> str | None:
    return address.barred(_home(origin), admitted=origin.allow_private)


def _is_no_stranger(origin: Origin) -> bool:
    """Whether its URL names this machine, or an address that nobody else is asked at."""
    host = _home(origin).host
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761
        return True
    return address.refusal(host, admitted=False) not in (None, address.Refusal.UNREADABLE)


def _home(origin: Origin) -> target.Target:
    found = target.sendable(origin.url)
    assert isinstance(found, target.Target)  # noqa: S101 - the configuration was checked
    return found


def _host_of(contact: str) -> str:
    """The host of an https address or of the first mailbox of a mailto one (RFC 6068)."""
    if contact.startswith("mailto:"):
        return contact.partition("?")[0].partition(",")[0].rpartition("@")[2]
    return urlsplit(contact).hostname or ""


def _reserved(host: str) -> bool:
    name = host.lower().rstrip(".")
    return any(name == one or name.endswith(f".{one}") for one in _RESERVED)
