"""A configuration for `crawl` in a folder of its own, with keys and an empty state each time."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from measure import crawl_command, spend

Value = str | float | bool | Sequence[str]

BOT = """\
[bot]
product = "ExampleBot"
home = "https://bot.example"
contact = "mailto:bot@bot.example"
purpose = "measures itself"
"""
AT_ONCE: Mapping[str, Value] = {
    "min_delay": 0,
    "delay_factor": 0,
    "daily_requests": 1_000_000,
    "min_interval": "0s",
}


@contextmanager
def workspace(
    origins: Mapping[str, Mapping[str, Value]],
    *,
    politeness: Mapping[str, Value],
    sig2: str = "always",
) -> Iterator[Path]:
    """Give the path of a crawler.toml with keys beside it and no state yet.

    `origins` maps each origin's URL to its settings.
    """
    with tempfile.TemporaryDirectory(prefix="callingcard-bench-") as name:
        config = Path(name, "crawler.toml")
        signatures = {"sig2": sig2}
        config.write_text(
            f"{BOT}[signatures]\n{_lines(signatures)}[politeness]\n{_lines(politeness)}"
        )
        tables = [
            f"[[origin]]\n{_lines({'name': f'origin-{number}', 'url': url, **settings})}"
            for number, (url, settings) in enumerate(origins.items(), start=1)
        ]
        config.with_name("origins.toml").write_text("".join(tables))
        spend([crawl_command(), "keys", "new", "--config", config])
        yield config


def crawl(config: Path) -> list[str | Path]:
    """Give the command that refreshes everything in that configuration once."""
    return [crawl_command(), "--once", "--config", config]


def _lines(settings: Mapping[str, Value]) -> str:
    # strings, numbers, booleans and lists of strings are written alike in JSON and in TOML
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
