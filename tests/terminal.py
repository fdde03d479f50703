"""A terminal with the command in it, as a person sits before."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from crawling import CRAWL, Operator, Running

ROWS: Final = 40
COLUMNS: Final = 120
CTRL_C: Final = b"\x03"
HIDDEN: Final = "\x1b[?25l"  # the cursor
SHOWN: Final = "\x1b[?25h"
COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """What the command writes to the terminal, and the keyboard."""

    running: Running
    keyboard: int
    written: bytearray = field(default_factory=bytearray)

    @property
    def drawn(self) -> str:
        """Everything so far, control sequences included."""
        return self.written.decode()

    @property
    def text(self) -> str:
        """Everything that could be read on it at some time."""
        return _CONTROL.sub("", self.drawn)

    def type(self, keys: bytes) -> None:
        os.write(self.keyboard, keys)


@contextmanager
def terminal(
    somebody: Operator, *arguments: str, env: Mapping[str, str], answer_to_file: bool = False
) -> Iterator[Terminal]:
    """Run the command in a terminal; with `answer_to_file` its stdout goes elsewhere.

    It has ended when the context has.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(
        # a session whose terminal this is, so that its keys are signals
        ["setsid", "--ctty", CRAWL, *arguments],
        cwd=somebody.folder,
        env={**{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}, **env},
        stdin=theirs,
        stdout=subprocess.PIPE if answer_to_file else theirs,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    screen = Terminal(running=Running(process=process), keyboard=ours)
    reader = threading.Thread(target=_read, args=(ours, screen.written))
    reader.start()
    try:
        yield screen
    finally:
        process.kill()
        process.wait()
        reader.join()
        os.close(ours)
    assert "Traceback" not in screen.text


def _read(descriptor: int, into: bytearray) -> None:
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # nobody has the other end any more
            return
        into += piece
