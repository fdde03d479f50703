"""What a request says besides the signatures: who asks, what is wanted, what we have already."""

from typing import Final

from multidict import CIMultiDict
from yarl import URL

from crawler.events import Kind
from crawler.fetch.decoding import ACCEPTED
from crawler.polite.frontier import FetchTask
from crawler.settings import Bot, Origin

_ROBOTS: Final = "text/plain, */*;q=0.1"


class Door:
    """One configured origin as its requests need it, prepared once.

    `server` is its scheme and authority. The cookie and the word for private addresses are for this
    host and port alone, wherever a robots.txt or a page leads.
    """

    def __init__(self, bot: Bot, origin: Origin) -> None:
        home = URL(origin.url, encoded=True)
        self.origin = origin
        self.server = server_of(home)
        self._place = (home.raw_host, home.port)
        self._cookie = origin.cookie
        self._about: CIMultiDict[str] = CIMultiDict({"User-Agent": bot.user_agent})
        if bot.address is not None:
            self._about["From"] = bot.address
        self._wanted = ", ".join((*origin.politeness.types, "*/*;q=0.1"))

    def admits(self, url: URL) -> bool:
        """Whether `allow_private` speaks for this URL's host and port."""
        return self.origin.allow_private and (url.raw_host, url.port) == self._place

    def fields(self, task: FetchTask, server: str) -> CIMultiDict[str]:
        """The fields of a request to `server`, in their order; Host and the signatures apart."""
        fields = self._about.copy()
        fields["Accept"] = _ROBOTS if task.kind is Kind.ROBOTS else self._wanted
        fields["Accept-Encoding"] = ACCEPTED
        if self._cookie is not None and server == self.server:
            fields["Cookie"] = self._cookie
        if task.etag is not None:
            fields["If-None-Match"] = task.etag
        if task.last_modified is not None:
            fields["If-Modified-Since"] = task.last_modified
        return fields


def server_of(url: URL) -> str:
    """Scheme and authority of a URL: what a robots.txt, a cookie and a verifier speak of."""
    return f"{url.scheme}://{url.host_port_subcomponent}"
