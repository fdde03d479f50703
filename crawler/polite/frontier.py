"""What is asked next, as values, and what is known of an origin's pages."""

from typing import Protocol

from msgspec import Struct

from crawler.events import Arm, FetchRecord, Kind, Place, Why
from crawler.polite.pace import Pace
from crawler.polite.robots import Rules
from crawler.settings import Origin


class Page(Struct, frozen=True, kw_only=True):
    """A URL that an origin may be asked for, and what its last answer left us with."""

    origin: str  # the configured origin's name
    url: str  # exactly as it is sent
    depth: int = 0
    etag: str | None = None
    last_modified: str | None = None
    digest: str | None = None  # sha-256 of the last decoded body
    place: Place | None = None  # where that is kept
    full_at: float | None = None  # when the body was last read in full


class FetchTask(Struct, frozen=True, kw_only=True):
    """One request to make: a retry, a control and a redirect hop are tasks of their own."""

    id: str = ""  # given when it is promised
    origin: str  # the configured origin's name
    scope: str = ""  # the pace scope that the URL's host belongs to
    url: str
    kind: Kind = Kind.PAGE
    depth: int = 0
    attempt: int = 1
    via: tuple[str, ...] = ()  # the URLs that redirected here, first one first
    arm: Arm = Arm.CONFIGURED
    control_of: str | None = None
    behalf: str | None = None  # another origin, whose robots.txt has led to this one's host
    etag: str | None = None  # validators to send
    last_modified: str | None = None
    digest: str | None = None  # of the body that we have
    place: Place | None = None  # where that is kept
    robots: str | None = None  # digest of the robots copy that allows it
    crawl_delay: float | None = None
    waited: float = 0.0
    waited_for: Why | None = None


class Fetched(Struct, frozen=True, kw_only=True):
    """What a request brought: its record, and what was found in the body."""

    record: FetchRecord
    links: tuple[str, ...] = ()  # sendable URLs, in the order of the page
    robots: Rules | None = None  # the rules, where a robots.txt was read
    doubtful: bool = False  # it looks like an answer to our signatures, not to the question


class RobotsCopy(Struct, frozen=True, kw_only=True):
    """The copy of one robots.txt that is in force, and the last one that was good."""

    url: str
    answer: str  # robots.Answer's value
    status: int | None = None
    at: float = 0.0
    until: float = 0.0  # asked again from then on
    digest: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    rules: Rules | None = None
    good_at: float | None = None  # when `digest` was last confirmed


class Refresh(Struct, frozen=True, kw_only=True):
    """How far an origin's refresh has come; it outlives the process."""

    started: float
    asked: int = 0  # requests for pages that were promised in it
    finished: bool = False


class Opened(Struct, frozen=True, kw_only=True):
    """What is known of an origin when its turn comes."""

    refresh: Refresh
    copy: RobotsCopy | None = None


class Claim(Struct, frozen=True, kw_only=True):
    """Which pages an origin's refresh wants next."""

    origin: str
    started: float  # pages looked at since then are not offered again
    due: float  # only pages due until then; infinity asks for all
    depth: int  # and no deeper ones
    limit: int


class Supply(Struct, frozen=True, kw_only=True):
    """The pages claimed, and when the next one is due that was not."""

    pages: tuple[Page, ...] = ()
    next_due: float | None = None


class Lesson(Struct, frozen=True, kw_only=True):
    """What one answer changes in what is known.

    `due` is when the page may be asked again; None leaves the page as it is, so that a crawl that
    dies before its retry asks for it anew.
    """

    fetched: Fetched
    due: float | None = None
    found: tuple[Page, ...] = ()
    copy: RobotsCopy | None = None


class Promise(Struct, frozen=True, kw_only=True):
    """What is on disk before a request leaves."""

    task: FetchTask
    pace: Pace
    refresh: Refresh | None = None  # None for a robots.txt, which no page limit counts


class Frontier(Protocol):
    """What is known of origins, their pages and their robots.txt, kept across runs."""

    async def open(self, origin: Origin, now: float) -> Opened:
        """Begin a refresh or take up the unfinished one; the start pages are known from here on."""

    async def claim(self, claim: Claim) -> Supply:
        """The next due pages: never asked ones first, then the longest due."""

    def keep(self, lesson: Lesson, pace: Pace) -> None:
        """Remember what an answer taught, and the scope's pace after it.

        On disk no later than the scope's next promise; until then the log has it.
        """

    def postpone(self, origin: str, url: str, until: float, now: float) -> None:
        """Do not offer a page before then (robots.txt refuses it, or it cannot be sent)."""

    def finish(self, origin: str, refresh: Refresh) -> None:
        """Note how a refresh stands at the end of its turn."""
