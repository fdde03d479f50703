"""What one origin of the fleet saw of us, and what it had asked of us by then.

Everything is by the server's own clock and from the server's own files. An answer counts as ended
when its last byte is handed to the system: nobody can have it earlier, so that a gap measured from
there is never shorter than the one that the other side kept.
"""

from email.utils import parsedate_to_datetime

from msgspec import Struct
from msgspec.structs import replace

from crawler.demo.reply import Answer
from crawler.polite import robots

ROBOTS = "/robots.txt"


class Head(Struct, frozen=True, kw_only=True):
    """What a request said, and what the verifier made of it.

    `labels` are the signatures that it carries, `verified` the good ones, `algorithms` what those
    were verified by; `fault` says what is wrong with them and is empty where nothing is. `size` is
    in bytes.
    """

    method: str
    authority: str
    target: str
    labels: tuple[str, ...] = ()
    verified: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    fault: str = ""
    size: int = 0
    cookie: bool = False


class Entry(Struct, frozen=True, kw_only=True):
    """One request; times are seconds of the server's steady clock.

    `unasked` says why robots.txt, as it was served by then, does not allow it, and is empty where
    it does. `promised` is until when a Retry-After had sent us away, `crawl_delay` what robots.txt
    asks for, `setbacks` how many answers in a row before it were a 429, a 5xx or none.
    """

    head: Head
    arrived: float
    ended: float | None = None  # None while it is being answered
    previous: float | None = None  # when the answer before it ended
    overlaps: bool = False  # with one that was still being answered
    promised: float | None = None
    crawl_delay: float = 0.0
    setbacks: int = 0
    unasked: str = ""
    status: int | None = None  # None: reset before the first byte

    @property
    def gap(self) -> float | None:
        """Seconds since the end of the answer before it."""
        return None if self.previous is None else self.arrived - self.previous


class Ledger:
    """One origin's entries, in the order of arrival. Holds no clock: times come in."""

    def __init__(self, origin: str, authority: str, product: str) -> None:
        self.origin = origin
        self.authority = authority
        self.entries: list[Entry] = []
        self._product = product
        self._rules: robots.Rules | None = None
        self._open = 0
        self._ended: float | None = None
        self._promised: float | None = None
        self._setbacks = 0
        self._visits: dict[str, int] = {}
        self._turns = 0

    def arrive(self, head: Head, now: float) -> int:
        """Write down a request whose head is complete; its number."""
        self._visits[head.target] = self.visits(head.target) + 1
        self._turns += head.target != ROBOTS
        rules = self._rules
        self.entries.append(
            Entry(
                head=head,
                arrived=now,
                previous=self._ended,
                overlaps=self._open > 0,
                promised=self._promised,
                crawl_delay=(rules.crawl_delay or 0.0) if rules is not None else 0.0,
                setbacks=self._setbacks,
                unasked=self._unasked(head.target),
            )
        )
        self._open += 1
        return len(self.entries) - 1

    def visits(self, target: str) -> int:
        """How often a target was asked for."""
        return self._visits.get(target, 0)

    @property
    def turns(self) -> int:
        """How often anything but robots.txt was asked for."""
        return self._turns

    def reply(self, number: int, answer: Answer | None, now: float, wall: float) -> None:
        """Write down what is about to be sent, or that the connection is reset (None).

        `wall` is Unix time at `now`, for dates.
        """
        status = answer.status if answer is not None else None
        entry = self.entries[number]
        self.entries[number] = replace(entry, status=status)
        refused = status is None or status == 429 or status >= 500
        self._setbacks = self._setbacks + 1 if refused else 0
        if answer is None:
            return
        if (asked := answer.field("Retry-After")) is not None:
            self._promised = now + _seconds(asked, wall)
        if entry.head.target == ROBOTS:
            self._serve(answer)

    def sent(self, number: int, now: float) -> None:
        """Write down that the next bytes are handed over now; the last such moment is the end."""
        self.entries[number] = replace(self.entries[number], ended=now)
        self._ended = now

    def close(self, number: int) -> None:
        """Write down that a request is done with. Without an answer it ended when it arrived."""
        self._open -= 1
        if self.entries[number].ended is None:
            self.sent(number, self.entries[number].arrived)

    def _serve(self, answer: Answer) -> None:
        """Only these two are an answer; refusals and failures leave us where we were."""
        if answer.status == 200:
            self._rules = robots.parse(answer.body, self._product)
        elif answer.status == 404:
            self._rules = robots.everything_allowed(404)

    def _unasked(self, target: str) -> str:
        if target == ROBOTS:
            return ""
        if self._rules is None:
            return "no robots.txt was answered before"
        ruling = self._rules.ruling(target)
        return "" if ruling.allowed else ruling.explain(f"http://{self.authority}{ROBOTS}")


def _seconds(asked: str, wall: float) -> float:
    return float(asked) if asked.isdigit() else parsedate_to_datetime(asked).timestamp() - wall
