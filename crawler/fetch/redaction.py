"""Taking our own field values out of what a server sends back.

Some servers echo what they refuse. A signature or a cookie that lands in a log is one that whoever
reads the log may send again.
"""

from collections.abc import Iterable
from typing import Final

RUN: Final = 8  # bytes; shorter runs are words like `ed25519`, which the reader of the log needs
MARK: Final = b"[...]"


def without_runs(text: bytes, values: Iterable[str]) -> bytes:
    """The text with each run of 8 bytes or more that stands in one of `values` replaced."""
    ours = {
        value[start : start + RUN]
        for value in (value.encode("utf-8", "surrogateescape") for value in values)
        for start in range(len(value) - RUN + 1)
    }
    kept = bytearray()
    copied = 0  # all before it is in `kept` or was left out
    end = 0  # of the run that we are in
    for start in range(len(text) - RUN + 1):
        if text[start : start + RUN] not in ours:
            continue
        if start > end or not end:
            kept += text[copied:start] + MARK
        end = copied = start + RUN
    return bytes(kept + text[copied:])
