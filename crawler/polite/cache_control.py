"""Reading Cache-Control (RFC 9111, sections 1.2.2, 4.2.1 and 5.2)."""

import re

_DIRECTIVE = re.compile(
    r"""(?:^|,)\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)"""
    r"""(?:\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,"]*))?\s*(?=,|$)"""
)
_QUOTED = re.compile(r"\\(.)")
_LARGEST = 2**31  # section 1.2.2


def parse(value: str | None) -> dict[str, str]:
    """Directive names in lower case with their arguments, "" where there is none.

    Of a directive given twice the first counts (section 4.2.1). Arguments may be quoted although
    they should not (section 5.2). What is not a directive is passed over.
    """
    found: dict[str, str] = {}
    for match in _DIRECTIVE.finditer(value or ""):
        argument = match[2] or ""
        if argument.startswith('"'):
            argument = _QUOTED.sub(r"\1", argument[1:-1])
        found.setdefault(match[1].lower(), argument)
    return found


def seconds(argument: str) -> int:
    """A delta-seconds argument; 0, which is stale, where it is none (section 4.2.1)."""
    if not (argument.isascii() and argument.isdigit()):
        return 0
    return min(int(argument[:12]), _LARGEST)
