"""What of a run the operator should look at: the reasons behind exit code 3."""

from collections.abc import Callable, Iterator, Sequence

from crawler.events import (
    Deferred,
    Event,
    FetchRecord,
    Internal,
    Kind,
    Skipped,
    Stage,
    Standing,
    StateRebuilt,
    Why,
)
from crawler.fetch import duplicates
from crawler.fetch.store import start_urls
from crawler.polite import address
from crawler.settings import Origin


class Attention:
    """Hears a run's events and passes them on; `attention` is what the operator should look at."""

    def __init__(self, origins: Sequence[Origin], told: Callable[[Event], None]) -> None:
        self.requests = 0
        self.attention: list[str] = []
        self._told = told
        self._barred: set[str] = set()
        self._begins = {
            origin.name: set(map(duplicates.key, start_urls(origin))) for origin in origins
        }
        self._refused: dict[str, dict[str, str]] = {}  # by robots.txt: each URL with the rule
        self._asked: set[str] = set()  # origins that a page was asked of

    def hear(self, event: Event) -> None:
        match event:
            case FetchRecord():
                self.requests += event.left
                if event.kind is Kind.PAGE:
                    self._asked.add(event.origin)
                if event.stage is Stage.ADDRESS and event.origin not in self._barred:
                    self._barred.add(event.origin)
                    told = address.advised(event.detail)
                    self.attention.append(f"{event.origin}: not asked ({told})")
            case Skipped(why=Why.ROBOTS):
                self._refused.setdefault(event.origin, {})[duplicates.key(event.url)] = event.detail
            case Standing(why=Why() as why):
                self.attention.append(f"{event.origin}: {why} ({event.detail})")
            case Deferred(why=Why.CRAWL_DELAY | Why.ROBOTS_ELSEWHERE as why):
                self.attention.append(f"{event.origin}: {why} ({event.detail})")
            case Internal():
                self.attention.append(f"{event.scope}: our own mistake, {event.error}")
            case StateRebuilt():
                self.attention.append(f"the database was rebuilt: {event.problem}")
            case _:
                pass
        self._told(event)

    def closed(self) -> Iterator[str]:
        """The origins whose robots.txt lets nothing be asked: it refused wherever a refresh begins.

        A page that it refuses beside others is the site's wish, and nothing that one must look at.
        """
        for origin, refused in self._refused.items():
            if origin not in self._asked and self._begins[origin] <= refused.keys():
                yield f"{origin}: {Why.ROBOTS} ({next(iter(refused.values()))})"
