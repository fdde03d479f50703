"""The rules of our group, each with its line, and protego's reading of them (RFC 9309, 2.2.2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from protego import Protego

from crawler.polite import robots_pattern
from crawler.polite.robots_groups import Group, Key, Line
from crawler.polite.robots_pattern import Pattern

_INDEX = "/index.html"


@dataclass(frozen=True, slots=True)
class Rule:
    """An Allow or Disallow line of our group, with the User-agent line that it stands under."""

    line: Line
    agent: Line
    pattern: Pattern

    @property
    def allow(self) -> bool:
        return self.line.key is Key.ALLOW

    @property
    def weight(self) -> int:
        """The heavier rule decides: the most octets, then Allow (section 2.2.2)."""
        return 2 * self.pattern.octets + self.allow


def rules(groups: Sequence[Group]) -> list[Rule]:
    """All rules of `groups`, the heaviest first, of equals the first line."""
    found = [
        Rule(line, group.agent, pattern)
        for group in groups
        for line in group.rules
        for pattern in _patterns(line)
    ]
    return sorted(found, key=lambda rule: -rule.weight)


def reading(lines: Iterable[Line]) -> Protego:
    """What protego makes of these Allow and Disallow lines, and of no others."""
    written = (f"{line.key}: {line.value}" for line in lines)
    return Protego.parse("\n".join(("User-agent: *", *written)))


def permits(read: Protego, path: str) -> bool:
    """Protego's word on a path."""
    # under a made-up host: a path with // at its start would be taken for one, a real one can raise
    return read.can_fetch(f"http://host{path}", "*")


def _patterns(line: Line) -> tuple[Pattern, ...]:
    if not line.value:
        return ()  # "Disallow:" closes nothing (section 2.2.2)
    pattern = robots_pattern.pattern(line.value)
    if line.key is Key.ALLOW and line.value.endswith(_INDEX):
        # beyond the RFC: Google and protego open the folder with its page, so authors rely on it
        folder = line.value.removesuffix(_INDEX)
        return pattern, robots_pattern.pattern(f"{folder}/$")
    return (pattern,)
