"""Headless Chromium as Debian packages it: what a page looks like to people, on loopback only."""

import os
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import Final

import pytest

CHROMIUM: Final = shutil.which("chromium")
MISSING: Final = "Chromium is not on this machine: apt-get install chromium"
needs_chromium: Final = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)

_QUIET: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    # names lead nowhere, so nothing but the page's own address is asked
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_SECONDS: Final = 120.0


class BrowserError(RuntimeError):
    """Chromium is absent or gave no answer; the text says why."""


def dom(url: str, *options: str) -> str:
    """The document's HTML after it was laid out and its scripts have run."""
    return _run(url, "--dump-dom", *options).decode()


def screenshot(url: str, path: Path, width: int, height: int, *options: str) -> bytes:
    """What is seen in a window of that many pixels, as a PNG, which is also left at `path`."""
    _run(url, f"--screenshot={path}", f"--window-size={width},{height}", *options)
    return path.read_bytes()


def shades(png: bytes) -> dict[int, int]:
    """How often each shade of red stands in a picture, by PNG's own filters."""
    at, data, width, channels = 8, b"", 0, 4
    while at < len(png):
        size, kind = int.from_bytes(png[at : at + 4]), png[at + 4 : at + 8]
        chunk = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, channels = int.from_bytes(chunk[:4]), {2: 3, 6: 4}[chunk[9]]
        if kind == b"IDAT":
            data += chunk
        at += size + 12
    return _counted(zlib.decompress(data), width * channels, channels)


def _run(url: str, *options: str) -> bytes:
    if CHROMIUM is None:
        raise BrowserError(MISSING)
    with tempfile.TemporaryDirectory(prefix="callingcard-browser-") as profile:
        try:
            done = subprocess.run(
                [CHROMIUM, *_QUIET, f"--user-data-dir={profile}", *options, url],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
                env={**os.environ, "HOME": profile},
            )
        except subprocess.TimeoutExpired as error:
            raise BrowserError(f"{url}: no answer within {_SECONDS:.0f} s") from error
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace")[-2000:]
            raise BrowserError(f"{url}: exit code {error.returncode}: {said}") from error
    return done.stdout


def _counted(raw: bytes, stride: int, channels: int) -> dict[int, int]:
    before, counted = bytearray(stride), dict[int, int]()
    for start in range(0, len(raw), stride + 1):
        kind, line = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        for at in range(stride):
            left = line[at - channels] if at >= channels else 0
            corner = before[at - channels] if at >= channels else 0
            line[at] = (line[at] + _predicted(kind, left, before[at], corner)) & 255
        for at in range(0, stride, channels):
            counted[line[at]] = counted.get(line[at], 0) + 1
        before = line
    return counted


def _predicted(kind: int, left: int, above: int, corner: int) -> int:
    match kind:
        case 0:
            return 0
        case 1:
            return left
        case 2:
            return above
        case 3:
            return (left + above) // 2
        case _:
            guess = left + above - corner
            return min((left, above, corner), key=lambda one: abs(guess - one))
