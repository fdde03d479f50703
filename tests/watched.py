"""What the watch's tests share, beside records.py."""

from typing import Any, NamedTuple

from records import record

from crawler.events import FetchRecord, OriginSettings
from crawler.settings import Follow, Politeness, ProfileName, Second

BOTH = ("sig1", "sig2")
ONE = ("sig1",)


class Bad(NamedTuple):
    """What a reader may call a line that is no event."""

    path: str = "log/events-2026-11-01.jsonl"
    number: int = 3
    flaw: str = "torn"
    problem: str = "cut off"


def failed(**known: Any) -> FetchRecord:
    """A request that got no answer at all."""
    return record(**{"status": None, **known})


def settings(**known: Any) -> OriginSettings:
    """An origin's settings, all of them the default."""
    filled: dict[str, Any] = {
        "at": 900.0,
        "run": "r",
        "origin": "one",
        "url": "https://one.example/",
        "scope": "one.example",
        "profile": ProfileName.AUTO,
        "sig2": Second.WATCH,
        "follow": (Follow.NOTHING,),
        "pages": 50,
        "depth": 2,
        "allow_private": False,
        "cookie": False,
        "politeness": Politeness(),
    }
    return OriginSettings(**{**filled, **known})
