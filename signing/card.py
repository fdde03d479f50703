"""The Signature Agent Card: what an agent publishes about itself.

By draft-meunier-webbotauth-registry-04 it is an OAuth Client ID Metadata Document with one object
more, ``web_bot_auth``. The keys are not in it, they stand where ``jwks_uri`` leads.
"""

import re
from enum import StrEnum
from typing import Final

import msgspec

from signing.errors import CardUnusable

MEDIA_TYPE: Final = "application/json"

# draft-ietf-oauth-client-id-metadata-document, section 2: https, a path, no user info, no fragment
_CLIENT_ID: Final = re.compile(r"https://[^/?#@\s]+/[^#\s]*")
_DOTS: Final = re.compile(r"/(?:\.|%2e){1,2}(?:[/?]|$)", re.IGNORECASE)


class Trigger(StrEnum):
    """Who starts a request: a person who waits for the answer, or the agent itself."""

    FETCHER = "fetcher"
    CRAWLER = "crawler"


class WebBotAuth(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is said of a bot beside OAuth's own; whatever is empty is left out.

    ``compliance`` lists directives of robots.txt, ``known_urls`` paths, URLs or patterns with
    ``*``. ``purpose`` should be a word of the AI preferences vocabulary. The other texts are free.
    """

    expected_user_agent: str = msgspec.field(name="expected-user-agent", default="")
    product_token: str = msgspec.field(name="rfc9309-product-token", default="")
    compliance: tuple[str, ...] = msgspec.field(name="rfc9309-compliance", default=())
    trigger: Trigger | None = None
    purpose: str = ""
    targeted_content: str = msgspec.field(name="targeted-content", default="")
    rate_control: str = msgspec.field(name="rate-control", default="")
    rate_expectation: str = msgspec.field(name="rate-expectation", default="")
    known_urls: tuple[str, ...] = msgspec.field(name="known-urls", default=())
    ips_uri: str = ""


class Card(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A card. ``client_id`` is the very URL that it is fetched from, without a redirect.

    ``contacts`` are URIs. Raises CardUnusable for a ``client_id`` that cannot be one, and for
    a ``jwks_uri`` or ``ips_uri`` that is not https.
    """

    client_id: str
    client_name: str = ""
    client_uri: str = ""
    contacts: tuple[str, ...] = ()
    jwks_uri: str = ""
    web_bot_auth: WebBotAuth = WebBotAuth()

    def __post_init__(self) -> None:
        if not _CLIENT_ID.fullmatch(self.client_id) or _DOTS.search(self.client_id):
            raise CardUnusable(
                f"client_id {self.client_id!r} is no https URL with a path that is sent as it is"
            )
        for name, uri in (("jwks_uri", self.jwks_uri), ("ips_uri", self.web_bot_auth.ips_uri)):
            if uri and not uri.startswith("https://"):
                raise CardUnusable(f"{name} {uri!r} is not https")

    def document(self) -> bytes:
        """The card as UTF-8 JSON, indented, since people read it too."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"
