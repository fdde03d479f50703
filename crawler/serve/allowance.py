"""How often a host may be asked for its keys. Strangers' requests decide whom we ask: we are no
means to flood anybody, and whoever invents URLs takes nothing from those who publish."""

from collections import OrderedDict, deque
from enum import Enum
from typing import Final

WITHIN: Final = 60.0  # seconds
FETCHES: Final = 10  # of one host in that time: all shares together


class Share(Enum):
    """What a set is to its host; each has slots that no other can use up."""

    HOME = "home"  # where each host publishes its keys, and where agents that we know do
    ALIKE = "alike"  # the same at other ports: as many as somebody cares to invent
    AGAIN = "again"  # any other set that we have
    OTHER = "other"  # any other URL: as many as somebody cares to invent


SLOTS: Final = {Share.HOME: 4, Share.ALIKE: 2, Share.AGAIN: 2, Share.OTHER: 2}


class Allowance:
    """The fetches of the last minute by host. Times are a steady clock's."""

    def __init__(self) -> None:
        self._times: OrderedDict[tuple[str, Share], deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._times)

    def takes(self, host: str, share: Share, now: float) -> bool:
        """Whether a host may be asked for a set of this kind; it counts as asked then."""
        self._forget(now)
        times = self._times.setdefault((host, share), deque())
        while times and times[0] <= now - WITHIN:
            times.popleft()
        if len(times) >= SLOTS[share]:
            return False
        times.append(now)
        self._times.move_to_end((host, share))
        return True

    def _forget(self, now: float) -> None:
        while self._times:
            key, times = next(iter(self._times.items()))
            if times and times[-1] > now - WITHIN:
                return
            del self._times[key]
