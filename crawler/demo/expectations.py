"""What each origin's manners must have led to, as the log has it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from crawler.demo import roster
from crawler.demo.history import History
from crawler.demo.manners import DEMOTION
from crawler.events import (
    FetchRecord,
    Outcome,
    Stage,
    Why,
    Without,
)
from crawler.polite.robots import Answer
from crawler.settings import ProfileName

BOTH = ("sig1", "sig2")
FIRST = ("sig1",)


class Expectation(NamedTuple):
    """`what` must have become of an origin, in words and as a question to the history."""

    origin: str
    what: str
    met: Callable[[History], bool]


def _reads(origin: str, *targets: str) -> Expectation:
    return Expectation(
        origin,
        f"these pages are read: {' '.join(targets)}",
        lambda history: set(targets) <= history.read(origin),
    )


def _all(found: Sequence[FetchRecord], holds: Callable[[FetchRecord], bool]) -> bool:
    """Whether it holds for all of them, and there are some."""
    return bool(found) and all(holds(one) for one in found)


def _controlled(history: History, first: FetchRecord, status: int) -> bool:
    """Whether a refusal of both signatures was followed by its control, which was let in."""
    return first.labels == BOTH and any(
        one.control_of == first.id and one.labels == FIRST and one.status == status
        for one in history.records(first.origin)
    )


_FEW = tuple(f"/page-{number}" for number in range(1, 5))
_NUMBERED = tuple(f"/page-{number}" for number in range(1, 10))

TABLE = (
    _reads("plain", "/", *_NUMBERED),
    Expectation(
        "plain",
        "each request carries both signatures",
        lambda log: _all(log.records("plain"), lambda one: one.labels == BOTH),
    ),
    Expectation(
        "plain",
        "a page that another origin redirects to is read, and remembers the way",
        lambda log: _all(
            log.records("plain", "/arrival"),
            lambda one: one.status == 200 and [urlsplit(url).path for url in one.via] == ["/old"],
        ),
    ),
    _reads("slow", "/", *_FEW),
    Expectation(
        "slow",
        f"each answer takes at least {roster.SLOW:g} s",
        lambda log: _all(log.records("slow"), lambda one: one.elapsed >= roster.SLOW),
    ),
    _reads("crawl-delay", "/", *_NUMBERED),
    Expectation(
        "crawl-delay",
        "the Crawl-delay is known when a page is asked",
        lambda log: _all(
            log.pages("crawl-delay"), lambda one: one.crawl_delay == roster.CRAWL_DELAY
        ),
    ),
    Expectation(
        "crawl-delay",
        "the legacy form carries both signatures where sig2 is always wanted",
        lambda log: _all(
            log.pages("crawl-delay"),
            lambda one: one.profile is ProfileName.LEGACY and one.labels == BOTH,
        ),
    ),
    _reads("half-closed", "/", *_FEW, "/closed/door-1"),
    Expectation(
        "half-closed",
        "four doors are refused by the line that closes them",
        lambda log: (
            sorted(
                (urlsplit(one.url).path, one.rule) for one in log.skipped("half-closed", Why.ROBOTS)
            )
            == [(f"/closed/door-{number}", "Disallow: /closed/") for number in range(2, 6)]
        ),
    ),
    Expectation(
        "robots-503",
        "robots.txt is asked three times, and nothing else",
        lambda log: (
            [one.status for one in log.records("robots-503")] == [503] * 3
            and not log.pages("robots-503")
            and log.deferred("robots-503", Why.ROBOTS_UNREACHABLE)
        ),
    ),
    Expectation(
        "robots-404",
        "without a robots.txt everything is allowed, and five pages are enough",
        lambda log: (
            log.judged("robots-404", Answer.ALLOW_ALL)
            and len(log.read("robots-404")) == 5
            and log.deferred("robots-404", Why.PAGE_LIMIT)
        ),
    ),
    Expectation(
        "robots-404",
        "after an answer like Cloudflare's, the legacy form with sig1 alone is sent",
        lambda log: _all(
            log.pages("robots-404"),
            lambda one: (
                one.profile is ProfileName.LEGACY
                and one.labels == FIRST
                and one.without is Without.PROFILE
            ),
        ),
    ),
    _reads("retry-after", "/", "/in-seconds", "/by-date", "/calm"),
    Expectation(
        "retry-after",
        "429 and 503 are asked again, once",
        lambda log: (
            [one.status for one in log.records("retry-after", "/in-seconds")] == [429, 200]
            and [one.status for one in log.records("retry-after", "/by-date")] == [503, 200]
        ),
    ),
    Expectation(
        "moved",
        "a redirect to a host that is not configured is said, and not followed",
        lambda log: (
            [urlsplit(one.url).path for one in log.skipped("moved", Why.ELSEWHERE)] == ["/trap"]
        ),
    ),
    Expectation(
        "loop",
        "a circle of redirects ends where it began",
        lambda log: (
            [urlsplit(one.url).path for one in log.skipped("loop", Why.REDIRECT_LOOP)] == ["/round"]
        ),
    ),
    Expectation(
        "loop",
        "a chain of redirects ends after ten hops",
        lambda log: (
            [urlsplit(one.url).path for one in log.skipped("loop", Why.REDIRECT_LIMIT)]
            == ["/maze/11"]
        ),
    ),
    Expectation(
        "validators",
        "each page is read once, and the second time by 304 alone",
        lambda log: all(
            [
                (one.status, one.conditional, one.unchanged)
                for one in log.records("validators", page)
            ]
            == [(200, False, False), (304, True, True)]
            for page in ("/", *_FEW)
        ),
    ),
    Expectation(
        "drip",
        "a page without end is given up",
        lambda log: _all(
            log.records("drip", "/drip"),
            lambda one: (
                one.outcome is Outcome.FAILED and one.stage in (Stage.DEADLINE, Stage.MIN_RATE)
            ),
        ),
    ),
    _reads("drip", "/", "/after"),
    Expectation(
        "bomb",
        "a bomb is left when it has grown past the limit",
        lambda log: _all(
            log.records("bomb", "/bomb"),
            lambda one: (
                one.outcome is Outcome.TOO_BIG
                and one.body_bytes < 2 * roster.BODY_LIMIT
                and one.wire_bytes < roster.BODY_LIMIT
            ),
        ),
    ),
    _reads("bomb", "/", "/after"),
    _reads("narrow", "/", *_FEW),
    Expectation(
        "narrow",
        "sig2 is left out where it does not fit, and the server is content",
        lambda log: _all(
            log.records("narrow"),
            lambda one: (
                one.status == 200
                and one.labels == FIRST
                and one.without is Without.BUDGET
                and one.cookie_bytes > 0
            ),
        ),
    ),
    _reads("strict", "/", *_FEW),
    Expectation(
        "strict",
        "both signatures are on each request, and none is refused",
        lambda log: _all(
            log.records("strict"), lambda one: one.status == 200 and one.labels == BOTH
        ),
    ),
    _reads("single", "/", "/page-1", "/page-2"),
    Expectation(
        "single",
        "each refusal of two signatures is tried with sig1 alone, robots.txt first",
        lambda log: (
            _all(
                [one for one in log.records("single") if one.status == 401],
                lambda one: _controlled(log, one, 200),
            )
            and [one.status for one in log.robots("single")] == [401, 200]
        ),
    ),
    _reads("demoting", "/", *_FEW),
    Expectation(
        "demoting",
        "the field that takes us for strangers is in the log",
        lambda log: _all(
            log.pages("demoting"),
            lambda one: (
                one.labels == BOTH
                and {name.lower(): value for name, value in one.fields.items()}.get(
                    DEMOTION.lower()
                )
                == "false"
            ),
        ),
    ),
    Expectation(
        "small-head",
        "a robots.txt that answers 431 is read with sig1 alone",
        lambda log: (
            [one.status for one in log.robots("small-head")] == [431, 200]
            and _controlled(log, log.robots("small-head")[0], 200)
        ),
    ),
    Expectation(
        "small-head",
        "a page that answers 431 is not asked again and again",
        lambda log: (
            [(one.status, one.labels) for one in log.records("small-head", "/")] == [(431, BOTH)]
        ),
    ),
    _reads("reset", "/", "/torn", "/page-1", "/page-2"),
    Expectation(
        "reset",
        "two resets before the first byte are two failures, the third attempt is answered",
        lambda log: (
            [(one.outcome, one.stage, one.attempt) for one in log.records("reset", "/torn")]
            == [
                (Outcome.FAILED, Stage.FIRST_BYTE, 1),
                (Outcome.FAILED, Stage.FIRST_BYTE, 2),
                (Outcome.ANSWERED, None, 3),
            ]
        ),
    ),
    _reads("types", "/", "/note"),
    Expectation(
        "types",
        "an image and an archive are not read",
        lambda log: all(
            _all(
                log.records("types", target),
                lambda one: one.outcome is Outcome.WRONG_TYPE and one.body_bytes == 0,
            )
            for target in ("/picture", "/archive")
        ),
    ),
    _reads("charsets", "/", "/latin", roster.CYRILLIC, roster.ACCENTED),
    Expectation(
        "failing",
        "some requests fail, and each page is read or was asked three times",
        lambda log: (
            any(one.status == 500 for one in log.pages("failing"))
            and all(
                page in log.read("failing") or len(log.records("failing", page)) == 3
                for page in ("/", *_FEW)
            )
        ),
    ),
)
