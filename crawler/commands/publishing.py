"""`crawl serve`: publishing."""

import asyncio

from crawler.settings import Settings


def serve(settings: Settings, host: str, port: int) -> None:
    """Publish until interrupted. Keys are looked at again when they change."""
    from crawler.serve import site

    asyncio.run(site.run(settings, host, port))
