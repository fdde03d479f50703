"""What a person sees on a terminal while a crawl runs."""

import asyncio
from contextlib import suppress

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from crawler.engine import Crawl, World
from crawler.events import Event, FetchRecord, Kind

_EVERY = 0.25  # seconds
_WAITS_SHOWN = 6


class Progress:
    """Origins, pages, bytes and current waits, on stderr, redrawn a few times a second."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._pages = 0
        self._bytes = 0

    def hear(self, event: Event) -> None:
        """Count an event of the run."""
        if isinstance(event, FetchRecord):
            self._pages += event.kind is Kind.PAGE
            self._bytes += event.body_bytes

    async def show(self, crawl: Crawl, world: World) -> None:
        """Redraw until cancelled."""
        with (
            Live(
                self._drawn(crawl, world.now()),
                console=self._console,
                transient=True,
                auto_refresh=False,
            ) as live,
            suppress(asyncio.CancelledError),
        ):
            while True:
                live.update(self._drawn(crawl, world.now()), refresh=True)
                await asyncio.sleep(_EVERY)

    def _drawn(self, crawl: Crawl, now: float) -> Table:
        origins = crawl.itineraries
        over = sum(itinerary.over for itinerary in origins)
        grid = Table.grid(padding=(0, 2))
        grid.add_row(
            Text(f"{over}/{len(origins)} origins"),
            Text(f"{self._pages} page{'s' * (self._pages != 1)}"),
            Text(f"{self._bytes / 1e6:.1f} MB"),
        )
        waits = sorted(crawl.waits().items(), key=lambda item: item[1].until)
        for scope, wait in waits[:_WAITS_SHOWN]:
            grid.add_row(
                Text(f"  {scope}"), Text(wait.why), Text(f"{max(0.0, wait.until - now):.1f} s")
            )
        if len(waits) > _WAITS_SHOWN:
            grid.add_row(Text(f"  and {len(waits) - _WAITS_SHOWN} more"))
        return grid
