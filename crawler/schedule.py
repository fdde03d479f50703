"""Which origins a refresh is about, and when each is due."""

from collections.abc import Sequence
from datetime import UTC, datetime

from crawler import configuration
from crawler.polite.frontier import Refresh
from crawler.problems import OriginUnknown
from crawler.settings import Origin, Settings


def selected(settings: Settings, names: Sequence[str]) -> tuple[Origin, ...]:
    """The origins of these names, all of them without a name. Raises OriginUnknown."""
    known = {origin.name: origin for origin in settings.origins}
    for name in names:
        if name not in known:
            raise OriginUnknown(name, known)
    return tuple(known[name] for name in dict.fromkeys(names)) or settings.origins


def rhythm(origin: Origin) -> str:
    """How often an origin is due, as its settings say it; nothing where each run asks."""
    if origin.every is not None:
        return f"every {configuration.written(origin.every)}"
    return "" if origin.schedule is None else f"schedule {origin.schedule!r}"


def due(origin: Origin, refresh: Refresh | None, now: float) -> float:
    """When an origin's next refresh is due, in seconds since 1970; `now` or earlier means now.

    A refresh that was cut off is due at once. Without `schedule` and `every`, so is each run.
    """
    if refresh is None or not refresh.finished:
        return now
    if origin.every is not None:
        return refresh.started + origin.every
    if origin.schedule is not None:
        from cronsim import CronSim

        last = datetime.fromtimestamp(refresh.started, UTC)
        return next(CronSim(origin.schedule, last)).timestamp()
    return now
