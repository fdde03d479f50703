"""What a robots.txt says about a URL and which line says so, and what an answer means (RFC 9309).

Two readings decide, and the stricter one wins. `protego` reads the rules of our own group and no
others; our own comparison by the most octets finds the line to name. They part where protego counts
an escaped character as three octets, takes a reserved character for its escape, or takes the `$`
that ends an Allow for a literal one too: each could open a path that the site has closed.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from protego import Protego

from crawler.polite import robots_groups, robots_pattern, robots_rules
from crawler.polite.robots_groups import Key, Line
from crawler.polite.robots_rules import Rule

LIGHT = 32_768  # bytes; longer files belong off the event loop (500 KiB take about a second)
HOPS = 5  # redirects that are followed to a robots.txt (section 2.3.1.2)
LONGEST = 86_400.0  # seconds that a copy counts (section 2.4)
SHORTEST = 600.0  # seconds; no-cache is widespread, and must not double what we ask of a site

_HEAVY = 500  # rules
_LONGEST_SHOWN = 200  # characters of a line
_MOVED = frozenset({301, 302, 303, 307, 308})
_MISSING = frozenset({404, 410})
_HEAD_TOO_LARGE = frozenset({431, 494})  # 494 is nginx's


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """May this URL be asked, and on whose word.

    `line` and `group_line` count from 1 in the file as it was sent, `rule` and `group` are these
    lines. Where no line decides, they are empty and `reason` says why.
    """

    allowed: bool
    line: int | None = None
    rule: str = ""
    group: str = ""
    group_line: int | None = None
    reason: str = ""

    def explain(self, robots_url: str) -> str:
        """One sentence for people, with file, line and group."""
        verb = "allowed" if self.allowed else "refused"
        if self.line is None:
            return f"{verb} by {robots_url}: {self.reason}"
        return (
            f"{verb} by {robots_url} line {self.line} `{self.rule}` "
            f"(group `{self.group}`, line {self.group_line})"
        )


NO_RULE = Ruling(allowed=True, reason="no rule covers it")
ROBOTS_ITSELF = Ruling(allowed=True, reason="robots.txt itself may always be asked")


class Rules(Protocol):
    """What is in force for one origin: a file that was read, or one ruling for everything."""

    @property
    def crawl_delay(self) -> float | None: ...
    @property
    def sitemaps(self) -> tuple[str, ...]: ...
    @property
    def content_usage(self) -> tuple[str, ...]: ...
    @property
    def heavy(self) -> bool: ...
    def ruling(self, url: str) -> Ruling: ...


@dataclass(frozen=True, slots=True)
class Everything:
    """One ruling for all paths, where there is no file to read; `reason` says why."""

    allowed: bool
    reason: str
    crawl_delay: float | None = None
    sitemaps: tuple[str, ...] = ()
    content_usage: tuple[str, ...] = ()
    heavy: bool = False

    def ruling(self, url: str) -> Ruling:
        """The same for each URL; /robots.txt itself may always be asked."""
        if robots_pattern.path_of(url) == "/robots.txt":
            return ROBOTS_ITSELF
        return Ruling(allowed=self.allowed, reason=self.reason)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Robots:
    """A robots.txt that was read: the rules of the group that speaks to us.

    `rules` stand in the order in which they decide. `crawl_delay` is in seconds, the largest that
    our group names. `sitemaps` are the whole site's, as written. `content_usage` holds the values
    of our group's Content-Usage lines (aipref) as text.
    """

    rules: tuple[Rule, ...]
    crawl_delay: float | None
    sitemaps: tuple[str, ...]
    content_usage: tuple[str, ...]
    _protego: Protego = field(repr=False)
    _plain: dict[str, Rule] = field(repr=False)  # by prefix
    _lengths: tuple[int, ...] = field(repr=False)  # of these prefixes, longest first
    _special: tuple[Rule, ...] = field(repr=False)  # with asterisk or anchor, heaviest first

    @property
    def heavy(self) -> bool:
        """True where a ruling may take milliseconds: ask for it off the event loop."""
        return len(self.rules) > _HEAVY

    def ruling(self, url: str) -> Ruling:
        """Whether `url` (absolute, or path and query) may be asked, and the line that decides."""
        path = robots_pattern.path_of(url)
        if path == "/robots.txt":
            return ROBOTS_ITSELF
        rule = self._most_specific(path)
        if (rule is None or rule.allow) and not robots_rules.permits(self._protego, path):
            rule = self._closed_by_protego_alone(path)
        return NO_RULE if rule is None else _named(rule)

    def _most_specific(self, path: str) -> Rule | None:
        prefixes = (self._plain.get(path[:length]) for length in self._lengths)
        plain = next(filter(None, prefixes), None)
        for rule in self._special:
            if plain is not None and plain.weight >= rule.weight:
                break
            if rule.pattern.covers(path):
                return rule
        return plain

    def _closed_by_protego_alone(self, path: str) -> Rule:
        """The line that protego reads as closing the path where we do not: rare, so not kept.

        There is one: what closes the path in the whole group closes it alone as well.
        """
        return next(
            rule
            for rule in self.rules
            if not rule.allow and not robots_rules.permits(robots_rules.reading([rule.line]), path)
        )


def parse(body: bytes, product: str) -> Robots:
    """Read a robots.txt for the crawler whose product token is `product`. Takes any bytes.

    All groups that name the token are merged, those for `*` count where none does (section 2.2.1).
    """
    lines = list(robots_groups.lines(body))
    groups = robots_groups.groups(lines, product)
    rules = robots_rules.rules(groups)
    plain: dict[str, Rule] = {}
    for rule in rules:
        if rule.pattern.plain:
            plain.setdefault(rule.pattern.parts[0], rule)
    sitemaps = dict.fromkeys(line.value for line in lines if line.key is Key.SITEMAP)
    return Robots(
        rules=tuple(rules),
        crawl_delay=max((delay for group in groups for delay in group.delays), default=None),
        sitemaps=tuple(sitemaps),
        content_usage=tuple(usage for group in groups for usage in group.usages),
        _protego=robots_rules.reading(line for group in groups for line in group.rules),
        _plain=plain,
        _lengths=tuple(sorted({len(prefix) for prefix in plain}, reverse=True)),
        _special=tuple(rule for rule in rules if not rule.pattern.plain),
    )


def everything_allowed(status: int) -> Everything:
    """There is no file: all paths are open (section 2.3.1.3)."""
    return Everything(True, f"robots.txt answered {status}: everything allowed")


def nothing_allowed(why: str) -> Everything:
    """There is no answer: all paths are closed (section 2.3.1.4); `why` is like "503" or "dns"."""
    return Everything(False, f"robots.txt unreachable ({why}): nothing allowed")


class Answer(StrEnum):
    """What an answer to a robots.txt request means."""

    RULES = "rules"  # the body is the file
    UNCHANGED = "unchanged"  # 304: the copy that we hold stays; without one it is UNREACHABLE
    ALLOW_ALL = "allow-all"  # there is no file
    AGAIN_WITH_FIRST_ONLY = "again-with-first-only"  # no answer; until there is, nothing is allowed
    UNREACHABLE = "unreachable"  # nothing is allowed
    REDIRECT = "redirect"  # ask where it points, in a turn of its own


def judge(
    *,
    status: int | None,
    carried_second: bool,
    before_first_byte: bool,
    hops: int,
    doubtful: bool = False,
) -> Answer:
    """Judge one answer to a robots.txt request (section 2.3.1).

    `status` is None where there was no complete answer (DNS, TLS, connect or read failure,
    deadline); `before_first_byte` says that the request had left then, and nothing had come back.
    `hops` is how many redirects led to it. A refusal of a request that carried sig2 may be a
    refusal of the signature: it must never open a closed site, so it is no answer; nor is one that
    is `doubtful` (it looks like a verifier's or a challenge), nor one that would open everything
    without saying at once that there is no such file. A REDIRECT
    without a usable Location is UNREACHABLE; only the caller sees that.
    """
    if carried_second:
        refused = status is not None and 400 <= status <= 499 and status != 429
        missing = status in _MISSING and not hops
        if doubtful or (refused and not missing) or (status is None and before_first_byte):
            return Answer.AGAIN_WITH_FIRST_ONLY
    if status is None or status == 429 or status in _HEAD_TOO_LARGE:
        return Answer.UNREACHABLE
    if 200 <= status <= 299:
        return Answer.RULES
    if 400 <= status <= 499:
        return Answer.ALLOW_ALL
    if status == 304:
        return Answer.UNCHANGED
    if status in _MOVED and hops < HOPS:
        return Answer.REDIRECT
    return Answer.UNREACHABLE  # 5xx, redirects without end, and statuses that mean nothing here


def lifetime(fresh_for: float | None) -> float:
    """Seconds until a copy is asked for again: 24 h, or what its own fields grant (section 2.4).

    `fresh_for` is `freshness.granted`: None where the answer says nothing. What is below ten
    minutes is taken for ten.
    """
    return LONGEST if fresh_for is None else min(max(fresh_for, SHORTEST), LONGEST)


def _named(rule: Rule) -> Ruling:
    return Ruling(
        allowed=rule.allow,
        line=rule.line.number,
        rule=_shown(rule.line),
        group=_shown(rule.agent),
        group_line=rule.agent.number,
    )


def _shown(line: Line) -> str:
    text = f"{line.key.value}: {line.value}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
