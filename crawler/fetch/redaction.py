"""Taking our own field values out of what a server sends back.

Some servers echo what they refuse. A signature or a cookie that lands in a log is one that whoever
reads the log may send again.
"""

from collections.abc import Container, Iterable
from typing import Final

RUN: Final = 8  # bytes; shorter runs are words like `ed25519`, which the reader of the log needs
MARK: Final = b"[...]"


def without_runs(text: bytes, values: Iterable[str]) -> bytes:
    """The text with each run of 8 bytes or more that stands in one of `values` replaced."""
    ours = _runs([value.encode("utf-8", "surrogateescape") for value in values], len(text))
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


class _Within:
    """The runs of some values, looked for one at a time: for a text much shorter than these."""

    def __init__(self, values: list[bytes]) -> None:
        self._values = values

    def __contains__(self, run: object) -> bool:
        return isinstance(run, bytes) and any(run in value for value in self._values)


def _runs(values: list[bytes], asked: int) -> Container[bytes]:
    """Every run of the values, for a text of so many bytes."""
    if asked * 8 < sum(map(len, values)):
        return _Within(values)
    return {value[start : start + RUN] for value in values for start in range(len(value) - RUN + 1)}
