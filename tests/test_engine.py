"""A refresh in an imagined world: what is asked, in which order, and when."""

import itertools
from typing import Any

import pytest
from imagined import ImaginedWorld, Site, answered, failed, origin, refresh, robots_txt
from msgspec.structs import replace

from crawler.events import (
    Arm,
    Deferred,
    FetchRecord,
    Internal,
    Kind,
    Outcome,
    RobotsRead,
    Skipped,
    Stage,
    Standing,
    Why,
)
from crawler.polite.frontier import Fetched, FetchTask, Promise, RobotsCopy
from crawler.problems import Problem
from crawler.settings import Follow, Politeness, Unreachable

ROBOTS = "https://one.example/robots.txt"
HOME = "https://one.example/"


def site(text: str = "", pages: Site = answered) -> Site:
    """A site with that robots.txt; every page answers as `pages` does."""

    def answer(task: FetchTask) -> Fetched:
        return robots_txt(task, text) if task.kind is Kind.ROBOTS else pages(task)

    return answer


def whys(world: ImaginedWorld) -> list[Why]:
    return [event.why for event in world.events if isinstance(event, Skipped | Deferred)]


async def test_robots_txt_comes_first_and_each_request_waits_for_its_turn() -> None:
    world = ImaginedWorld({"one.example": site()})

    await refresh(world, origin(start=("/", "/a", "/b")))

    assert world.urls() == [ROBOTS, HOME, f"{HOME}a", f"{HOME}b"]
    starts = [at for at, _ in world.asked]
    assert [later - earlier for earlier, later in itertools.pairwise(starts)] == [5.5] * 3
    assert [event.waited for event in world.of(FetchRecord)] == [0.0, 5.0, 5.0, 5.0]
    assert len(set(world.promised)) == 4


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"status": 200}, Why.DELAY),
        ({"status": 503}, Why.BACK_OFF),
        ({"status": 429, "retry_after": 60.0}, Why.RETRY_AFTER),
        ({"status": 200, "quota_left": 0, "quota_reset": 60.0}, Why.RATE_LIMIT),
    ],
    ids=lambda item: item if isinstance(item, Why) else "",
)
async def test_a_record_says_what_its_wait_was_for(answer: dict[str, Any], why: Why) -> None:
    world = ImaginedWorld({"one.example": site(pages=lambda task: answered(task, **answer))})

    await refresh(world, origin(start=("/", "/b")))

    robots, first, second, *_ = world.of(FetchRecord)
    assert (robots.waited, robots.waited_for) == (0.0, None)
    assert first.waited_for is Why.DELAY
    assert second.waited_for is why


async def test_of_several_waits_for_one_turn_the_longest_is_named() -> None:
    """While two waits for its turn, one's robots.txt turns out to lie there; midnight comes."""
    elsewhere = "https://two.example/robots-of-one.txt"
    world = ImaginedWorld(
        {
            "one.example": lambda task: answered(task, 301, location=elsewhere),
            "two.example": site(),
        },
        now=86400.0 - 5.0,
    )

    await refresh(
        world,
        origin("two", "https://two.example/", politeness=Politeness(quiet="00:00-00:04")),
        origin(),
    )

    handed_over = next(one for one in world.of(FetchRecord) if one.url == elsewhere)
    assert (handed_over.waited, handed_over.waited_for) == (4.5 + 239.5, Why.QUIET_HOURS)


async def test_nothing_due_means_nothing_asked_not_even_robots_txt() -> None:
    world = ImaginedWorld({"one.example": site()})
    await refresh(world, origin())
    asked = len(world.asked)

    await refresh(world, origin())

    assert len(world.asked) == asked
    assert whys(world) == [Why.FRESH]


async def test_everything_asks_for_fresh_pages_too_but_only_once() -> None:
    world = ImaginedWorld({"one.example": site()})
    await refresh(world, origin(start=("/", "/a")))

    await refresh(world, origin(start=("/", "/a")), everything=True)

    assert world.urls(Kind.PAGE) == [HOME, f"{HOME}a"] * 2
    assert world.urls(Kind.ROBOTS) == [ROBOTS]


async def test_a_refused_page_is_named_with_line_and_group_and_not_asked() -> None:
    world = ImaginedWorld({"one.example": site("User-agent: *\nDisallow: /a\n")})

    await refresh(world, origin(start=("/a", "/b")))

    assert world.urls(Kind.PAGE) == [f"{HOME}b"]
    (skipped,) = world.of(Skipped)
    assert (skipped.why, skipped.line, skipped.rule) == (Why.ROBOTS, 2, "Disallow: /a")
    assert f"{ROBOTS} line 2" in skipped.detail


async def test_crawl_delay_is_kept_from_the_robots_answer_on() -> None:
    world = ImaginedWorld({"one.example": site("User-agent: *\nCrawl-delay: 40\n")})

    await refresh(world, origin(start=("/", "/a")))

    starts = [at for at, _ in world.asked]
    assert [later - earlier for earlier, later in itertools.pairwise(starts)] == [40.5] * 2


async def test_a_crawl_delay_past_the_ceiling_skips_the_origin_and_says_so() -> None:
    world = ImaginedWorld({"one.example": site("User-agent: *\nCrawl-delay: 301\n")})

    await refresh(world, origin())

    assert world.urls() == [ROBOTS]
    assert whys(world) == [Why.CRAWL_DELAY]


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_an_unreachable_robots_txt_allows_nothing(status: int) -> None:
    world = ImaginedWorld({"one.example": lambda task: answered(task, status)})

    await refresh(world, origin())

    assert world.urls() == [ROBOTS] * 3
    assert whys(world) == [Why.ROBOTS_UNREACHABLE]
    gaps = [task.waited for _, task in world.asked]
    assert gaps[2] > gaps[1] >= 5.0


@pytest.mark.parametrize("stage", [Stage.DNS, Stage.CONNECT, Stage.TLS, Stage.BODY, Stage.DEADLINE])
async def test_a_robots_txt_that_cannot_be_read_allows_nothing(stage: Stage) -> None:
    world = ImaginedWorld({"one.example": lambda task: failed(task, stage)})

    await refresh(world, origin())

    assert world.urls(Kind.PAGE) == []
    assert whys(world) == [Why.ROBOTS_UNREACHABLE]


async def test_a_refused_address_is_not_tried_again_whatever_copy_there_is() -> None:
    world = ImaginedWorld({"one.example": site()})
    one = origin(politeness=Politeness(unreachable_robots=Unreachable.LAST_GOOD))
    await refresh(world, one)
    await world.sleep_until(world.now() + 2 * 86400.0)
    world.asked.clear()
    world.sites["one.example"] = lambda task: answered(
        task,
        status=None,
        outcome=Outcome.NOT_SENT,
        stage=Stage.ADDRESS,
        detail="10.0.0.1 is private",
    )

    await refresh(world, one)

    assert world.urls() == [ROBOTS]
    assert whys(world) == [Why.ROBOTS_UNREACHABLE]
    (deferred,) = world.of(Deferred)
    assert deferred.detail == f"{ROBOTS}: 10.0.0.1 is private; allow_private = true admits it"


async def test_a_head_that_is_too_large_for_robots_txt_is_not_tried_again() -> None:
    too_large = "with sig1 alone the head would have 900 bytes, the limit is 512"
    world = ImaginedWorld(
        {
            "one.example": lambda task: answered(
                task,
                status=None,
                outcome=Outcome.NOT_SENT,
                stage=Stage.HEADER_LIMIT,
                detail=too_large,
            )
        }
    )

    await refresh(world, origin())

    assert world.urls() == [ROBOTS]
    assert whys(world) == [Why.ROBOTS_UNREACHABLE]
    (deferred,) = world.of(Deferred)
    assert deferred.detail == f"{ROBOTS}: {too_large}"


@pytest.mark.parametrize("status", [404, 410])
async def test_a_missing_robots_txt_allows_everything(status: int) -> None:
    world = ImaginedWorld(
        {
            "one.example": lambda task: (
                answered(task, status) if task.kind is Kind.ROBOTS else answered(task)
            )
        }
    )

    await refresh(world, origin())

    assert world.urls() == [ROBOTS, HOME]


@pytest.mark.parametrize("status", [400, 401, 403, 413, 431, 494])
async def test_a_refusal_of_both_signatures_opens_nothing_until_sig1_alone_was_heard(
    status: int,
) -> None:
    def answer(task: FetchTask) -> Fetched:
        if task.arm is Arm.CONFIGURED and task.kind is Kind.ROBOTS:
            return answered(task, status)
        return site("User-agent: *\nDisallow: /\n")(task)

    world = ImaginedWorld({"one.example": answer})

    await refresh(world, origin())

    assert [(task.url, task.arm) for _, task in world.asked] == [
        (ROBOTS, Arm.CONFIGURED),
        (ROBOTS, Arm.FIRST_ONLY),
    ]
    first, second = world.of(FetchRecord)
    assert second.control_of == first.id
    assert second.at - first.at >= 5.5
    assert whys(world) == [Why.ROBOTS]


async def test_a_reset_of_both_signatures_opens_nothing_either() -> None:
    def answer(task: FetchTask) -> Fetched:
        return failed(task, Stage.FIRST_BYTE)

    world = ImaginedWorld({"one.example": answer})

    await refresh(world, origin())

    assert world.urls(Kind.PAGE) == []
    assert world.asked[1][1].arm is Arm.FIRST_ONLY
    assert whys(world)[-1] in (Why.ROBOTS_UNREACHABLE, Why.PARKED)


async def test_the_last_good_copy_serves_only_where_the_operator_chose_it() -> None:
    for chosen, pages in ((Unreachable.STRICT, 0), (Unreachable.LAST_GOOD, 1)):
        world = ImaginedWorld({"one.example": site("User-agent: *\nDisallow: /a\n")})
        one = origin(
            start=("/", "/a"), politeness=Politeness(unreachable_robots=chosen, min_interval=0.0)
        )
        await refresh(world, one)
        world.sites["one.example"] = lambda task: (
            answered(task, 503) if task.kind is Kind.ROBOTS else answered(task)
        )
        await world.sleep_until(world.now() + 2 * 86400.0)
        world.asked.clear()

        await refresh(world, one)

        assert len(world.urls(Kind.PAGE)) == pages


async def test_robots_txt_is_revalidated_with_its_etag_after_a_day() -> None:
    def answer(task: FetchTask) -> Fetched:
        if task.kind is Kind.ROBOTS and task.etag == '"r1"':
            return answered(task, 304)
        if task.kind is Kind.ROBOTS:
            return robots_txt(task, "User-agent: *\nDisallow: /a\n", etag='"r1"')
        return answered(task)

    world = ImaginedWorld({"one.example": answer})
    one = origin(start=("/", "/a"))
    await refresh(world, one)
    await world.sleep_until(world.now() + 90000.0)

    await refresh(world, one)

    assert world.urls(Kind.ROBOTS) == [ROBOTS] * 2
    assert world.urls(Kind.PAGE) == [HOME] * 2
    assert [event.changed for event in world.of(RobotsRead)] == [
        False,
        False,
    ]
    copy = world.frontier.copies["one"]
    assert isinstance(copy, RobotsCopy)
    assert copy.until > world.now()


async def test_validators_and_digest_of_the_last_visit_go_along() -> None:
    world = ImaginedWorld(
        {"one.example": site(pages=lambda task: answered(task, etag='"x"', digest="d"))}
    )
    await refresh(world, origin())
    await world.sleep_until(world.now() + 7200.0)
    await refresh(world, origin())
    await world.sleep_until(world.now() + 40 * 86400.0)
    await refresh(world, origin())

    pages = [task for _, task in world.asked if task.kind is Kind.PAGE]
    assert [(task.etag, task.digest) for task in pages] == [
        (None, None),
        ('"x"', "d"),
        (None, "d"),
    ]


async def test_links_are_followed_within_depth_and_page_limit() -> None:
    def pages(task: FetchTask) -> Fetched:
        number = task.url.count("x")
        links = [f"{HOME}{'x' * (number + 1)}{letter}" for letter in "abc"]
        return answered(task, links=links)

    world = ImaginedWorld({"one.example": site(pages=pages)})
    await refresh(world, origin(follow=(Follow.LINKS,), depth=1, pages=50))
    assert len(world.urls(Kind.PAGE)) == 4

    world = ImaginedWorld({"one.example": site(pages=pages)})
    await refresh(world, origin(follow=(Follow.LINKS,), depth=9, pages=7))
    assert len(world.urls(Kind.PAGE)) == 7
    assert whys(world) == [Why.PAGE_LIMIT]

    world = ImaginedWorld({"one.example": site(pages=pages)})
    await refresh(world, origin(depth=9))
    assert world.urls(Kind.PAGE) == [HOME]


async def test_a_passing_failure_is_asked_again_in_its_turn_and_at_most_three_times() -> None:
    world = ImaginedWorld({"one.example": site(pages=lambda task: answered(task, 503))})

    await refresh(world, origin())

    pages = [task for _, task in world.asked if task.kind is Kind.PAGE]
    assert [task.attempt for task in pages] == [1, 2, 3]
    assert pages[2].waited > pages[1].waited > 5.0


async def test_a_refusal_of_both_signatures_is_checked_with_sig1_alone() -> None:
    def pages(task: FetchTask) -> Fetched:
        return answered(task, 401 if task.arm is Arm.CONFIGURED else 200)

    world = ImaginedWorld({"one.example": site(pages=pages)})

    await refresh(world, origin(start=tuple(f"/{n}" for n in range(6))))

    records = world.of(FetchRecord)
    controls = [item for item in records if item.control_of is not None]
    assert len(controls) == 3
    assert all(item.status == 200 and item.labels == ("sig1",) for item in controls)
    refused = {item.id: item.url for item in records if item.status == 401}
    assert [refused[item.control_of or ""] for item in controls] == [item.url for item in controls]
    assert world.of(Standing) == []


async def test_refusals_that_sig1_alone_gets_too_freeze_the_origin() -> None:
    world = ImaginedWorld({"one.example": site(pages=lambda task: answered(task, 403))})

    await refresh(world, origin(start=tuple(f"/{n}" for n in range(6))))

    assert len(world.urls(Kind.PAGE)) == 6
    (standing,) = world.of(Standing)
    assert standing.why is Why.FROZEN
    assert whys(world) == [Why.FROZEN]


async def test_a_long_retry_after_ends_the_turn_and_is_remembered() -> None:
    world = ImaginedWorld(
        {"one.example": site(pages=lambda task: answered(task, 503, retry_after=7200.0))}
    )
    await refresh(world, origin(start=("/", "/a")))
    asked = len(world.asked)
    await refresh(world, origin(start=("/", "/a")))

    assert len(world.asked) == asked == 2
    assert whys(world) == [Why.RETRY_AFTER] * 2
    assert not world.frontier.refreshes["one"].finished


async def test_a_redirect_is_a_page_of_its_own_that_remembers_where_it_came_from() -> None:
    def pages(task: FetchTask) -> Fetched:
        if task.url == HOME:
            return answered(task, 301, location="/new")
        return answered(task)

    world = ImaginedWorld({"one.example": site("User-agent: *\nDisallow: /x\n", pages)})

    await refresh(world, origin())

    assert world.urls(Kind.PAGE) == [HOME, f"{HOME}new"]
    assert world.asked[2][1].via == (HOME,)
    assert world.asked[2][0] - world.asked[1][0] == 5.5


async def test_a_redirect_joins_another_origins_lane_robots_and_pace() -> None:
    def away(task: FetchTask) -> Fetched:
        return answered(task, 302, location="https://two.example/a")

    world = ImaginedWorld(
        {
            "one.example": site(pages=away),
            "two.example": site("User-agent: *\nCrawl-delay: 9\nDisallow: /b\n"),
        }
    )

    await refresh(world, origin(), origin("two", "https://two.example/", start=("/b",)))

    two = [(at, task) for at, task in world.asked if "two.example" in task.url]
    assert [task.url for _, task in two] == [
        "https://two.example/robots.txt",
        "https://two.example/a",
    ]
    assert two[1][1].origin == "two"
    assert two[1][1].via == (HOME,)
    assert two[1][0] - two[0][0] >= 9.5


async def test_a_redirect_to_a_stranger_is_recorded_and_not_followed() -> None:
    world = ImaginedWorld(
        {
            "one.example": site(
                pages=lambda task: answered(task, 302, location="https://three.example/")
            )
        }
    )

    await refresh(world, origin())

    assert world.urls(Kind.PAGE) == [HOME]
    assert whys(world) == [Why.ELSEWHERE]


async def test_redirect_loops_and_endless_chains_end() -> None:
    loop = ImaginedWorld(
        {
            "one.example": site(
                pages=lambda task: answered(task, 302, location="/" if task.via else "/a")
            )
        }
    )
    await refresh(loop, origin())
    assert loop.urls(Kind.PAGE) == [HOME, f"{HOME}a"]
    assert whys(loop) == [Why.REDIRECT_LOOP]

    chain = ImaginedWorld(
        {
            "one.example": site(
                pages=lambda task: answered(task, 302, location=f"/{len(task.via) + 1}")
            )
        }
    )
    await refresh(chain, origin())
    assert len(chain.urls(Kind.PAGE)) == 11
    assert whys(chain) == [Why.REDIRECT_LIMIT]


async def test_a_robots_txt_on_another_origins_host_is_asked_in_that_lane() -> None:
    def one(task: FetchTask) -> Fetched:
        if task.kind is Kind.ROBOTS:
            return answered(task, 301, location="https://two.example/robots-of-one.txt")
        return answered(task)

    def two(task: FetchTask) -> Fetched:
        if task.url.endswith("/robots-of-one.txt"):
            return robots_txt(task, "User-agent: *\nDisallow: /a\n")
        return site()(task)

    world = ImaginedWorld({"one.example": one, "two.example": two})

    await refresh(
        world,
        origin(start=("/", "/a")),
        origin("two", "https://two.example/", start=("/", "/b")),
    )

    asked = [(task.url, task.origin, task.behalf) for _, task in world.asked]
    assert (ROBOTS, "one", None) in asked
    assert ("https://two.example/robots-of-one.txt", "two", "one") in asked
    assert (HOME, "one", None) in asked
    assert (f"{HOME}a", "one", None) not in asked
    moments = sorted(at for at, task in world.asked if "two.example" in task.url)
    assert all(b - a >= 5.0 for a, b in itertools.pairwise(moments))
    assert world.frontier.refreshes["one"].finished
    assert world.frontier.refreshes["two"].finished


async def test_a_robots_txt_that_leads_to_a_stranger_opens_nothing() -> None:
    world = ImaginedWorld(
        {"one.example": lambda task: answered(task, 301, location="https://three.example/r")}
    )

    await refresh(world, origin())

    assert world.urls() == [ROBOTS]
    assert whys(world) == [Why.ROBOTS_ELSEWHERE]


async def led_to_two(text: str, **known: Any) -> ImaginedWorld:
    """One's robots.txt is at two, in a folder that two's own closes or not."""
    elsewhere = "https://two.example/private/robots-of-one.txt"

    def one(task: FetchTask) -> Fetched:
        if task.kind is Kind.ROBOTS:
            return answered(task, 301, location=elsewhere)
        return answered(task)

    def two(task: FetchTask) -> Fetched:
        if task.url == elsewhere:
            return robots_txt(task, "User-agent: *\nAllow: /\n")
        return site(text)(task)

    world = ImaginedWorld({"one.example": one, "two.example": two})
    quick = origin(politeness=Politeness(min_delay=0.2))
    await refresh(world, quick, origin("two", "https://two.example/", **known))
    return world


async def test_a_robots_txt_elsewhere_is_asked_at_that_hosts_pace() -> None:
    world = await led_to_two("User-agent: *\nCrawl-delay: 30\n")

    moments = [at for at, task in world.asked if "two.example" in task.url]
    assert len(moments) == 3
    assert all(b - a >= 30.0 for a, b in itertools.pairwise(moments))
    assert HOME in world.urls()


async def test_a_robots_txt_elsewhere_is_not_asked_where_the_delay_is_past_the_ceiling() -> None:
    world = await led_to_two("User-agent: *\nCrawl-delay: 301\n")

    assert world.urls() == [ROBOTS, "https://two.example/robots.txt"]
    assert whys(world) == [Why.CRAWL_DELAY] * 2


async def test_a_robots_txt_elsewhere_that_is_refused_there_opens_nothing() -> None:
    world = await led_to_two("User-agent: *\nDisallow: /private/\n")

    assert "https://two.example/private/robots-of-one.txt" not in world.urls()
    assert HOME not in world.urls()
    assert Why.ROBOTS in whys(world)


@pytest.mark.parametrize("status", [503, 500])
async def test_a_robots_txt_behind_one_that_cannot_be_reached_opens_nothing(status: int) -> None:
    elsewhere = "https://two.example/robots-of-one.txt"
    world = ImaginedWorld(
        {
            "one.example": lambda task: answered(task, 301, location=elsewhere),
            "two.example": lambda task: answered(task, status),
        }
    )

    await refresh(world, origin(), origin("two", "https://two.example/"))

    assert elsewhere not in world.urls()
    assert world.urls(Kind.PAGE) == []
    assert whys(world) == [Why.ROBOTS_UNREACHABLE] * 2


async def test_a_host_in_its_quiet_hours_is_not_asked_for_anothers_robots_txt() -> None:
    world = await led_to_two("", politeness=Politeness(quiet="00:00-23:59"))

    assert [url for url in world.urls() if "two.example" in url] == []
    assert HOME not in world.urls()
    assert set(whys(world)) == {Why.QUIET_HOURS, Why.ROBOTS_UNREACHABLE}


async def test_robots_txts_that_wait_for_each_other_open_nothing_and_say_so() -> None:
    world = ImaginedWorld(
        {
            "one.example": lambda task: answered(task, 301, location="https://two.example/a"),
            "two.example": lambda task: answered(task, 301, location="https://one.example/b"),
        }
    )

    await refresh(world, origin(), origin("two", "https://two.example/"))

    assert world.urls() == [ROBOTS, "https://two.example/robots.txt"]
    assert whys(world) == [Why.ROBOTS_ELSEWHERE] * 2


async def test_an_origin_that_is_not_due_is_asked_for_anothers_robots_txt_alone() -> None:
    elsewhere = "https://two.example/robots-of-one.txt"

    def one(task: FetchTask) -> Fetched:
        if task.kind is Kind.ROBOTS:
            return answered(task, 301, location=elsewhere)
        return answered(task)

    world = ImaginedWorld({"one.example": one, "two.example": site()})

    await refresh(world, origin(), asleep=(origin("two", "https://two.example/"),))

    assert world.urls() == [ROBOTS, "https://two.example/robots.txt", elsewhere, HOME]
    assert "two" not in world.frontier.refreshes


@pytest.mark.parametrize("location", [None, "", "/robots.txt", "https://one.example/robots.txt#x"])
async def test_a_robots_txt_that_redirects_nowhere_is_asked_once(location: str | None) -> None:
    world = ImaginedWorld({"one.example": lambda task: answered(task, 302, location=location)})

    await refresh(world, origin())

    assert world.urls() == [ROBOTS]
    assert whys(world) == [Why.ROBOTS_UNREACHABLE]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda task: replace(robots_txt(task, ""), doubtful=True), id="doubtful 200"),
        pytest.param(lambda task: replace(answered(task, 404), doubtful=True), id="doubtful 404"),
        pytest.param(lambda task: answered(task, 402), id="402"),
        pytest.param(lambda task: answered(task, 405), id="405"),
        pytest.param(
            lambda task: answered(task, 404) if task.via else answered(task, 302, location="/gone"),
            id="a redirect to nothing",
        ),
    ],
)
async def test_what_both_signatures_may_have_caused_opens_no_closed_site(answer: Site) -> None:
    def asked(task: FetchTask) -> Fetched:
        if task.arm is Arm.FIRST_ONLY:
            return robots_txt(task, "User-agent: *\nDisallow: /\n")
        return answer(task)

    world = ImaginedWorld({"one.example": asked})

    await refresh(world, origin())

    last = world.asked[-1][1]
    assert (last.url, last.arm, last.via) == (ROBOTS, Arm.FIRST_ONLY, ())
    assert world.urls(Kind.PAGE) == []
    assert whys(world) == [Why.ROBOTS]


async def test_robots_redirects_end_after_five_hops() -> None:
    world = ImaginedWorld(
        {"one.example": lambda task: answered(task, 301, location=f"/r{len(task.via)}")}
    )

    await refresh(world, origin())

    assert world.urls(Kind.PAGE) == []
    assert whys(world) == [Why.ROBOTS_UNREACHABLE]
    assert max(len(task.via) for _, task in world.asked) == 5


async def test_origins_in_one_scope_are_asked_one_request_at_a_time() -> None:
    world = ImaginedWorld({"one.example": site(), "two.example": site()})

    await refresh(world, origin(), origin("two", "https://two.example/"), scope="example")

    moments = [at for at, _ in world.asked]
    assert len(moments) == 4
    assert all(b - a >= 5.5 for a, b in itertools.pairwise(moments))


async def test_our_own_mistake_ends_its_own_lane_only_and_names_no_value() -> None:
    def broken(task: FetchTask) -> Fetched:
        raise RuntimeError("a secret")

    world = ImaginedWorld({"one.example": broken, "two.example": site()})

    await refresh(world, origin(), origin("two", "https://two.example/"))

    (mistake,) = world.of(Internal)
    assert mistake.error.startswith("RuntimeError at test_engine.py:")
    assert "secret" not in mistake.error
    assert "https://two.example/" in world.urls()


async def test_pages_of_a_host_that_an_origin_has_left_are_not_asked() -> None:
    world = ImaginedWorld({"one.example": site(), "new.example": site()})
    old = origin(start=("/", "/a"), politeness=Politeness(min_interval=0.0))
    await refresh(world, old)
    world.asked.clear()

    await refresh(world, origin(url="https://new.example/"), everything=True)

    assert world.urls() == ["https://new.example/robots.txt", "https://new.example/"]
    assert whys(world) == [Why.ELSEWHERE] * 2


async def test_a_state_directory_that_fails_ends_the_whole_crawl() -> None:
    full = Problem("state.db: its disk is full", "make room")

    class FullDisk(ImaginedWorld):
        async def promise(self, promise: Promise) -> None:
            if promise.task.kind is Kind.PAGE:
                raise full
            await super().promise(promise)

    world = FullDisk({"one.example": site(), "two.example": site()})

    with pytest.raises(Problem) as caught:
        await refresh(world, origin(), origin("two", "https://two.example/"))

    assert caught.value is full
    assert world.urls(Kind.PAGE) == []
    assert world.stopping()
    assert world.of(Internal) == []


async def test_a_stopped_crawl_asks_no_more_and_takes_up_where_it_was() -> None:
    world = ImaginedWorld({"one.example": site()})

    def stopping(task: FetchTask) -> Fetched:
        world.stopped = task.kind is Kind.PAGE
        return site()(task)

    world.sites["one.example"] = stopping
    await refresh(world, origin(start=("/", "/a", "/b")))
    assert len(world.urls(Kind.PAGE)) == 1

    world.stopped = False
    world.sites["one.example"] = site()
    await refresh(world, origin(start=("/", "/a", "/b")))

    assert world.urls(Kind.PAGE) == [HOME, f"{HOME}a", f"{HOME}b"]
    assert world.frontier.refreshes["one"].asked == 3


async def test_the_pace_folded_from_the_log_is_the_pace_the_crawl_had() -> None:
    from crawler.polite import pace, target

    statuses = iter([200, 503, 200, 403, 403, 200, 301, 429, 200])

    def pages(task: FetchTask) -> Fetched:
        return answered(task, next(statuses, 200))

    world = ImaginedWorld({"one.example": site(pages=pages)})
    one = origin(start=tuple(f"/{n}" for n in range(6)))
    await refresh(world, one)

    state = pace.Pace()
    for event in world.events:
        if isinstance(event, FetchRecord):
            state = pace.before(state, target.door(event.url), event.id, event.at)
            state = pace.after(state, event, one.politeness)

    assert state == world.frontier.paces["one.example"]
    assert replace(state, not_before=0.0) != pace.Pace()
