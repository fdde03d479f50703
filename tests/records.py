"""Fetch records for tests, with everything that a test does not speak of filled in."""

from typing import Any

from crawler.events import FetchRecord, Outcome


def record(**known: Any) -> FetchRecord:
    """A record of an answered page request; any field may be given."""
    filled: dict[str, Any] = {
        "at": 1000.0,
        "id": "r-0-1",
        "origin": "one",
        "scope": "one.example",
        "url": "https://one.example/",
        "outcome": Outcome.ANSWERED if known.get("status", 200) else Outcome.FAILED,
        "status": 200,
        "labels": ("sig1", "sig2"),
        "elapsed": 0.5,
    }
    return FetchRecord(**{**filled, **known})
