"""How long answers took: median and tail of any number of them in a few kilobytes.

Up to `KEPT` answers are kept as they are and every quantile is exact. Beyond, they are counted in
classes, so that a log of a year takes no more memory than one of a day. A number's class is the
upper half of its binary32 form: less than 0.8 % wide, so that a quantile is off by less than 0.4 %.
"""

import sys
from array import array
from collections import Counter
from itertools import accumulate
from math import ceil

KEPT = 4096
_UPPER = slice(1, None, 2) if sys.byteorder == "little" else slice(0, None, 2)
_SIGN, _INFINITE = 0x8000, 0x7F80


class Latencies:
    """A growing set of durations in seconds."""

    __slots__ = ("_classes", "_kept")

    def __init__(self) -> None:
        self._kept: list[float] = []
        self._classes: Counter[int] = Counter()

    def add(self, seconds: float) -> None:
        kept = self._kept
        kept.append(seconds)
        if len(kept) >= KEPT:
            self._classify()

    def quantile(self, share: float) -> float | None:
        """The duration that `share` (0 < share <= 1) of all reach at most (nearest rank)."""
        count = len(self._kept) + self._classes.total()
        if count == 0:
            return None
        rank = ceil(share * count)
        if not self._classes:
            return sorted(self._kept)[rank - 1]
        self._classify()
        numbers = sorted(self._classes, key=_order)
        reached = accumulate(self._classes[number] for number in numbers)
        return _middle(next(n for n, sum_ in zip(numbers, reached, strict=True) if sum_ >= rank))

    def _classify(self) -> None:
        halves = array("H", array("f", self._kept).tobytes())
        self._classes.update(halves[_UPPER])
        self._kept.clear()


def _order(number: int) -> int:
    """Sort classes as their numbers: below zero, where only a foreign log is, bits go backwards."""
    return -number if number & _SIGN else number


def _middle(number: int) -> float:
    """The duration in the middle of a class; the largest one where binary32 has no number."""
    if number & _INFINITE == _INFINITE:
        number -= 1
    halves = array("H", (0x8000, 0x8000))
    halves[_UPPER] = array("H", (number,))
    return array("f", halves.tobytes())[0]
