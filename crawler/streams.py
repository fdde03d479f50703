"""The standard streams, made fit to write on, whatever has started us."""

import codecs
import os
import sys
from io import TextIOWrapper
from pathlib import Path


def prepare() -> None:
    """Stand in for closed streams, and let each text be written.

    Python has None for a stream that is closed when it starts (`>&-`): whoever closed it reads
    nothing, and the answer goes nowhere. Where the locale knows ASCII alone we write UTF-8, as
    Python itself does unless it is forbidden to, and the bytes of file names as they are.
    """
    # the annotations of sys deny that it happens
    closed = [name for name in ("stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            _open_to_all(stream)


def _open_to_all(stream: TextIOWrapper) -> None:
    encoding = codecs.lookup(stream.encoding).name
    if encoding in ("ascii", "utf-8"):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    else:
        stream.reconfigure(errors="backslashreplace")
