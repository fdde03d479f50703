"""What a refresh would ask and when, and whether one URL may be asked. Nothing is sent.

The same decisions as in a crawl, taken in advance: the robots copy that is known, the pace that is
owed, the pages that are due. What only the site can say (a robots.txt that is not known yet, how
long its answers take) is said to be open.
"""

from msgspec import Struct

from crawler.events import Why
from crawler.polite import pace
from crawler.polite.frontier import Opened, Supply
from crawler.settings import Origin
from crawler.watch import moments


class Planned(Struct, frozen=True, kw_only=True):
    """One URL: when it would be asked with which signatures, or why it would not.

    `at` is in seconds since 1970, at the earliest; None where the URL would not be asked.
    """

    origin: str
    url: str
    at: float | None = None
    labels: tuple[str, ...] = ()
    why: Why | None = None
    detail: str = ""


class Known(Struct, frozen=True, kw_only=True):
    """What is known of an origin when a refresh is planned."""

    origin: Origin
    opened: Opened
    supply: Supply
    owed: pace.Pace
    robots: str  # the URL of its robots.txt
    labels: tuple[str, ...]  # the signatures that a request would carry


def planned(known: Known, now: float) -> tuple[Planned, ...]:
    """The requests of an origin's refresh, in their order, robots.txt among them."""
    origin, politeness = known.origin, known.origin.politeness
    pages = known.supply.pages[: max(0, origin.pages - known.opened.refresh.asked)]
    if not pages:
        return (
            Planned(
                origin=origin.name,
                url=origin.url,
                why=Why.FRESH,
                detail=_from(known.supply.next_due, "no page is due"),
            ),
        )
    decision = pace.decide(known.owed, origin.name, now, politeness)
    if isinstance(decision, pace.Stop):
        detail = _from(decision.until, decision.detail or "not now")
        return (Planned(origin=origin.name, url=origin.url, why=decision.why, detail=detail),)
    at = decision.until if isinstance(decision, pace.Wait) else now
    found: list[Planned] = []
    copy = known.opened.copy
    rules = copy.rules if copy is not None else None
    in_force = copy is not None and now < copy.until
    crawl_delay = rules.crawl_delay if rules is not None else None
    if crawl_delay is not None and crawl_delay > politeness.max_crawl_delay:
        detail = f"robots.txt asks for {crawl_delay:g} s between requests"
        return (Planned(origin=origin.name, url=origin.url, why=Why.CRAWL_DELAY, detail=detail),)
    delay = max(politeness.min_delay, crawl_delay or 0.0)
    if not in_force:
        found.append(
            Planned(
                origin=origin.name,
                url=known.robots,
                at=at,
                labels=known.labels,
                detail="its copy is old" if copy else "not known yet; it decides the rest",
            )
        )
        at += delay
    for page in pages:
        ruling = rules.ruling(page.url) if rules is not None else None
        if ruling is not None and not ruling.allowed:
            found.append(
                Planned(
                    origin=origin.name,
                    url=page.url,
                    why=Why.ROBOTS,
                    detail=ruling.explain(known.robots),
                )
            )
            continue
        conditional = "conditional" if page.etag or page.last_modified else ""
        found.append(
            Planned(
                origin=origin.name, url=page.url, at=at, labels=known.labels, detail=conditional
            )
        )
        at += delay
    return tuple(found)


class Asked(Struct, frozen=True, kw_only=True):
    """When a known page was asked last and is due again; None where it never was."""

    at: float | None
    due: float | None
    status: int | None


def explained(known: Known, url: str, asked: Asked | None, now: float) -> tuple[str, ...]:
    """Whether and why a URL may be asked now: a sentence, then a line for each that has a say.

    `asked` is None for a page that no start list and no link has named.
    """
    origin, copy = known.origin, known.opened.copy
    obstacles: list[str] = []
    lines = [f"origin: {origin.name}, {origin.url}"]
    if copy is None or copy.rules is None:
        lines.append(f"robots: {known.robots} is not known yet; it is asked first and decides")
    else:
        ruling = copy.rules.ruling(url)
        age = "" if now < copy.until else ", and that copy is too old: it is asked again first"
        lines.append(
            f"robots: {ruling.explain(known.robots)} (as of {moments.written(copy.at)}{age})"
        )
        if not ruling.allowed:
            obstacles.append("robots.txt refuses it")
        delay = copy.rules.crawl_delay
        if delay is not None and delay > origin.politeness.max_crawl_delay:
            obstacles.append(f"robots.txt asks for {delay:g} s between requests")
    match pace.decide(known.owed, origin.name, now, origin.politeness):
        case pace.Go():
            lines.append("pace: a request may leave now")
        case pace.Wait(until=until, why=why):
            lines.append(f"pace: in {until - now:.1f} s ({why})")
        case pace.Stop(until=until, why=why, detail=detail):
            lines.append(f"pace: {_from(until, ' '.join(filter(None, (why, detail))))}")
            obstacles.append(f"{why} until {moments.written(until)}")
    if asked is None:
        lines.append(
            "page: not known; no start list and no link names it, so no refresh asks for it"
        )
        obstacles.append("no refresh asks for it")
    elif asked.at is None or asked.due is None:
        lines.append("page: never asked, due now")
    else:
        last = f"page: asked {moments.written(asked.at)}, answered {asked.status or 'nothing'}"
        if asked.due > now:
            lines.append(f"{last}; fresh until {moments.written(asked.due)}")
            obstacles.append(f"fresh until {moments.written(asked.due)}; --all asks all the same")
        else:
            lines.append(f"{last}; due since {moments.written(asked.due)}")
    lines.append(f"signatures: {' and '.join(known.labels)}")
    said = f"no: {'; '.join(obstacles)}" if obstacles else "yes, it may be asked"
    return (f"{url}: {said}", *lines)


def _from(until: float | None, text: str) -> str:
    return text if until is None else f"{text}, not before {moments.written(until)}"
