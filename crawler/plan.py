"""What a refresh would ask and when, and whether one URL may be asked. Nothing is sent.

The same decisions as in a crawl, taken in advance: the robots copy that is known, the pace that is
owed, the pages that are due. What only the site can say (a robots.txt that is not known yet, how
long its answers take) is said to be open.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from crawler.events import Kind, Why, Without
from crawler.fetch.middleware import Foreseen
from crawler.polite import address, freshness, pace, target
from crawler.polite.frontier import FetchTask, Opened, Page, RobotsCopy, Supply
from crawler.settings import Origin
from crawler.watch import moments
from crawler.watch.layout import Listing

_WIDEST = 60  # characters of a URL that the others are aligned with
_NO_SECOND = "sig2 does not fit into header_limit"
_NOT_EVEN_FIRST = "not even sig1 fits into header_limit"


class Planned(Struct, frozen=True, kw_only=True):
    """One URL: when it would be asked with which signatures, or why it would not.

    `at` is in seconds since 1970, at the earliest; None where the URL would not be asked.
    `without` says why sig2 would not go with it, `header_bytes` is the size of the signed head.
    """

    origin: str
    url: str
    at: float | None = None
    labels: tuple[str, ...] = ()
    why: Why | None = None
    detail: str = ""
    without: Without | None = None
    header_bytes: int = 0


class Known(Struct, frozen=True, kw_only=True):
    """What is known of an origin when a refresh is planned."""

    origin: Origin
    opened: Opened
    supply: Supply
    owed: pace.Pace
    robots: str  # the URL of its robots.txt
    foresee: Callable[[FetchTask], Foreseen]  # what a request would carry
    resting: tuple[Page, ...] = ()  # pages that are known and not due
    rhythm: str = ""  # how often it is due; nothing where each run asks
    turn: float = 0.0  # when its next refresh is due

    @property
    def barred(self) -> str | None:
        """Why nothing can be asked of it, where its URL names an address that is not admitted."""
        home = target.sendable(self.origin.url)
        assert isinstance(home, target.Target)  # noqa: S101 - the configuration was checked
        return address.barred(home, admitted=self.origin.allow_private)

    @property
    def copy(self) -> RobotsCopy | None:
        """The copy of its robots.txt, where it is not one of where the origin was before."""
        copy = self.opened.copy
        return copy if copy is not None and copy.url == self.robots else None

    def carried(self, page: Page, now: float) -> Foreseen:
        """What the request for a page would carry, validators among it as in the crawl."""
        full = freshness.full_fetch_due(page.full_at, now, self.origin.politeness)
        return self.foresee(
            FetchTask(
                origin=self.origin.name,
                url=page.url,
                etag=None if full else page.etag,
                last_modified=None if full else page.last_modified,
            )
        )

    def robots_carried(self) -> Foreseen:
        """What the request for its robots.txt would carry."""
        copy = self.copy if self.copy is not None and self.copy.rules is not None else None
        return self.foresee(
            FetchTask(
                origin=self.origin.name,
                url=self.robots,
                kind=Kind.ROBOTS,
                etag=copy.etag if copy is not None else None,
                last_modified=copy.last_modified if copy is not None else None,
            )
        )


def planned(known: Known, now: float) -> tuple[Planned, ...]:
    """The requests of an origin's refresh, in their order, robots.txt among them."""
    origin, politeness = known.origin, known.origin.politeness
    if known.barred is not None:
        return (_not(origin, None, known.barred),)
    if not known.supply.pages:
        refused = tuple(_refused(known, now))
        if refused and len(refused) == len(known.resting):
            return refused
        return (_not(origin, Why.FRESH, _from(known.supply.next_due, "no page is due")), *refused)
    left = origin.pages - known.opened.refresh.asked
    if left <= 0:
        return (_not(origin, Why.PAGE_LIMIT, _spent(origin)),)
    decision = pace.decide(known.owed, target.origin_key(origin.url), now, politeness)
    if isinstance(decision, pace.Stop):
        detail = _from(decision.until, decision.detail or "not now")
        return (_not(origin, decision.why, detail),)
    at = decision.until if isinstance(decision, pace.Wait) else now
    copy = known.copy
    rules = copy.rules if copy is not None else None
    crawl_delay = rules.crawl_delay if rules is not None else None
    if crawl_delay is not None and crawl_delay > politeness.max_crawl_delay:
        detail = f"robots.txt asks for {crawl_delay:g} s between requests"
        return (_not(origin, Why.CRAWL_DELAY, detail),)
    delay = max(politeness.min_delay, crawl_delay or 0.0)
    found: list[Planned] = []
    if copy is None or now >= copy.until:
        carried = known.robots_carried()
        if not carried.labels:
            return (_not(origin, Why.ROBOTS_UNREACHABLE, _NOT_EVEN_FIRST, known.robots),)
        detail = "its copy is old" if copy else "not known yet; it decides the rest"
        found.append(_asked(known, known.robots, at, detail, carried))
        at += delay
    home = f"{target.origin_key(origin.url)}/"
    for page in known.supply.pages:
        if left == 0:
            found.append(_not(origin, Why.PAGE_LIMIT, _spent(origin), page.url))
            break
        if not page.url.startswith(home):
            detail = f"{origin.name} is now at {home}"
            found.append(_not(origin, Why.ELSEWHERE, detail, page.url))
            continue
        ruling = rules.ruling(page.url) if rules is not None else None
        if ruling is not None and not ruling.allowed:
            found.append(_not(origin, Why.ROBOTS, ruling.explain(known.robots), page.url))
            continue
        carried = known.carried(page, now)
        if not carried.labels:
            found.append(_not(origin, Why.UNSENDABLE, _NOT_EVEN_FIRST, page.url))
            continue
        full = freshness.full_fetch_due(page.full_at, now, politeness)
        conditional = not full and (page.etag or page.last_modified)
        found.append(_asked(known, page.url, at, "conditional" if conditional else "", carried))
        at += delay
        left -= 1
    return (*found, *_refused(known, now))


def _refused(known: Known, now: float) -> Iterator[Planned]:
    """The pages that are not due because the copy in force refused them: not asked, due or not."""
    copy = known.copy
    if copy is None or copy.rules is None or now >= copy.until:
        return
    home = f"{target.origin_key(known.origin.url)}/"
    for page in known.resting:
        ruling = copy.rules.ruling(page.url)
        if page.url.startswith(home) and not ruling.allowed:
            yield _not(known.origin, Why.ROBOTS, ruling.explain(known.robots), page.url)


def listing(found: Sequence[Planned]) -> tuple[Listing, ...]:
    """What people read of it: a listing for each origin, moments to the second."""
    rows: dict[str, list[tuple[str, str, str, str]]] = {}
    for one in found:
        if one.at is not None:
            when, detail = moments.to_the_second(one.at), one.detail
        else:
            when, detail = "not asked", ": ".join(filter(None, (one.why, one.detail)))
        rows.setdefault(one.origin, []).append((when, "+".join(one.labels), one.url, detail))
    every = [row for of_origin in rows.values() for row in of_origin]
    widths = [max(len(row[column]) for row in every) for column in (0, 1)] if every else []
    return tuple(
        Listing(
            title=name,
            lines=tuple(_aligned(row, (*widths, _width(of_origin))) for row in of_origin),
        )
        for name, of_origin in rows.items()
    )


def _width(rows: Sequence[tuple[str, str, str, str]]) -> int:
    """How wide the column of URLs is; a few long ones do not push the rest apart."""
    return max((len(row[2]) for row in rows if len(row[2]) <= _WIDEST), default=0)


def _aligned(row: tuple[str, str, str, str], widths: Sequence[int]) -> str:
    cells = (cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True))
    return "  ".join(cells).rstrip()


def _asked(known: Known, url: str, at: float, detail: str, carried: Foreseen) -> Planned:
    tight = _NO_SECOND if carried.without is Without.BUDGET else ""
    return Planned(
        origin=known.origin.name,
        url=url,
        at=at,
        labels=carried.labels,
        detail="; ".join(filter(None, (detail, tight))),
        without=carried.without,
        header_bytes=carried.size,
    )


def _not(origin: Origin, why: Why | None, detail: str, url: str | None = None) -> Planned:
    return Planned(origin=origin.name, url=url or origin.url, why=why, detail=detail)


def _spent(origin: Origin) -> str:
    return f"a refresh asks for {origin.pages} pages; the rest waits for the next one"


class Asked(Struct, frozen=True, kw_only=True):
    """When a known page was asked last and is due again; None where it never was."""

    at: float | None
    due: float | None
    status: int | None
    page: Page | None = None  # what its last answer left, for the next question


class Explained(Struct, frozen=True, kw_only=True):
    """Whether a URL may be asked now: what stands in its way, and what each that has a say says."""

    url: str
    obstacles: tuple[str, ...]  # none: it may be asked
    words: dict[str, str] = {}

    def lines(self) -> tuple[str, ...]:
        """What people read of it: a sentence, then a line for each that has a say."""
        no = f"no: {'; '.join(self.obstacles)}"
        said = no if self.obstacles else "yes, it may be asked"
        return (f"{self.url}: {said}", *(f"{who}: {word}" for who, word in self.words.items()))


def explained(known: Known, url: str, asked: Asked | None, now: float) -> Explained:
    """Whether and why a URL may be asked now, on whose word.

    `asked` is None for a page that no start list and no link has named.
    """
    origin, copy = known.origin, known.copy
    obstacles: list[str] = []
    words = {"origin": f"{origin.name}, {origin.url}"}
    later: list[str] = []  # what `--all` passes over
    if known.rhythm:
        turn = f"not before {moments.written(known.turn)}" if known.turn > now else "due now"
        words["turn"] = f"{known.rhythm}; {turn}"
        if known.turn > now:
            later.append(f"its origin's turn is {turn}")
    if known.barred is not None:
        words["address"] = known.barred
        obstacles.append("its address is not asked")
    if copy is None or copy.rules is None:
        words["robots"] = f"{known.robots} is not known yet; it is asked first and decides"
    else:
        ruling = copy.rules.ruling(url)
        age = "" if now < copy.until else ", and that copy is too old: it is asked again first"
        since = f"as of {moments.written(copy.at)}{age}"
        words["robots"] = f"{ruling.explain(known.robots)} ({since})"
        if not ruling.allowed:
            obstacles.append("robots.txt refuses it")
        delay = copy.rules.crawl_delay
        if delay is not None and delay > origin.politeness.max_crawl_delay:
            obstacles.append(f"robots.txt asks for {delay:g} s between requests")
    match pace.decide(known.owed, target.origin_key(origin.url), now, origin.politeness):
        case pace.Go():
            words["pace"] = "a request may leave now"
        case pace.Wait(until=until, why=why):
            words["pace"] = f"in {until - now:.1f} s ({why})"
        case pace.Stop(until=until, why=why, detail=detail):
            words["pace"] = _from(until, " ".join(filter(None, (why, detail))))
            obstacles.append(f"{why} until {moments.written(until)}")
    if (copy is None or now >= copy.until) and not known.robots_carried().labels:
        obstacles.append(f"robots.txt cannot be asked: {_NOT_EVEN_FIRST}")
    page = asked.page if asked is not None else None
    carried = known.carried(page or Page(origin=origin.name, url=url), now)
    if carried.labels:
        tight = f"; {_NO_SECOND}" if carried.without is Without.BUDGET else ""
        signatures = f"{' and '.join(carried.labels)}{tight}"
    else:
        signatures = f"none: {_NOT_EVEN_FIRST}"
        obstacles.append(_NOT_EVEN_FIRST)
    if asked is None:
        words["page"] = "not known; no start list and no link names it, so no refresh asks for it"
        obstacles.append("no refresh asks for it")
    elif asked.at is None or asked.due is None:
        words["page"] = "never asked, due now"
    else:
        seen, due = moments.written(asked.at), moments.written(asked.due)
        if copy is not None and copy.rules is not None and not copy.rules.ruling(url).allowed:
            last, rest = "not asked", f"looked at again {due}"
        elif asked.status is None:  # it failed, or robots.txt refused it then
            last, rest = f"no answer as of {seen}", f"put off until {due}"
        else:
            last, rest = f"asked {seen}, answered {asked.status}", f"fresh until {due}"
        if asked.due > now:
            words["page"] = f"{last}; {rest}"
            later.append(rest)
        else:
            words["page"] = f"{last}; due since {due}"
    words["signatures"] = signatures
    if later and not obstacles:
        obstacles.append(f"{'; '.join(later)}; --all asks all the same")
    return Explained(url=url, obstacles=tuple(obstacles), words=words)


def _from(until: float | None, text: str) -> str:
    return text if until is None else f"{text}, not before {moments.written(until)}"
