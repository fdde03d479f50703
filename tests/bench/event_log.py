"""A log as a crawl of twenty origins writes it, of any length, the same for the same seed."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from crawler import events
from crawler.events import (
    Deferred,
    Event,
    FetchRecord,
    Kind,
    OriginSettings,
    Outcome,
    RobotsRead,
    RunFinished,
    RunStarted,
    Skipped,
    Stage,
    Why,
    Without,
)
from crawler.settings import Follow, Politeness, ProfileName, Second

ORIGINS: Final = 20
PAGES: Final = 200  # requests to an origin in a run
_BEGAN: Final = 1_762_000_000.0
_SHA: Final = "0123456789abcdef" * 4


def write(path: Path, count: int) -> None:
    """Write `count` events."""
    with path.open("wb") as file:
        for number, event in enumerate(story(random.Random(7))):
            if number == count:
                return
            file.write(events.encode(event))


def story(chance: random.Random) -> Iterator[Event]:
    """Tell run after run, without end."""
    now = _BEGAN
    run = 0
    while True:
        run += 1
        name = f"r{run:05d}"
        began = now
        yield RunStarted(at=now, run=name, version="0.1.0", agent="ExampleBot/1.0", wall=now)
        for number in range(ORIGINS):
            yield _settings(name, number, now)
        for number in range(ORIGINS):
            yield RobotsRead(
                at=now,
                origin=f"site-{number:02d}",
                url=f"https://site-{number:02d}.example/robots.txt",
                answer="rules",
                status=200,
                digest=_SHA,
                until=now + 86400,
            )
        for turn in range(PAGES * ORIGINS):
            now += 0.3
            yield _record(chance, name, turn, now)
            if chance.random() < 0.04:
                origin = f"site-{turn % ORIGINS:02d}"
                yield Skipped(
                    at=now,
                    run=name,
                    origin=origin,
                    url=f"https://{origin}.example/private/{turn}",
                    why=Why.ROBOTS,
                    line=4,
                    rule="/private/",
                    group="*",
                    robots=_SHA,
                )
        for number in range(3):
            yield Deferred(
                at=now, run=name, origin=f"site-{number:02d}", why=Why.BACK_OFF, until=now + 900
            )
        yield RunFinished(at=now, run=name, requests=PAGES * ORIGINS, elapsed=now - began, cpu=12.5)
        now += 3600


def _settings(run: str, number: int, now: float) -> OriginSettings:
    origin = f"site-{number:02d}"
    return OriginSettings(
        at=now,
        run=run,
        origin=origin,
        url=f"https://{origin}.example/",
        scope=f"{origin}.example",
        profile=ProfileName.AUTO,
        sig2=Second.WATCH,
        follow=(Follow.LINKS,),
        pages=PAGES,
        depth=2,
        allow_private=False,
        cookie=False,
        politeness=Politeness(),
    )


def _record(chance: random.Random, run: str, turn: int, now: float) -> FetchRecord:
    number = turn % ORIGINS
    origin = f"site-{number:02d}"
    first_byte = chance.lognormvariate(-2.0, 0.6)
    dual = chance.random() < 0.9
    draw = chance.random()
    refusal, retry_after, stage = "", None, None
    outcome, status, reason = Outcome.ANSWERED, 200, "OK"
    if draw < 0.35:
        status, reason = 304, "Not Modified"
    elif draw < 0.37:
        status, reason = 404, "Not Found"
        refusal = "<html><head><title>404 Not Found</title></head><body>nginx</body></html>"
    elif draw < 0.38:
        status, reason, retry_after = 429, "Too Many Requests", 30.0
    elif draw < 0.39:
        status, reason = 500, "Internal Server Error"
        refusal = "<html><body><h1>500</h1><p>Something went wrong here.</p></body></html>"
    answered = draw < 0.99
    if not answered:
        outcome, stage = Outcome.FAILED, Stage.CONNECT
    whole = answered and status == 200
    return FetchRecord(
        at=now,
        id=f"{run}-{number}-{turn}",
        origin=origin,
        scope=f"{origin}.example",
        url=f"https://{origin}.example/articles/2026/{turn % 997:03d}.html",
        kind=Kind.PAGE,
        depth=turn % 3,
        waited=round(4.5 + chance.random(), 3),
        waited_for=Why.DELAY,
        profile=ProfileName.BRIDGE,
        labels=("sig1", "sig2") if dual else ("sig1",),
        without=None if dual else Without.PROFILE,
        second_tag="web-bot-auth-pq" if dual else None,
        header_bytes=4330 if dual else 790,
        signature_bytes=3900 if dual else 440,
        longest_line=3260 if dual else 210,
        sign_us=round(chance.expovariate(1 / 700), 1) if dual else 38.5,
        outcome=outcome,
        stage=stage,
        reused=turn % 4 == 0 and answered,
        address="192.0.2.17",
        status=status if answered else None,
        reason=reason if answered else None,
        server="nginx/1.22.1" if answered else None,
        refusal=refusal if answered else "",
        first_byte=round(first_byte, 6) if answered else None,
        elapsed=round(first_byte * 1.2, 6),
        retry_after=retry_after,
        etag=f'"{turn:x}-5f1c"' if whole else None,
        last_modified="Sun, 01 Nov 2026 06:00:00 GMT" if whole else None,
        conditional=status == 304,
        content_type="text/html" if whole else None,
        digest=_SHA if whole else None,
        body_bytes=23_517 if whole else 0,
        wire_bytes=7_112 if whole else 180,
        unchanged=status == 304,
    )
