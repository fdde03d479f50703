"""A crawl that is there to be killed: `mortal.py DIRECTORY RUN`, until it has nothing left to ask.

Five sites that answer in every way; an imagined clock, so it goes as fast as the disk lets it.
"""

import asyncio
import random
import sys
from pathlib import Path

import durable
from imagined import answered, failed, origin

from crawler.events import Kind, Stage
from crawler.fetch.store import Store
from crawler.polite.frontier import Fetched, FetchTask
from crawler.settings import Follow, Origin, Politeness

HOSTS = ("one.example", "two.example", "three.example", "four.example", "five.example")
MANNERS = Politeness(daily_requests=100_000, freeze=(60.0, 120.0), max_delay=30.0)
ORIGINS: tuple[Origin, ...] = tuple(
    origin(
        host.partition(".")[0],
        f"https://{host}/",
        start=("/", "/start"),
        follow=(Follow.LINKS,),
        pages=100_000,
        depth=50,
        politeness=MANNERS,
    )
    for host in HOSTS
)


def answer(store: Store, task: FetchTask) -> Fetched:
    """What the site answers: decided by the request's id, so never twice the same."""
    chance = random.Random(task.id)
    if task.kind is Kind.ROBOTS:
        return durable.robots_txt(store, task, "User-agent: *\nDisallow: /private/\n")
    home = task.url[: task.url.index("/", 8)]
    links = [f"{home}/{chance.choice(('a', 'b', 'private'))}/{chance.randrange(4000)}"]
    links += [f"{home}/list?page={chance.randrange(100)}&order={chance.randrange(2)}"] * 2
    labels = ("sig1",)  # a control of a second label would depend on how many there were before
    how = chance.random()
    if how < 0.5:
        etag = f'"{chance.randrange(5)}"'
        return durable.page(
            store, task, links, labels=labels, etag=etag, server="nginx" if how > 0.3 else None
        )
    if how < 0.7 and task.etag:
        return answered(task, 304, labels=labels, unchanged=True)
    if how < 0.8:
        target = chance.choice(HOSTS)
        where = f"https://{target}/moved/{chance.randrange(50)}"
        return answered(task, 302, labels=labels, location=where)
    if how < 0.9:
        return answered(task, chance.choice((403, 404, 429, 500, 503)), labels=labels)
    return failed(task, chance.choice((Stage.CONNECT, Stage.FIRST_BYTE, Stage.BODY)))


async def live(directory: Path, run: str) -> None:
    async with durable.opened(directory, *ORIGINS) as (store, journal):
        world = durable.DurableWorld(
            run, store, journal, dict.fromkeys(HOSTS, lambda task: answer(store, task))
        )
        if store.rebuilt is not None:
            world.log(store.rebuilt)
        print("alive", flush=True)
        await durable.crawl(world, *ORIGINS, everything=True)


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), sys.argv[2]))
