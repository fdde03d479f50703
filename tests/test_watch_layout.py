"""Tables and listings as text, whatever stands in them."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from crawler.watch import layout
from crawler.watch.layout import Block, Listing, Table, Terminal

TABLE = Table(
    title="Answers",
    head=("origin", "2xx", "state"),
    rows=(("one", "1,200", "sending"), ("another", "7", "")),
    total=("all", "1,207", ""),
    left=frozenset((0, 2)),
)
LISTING = Listing(title="Details", lines=("one: robots 3", "another: fresh"))
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def table(cell: str) -> Table:
    return Table(title="T", head=("a", "b"), rows=((cell, "1"),))


def test_plain_text_is_aligned() -> None:
    assert layout.plain([TABLE, LISTING]) == (
        "Answers\n"
        "  origin     2xx  state\n"
        "  one      1,200  sending\n"
        "  another      7\n"
        "  all      1,207\n"
        "\n"
        "Details\n"
        "  one: robots 3\n"
        "  another: fresh\n"
    )


def test_markdown_has_tables_and_lists() -> None:
    assert layout.markdown([TABLE, LISTING]) == (
        "## Answers\n"
        "\n"
        "| origin | 2xx | state |\n"
        "| --- | --: | --- |\n"
        "| one | 1,200 | sending |\n"
        "| another | 7 |  |\n"
        "| **all** | **1,207** |  |\n"
        "\n"
        "## Details\n"
        "\n"
        "- one: robots 3\n"
        "- another: fresh\n"
    )


@pytest.mark.parametrize("form", [layout.plain, layout.markdown], ids=["plain", "markdown"])
def test_a_table_without_total_ends_with_its_rows(form: Callable[[list[Block]], str]) -> None:
    assert "all" not in form([table("one")])


def test_markdown_takes_nothing_of_a_server_for_markup() -> None:
    text = layout.markdown([table("a|b"), Listing(title="L", lines=("<b>*x*</b> [a](b) `c` _d_",))])

    assert "| a\\|b | 1 |" in text
    assert "- \\<b\\>\\*x\\*\\</b\\> \\[a\\](b) \\`c\\` \\_d\\_" in text


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (layout.plain, "\n  another      7\n  2xx: pages, all of them\n"),
        (layout.markdown, "\n| another | 7 |  |\n\n2xx: pages, all of them  \nstate: is\\_it\n"),
        (
            lambda blocks: layout.on(Terminal(20, False), blocks),
            "\n  2xx: pages, all of\n    them\n",
        ),
    ],
    ids=["plain", "markdown", "terminal"],
)
def test_a_legend_stands_below_its_table(text: Callable[[list[Block]], str], end: str) -> None:
    legend = ("2xx: pages, all of them", "state: is_it")

    assert end in text([replace(TABLE, total=None, legend=legend)])


HOSTILE = "a\x1b[31mred\x1b]0;title\x07\r\nb\u202egnp\u2028c\x00\x9b1m"


@pytest.mark.parametrize("colour", [None, False, True], ids=["plain", "no colour", "colour"])
def test_no_answer_moves_a_cursor_or_hides_text(colour: bool | None) -> None:
    blocks: list[Block] = [table(HOSTILE), Listing(title="L", lines=(HOSTILE,))]
    text = layout.plain(blocks) if colour is None else layout.on(Terminal(80, colour), blocks)
    text = ESCAPE.sub("", text) if colour else text

    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    assert "red" in text
    assert "gnp" in text


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5), st.integers(1, 200))
def test_anything_can_be_laid_out(rows: list[tuple[str, str]], width: int) -> None:
    blocks: list[Block] = [
        Table(title="T", head=("a", "b"), rows=tuple(rows), total=("all", "x")),
        Listing(title="L", lines=tuple(left for left, _ in rows)),
    ]
    plain = layout.plain(blocks)

    assert plain.count("\n") == 3 + len(rows) + 2 + len(rows)
    assert layout.markdown(blocks).endswith("\n")
    assert layout.on(Terminal(width, True), blocks).endswith("\n")


def test_a_terminal_without_colours_gets_no_escapes() -> None:
    text = layout.on(Terminal(80, False), [TABLE, LISTING])

    assert "\x1b" not in text
    assert "1,207" in text
    assert "  another: fresh\n" in text


def test_a_terminal_with_colours_gets_the_same_text() -> None:
    coloured = layout.on(Terminal(80, True), [TABLE, LISTING])

    assert "\x1b[" in coloured
    assert ESCAPE.sub("", coloured) == layout.on(Terminal(80, False), [TABLE, LISTING])


def test_a_table_keeps_to_the_width() -> None:
    text = layout.on(Terminal(40, False), [table("https://one.example/" + "x" * 100)])

    assert max(len(line) for line in text.splitlines()) <= 40


def test_a_sentence_wraps_between_words_and_what_belongs_to_it_is_indented() -> None:
    url = "https://one.example/" + "x" * 40
    line = f"one: size-sure 1 of 3; last {url} (as from lighttpd, Jetty, Tomcat)"
    listing = Listing(title="Suspicious", lines=(line, "two: nothing", ""))

    assert layout.on(Terminal(40, False), [listing]) == (
        "Suspicious\n"
        "  one: size-sure 1 of 3; last\n"
        f"    {url}\n"
        "    (as from lighttpd, Jetty, Tomcat)\n"
        "  two: nothing\n"
        "  \n"
        "\n"
    )
    assert f"  {line}\n" in layout.plain([listing])


@given(st.lists(st.text("abc-:/", min_size=1, max_size=16), min_size=1), st.integers(20, 120))
def test_no_word_is_cut_and_none_is_lost(words: list[str], width: int) -> None:
    text = layout.on(Terminal(width, False), [Listing(title="L", lines=(" ".join(words),))])

    assert text.split() == ["L", *words]
    assert max(len(line) for line in text.splitlines()) <= width
