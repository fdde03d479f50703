"""What a wait was for: what the last answer in the same scope asked of us.

The log says how long a lane waited; why follows from the answer before, by the same `pace.after`
that the crawl obeyed.
"""

from crawler.events import FetchRecord, Interrupted, Outcome, Why
from crawler.polite import pace
from crawler.settings import Politeness

_NEVER_LEFT = frozenset((Outcome.NOT_SENT, Outcome.INTERNAL))
_DELAY = Why.DELAY


class Waits:
    """What each scope is owed. Only those whose last answer was no plain one are kept."""

    def __init__(self) -> None:
        self._owed: dict[str, pace.Pace] = {}

    def why(self, record: FetchRecord, politeness: Politeness) -> Why:
        """Why the lane waited before this request."""
        if not self._owed and not politeness.quiet:
            return _DELAY
        if politeness.quiet:
            moment = record.at - min(record.waited, 1.0)
            decision = pace.decide(pace.Pace(), record.origin, moment, politeness)
            if isinstance(decision, pace.Wait | pace.Stop):
                return decision.why
        owed = self._owed.get(record.scope)
        return _DELAY if owed is None else owed.why

    def learn(self, record: FetchRecord, politeness: Politeness) -> None:
        """What the answer asks of the next request."""
        status = record.status
        if (
            status is not None
            and status < 429
            and record.retry_after is None
            and record.quota_left != 0
        ):  # a plain answer: the usual delay, and setbacks are forgotten
            if record.scope in self._owed:
                del self._owed[record.scope]
        elif record.outcome not in _NEVER_LEFT:
            before = self._owed.get(record.scope, pace.Pace())
            before = pace.Pace(setbacks=before.setbacks)
            self._owed[record.scope] = pace.after(before, record, politeness)

    def cut_off(self, event: Interrupted) -> None:
        """A request that was interrupted costs its scope a full delay."""
        setbacks = self._owed.get(event.scope, pace.Pace()).setbacks
        self._owed[event.scope] = pace.Pace(setbacks=setbacks, why=Why.INTERRUPTED)
