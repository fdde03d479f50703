"""What befell the crawl itself: its runs, the keys that it signed with, and what went wrong."""

from collections import deque
from typing import assert_never

from msgspec.structs import replace

from crawler.events import (
    ClockSetBack,
    Degraded,
    Internal,
    KeyInUse,
    RunFinished,
    RunStarted,
    StateRebuilt,
)
from crawler.watch.findings import Note, Run

NOTES = 20
Trouble = Degraded | ClockSetBack | StateRebuilt | Internal
Told = RunStarted | RunFinished | KeyInUse | Trouble


class Chronicle:
    """The crawl's own story so far."""

    def __init__(self) -> None:
        self._over = False
        self.last_run: Run | None = None
        self.runs = self.ended = 0
        self.cpu = self.elapsed = 0.0  # seconds, of finished runs
        self.keys: dict[str, str] = {}
        self.notes: deque[Note] = deque(maxlen=NOTES)
        self.news: deque[Note] = deque(maxlen=NOTES)  # since the run before the last one ended
        self.noted: dict[str, int] = {}

    def add(self, event: Told) -> None:
        """Count what happened, and remember what holds from here on."""
        self.recall(event)
        match event:
            case RunStarted():
                self.runs += 1
            case RunFinished():
                self.ended += 1
                self.cpu += event.cpu
                self.elapsed += event.elapsed
            case Degraded() | ClockSetBack() | StateRebuilt() | Internal():
                note = _note(event)
                self.noted[note.event] = self.noted.get(note.event, 0) + 1
                self.notes.append(note)
            case KeyInUse():
                pass
            case _:
                assert_never(event)

    def recall(self, event: Told) -> None:
        """Remember what holds from here on, without counting what happened."""
        if self._over and not isinstance(event, RunFinished):  # what comes now is of a new run
            self.news.clear()
            self._over = False
        match event:
            case RunStarted():
                self.last_run = Run(run=event.run, started=event.at, ended=None)
            case RunFinished():
                self.last_run = _ended(self.last_run, event)
                self._over = True
            case KeyInUse():
                self.keys[event.label] = event.keyid
            case Degraded() | ClockSetBack() | StateRebuilt() | Internal():
                self.news.append(_note(event))
            case _:
                assert_never(event)


def _note(event: Trouble) -> Note:
    return Note(at=event.at, event=str(event.__struct_config__.tag), text=_told(event))


def _ended(run: Run | None, event: RunFinished) -> Run:
    if run is None or run.run != event.run:  # the log in which it started is not at hand
        run = Run(run=event.run, started=None, ended=None)
    return replace(
        run,
        ended=event.at,
        stopped=event.stopped,
        requests=event.requests,
        elapsed=event.elapsed,
        cpu=event.cpu,
    )


def _told(event: Trouble) -> str:
    match event:
        case Degraded():
            return f"requests carry sig1 alone: {event.reason}"
        case ClockSetBack():
            return f"the wall clock stood {event.seconds:g} s before what was already seen"
        case StateRebuilt():
            return f"{event.problem}; {event.records} records folded anew, kept as {event.kept}"
        case Internal():
            return f"our own mistake ended a lane ({event.scope}): {event.error}"
        case _:
            assert_never(event)
