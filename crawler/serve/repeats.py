"""What was ruled on a request, for a server that asks about it more than once.

nginx asks again after each redirect inside of it: an index, a file of try_files in another
location, an error_page. The signature was used by then, though by nobody else. What makes a
question the same one is the server's own number of the request, which no client can choose, and all
that the request says.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from crawler.serve.ruling import Ruling

ENTRIES: Final = 10_000
LIFE: Final = 300.0  # seconds: an error_page may come as late as the site behind gives up
_AFTER: Final = "GET"  # what nginx makes of any method for an error_page


class Repeats:
    """The latest rulings; forgetting one costs its request a refusal, and opens nothing."""

    def __init__(self, entries: int = ENTRIES, now: Callable[[], float] = time.monotonic) -> None:
        self._entries = entries
        self._now = now
        self._rulings: OrderedDict[bytes, tuple[float, str, Ruling]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rulings)

    def find(self, key: bytes, method: str) -> Ruling | None:
        """What was ruled on the same request."""
        found = self._rulings.get(key)
        if found is None:
            return None
        until, asked, ruled = found
        return ruled if self._now() < until and method in (asked, _AFTER) else None

    def keep(self, key: bytes, method: str, ruled: Ruling) -> None:
        """Keep a ruling for `LIFE`."""
        now = self._now()
        self._rulings.pop(key, None)  # so that the oldest stays in front
        self._rulings[key] = (now + LIFE, method, ruled)
        while len(self._rulings) > self._entries or next(iter(self._rulings.values()))[0] <= now:
            self._rulings.popitem(last=False)


def key(number: str, said: tuple[str, ...], fields: tuple[tuple[str, str], ...]) -> bytes:
    """The 16 bytes that stand for a request; no part can have the end of a line in it."""
    lines = [number, *said, *(f"{name}:{value}" for name, value in fields)]
    return blake2b("\n".join(lines).encode("utf-8", "surrogateescape"), digest_size=16).digest()
