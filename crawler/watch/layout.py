"""Tables and listings as text: plain, for a terminal, or as Markdown.

What stands in a log comes from servers that nobody here controls, so nothing of it is printed that
could move a cursor, hide text or end a table cell.
"""

import textwrap
from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct

_GAP = "  "
_MARKED = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#|~"})


class Table(Struct, frozen=True, kw_only=True):
    """Rows under a head; the first column is text, the columns in `left` are too.

    What the head leaves open stands in the legend below.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: tuple[str, ...] | None = None
    left: frozenset[int] = frozenset((0,))
    legend: tuple[str, ...] = ()


class Listing(Struct, frozen=True, kw_only=True):
    """Sentences, one a line."""

    title: str
    lines: tuple[str, ...]


Block = Table | Listing


class Terminal(Struct, frozen=True):
    """What a terminal can show: `width` in columns, and whether colours are wanted."""

    width: int
    colour: bool


def plain(blocks: Sequence[Block]) -> str:
    """For files, pipes and mail: aligned, never wrapped."""
    return "\n\n".join(_plain(block) for block in blocks) + "\n"


def markdown(blocks: Sequence[Block]) -> str:
    """For a wiki or an issue (GitHub's tables)."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def on(terminal: Terminal, blocks: Sequence[Block]) -> str:
    """For people at a terminal: cells fold into its width, sentences wrap between words."""
    from io import StringIO

    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    console = Console(
        file=StringIO(),
        width=terminal.width,
        force_terminal=terminal.colour,
        color_system="standard" if terminal.colour else None,
        highlight=False,
        legacy_windows=False,
    )
    with console.capture() as printed:
        for block in blocks:
            console.print(Text(block.title, style="bold cyan"))
            match block:
                case Table():
                    grid = Grid(
                        box=SIMPLE,
                        show_footer=block.total is not None,
                        pad_edge=False,
                        padding=(0, 1, 0, 0),
                    )
                    for index, name in enumerate(block.head):
                        grid.add_column(
                            Text(name),
                            Text(_shown(block.total[index])) if block.total else "",
                            justify="left" if index in block.left else "right",
                            overflow="fold",
                            footer_style="bold",
                        )
                    for row in block.rows:
                        grid.add_row(*(Text(_shown(cell)) for cell in row))
                    console.print(grid)
                    for line in block.legend:
                        for part in _wrapped(_shown(line), terminal.width):
                            console.print(Text(part, style="dim"), soft_wrap=True)
                    if block.legend:
                        console.print()
                case Listing():
                    for line in block.lines:
                        for part in _wrapped(_shown(line), terminal.width):
                            console.print(Text(part), soft_wrap=True)
                    console.print()
                case _:
                    assert_never(block)
    return printed.get()


def _wrapped(line: str, width: int) -> list[str]:
    """A sentence in lines of a terminal; what is longer than one, as a URL may be, stays whole."""
    parts = textwrap.wrap(
        line,
        max(width, 1),
        initial_indent=_GAP,
        subsequent_indent=2 * _GAP,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return parts or [_GAP]


def _plain(block: Block) -> str:
    match block:
        case Listing():
            return "\n".join((block.title, *(f"  {_shown(line)}" for line in block.lines)))
        case Table():
            rows = [block.head, *block.rows, *([block.total] if block.total else [])]
            cells = [[_shown(cell) for cell in row] for row in rows]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            lines = [
                _GAP.join(
                    cell.ljust(width) if index in block.left else cell.rjust(width)
                    for index, (cell, width) in enumerate(zip(row, widths, strict=True))
                ).rstrip()
                for row in cells
            ]
            lines.extend(_shown(line) for line in block.legend)
            return "\n".join((block.title, *(f"  {line}" for line in lines)))
        case _:
            assert_never(block)


def _markdown(block: Block) -> str:
    title = f"## {_marked(block.title)}\n\n"
    match block:
        case Listing():
            return title + "\n".join(f"- {_marked(line)}" for line in block.lines)
        case Table():
            rule = ["---" if index in block.left else "--:" for index in range(len(block.head))]
            rows = [
                [_marked(cell) for cell in block.head],
                rule,
                *([_marked(cell) for cell in row] for row in block.rows),
            ]
            if block.total:
                rows.append([f"**{_marked(cell)}**" if cell else "" for cell in block.total])
            legend = "\n\n" + "  \n".join(map(_marked, block.legend)) if block.legend else ""
            return title + "\n".join(f"| {' | '.join(row)} |" for row in rows) + legend
        case _:
            assert_never(block)


def _marked(text: str) -> str:
    return _shown(text).translate(_MARKED)


def _shown(text: str) -> str:
    """The text without characters that are none: line ends, escapes, marks of direction."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)
