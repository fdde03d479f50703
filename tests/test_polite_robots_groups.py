"""Which lines of a robots.txt speak to us, and how they are read."""

import pytest

from crawler.polite import robots_groups
from crawler.polite.robots_groups import LIMIT, Key, Line


def read(body: bytes) -> list[Line]:
    return list(robots_groups.lines(body))


def rules(body: bytes, product: str = "ExampleBot") -> list[tuple[int, str]]:
    """Number and value of each rule that counts for `product`, with its User-agent line first."""
    return [
        (line.number, line.value)
        for group in robots_groups.groups(read(body), product)
        for line in (group.agent, *group.rules)
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_lines_are_counted_by_any_of_the_three_ends(end: bytes) -> None:
    body = end.join([b"User-agent: *", b"", b"# note", b"Disallow: /a"])

    assert [line.number for line in read(body)] == [1, 4]


@pytest.mark.parametrize(
    "character", ["\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"], ids=lambda c: f"U+{ord(c):04X}"
)
def test_nothing_else_ends_a_line(character: str) -> None:
    found = read(f"Disallow: /a{character}Allow: /b".encode())

    assert len(found) == 1
    assert found[0].value.startswith("/a%")


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("Disallow: /a", Key.DISALLOW, "/a"),
        ("\t disallow\t:\t/a b \t", Key.DISALLOW, "/a b"),
        ("Disallow: /a#b", Key.DISALLOW, "/a"),
        ("Disallow:", Key.DISALLOW, ""),
        ("Disallow", None, ""),
        ("Disallow /a", Key.DISALLOW, "/a"),
        ("Disallow /a b", None, ""),
        ("dissallow: /a", Key.DISALLOW, "/a"),
        ("dissalow: /a", Key.DISALLOW, "/a"),
        ("disalow: /a", Key.DISALLOW, "/a"),
        ("diasllow: /a", Key.DISALLOW, "/a"),
        ("disallaw: /a", Key.DISALLOW, "/a"),
        ("ALLOW: /a:b", Key.ALLOW, "/a:b"),
        ("Useragent: x", Key.AGENT, "x"),
        ("user agent: x", Key.AGENT, "x"),
        ("Site-map: http://h/m.xml", Key.SITEMAP, "http://h/m.xml"),
        ("crawl delay: 3", Key.CRAWL_DELAY, "3"),
        ("Content-Usage: /x train-ai=n", Key.CONTENT_USAGE, "/x train-ai=n"),
        ("Content-Signal: ai-train=no", None, ""),
        (": /a", None, ""),
        ("# Disallow: /a", None, ""),
    ],
    ids=lambda value: repr(value) if isinstance(value, str) else value,
)
def test_reads_a_line_as_its_author_meant_it(line: str, key: Key | None, value: str) -> None:
    found = read(line.encode())

    assert found == ([] if key is None else [Line(1, key, value)])


@pytest.mark.parametrize(
    "start", [b"\xef\xbb\xbf", b"\xef\xbb", b"\xef", b""], ids=["whole", "torn", "one", "none"]
)
def test_a_byte_order_mark_hides_no_rule(start: bytes) -> None:
    assert read(start + b"Disallow: /a") == [Line(1, Key.DISALLOW, "/a")]


def test_bytes_that_are_no_text_are_escaped() -> None:
    assert read(b"Disallow: /\xe9\x00\x7f") == [Line(1, Key.DISALLOW, "/%E9%00%7F")]


def test_nothing_counts_past_500_kib_and_the_cut_line_neither() -> None:
    padding = b"#" * (LIMIT - 30) + b"\n"
    body = padding + b"Disallow: /kept\nDisallow: /cut-in-two\nDisallow: /beyond\n"

    assert [line.value for line in read(body)] == ["/kept"]


def test_a_line_that_ends_at_the_limit_is_whole() -> None:
    rule = b"Disallow: /kept"
    padding = b"#" * (LIMIT - len(rule) - 1) + b"\n"

    assert [line.value for line in read(padding + rule + b"\nDisallow: /x")] == ["/kept"]
    assert [line.value for line in read(padding + rule)] == ["/kept"]


def test_a_file_of_one_endless_line_has_no_rules() -> None:
    assert read(b"Disallow: /" + b"x" * LIMIT) == []


def test_an_endless_line_is_cut_where_google_cuts_it() -> None:
    (line,) = read(b"Disallow: /" + b"x" * 20_000)

    assert len("Disallow: " + line.value) == 16_663


@pytest.mark.parametrize(
    ("agent", "ours"),
    [
        ("ExampleBot", True),
        ("examplebot", True),
        ("ExampleBot/2.1", True),
        ("ExampleBot News", True),
        ("ExampleBot-News", False),
        ("Example", False),
        ("AnExampleBot", False),
        ("Mozilla/5.0 (compatible; ExampleBot)", False),
        ("", False),
        ("ExampleBot*", True),
    ],
    ids=repr,
)
def test_a_group_is_ours_by_the_exact_token(agent: str, ours: bool) -> None:
    body = f"User-agent: {agent}\nDisallow: /ours\nUser-agent: *\nDisallow: /all\n".encode()
    expected = (1, agent) if ours else (3, "*")

    assert rules(body)[0] == expected


@pytest.mark.parametrize(
    ("agent", "everyone"), [("*", True), ("* all", True), ("*\tall", True), ("*bot", False)]
)
def test_the_asterisk_stands_alone(agent: str, everyone: bool) -> None:
    assert bool(rules(f"User-agent: {agent}\nDisallow: /a\n".encode())) is everyone


@pytest.mark.parametrize(
    "between",
    ["Crawl-delay: 3", "Sitemap: http://h/m.xml", "Unknown: x", "Content-Usage: a=b", "", "# note"],
)
def test_only_a_rule_ends_a_run_of_user_agent_lines(between: str) -> None:
    body = f"User-agent: ExampleBot\n{between}\nUser-agent: OtherBot\nDisallow: /a\n".encode()

    assert rules(body) == [(1, "ExampleBot"), (4, "/a")]


@pytest.mark.parametrize("rule", ["Disallow: /a", "Allow: /a", "Disallow:"])
def test_a_rule_ends_it(rule: str) -> None:
    body = f"User-agent: ExampleBot\n{rule}\nUser-agent: OtherBot\nDisallow: /b\n".encode()

    assert [number for number, _ in rules(body)] == [1, 2]


def test_rules_before_any_user_agent_belong_to_nobody() -> None:
    assert rules(b"Disallow: /\nUser-agent: *\nDisallow: /a\n") == [(2, "*"), (3, "/a")]


def test_an_empty_group_of_ours_beats_the_one_for_everyone() -> None:
    assert rules(b"User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot\n") == [(4, "ExampleBot")]


def test_one_group_may_speak_to_us_and_to_everyone() -> None:
    body = b"User-agent: *\nUser-agent: ExampleBot\nDisallow: /a\n"

    assert rules(body) == [(2, "ExampleBot"), (3, "/a")]
    assert rules(body, "OtherBot") == [(1, "*"), (3, "/a")]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10", [10.0]),
        ("0.5", [0.5]),
        (".5", [0.5]),
        ("2.", [2.0]),
        ("5s", [5.0]),
        ("5 seconds", [5.0]),
        ("9" * 400, [1e9]),
        ("-1", []),
        ("1e3", []),
        ("nan", []),
        ("inf", []),
        ("ten", []),
        ("", []),
        ("٣", []),
    ],
    ids=lambda value: str(value)[:9],
)
def test_a_crawl_delay_is_a_number_of_seconds(value: str, seconds: list[float]) -> None:
    body = f"User-agent: *\nCrawl-delay: {value}\n".encode()
    (group,) = robots_groups.groups(read(body), "ExampleBot")

    assert list(group.delays) == seconds
