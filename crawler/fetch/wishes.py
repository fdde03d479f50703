"""What servers ask our next signatures to be like (Accept-Signature), until it is granted, once."""

from typing import assert_never

from msgspec import Struct

from crawler.settings import Settings
from signing import accept
from signing.accept import Refused, Wish
from signing.profile import Name


class Pending(Struct, frozen=True):
    """What a server asked for, and the record of the request that it answered so."""

    wish: Wish
    record: str


class Wishes:
    """The one wish of each server that its next request grants. Kept in memory only."""

    def __init__(self, settings: Settings) -> None:
        self._second_label = settings.signatures.second.label
        self._always_sent = settings.bot.always_sent
        self._pending: dict[str, Pending] = {}

    def heard(self, field: str, record: str, *, server: str, form: Name, keyid: str) -> str:
        """Decide on the Accept-Signature that answered a request, and say what became of it.

        `form` is the profile that the server gets, `keyid` the key of sig1.
        """
        if form is Name.PUBLISHED:
            return "not granted: the published profile is one form"
        match accept.decide(
            field, keyid=keyid, second_label=self._second_label, sent=self._always_sent
        ):
            case Wish() as wish:
                self._pending[server] = Pending(wish, record)
                return f"next: {wish}"
            case Refused(why):
                return f"not granted: {why}"
            case never:
                assert_never(never)

    def taken(self, server: str) -> Pending | None:
        """What a request to this server is to grant; from now on nothing is."""
        return self._pending.pop(server, None)
