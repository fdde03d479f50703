"""How often a host may be asked for its keys. Strangers' requests decide whom we ask: we are no
means to flood anybody."""

from collections import OrderedDict, deque
from typing import Final

WITHIN: Final = 60.0  # seconds
FETCHES: Final = 10  # of one host in that time
RESERVED: Final = 2  # of them for sets that we have: whoever invents URLs cannot keep them stale


class Allowance:
    """The fetches of the last minute by host. Times are a steady clock's."""

    def __init__(self, *, fetches: int = FETCHES, reserved: int = RESERVED) -> None:
        self._times: OrderedDict[str, deque[float]] = OrderedDict()
        self._fetches = fetches
        self._open_to_all = fetches - reserved

    def __len__(self) -> int:
        return len(self._times)

    def takes(self, host: str, now: float) -> bool:
        """Whether a host may be asked for a set that was never read; it counts as asked then."""
        return self._takes(host, now, self._open_to_all)

    def takes_again(self, host: str, now: float) -> bool:
        """The same for a set that was."""
        return self._takes(host, now, self._fetches)

    def _takes(self, host: str, now: float, most: int) -> bool:
        self._forget(now)
        times = self._times.setdefault(host, deque())
        while times and times[0] <= now - WITHIN:
            times.popleft()
        if len(times) >= most:
            return False
        times.append(now)
        self._times.move_to_end(host)
        return True

    def _forget(self, now: float) -> None:
        while self._times:
            host, times = next(iter(self._times.items()))
            if times and times[-1] > now - WITHIN:
                return
            del self._times[host]
