"""Whether a robots.txt pattern covers a path (RFC 9309, sections 2.2.2 and 2.2.3).

Both sides are brought to one spelling first. Escapes of unreserved characters are undone, all
others get upper-case digits, octets that a path cannot have are escaped. A reserved character and
its escape stay different (`/a%2Fb` is not `/a/b`), but for the two that a pattern can only spell
escaped: `%2A` and `%24` stand for a literal `*` and `$` (section 2.2.3).
"""

import re
from dataclasses import dataclass

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_LITERAL = frozenset("*$")
_ODD = re.compile(r"%[0-9A-Fa-f]{2}|[^!#$&-;=?-Z_a-z~]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """The path of a rule, ready to compare.

    `parts` are what stands between the asterisks; `anchored` says that it ended in `$`; `octets` is
    the length that decides between rules (the most octets win, section 2.2.2).
    """

    parts: tuple[str, ...]
    anchored: bool
    octets: int

    def covers(self, path: str) -> bool:
        """True where the pattern matches `path`, which `spelled` has prepared."""
        first, last = self.parts[0], self.parts[-1]
        if not path.startswith(first):
            return False
        if len(self.parts) == 1:
            return not self.anchored or len(path) == len(first)
        position = len(first)
        for part in self.parts[1:-1]:
            found = path.find(part, position)
            if found < 0:
                return False
            position = found + len(part)
        if self.anchored:
            return len(path) - len(last) >= position and path.endswith(last)
        return path.find(last, position) >= 0

    @property
    def plain(self) -> bool:
        """True where it is a mere prefix."""
        return len(self.parts) == 1 and not self.anchored


def pattern(value: str) -> Pattern:
    """Read the value of an Allow or Disallow line, without comment and white space.

    A `$` counts only at the very end, an asterisk anywhere; runs of asterisks are one.
    """
    anchored = value.endswith("$")
    pieces = value.removesuffix("$").split("*")
    middle = [piece for piece in pieces[1:-1] if piece]
    kept = pieces if len(pieces) == 1 else [pieces[0], *middle, pieces[-1]]
    parts = tuple(spelled(piece) for piece in kept)
    return Pattern(parts, anchored, sum(map(len, parts)) + len(pieces) - 1 + anchored)


def spelled(text: str) -> str:
    """One spelling for comparison; characters beyond ASCII are taken as their UTF-8 octets."""
    if not text.isascii():
        text = text.encode("utf-8", "surrogateescape").decode("latin-1")
    return _ODD.sub(_respell, text)


def path_of(url: str) -> str:
    """Path and query of an absolute URL or of a path, spelled for comparison, without fragment."""
    url = url.partition("#")[0]
    if not url.startswith("/"):
        rest = url.partition("://")[2]
        cut = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
        url = rest[cut:]
    path = spelled(url)
    return path if path.startswith("/") else f"/{path}"


def _respell(match: re.Match[str]) -> str:
    odd = match[0]
    if len(odd) == 1:
        return f"%{ord(odd):02X}"
    character = chr(int(odd[1:], 16))
    if character in _UNRESERVED or character in _LITERAL:
        return character
    return odd.upper()
