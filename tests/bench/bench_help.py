"""What `crawl --help` costs beside the same from an application of typer and rich alone.

    python tests/bench/bench_help.py [--short]

Both are run in turn by the same interpreter, each a fresh process; what counts is the median of
user and system time. Fails (exit code 1) when ours takes more than 1.4 of the empty one's: help and
completion are what people wait for, so aiohttp, structlog and the like are loaded only where used.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

from measure import ChildError, crawl_command, spend

LIMIT: Final = 1.4
RUNS, SHORT = 21, 7
EMPTY: Final = '''\
"""An application of one command that does nothing."""

import rich
import typer

app = typer.Typer()


@app.command()
def main() -> None:
    """Do nothing."""
    rich.print("nothing")
'''


def main() -> int:
    """Time both, print them, and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help=f"{SHORT} runs instead of {RUNS}")
    runs = SHORT if parser.parse_args().short else RUNS
    with tempfile.TemporaryDirectory(prefix="callingcard-bench-") as name:
        # a module, so that its bytecode is kept between runs as ours is
        Path(name, "empty.py").write_text(EMPTY)
        start = f"import sys; sys.path.insert(0, {name!r}); import empty; empty.app()"
        commands: dict[str, list[str | Path]] = {
            "crawl": [crawl_command(), "--help"],
            "empty": [sys.executable, "-c", start, "--help"],
        }
        for command in commands.values():
            spend(command)
        cpu: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(runs):
            for name, command in commands.items():
                cpu[name].append(spend(command).cpu)
    ours, empty = median(cpu["crawl"]), median(cpu["empty"])
    ratio = ours / empty
    verdict = "FAILED" if ratio > LIMIT else "ok"
    print(f"crawl --help {ours * 1e3:.0f} ms CPU, an empty application's {empty * 1e3:.0f} ms")
    print(f"ratio {ratio:.2f} (at most {LIMIT}) {verdict}")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ChildError as error:
        sys.exit(f"bench_help: error: {error}")
