"""The npm packages: one Node process that judges and signs what it is told, a JSON line each.

They are installed with `npm ci --prefix tests/interop`, or in any folder that the environment
variable INTEROP_NODE names; the versions stand in package.json beside this file.
"""

import os
import select
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct, json

HERE: Final = Path(__file__).parent
INSTALL: Final = "npm ci --prefix tests/interop"
PATIENCE: Final = 30  # seconds

Fields = list[tuple[str, str]]


class Answer(Struct, frozen=True):
    """What a package said: whether it accepts, else why not; or the fields that it signed."""

    accepted: bool = False
    why: str = ""
    fields: Fields = []


class Npm:
    """A running process with the packages loaded."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def verify(
        self,
        package: str,
        *,
        method: str,
        url: str,
        fields: Fields,
        keys: Sequence[Mapping[str, object]],
        **options: object,
    ) -> Answer:
        """Have a package judge a request, given the key set of its signer."""
        asked = {"verify": package, "method": method, "url": url, "fields": fields, "keys": keys}
        return self._ask({**asked, **options})

    def sign(
        self,
        package: str,
        *,
        method: str,
        url: str,
        fields: Fields,
        jwk: Mapping[str, object],
        **options: object,
    ) -> Fields:
        """Have a package sign a request with an Ed25519 key; give all fields of the result."""
        asked = {"sign": package, "method": method, "url": url, "fields": fields, "jwk": jwk}
        answer = self._ask({**asked, **options})
        assert not answer.why, answer.why
        return answer.fields

    def _ask(self, question: dict[str, object]) -> Answer:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.encode(question) + b"\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        assert ready, f"no answer from node in {PATIENCE} s"
        line = self._process.stdout.readline()
        assert line, "node ended; what it said is above"
        return json.decode(line, type=Answer)


def missing() -> str | None:
    """Say what to install, unless everything is there."""
    if shutil.which("node") is None:
        return f"no node: apt-get install nodejs npm && {INSTALL}"
    if not (folder() / "node_modules" / "web-bot-auth").is_dir():
        elsewhere = " (and unset INTEROP_NODE)" if "INTEROP_NODE" in os.environ else ""
        return f"no npm packages in {folder()}: {INSTALL}{elsewhere}"
    return None


def needed() -> None:
    """Skip the test that runs where something is missing, and say what to install."""
    if reason := missing():
        pytest.skip(reason)


@contextmanager
def running() -> Iterator[Npm]:
    """Start the process; it ends with the block."""
    command = ["node", str(HERE / "node_side.mjs"), str(folder())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Npm(process)
        finally:
            process.terminate()


def folder() -> Path:
    """Where node_modules lies."""
    return Path(os.environ.get("INTEROP_NODE", HERE)).absolute()
