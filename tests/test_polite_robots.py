"""What a robots.txt allows: published cases, Google's parser as oracle, and our own promises."""

import base64
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from crawler.polite import robots
from crawler.polite.robots import Answer, Everything

CASES = json.loads(Path(__file__).with_name("robots_cases.json").read_text(encoding="utf-8"))

# Google compares octets as they stand; RFC 9309's table in section 2.2.2 decodes first, and says:
AGAINST_GOOGLE = {
    63: "a raw non-ASCII path is the same as its percent-encoded octets (/foo/bar/U+E38384)",
    65: "a raw non-ASCII path is the same as its percent-encoded octets (/foo/bar/U+E38384)",
    66: "an escaped unreserved character is the character (/foo/bar/%62%61%7A is /foo/bar/baz)",
}


def decided(case: dict[str, str]) -> bool:
    body = base64.b64decode(case["robots_b64"])
    return robots.parse(body, case["agent"]).ruling(case["url"]).allowed


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(n, id=f"{n} {case['about']}")
        for n, case in enumerate(CASES)
        if n not in AGAINST_GOOGLE
    ],
)
def test_decides_like_google_and_like_the_rfc(number: int) -> None:
    assert decided(CASES[number]) is CASES[number]["allowed"]


@pytest.mark.parametrize("number", AGAINST_GOOGLE, ids=AGAINST_GOOGLE.values())
def test_follows_the_rfc_where_google_does_not(number: int) -> None:
    assert CASES[number]["source"] == "google"
    assert decided(CASES[number]) is not CASES[number]["allowed"]


def test_the_published_cases_are_complete() -> None:
    assert sum(case["source"] == "google" for case in CASES) == 166
    assert sum(case["source"] == "rfc9309" for case in CASES) == 49


# Files as they come: several groups, foreign ones, comments, odd line ends and spellings.
AGENTS = st.sampled_from(
    [
        *("*", "ExampleBot", "examplebot/1.0", "EXAMPLEBOT foo", "* x", "*foo", ""),
        *("Example", "ExampleBot-News", "OtherBot", "Mozilla/5.0 (compatible; ExampleBot)"),
    ]
)
AGENT_KEYS = st.sampled_from(["User-agent: ", "user-agent:", "Useragent : ", "User agent:\t"])
KEYS = st.sampled_from(
    [
        *(
            "Allow: ",
            "Disallow: ",
            "disallow:",
            "ALLOW : ",
            "Disalow:",
            "Disallow ",
            "Disallowed: ",
        ),
        *("Crawl-delay: ", "Sitemap: ", "Noindex: ", "Foo ", "", "# ", "\t Disallow:\t"),
    ]
)
PIECES = ["/", "//", "a", "b", "ab", "*", "**", "$", "?", "=", "&", ";", "'", "(", "~", ".", ":"]
PIECES += ["%2F", "%3F", "%26", "%25", "%C3%A9", "%c3%a9", "%E9", "é", "ツ", "http://host/", "#c"]
PIECES += ["index.html", "/index.html", "x" * 40]
URL_PIECES = ["/", "//", "a", "b", "ab", "*", "$", "?", "=", "&", ";", "'", "(", "~", ".", ":"]
URL_PIECES += ["%2F", "%3F", "%26", "%25", "%C3%A9", "%E3%83%84", "index.html", "x" * 40]
# What section 2.2.2 has decoded or encoded before comparing, and Google's parser leaves as it is.
RESPELLED = ["%62", "%41", "%7E", "%7e", "%", "%zz", "|", "[", "]", "^", "`", " ", "\x0c", "\u2028"]
RESPELLED_IN_URLS = ["%62", "%41", "%7E", "%7C", "%5B", "%5D", "%20", "%25zz"]


def values(pieces: list[str]) -> st.SearchStrategy[str]:
    tail = st.lists(st.sampled_from(pieces), max_size=5).map("".join)
    return st.tuples(st.sampled_from(["/", "/", "/", "", "*"]), tail).map("".join)


def files(pieces: list[str] = PIECES) -> st.SearchStrategy[bytes]:
    agent = st.tuples(AGENT_KEYS, AGENTS).map("".join)
    rule = st.tuples(KEYS, values(pieces)).map("".join)
    ends = st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n"])
    lines = st.lists(st.tuples(agent | rule | rule, ends).map("".join), max_size=12)
    mark = st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf", b"\xef\xbb"])
    return st.tuples(mark, agent, lines).map(
        lambda drawn: drawn[0] + "\n".join((drawn[1], "".join(drawn[2]))).encode()
    )


def urls(pieces: list[str] = URL_PIECES) -> st.SearchStrategy[str]:
    tail = st.lists(st.sampled_from(pieces), max_size=5).map("".join)
    return tail.map("http://host/{}".format)


def google(body: bytes, url: str) -> tuple[bool, int]:
    """Google's parser: its decision, and the line that it names (0: none)."""
    googlebot = pytest.importorskip("jwm.robotstxt.googlebot", reason="pip install jwm.robotstxt")
    matcher = googlebot.RobotsMatcher()
    allowed = matcher.OneAgentAllowedByRobots(body, "ExampleBot", url)
    return allowed, matcher.matching_line()


def respelled(text: str) -> str:
    """RFC 3986, section 6.2.2.2, written down a second time: unreserved escapes undone, the rest
    of what a URL cannot have escaped."""
    octets = re.sub(
        rb"%([46][1-9A-Fa-f]|[57][0-9Aa]|3[0-9]|2[DdEe]|5[Ff]|7[Ee])",
        lambda match: bytes.fromhex(match[1].decode()),
        text.encode(),
    )
    return re.sub(
        rb"%(?![0-9A-Fa-f]{2})|[^!-~]|[][\"<>\\^`{|}]",
        lambda match: b"%%%02X" % match[0][0],
        octets,
    ).decode("ascii")


@settings(max_examples=1000)
@given(files(), urls())
def test_never_allows_what_google_forbids_and_names_a_line_as_decisive(
    body: bytes, url: str
) -> None:
    parsed = robots.parse(body, "ExampleBot")
    ruling = parsed.ruling(url)
    allowed, line = google(body, url)
    octets = {rule.line.number: rule.pattern.octets for rule in parsed.rules}

    assert allowed or not ruling.allowed
    if not allowed:
        assert ruling.line is not None
        assert octets[ruling.line] == octets[line]


@settings(max_examples=500)
@given(
    st.lists(
        st.tuples(st.sampled_from(["Allow", "Disallow"]), values(PIECES + RESPELLED)), max_size=5
    ),
    urls(URL_PIECES + RESPELLED_IN_URLS),
)
def test_allows_what_google_forbids_only_where_the_rfc_spells_it_otherwise(
    rules: list[tuple[str, str]], url: str
) -> None:
    rules = [(key, value.partition("#")[0].strip()) for key, value in rules]
    as_written = "User-agent: *\n" + "".join(f"{key}: {value}\n" for key, value in rules)
    spelled = "User-agent: *\n" + "".join(f"{key}: {respelled(value)}\n" for key, value in rules)
    ruling = robots.parse(as_written.encode(), "ExampleBot").ruling(url)

    if ruling.allowed and not google(as_written.encode(), url)[0]:
        assert google(spelled.encode(), respelled(url))[0]


@pytest.mark.parametrize(
    ("rule", "url"),
    [("/x%24", "http://host/x$"), ("/x%2A", "http://host/x*"), ("/x$y", "http://host/x%24y")],
)
def test_takes_the_escapes_of_the_special_characters_for_the_characters(
    rule: str, url: str
) -> None:
    """RFC 9309, section 2.2.3; Google's parser leaves these two escapes as they are, too."""
    body = f"User-agent: *\nDisallow: /\nAllow: {rule}\n".encode()

    assert robots.parse(body, "ExampleBot").ruling(url).line == 3
    assert google(body, url)[0] is False


@settings(max_examples=500)
@given(files(PIECES + RESPELLED), urls(URL_PIECES + RESPELLED_IN_URLS))
def test_a_ruling_is_never_looser_than_protego_and_quotes_a_line_of_the_file(
    body: bytes, url: str
) -> None:
    parsed = robots.parse(body, "ExampleBot")
    ruling = parsed.ruling(url)
    group = "User-agent: *\n" + "".join(
        f"{rule.line.key}: {rule.line.value}\n"
        for rule in sorted(parsed.rules, key=lambda rule: rule.line.number)
    )
    protego = Protego.parse(group).can_fetch(url, "*")

    assert protego or not ruling.allowed
    if ruling.line is not None:
        named = next(rule for rule in parsed.rules if rule.line.number == ruling.line)
        assert named.allow is ruling.allowed
        assert ruling.rule.partition(":")[0] == named.line.key
        assert ruling.group_line is not None
        assert ruling.group_line < ruling.line
        lines = re.split(rb"\r\n|\r|\n", body)
        assert named.line.value.partition("%")[0].encode() in lines[ruling.line - 1]


@settings(max_examples=300)
@given(st.binary(max_size=300), st.text(max_size=60))
def test_no_bytes_and_no_url_break_it(body: bytes, url: str) -> None:
    parsed = robots.parse(b"User-agent: *\nDisallow: /" + body, "ExampleBot")

    assert isinstance(parsed.ruling(url).allowed, bool)


NEWS = b"""\
# our rules
User-agent: OtherBot
Disallow: /

User-agent: *
Crawl-delay: 2.5
Disallow: /private   # not yours
Allow: /private/press
Disallow: /*.pdf$
Sitemap: https://host/map.xml
Content-Usage: train-ai=n
"""


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (
            "https://host/private/x",
            "refused by R line 7 `Disallow: /private` (group `User-agent: *`, line 5)",
        ),
        (
            "https://host/private/press/1",
            "allowed by R line 8 `Allow: /private/press` (group `User-agent: *`, line 5)",
        ),
        (
            "https://host/a.pdf",
            "refused by R line 9 `Disallow: /*.pdf$` (group `User-agent: *`, line 5)",
        ),
        ("https://host/a.pdf?x", "allowed by R: no rule covers it"),
        ("https://host/robots.txt", "allowed by R: robots.txt itself may always be asked"),
    ],
    ids=lambda value: value,
)
def test_says_which_line_decides(url: str, told: str) -> None:
    assert robots.parse(NEWS, "ExampleBot").ruling(url).explain("R") == told


def test_reads_what_else_the_group_and_the_file_say() -> None:
    parsed = robots.parse(NEWS + b"Sitemap: https://host/map.xml\n", "ExampleBot")

    assert parsed.crawl_delay == 2.5
    assert parsed.sitemaps == ("https://host/map.xml",)
    assert parsed.content_usage == ("train-ai=n",)
    assert parsed.heavy is False


def test_merges_the_groups_that_name_us_and_takes_the_longest_delay() -> None:
    body = (
        b"User-agent: ExampleBot\nCrawl-delay: 1\nDisallow: /a\n"
        b"User-agent: *\nCrawl-delay: 60\nDisallow: /c\n"
        b"User-agent: examplebot/2\nCrawl-delay: 4\nDisallow: /b\n"
    )
    parsed = robots.parse(body, "ExampleBot")

    assert [parsed.ruling(f"/{page}").allowed for page in "abc"] == [False, False, True]
    assert parsed.ruling("/b").group_line == 7
    assert parsed.crawl_delay == 4


@pytest.mark.parametrize(
    ("rules", "url"),
    [
        ("Disallow: /\nAllow: /a$", "/a$more"),  # protego takes the `$` for a literal one, too
        ("Disallow: /*aa\nAllow: /?a", "/?aa"),  # and counts `?` as three octets
        ("Disallow: /\nAllow: /a?b", "/a%3Fb"),  # and takes `?` for its escape
    ],
    ids=["anchor", "octets", "reserved"],
)
def test_refuses_where_protego_alone_would_open_a_closed_path(rules: str, url: str) -> None:
    written = f"User-agent: *\n{rules}\n"

    assert Protego.parse(written).can_fetch(f"http://host{url}", "*") is True
    assert robots.parse(written.encode(), "ExampleBot").ruling(url).line == 2


def test_names_the_line_where_only_protego_refuses() -> None:
    body = b"User-agent: *\nAllow: /*\nDisallow: /x\nDisallow: /a?bc\nDisallow: /b?c\n"
    ruling = robots.parse(body, "ExampleBot").ruling("/a%3Fbc")

    assert (ruling.allowed, ruling.line, ruling.rule) == (False, 4, "Disallow: /a?bc")


def test_a_folder_opens_with_its_index_page() -> None:
    parsed = robots.parse(b"User-agent: *\nDisallow: /\nAllow: /a/index.html\n", "ExampleBot")

    assert parsed.ruling("/a/").line == 3
    assert parsed.ruling("/a/b").allowed is False


def test_what_a_file_says_is_safe_to_print() -> None:
    body = b"User-agent: *\nDisallow: /\x1b[2J\xe9" + b"x" * 5000 + b"\n"
    parsed = robots.parse(body, "ExampleBot")
    rule = parsed.ruling("/%1B%5B2J%E9" + "x" * 5000).rule

    assert rule.startswith("Disallow: /%1B[2J%E9xxx")
    assert rule.endswith("x…")
    assert len(rule) == 201


def test_a_path_that_looks_like_a_host_is_a_path() -> None:
    parsed = robots.parse(b"User-agent: *\nDisallow: /x\nDisallow: //evil\n", "ExampleBot")

    assert parsed.ruling("https://host//evil/a").line == 3
    assert parsed.ruling("https://host//x").allowed is True


def test_many_rules_are_called_heavy() -> None:
    body = b"User-agent: *\n" + b"".join(b"Disallow: /%d/\n" % n for n in range(501))

    assert robots.parse(body, "ExampleBot").heavy is True
    assert robots.parse(body, "ExampleBot").ruling("/500/x").line == 502


@pytest.mark.parametrize(
    ("everything", "allowed", "reason"),
    [
        (robots.everything_allowed(404), True, "robots.txt answered 404: everything allowed"),
        (robots.nothing_allowed("503"), False, "robots.txt unreachable (503): nothing allowed"),
    ],
    ids=["no file", "no answer"],
)
def test_without_a_file_one_ruling_counts_for_all(
    everything: Everything, allowed: bool, reason: str
) -> None:
    ruling = everything.ruling("https://host/a")

    assert (ruling.allowed, ruling.line, ruling.reason) == (allowed, None, reason)
    assert everything.ruling("https://host/robots.txt").allowed is True
    assert everything.crawl_delay is None
    assert everything.heavy is False
    assert (everything.sitemaps, everything.content_usage) == ((), ())


AGAIN, UNREACHABLE = Answer.AGAIN_WITH_FIRST_ONLY, Answer.UNREACHABLE
SAYS_NO_FILE = (404, 410)
SIGNED_ONCE = {431: UNREACHABLE, 494: UNREACHABLE}


def by_the_book(status: int, *, second: bool) -> Answer:
    """politeness in one sentence a range, for every status there is."""
    if second and 400 <= status <= 499 and status not in (*SAYS_NO_FILE, 429):
        return AGAIN
    if status in SIGNED_ONCE or status == 429:
        return UNREACHABLE
    if status in (301, 302, 303, 307, 308):
        return Answer.REDIRECT
    if status == 304:
        return Answer.UNCHANGED
    return {2: Answer.RULES, 4: Answer.ALLOW_ALL}.get(status // 100, UNREACHABLE)


@pytest.mark.parametrize("second", [True, False], ids=["with sig2", "with sig1 alone"])
def test_each_status_has_its_meaning(second: bool) -> None:
    found = {
        status: robots.judge(status=status, carried_second=second, before_first_byte=False, hops=0)
        for status in range(100, 1000)
    }

    assert found == {status: by_the_book(status, second=second) for status in range(100, 1000)}


@pytest.mark.parametrize(
    ("second", "before_first_byte", "answer"),
    [
        (True, True, AGAIN),
        (True, False, UNREACHABLE),
        (False, True, UNREACHABLE),
        (False, False, UNREACHABLE),
    ],
    ids=["sig2, silence", "sig2, broken off", "sig1, silence", "sig1, broken off"],
)
def test_a_failure_opens_nothing(second: bool, before_first_byte: bool, answer: Answer) -> None:
    judged = robots.judge(
        status=None, carried_second=second, before_first_byte=before_first_byte, hops=0
    )

    assert judged is answer


@given(st.none() | st.integers(100, 599), st.booleans(), st.integers(0, 9))
def test_the_second_signature_never_opens_a_closed_site(
    status: int | None, silent: bool, hops: int
) -> None:
    """Whoever refuses the signature itself never ends up with everything allowed by it."""
    signed_twice = robots.judge(
        status=status, carried_second=True, before_first_byte=silent, hops=hops
    )
    signed_once = robots.judge(
        status=status, carried_second=False, before_first_byte=silent, hops=hops
    )

    assert signed_twice in (signed_once, AGAIN)
    assert not (signed_twice is Answer.ALLOW_ALL and status not in SAYS_NO_FILE)


@pytest.mark.parametrize(("hops", "answer"), [(4, Answer.REDIRECT), (5, UNREACHABLE)])
def test_five_redirects_are_followed(hops: int, answer: Answer) -> None:
    judged = robots.judge(status=301, carried_second=True, before_first_byte=False, hops=hops)

    assert judged is answer


@pytest.mark.parametrize(
    ("fresh_for", "seconds"),
    [(None, 86400), (0.0, 600), (3600.0, 3600), (1e9, 86400)],
    ids=["unsaid", "no-cache", "an hour", "for ever"],
)
def test_a_copy_counts_for_a_day_at_most(fresh_for: float | None, seconds: float) -> None:
    assert robots.lifetime(fresh_for) == seconds


@pytest.mark.parametrize(
    ("status", "hops", "doubtful", "answer"),
    [
        pytest.param(404, 0, False, Answer.ALLOW_ALL, id="no such file"),
        pytest.param(404, 1, False, AGAIN, id="no such file, behind a redirect"),
        pytest.param(404, 0, True, AGAIN, id="no such file, says a verifier"),
        pytest.param(200, 0, True, AGAIN, id="a file, says a challenge"),
        pytest.param(302, 0, True, AGAIN, id="a redirect to a challenge"),
        pytest.param(200, 3, False, Answer.RULES, id="a file, behind redirects"),
    ],
)
def test_an_answer_that_sig2_may_have_caused_is_none(
    status: int, hops: int, doubtful: bool, answer: Answer
) -> None:
    found = robots.judge(
        status=status, carried_second=True, before_first_byte=False, hops=hops, doubtful=doubtful
    )

    assert found is answer
    assert (
        robots.judge(
            status=status,
            carried_second=False,
            before_first_byte=False,
            hops=hops,
            doubtful=doubtful,
        )
        is not AGAIN
    )
