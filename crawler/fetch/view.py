"""What the state database says, without changing it; a crawl may be at work meanwhile."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from crawler.events import Place
from crawler.fetch import duplicates, schema
from crawler.fetch.batch import Evidence, Pending
from crawler.fetch.journal import Position
from crawler.polite.frontier import Claim, FetchTask, Page, Refresh, RobotsCopy, Supply
from crawler.polite.pace import Pace
from crawler.settings import Origin

_PAGES = (
    "SELECT id, coalesce(url, key), depth, etag, last_modified, digest, full_at, due, seen, "
    "status, place FROM pages"
)
_UNASKED = f"{_PAGES} WHERE origin = ? AND due IS NULL AND depth <= ? ORDER BY depth, id LIMIT ?"
_DUE = (
    f"{_PAGES} WHERE origin = ? AND due IS NOT NULL AND due <= ? AND seen < ? AND depth <= ? "
    "ORDER BY due, seen, depth, id LIMIT ?"
)
_NEXT_DUE = (
    "SELECT due FROM pages WHERE origin = ? AND due IS NOT NULL AND due > ? AND depth <= ? "
    "ORDER BY due LIMIT 1"
)
_ONE = f"{_PAGES} WHERE origin = ? AND key = ?"
_COPY = "SELECT answer, status, at, until, digest, etag, last_modified, good_at FROM robots"

_pace = msgspec.json.Decoder(Pace)
_task = msgspec.json.Decoder(FetchTask)
_origin = msgspec.json.Decoder(Origin)
_place = msgspec.json.Decoder(Place)


class Known(Struct, frozen=True, kw_only=True):
    """A page as it stands in the frontier: None in `due` and `seen` where it was never asked."""

    page: Page
    due: float | None
    seen: float | None
    status: int | None


class Progress(Struct, frozen=True, kw_only=True):
    """How far the log is contained in the database, and when that had to be built anew."""

    position: Position
    moment: float
    rebuilt: float | None


class View:
    """Reads from one state database; each query sees what was committed before it.

    Every method raises StateUnusable or StateDamaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = schema.reading(path)
        self._numbers: dict[str, int] = {}

    def close(self) -> None:
        self._database.close()

    def origins(self) -> dict[str, int]:
        """The number of each origin that is known, by its name."""
        return dict(self._rows("SELECT name, id FROM origins"))

    def settings(self, origin: str) -> Origin | None:
        """An origin's settings when its last refresh began, without its cookie."""
        for (found,) in self._rows("SELECT settings FROM origins WHERE name = ?", origin):
            try:
                return _origin.decode(found) if found is not None else None
            except msgspec.MsgspecError:  # of a version with other settings
                return None
        return None

    def refresh(self, origin: str) -> Refresh | None:
        """An origin's last refresh, finished or not."""
        query = "SELECT started, asked, finished FROM origins WHERE name = ?"
        for started, asked, finished in self._rows(query, origin):
            if started is not None:
                return Refresh(started=started, asked=asked, finished=bool(finished))
        return None

    def claim(self, claim: Claim) -> tuple[Supply, dict[str, int]]:
        """The pages that a claim gets, and the number of each by its URL."""
        number = self._number(claim.origin)
        if number is None:
            return Supply(), {}
        rows = self._rows(_UNASKED, number, claim.depth, claim.limit)
        if (left := claim.limit - len(rows)) > 0:
            rows += self._rows(_DUE, number, claim.due, claim.started, claim.depth, left)
        later = self._rows(_NEXT_DUE, number, claim.due, claim.depth)
        supply = Supply(
            pages=tuple(self._page(claim.origin, row) for row in rows),
            next_due=later[0][0] if later else None,
        )
        return supply, {row[1]: row[0] for row in rows}

    def page(self, origin: str, url: str) -> Known | None:
        """What is known of one page, by a sendable URL."""
        if (number := self._number(origin)) is None:
            return None
        for row in self._rows(_ONE, number, duplicates.key(url)):
            due, seen, status = row[7:10]
            return Known(page=self._page(origin, row), due=due, seen=seen, status=status)
        return None

    def copy(self, url: str) -> RobotsCopy | None:
        """The copy of a robots.txt, without its rules."""
        for row in self._rows(f"{_COPY} WHERE url = ?", url):
            answer, status, at, until, digest, etag, last_modified, good_at = row
            return RobotsCopy(
                url=url,
                answer=answer,
                status=status,
                at=at,
                until=until,
                digest=digest,
                etag=etag,
                last_modified=last_modified,
                good_at=good_at,
            )
        return None

    def evidence(self, origin: str) -> Evidence | None:
        for server, cf_ray in self._rows(
            "SELECT server, cf_ray FROM evidence WHERE origin = ?", origin
        ):
            return Evidence(server, bool(cf_ray))
        return None

    def scope(self, scope: str) -> tuple[Pace, Pending | None] | None:
        """What a scope is owed, and the promised request whose record has not come yet."""
        query = "SELECT pace, task, file, offset FROM scopes WHERE scope = ?"
        for pace, task, file, offset in self._rows(query, scope):
            try:
                pending = Pending(_task.decode(task), Position(file, offset)) if task else None
                return _pace.decode(pace), pending
            except msgspec.MsgspecError as error:
                raise schema.damaged(self._path, f"scope {scope}: {error}") from error
        return None

    def paces(self) -> dict[str, Pace]:
        """What each known scope is owed."""
        known = {scope: self.scope(scope) for (scope,) in self._rows("SELECT scope FROM scopes")}
        return {scope: row[0] for scope, row in known.items() if row is not None}

    def pending(self) -> dict[str, Pending]:
        """The promised requests whose records have not come yet, by scope."""
        waiting = self._rows("SELECT scope FROM scopes WHERE task IS NOT NULL")
        known = {scope: self.scope(scope) for (scope,) in waiting}
        return {scope: row[1] for scope, row in known.items() if row and row[1]}

    def progress(self) -> Progress:
        ((file, offset, moment, rebuilt),) = self._rows("SELECT * FROM progress")
        return Progress(position=Position(file, offset), moment=moment, rebuilt=rebuilt)

    def _number(self, origin: str) -> int | None:
        number = self._numbers.get(origin)
        if number is None:
            for (number,) in self._rows("SELECT id FROM origins WHERE name = ?", origin):
                self._numbers[origin] = number
        return number

    def _rows(self, query: str, *values: str | int | float) -> list[tuple[Any, ...]]:
        with schema.translated(self._path):
            return self._database.execute(query, values).fetchall()

    def _page(self, origin: str, row: tuple[Any, ...]) -> Page:
        _, url, depth, etag, last_modified, digest, full_at, _, _, _, place = row
        try:
            kept = None if place is None else _place.decode(place)
        except msgspec.MsgspecError as error:
            raise schema.damaged(self._path, f"page {url}: {error}") from error
        return Page(
            origin=origin,
            url=url,
            depth=depth,
            etag=etag,
            last_modified=last_modified,
            digest=digest,
            full_at=full_at,
            place=kept,
        )
