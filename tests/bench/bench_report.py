"""What `crawl report` costs over a long log, beside decoding the same lines and doing nothing more.

    python tests/bench/bench_report.py [--short] [--events N] [--gzip]

A log of N events (2,000,000; with --short 100,000) is made in a temporary folder. Each side is a
process of its own; what counts is its user and system time and its largest resident set. Fails
(exit code 1) when the report takes more than 3 times the CPU of the typed decoder alone, line by
line, more than 70 MB, or over 5 MB more than for a tenth of the log.

Both sides take turns and the best run of each counts: a shared machine makes single ones differ by
a third. `--short` leaves out what both cost over a log of one event, for start-up weighs as much as
100,000 events do.
"""

import argparse
import gzip
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import event_log
from measure import ChildError, Spent, crawl_command, spend
from workspace import workspace

RATIO: Final = 3.0
MEMORY: Final = 70e6
GROWTH: Final = 5e6
ROUNDS: Final = 5
LONG, SHORT = 2_000_000, 100_000
NAME: Final = "events-2026-11-01.jsonl"


def report(config: Path) -> Spent:
    """Run `crawl report` on that configuration's log."""
    return spend([crawl_command(), "report", "--config", config, "--format", "text"])


def decode(config: Path) -> Spent:
    """Decode that configuration's log in a process that does nothing else."""
    return spend([sys.executable, __file__, "--decode", log_of(config)])


def bare(path: Path) -> None:
    """Decode each line of a log."""
    from crawler import events

    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for line in file:
            events.decode(line)


def log_of(config: Path) -> Path:
    """Give the only file of that configuration's log."""
    (path,) = (config.parent / "state" / "log").iterdir()
    return path


def write_log(config: Path, count: int, *, compressed: bool) -> int:
    """Put a log of `count` events where the configuration has it; bytes of its plain text."""
    folder = config.parent / "state" / "log"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / NAME
    event_log.write(path, count)
    size = path.stat().st_size
    if compressed:
        with path.open("rb") as plain, gzip.open(f"{path}.gz", "wb", compresslevel=6) as packed:
            shutil.copyfileobj(plain, packed)
        path.unlink()
    return size


def main() -> int:
    """Measure both sides, print, and judge."""
    options = parse()
    if options.decode is not None:
        bare(options.decode)
        return 0
    count = options.events or (SHORT if options.short else LONG)
    start = dict.fromkeys(SIDES, 0.0)
    with workspace({"https://site-00.example/": {}}, politeness={}) as config:
        if options.short:
            write_log(config, 1, compressed=options.gzip)
            start = {name: used.cpu for name, used in best(config, ROUNDS).items()}
        write_log(config, count // 10, compressed=options.gzip)
        tenth = report(config)
        size = write_log(config, count, compressed=options.gzip)
        spent = best(config, ROUNDS)
    print(f"{count:,} events, {size / 1e6:,.0f} MB{', gzip' * options.gzip}")
    for name, used in spent.items():
        cpu = used.cpu - start[name]
        print(f"{name:8}{cpu:8.2f} s CPU{cpu / count * 1e6:8.2f} µs/event{used.peak / 1e6:6.0f} MB")
    ratio = (spent["report"].cpu - start["report"]) / (spent["decode"].cpu - start["decode"])
    peak, growth = spent["report"].peak, spent["report"].peak - tenth.peak
    return judge(
        ("report / decode", ratio, RATIO, ""),
        ("resident memory", peak / 1e6, MEMORY / 1e6, " MB"),
        ("more than for a tenth of the log", growth / 1e6, GROWTH / 1e6, " MB"),
    )


SIDES: Final[dict[str, Callable[[Path], Spent]]] = {"decode": decode, "report": report}


def best(config: Path, rounds: int) -> dict[str, Spent]:
    """Let both sides take turns; of each the run that took the least CPU."""
    runs: dict[str, list[Spent]] = {name: [] for name in SIDES}
    for _ in range(rounds):
        for name, side in SIDES.items():
            runs[name].append(side(config))
    return {name: min(all_, key=lambda spent: spent.cpu) for name, all_ in runs.items()}


def judge(*measured: tuple[str, float, float, str]) -> int:
    """Print each figure beside its limit; 1 when one is passed."""
    for name, found, limit, unit in measured:
        verdict = "FAILED" if found > limit else "ok"
        print(f"{name}: {found:.2f}{unit} (at most {limit:g}{unit}) {verdict}")
    return int(any(found > limit for _, found, limit, _ in measured))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help=f"{SHORT:,} events")
    parser.add_argument("--events", type=int, help="length of the log")
    parser.add_argument("--gzip", action="store_true", help="over a compressed log")
    parser.add_argument("--decode", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ChildError as error:
        sys.exit(f"bench_report: error: {error}")
