"""What is read from the state database, above all which pages a claim gets, and in which order."""

import random
from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from crawler.fetch import schema
from crawler.fetch.errors import StateDamaged
from crawler.fetch.view import View
from crawler.polite.frontier import Claim, Supply


class Row(Struct, frozen=True):
    """A page of the first origin; `due` and `seen` are None where it was never asked."""

    depth: int
    due: float | None
    seen: float | None


def rows_of(pages: Iterable[tuple[int, tuple[float, float] | None]]) -> list[Row]:
    return [Row(depth, *(asked or (None, None))) for depth, asked in pages]


def filled(path: Path, rows: list[Row]) -> View:
    schema.create(path)
    database = schema.filling(path)
    database.execute("BEGIN")
    database.executemany("INSERT INTO origins (id, name) VALUES (?, ?)", [(1, "one"), (2, "two")])
    database.executemany(
        "INSERT INTO pages (origin, key, depth, due, seen) VALUES (?, ?, ?, ?, ?)",
        [
            (origin, f"https://{origin}.example/{number}", row.depth, row.due, row.seen)
            for number, row in enumerate(rows)
            for origin in (1, 2)
        ],
    )
    database.execute("COMMIT")
    database.close()
    return View(path)


def naive(rows: list[Row], claim: Claim) -> tuple[tuple[int, ...], float | None]:
    """The contract of Frontier.claim, word by word: which pages, and when the next one is due."""
    within = [(number, row) for number, row in enumerate(rows) if row.depth <= claim.depth]
    unasked = sorted((row.depth, number) for number, row in within if row.due is None)
    due = sorted(
        (row.due, row.seen, row.depth, number)
        for number, row in within
        if row.due is not None
        and row.seen is not None
        and row.due <= claim.due
        and row.seen < claim.started
    )
    order = [number for _, number in unasked] + [number for *_, number in due]
    later = [row.due for _, row in within if row.due is not None and row.due > claim.due]
    return tuple(order[: claim.limit]), min(later, default=None)


def numbers(supply: Supply) -> tuple[int, ...]:
    return tuple(int(page.url.rpartition("/")[2]) for page in supply.pages)


moments = st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0])
pages = st.lists(
    st.tuples(st.integers(0, 3), st.one_of(st.none(), st.tuples(moments, moments))), max_size=30
)


@given(
    pages=pages,
    started=moments,
    due=st.one_of(moments, st.just(inf)),
    depth=st.integers(0, 3),
    limit=st.integers(1, 12),
)
def test_a_claim_gets_what_the_contract_says(
    tmp_path_factory: pytest.TempPathFactory,
    pages: list[tuple[int, tuple[float, float] | None]],
    started: float,
    due: float,
    depth: int,
    limit: int,
) -> None:
    rows = rows_of(pages)
    view = filled(tmp_path_factory.mktemp("state") / "state.db", rows)
    claim = Claim(origin="one", started=started, due=due, depth=depth, limit=limit)

    supply, places = view.claim(claim)
    view.close()
    assert (numbers(supply), supply.next_due) == naive(rows, claim)
    assert {page.origin for page in supply.pages} <= {"one"}
    assert [places[page.url] for page in supply.pages] == [1 + 2 * n for n in numbers(supply)]


CLAIMS: dict[str, Callable[[float], Claim]] = {
    "what is due": lambda now: Claim(origin="one", started=now, due=now, depth=2, limit=1_000),
    "everything": lambda now: Claim(origin="one", started=now, due=inf, depth=3, limit=90_000),
    "start pages": lambda now: Claim(origin="one", started=now, due=now, depth=0, limit=64),
}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Row], View]:
    """A hundred thousand pages of an origin."""
    dice = random.Random(4)
    rows = [
        Row(dice.randrange(5), *((None, None) if dice.random() < 0.1 else (dice.random(), 0.1)))
        for _ in range(100_000)
    ]
    return rows, filled(tmp_path_factory.mktemp("crowd") / "state.db", rows)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_among_a_hundred_thousand_pages_the_order_is_the_same(
    crowd: tuple[list[Row], View], claim: Callable[[float], Claim]
) -> None:
    rows, view = crowd
    asked = claim(0.5)

    supply, _ = view.claim(asked)
    assert (numbers(supply), supply.next_due) == naive(rows, asked)


def test_nothing_is_known_of_what_was_never_heard_of(tmp_path: Path) -> None:
    view = filled(tmp_path / "state.db", [])

    assert view.claim(Claim(origin="x", started=1.0, due=1.0, depth=1, limit=1)) == (Supply(), {})
    nothing = [
        view.page("x", "https://x.example/"),
        view.page("one", "https://x.example/"),
        view.settings("x"),
        view.settings("one"),
        view.refresh("x"),
        view.refresh("one"),
        view.scope("x"),
        view.evidence("x"),
        view.copy("https://x.example/robots.txt"),
    ]
    assert nothing == [None] * len(nothing)
    assert view.pending() == {}
    view.close()


def damaged(path: Path, statement: str, *values: object) -> View:
    filled(path, []).close()
    database = schema.writing(path)
    database.execute(statement, values)
    database.close()
    return View(path)


def test_settings_of_another_version_are_as_good_as_none(tmp_path: Path) -> None:
    view = damaged(tmp_path / "state.db", "UPDATE origins SET settings = ?", b'{"name":"one"}')

    assert view.settings("one") is None
    view.close()


def test_a_pace_that_cannot_be_read_is_damage_and_the_next_start_knows(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    view = damaged(path, "INSERT INTO scopes (scope, pace) VALUES ('s', ?)", b"{}}")

    with pytest.raises(StateDamaged, match="scope s"):
        view.scope("s")

    view.close()
    assert "scope s" in (schema.damage(path) or "")
