"""`crawl report`: the findings as text, Markdown or JSON, and what an operator has to look after.

JSON is `findings.Findings` as it is; the other formats show the same object.
"""

import shutil
from collections.abc import Mapping
from enum import StrEnum
from typing import TextIO, assert_never

import msgspec

from crawler.events import Why
from crawler.watch import layout, sheet
from crawler.watch.analysis import Analysis
from crawler.watch.findings import Findings
from crawler.watch.layout import Terminal


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def render(analysis: Analysis, form: Format, terminal: Terminal | None = None) -> str:
    """The report, its last line ended.

    Text is drawn for `terminal` where there is one, and for a file, a pipe or a mail otherwise.
    """
    findings = analysis.findings()
    match form:
        case Format.JSON:
            return msgspec.json.format(msgspec.json.encode(findings), indent=2).decode() + "\n"
        case Format.MARKDOWN:
            return layout.markdown(sheet.blocks(findings))
        case Format.TEXT if terminal is not None:
            return layout.on(terminal, sheet.blocks(findings))
        case Format.TEXT:
            return layout.plain(sheet.blocks(findings))
        case _:
            assert_never(form)


def terminal(stream: TextIO, environ: Mapping[str, str]) -> Terminal | None:
    """The terminal behind a stream; no colours with NO_COLOR or TERM=dumb (no-color.org)."""
    if not stream.isatty():
        return None
    colour = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return Terminal(shutil.get_terminal_size().columns, colour)


def attention(findings: Findings) -> tuple[str, ...]:
    """What a person should look at, a sentence each: the reasons behind exit code 3.

    Origins that are frozen or parked as the log ends, and what befell the crawl in its last run.
    """
    closed = (
        origin
        for origin in findings.origins
        if origin.hold is not None and origin.hold.why in (Why.FROZEN, Why.PARKED)
    )
    return (*sheet.held(closed), *sheet.noted(findings.news))
