"""What a child process cost, and the environments that the benchmarks run it in."""

import os
import shlex
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
SCRAPY: Final = "Scrapy==2.19.0"
UNCOMPILED: Final = "PYTHONDONTWRITEBYTECODE"
CRAWL: Final = Path(sys.executable).with_name("crawl")


class ChildError(RuntimeError):
    """The child ended with something else than 0; the text says what it wrote."""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What a child used from its start to its end, in seconds and bytes.

    `peak` is resident memory; Linux counts in what the parent had when the child was started.
    """

    user: float
    system: float
    wall: float
    peak: int

    @property
    def cpu(self) -> float:
        """User and system time of the whole process."""
        return self.user + self.system


def spend(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> Spent:
    """Run a command to its end and say what it cost.

    Bytecode is kept even where the environment forbids it: pip compiles what it installs, so that
    nobody pays for that with each run of an installed command, ours from a source tree apart.
    Raises `ChildError` with the last lines of its output where the exit code is not 0.
    """
    inherited = {name: value for name, value in os.environ.items() if name != UNCOMPILED}
    with tempfile.TemporaryFile() as output:
        began = perf_counter()
        child = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**inherited, **(environment or {})},
        )
        _, status, used = os.wait4(child.pid, 0)
        wall = perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            output.seek(0)
            said = output.read().decode(errors="replace").splitlines()[-30:]
            raise ChildError(
                "\n".join((f"exit code {child.returncode}: {shlex.join(map(str, command))}", *said))
            )
    return Spent(user=used.ru_utime, system=used.ru_stime, wall=wall, peak=used.ru_maxrss * 1024)


def scrapy_python(named: str | None) -> Path:
    """Give a Python that has Scrapy: the one named, or one in a venv made for it on first use."""
    if named is not None:
        return Path(named)
    home = ROOT / "build" / SCRAPY.lower().replace("==", "-")
    python = home / "bin" / "python"
    if not (home / "complete").exists():
        print(f"making {home} with {SCRAPY}", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        spend([python, "-m", "pip", "install", "--quiet", SCRAPY])
        (home / "complete").touch()
    return python


def crawl_command() -> Path:
    """Give the `crawl` beside the Python that runs this. Raises `ChildError` without one."""
    if not CRAWL.exists():
        raise ChildError(f"no {CRAWL}: pip install -e '.[dev]' into the venv that runs this")
    return CRAWL
