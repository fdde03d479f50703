"""What is in force for an origin as the log ends: settings, a hold, and whether sig2 goes there."""

from crawler.events import Deferred, FetchRecord, OriginSettings, Standing, Why, Without
from crawler.settings import Second
from crawler.watch.findings import Hold, Verdict, VerdictState

_CONTROLS = frozenset((Without.CONTROL, Without.ROBOTS_CONTROL))
_ALONE = {
    Without.SETTING: "the setting was sig2 = never",
    Without.PROFILE: "its profile sends no second signature",
    Without.NO_KEY: "the post-quantum key could not be used",
    Without.BUDGET: "sig2 did not fit into header_limit",
}


class Situation:
    """The latest events of one origin that speak of more than one request."""

    __slots__ = ("_deferred", "_settings", "_standing", "last", "telling")

    def __init__(self) -> None:
        self.last: FetchRecord | None = None  # that left
        self.telling: FetchRecord | None = None  # the last that was to carry what it could
        self._settings: OriginSettings | None = None
        self._standing: Standing | None = None
        self._deferred: Deferred | None = None

    def ask(self, record: FetchRecord) -> None:
        """Take note of a request."""
        if record.left:
            self.last = record
            if record.without is None or record.without not in _CONTROLS:
                self.telling = record

    def set(self, event: OriginSettings) -> None:
        """Take over what is in force from here on."""
        self._settings = event

    def stand(self, event: Standing) -> None:
        """Take over whether the origin is frozen or parked."""
        self._standing = event

    def defer(self, event: Deferred) -> None:
        """Take over why the origin's turn ended."""
        self._deferred = event

    @property
    def url(self) -> str | None:
        """The origin's URL, where the log shows its settings."""
        return None if self._settings is None else self._settings.url

    def hold(self) -> Hold | None:
        """Frozen or parked; else what ended the last turn, unless a request came after it."""
        standing, deferred = self._standing, self._deferred
        if standing is not None and standing.why is not None:
            return _hold(standing, standing.why)
        if deferred is None or (self.last is not None and self.last.at > deferred.at):
            return None
        return _hold(deferred, deferred.why)

    def verdict(self) -> Verdict:
        """What decides about sig2 now: a setting, or nothing, and then what was sent last."""
        setting = None if self._settings is None else self._settings.sig2
        if setting is Second.NEVER or setting is Second.ALWAYS:
            return Verdict(state=VerdictState.PINNED, reason=f"sig2 = {setting}")
        last = self.telling
        if last is None:
            reason = "nothing was asked"
        elif len(last.labels) > 1:
            reason = "both labels are sent"
        elif last.without in _ALONE:
            reason = f"sig1 went alone last: {_ALONE[last.without]}"
        else:
            reason = "sig1 went alone last"
        return Verdict(state=VerdictState.SENDING, reason=reason)


def _hold(event: Standing | Deferred, why: Why) -> Hold:
    return Hold(why=why, since=event.at, until=event.until, detail=event.detail)
