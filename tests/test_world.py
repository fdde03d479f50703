"""The real World's clock, and what it follows of a page. The rest is met in whole crawls."""

from imagined import origin
from records import record

from crawler.settings import Follow
from crawler.world import Clock, followed


def test_time_begins_at_the_wall_clock_and_goes_on_steadily() -> None:
    steady = iter([100.0, 100.5, 107.0])
    clock = Clock(0.0, wall=lambda: 5000.0, steady=lambda: next(steady))

    assert (clock.now(), clock.now(), clock.set_back) == (5000.5, 5007.0, 0.0)


def test_a_wall_clock_set_back_does_not_take_time_back() -> None:
    clock = Clock(8600.0, wall=lambda: 5000.0, steady=lambda: 1.0)

    assert (clock.now(), clock.set_back, clock.wall) == (8600.0, 3600.0, 5000.0)


def test_the_machines_own_clocks_are_the_default() -> None:
    clock = Clock(0.0)

    assert clock.wall <= clock.now() < clock.wall + 60.0


PAGE = b"""<a href="/docs/a">a</a> <a href="b">b</a> <a href="/else">c</a>
<a href="https://two.example/docs/">d</a> <a rel=nofollow href="/docs/e">e</a>"""


def test_links_are_followed_below_the_origins_own_folder() -> None:
    docs = origin("docs", "https://one.example/docs/", follow=(Follow.LINKS,))
    page = record(url="https://one.example/docs/", content_type="text/html; charset=utf-8")

    assert followed(page, PAGE, docs, "ExampleBot") == (
        "https://one.example/docs/a",
        "https://one.example/docs/b",
    )


def test_nothing_is_followed_where_nothing_is_asked_for() -> None:
    page = record(content_type="text/html")
    links = (Follow.LINKS,)

    assert followed(page, PAGE, origin(), "ExampleBot") == ()
    assert (
        followed(record(depth=2, content_type="text/html"), PAGE, origin(follow=links), "B") == ()
    )
    assert followed(record(content_type="text/plain"), PAGE, origin(follow=links), "B") == ()


def test_the_x_robots_tag_of_a_kept_record_counts_for_links() -> None:
    one = origin(follow=(Follow.LINKS,))
    page = record(content_type="text/html", fields={"x-robots-tag": "nofollow"})

    assert followed(page, PAGE, one, "ExampleBot") == ()
