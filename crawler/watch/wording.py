"""What the report calls things: plain words for the log's own, and figures as people read them."""

from crawler.events import Without
from crawler.watch.patterns import Sight

SIGHTS = {
    Sight.SIZE_SURE: "head too large",
    Sight.SIZE_POSSIBLE: "head perhaps too large",
    Sight.VERIFIER: "signatures not accepted",
    Sight.CHALLENGE: "a challenge",
    Sight.DIRECTORY: "sig1 alone not accepted either",
    Sight.OTHER: "refused",
    Sight.FINE: "fine",
}
ALONE = {
    Without.SETTING: "sig2 = never",
    Without.PROFILE: "by its profile",
    Without.NO_KEY: "no post-quantum key",
    Without.BUDGET: "header_limit",
    Without.CONTROL: "again after a refusal",
    Without.ROBOTS_CONTROL: "again after a doubtful robots.txt",
}


def size(count: float) -> str:
    """Bytes as people read them, in powers of a thousand."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 999.5:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def span(seconds: float) -> str:
    """A duration as people read it."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    for limit, length, unit in ((60, 1, "s"), (3600, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds / 86400:,.3g} d"


def share(part: float, whole: float) -> str:
    """A part in percent; of nothing, none."""
    return f"{part / whole:.0%}" if whole else "0%"


def times(count: int, unit: str) -> str:
    """How many there are of what `unit` names, which takes an s."""
    return f"{count:,} {unit}{'s' * (count != 1)}"
