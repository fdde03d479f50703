"""The `crawl` command as a person runs it, in a folder with configuration, keys and state."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from crawler.events import Event, FetchRecord, Kind, decode
from crawler.fetch import keyfiles
from signing import algorithms, keys
from signing.keys import PrivateKey

CRAWL: Final = str(Path(sys.executable).with_name("crawl"))
DELAY: Final = 0.1  # seconds between two requests, unless a test says otherwise

Table = Mapping[str, object]
_E = TypeVar("_E", bound=Struct)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a command ended and what it said."""

    code: int
    answer: str  # stdout
    said: str  # stderr

    def warnings(self, about: str) -> list[str]:
        """The lines for people that speak of something."""
        return [line for line in self.said.splitlines() if about in line]


@dataclass(frozen=True, kw_only=True)
class Running:
    """A command at work."""

    process: subprocess.Popen[str]

    def end(self, within: float = 60.0) -> Ended:
        """Wait for its end. Whatever befell it, nobody is shown a traceback."""
        try:
            answer, said = self.process.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            answer, said = self.process.communicate()
            raise AssertionError(f"still at work after {within:.0f} s: {said}") from None
        answer, said = answer or "", said or ""  # None where it does not come through a pipe
        assert "Traceback" not in answer + said, said
        return Ended(code=self.process.returncode, answer=answer, said=said)

    def stop(self, number: int = signal.SIGTERM) -> Ended:
        """Send a signal and wait for its end."""
        self.process.send_signal(number)
        return self.end()

    def until(self, condition: Callable[[], bool], within: float = 30.0) -> None:
        """Wait for what it, or a server that it asks, is going to do."""
        deadline = time.monotonic() + within
        while not condition():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                answer, said = self.process.communicate()
                raise AssertionError(f"what was waited for did not happen: {answer}{said}")
            time.sleep(0.002)


@dataclass(frozen=True, kw_only=True)
class Operator:
    """Somebody with a folder; `origins` are tables of origins.toml, each by its name.

    Both keys are there from the start. The pace is short, every page is due at each run, and all
    of loopback is admitted, unless an origin's table says otherwise.
    """

    folder: Path
    origins: Mapping[str, Table] = field(default_factory=dict)
    politeness: Table = field(default_factory=dict)
    signatures: Table = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        for algorithm in ("ed25519", "ml-dsa-44"):
            keyfiles.create(self.keys, algorithm)
        self.configure(self.origins)

    @property
    def keys(self) -> Path:
        """The folder of the private keys."""
        return self.folder / "keys"

    @property
    def state(self) -> Path:
        """The state directory."""
        return self.folder / "state"

    @property
    def log(self) -> Path:
        """The newest file of the log."""
        return sorted(self.state.glob("log/*.jsonl"))[-1]

    def configure(self, origins: Mapping[str, Table]) -> None:
        """Write both files."""
        bot = {
            "product": "ExampleBot",
            "home": "https://bot.example",
            "contact": "mailto:bot@bot.example",
        }
        manners = {"min_delay": DELAY, "min_interval": "0s", **self.politeness}
        main = {"bot": bot, "signatures": self.signatures, "politeness": manners}
        (self.folder / "crawler.toml").write_text(
            "\n".join(f"[{name}]\n{_settings(table)}" for name, table in main.items())
        )
        (self.folder / "origins.toml").write_text(
            "\n".join(
                f"[[origin]]\n{_settings({'name': name, 'allow_private': True, **table})}"
                for name, table in origins.items()
            )
        )

    def start(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> Running:
        """Begin `crawl` with these arguments, in the folder; `prefix` is a command that starts it.

        `env` stands above the environment of the tests.
        """
        return Running(
            process=subprocess.Popen(
                [*prefix, CRAWL, *arguments],
                cwd=self.folder,
                env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )

    def crawl(
        self, *arguments: str, env: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
    ) -> Ended:
        """Run `crawl` with these arguments, in the folder, to its end."""
        return self.start(*arguments, env=env, prefix=prefix).end()

    def events(self) -> list[Event]:
        """Read the whole log."""
        files = sorted(self.folder.glob("state/log/*.jsonl"))
        return [decode(line) for file in files for line in file.read_bytes().splitlines()]

    def logged(self, kind: type[_E], origin: str | None = None) -> list[_E]:
        """Read the events of one kind, of one origin."""
        return [
            event
            for event in self.events()
            if isinstance(event, kind) and origin in (None, getattr(event, "origin", None))
        ]

    def records(self, origin: str | None = None) -> list[FetchRecord]:
        """Read what became of each request."""
        return self.logged(FetchRecord, origin)

    def pages(self, origin: str) -> list[FetchRecord]:
        """Read what became of each request for a page."""
        return [one for one in self.records(origin) if one.kind is Kind.PAGE]

    def key(self, algorithm: str) -> PrivateKey:
        """Read the only key of an algorithm."""
        (path,) = self.keys.glob(f"{algorithms.by_name(algorithm).name}-*.jwk")
        return keys.read_private(path.read_bytes())


def _settings(table: Table) -> str:
    # strings, numbers, booleans and lists of them look alike in JSON and TOML
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items())
