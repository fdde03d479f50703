"""What each verifier is expected to say of each request, and README's table of it.

    python tests/interop/matrix.py [README.md]

writes the table between README's markers. The cells stand in matrix.json, written down by hand;
test_matrix.py measures each of them.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct, json

FILE: Final = Path(__file__).with_name("matrix.json")
ACCEPTED: Final = "accepted"
BEGIN: Final = "<!-- verifiers -->"
END: Final = "<!-- /verifiers -->"


class Verifier(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to call one package.

    `knows` are the forms that it was written for, `cells` has, for each form and arrangement,
    "accepted" or a key of the matrix's reasons.
    """

    id: str
    registry: str
    package: str
    version: str
    call: str
    knows: list[str]
    cells: dict[str, dict[str, str]]
    judges: str = "signatures"  # or "form", without looking at a key


class Matrix(Struct, frozen=True, forbid_unknown_fields=True):
    """All expected cells.

    `arrangements` are the rows, `forms` the profiles of each form of Signature-Agent, `reasons`
    what a package says when it refuses.
    """

    arrangements: dict[str, str]
    forms: dict[str, list[str]]
    reasons: dict[str, str]
    verifiers: list[Verifier]

    def expected(self, verifier: Verifier, profile: str, arrangement: str) -> str:
        """ACCEPTED, or the words of the refusal."""
        (form,) = (form for form, profiles in self.forms.items() if profile in profiles)
        cell = verifier.cells[form][arrangement]
        return cell if cell == ACCEPTED else self.reasons[cell]


def load() -> Matrix:
    """The matrix as it is written down."""
    return json.decode(FILE.read_bytes(), type=Matrix)


def table(matrix: Matrix) -> str:
    """The matrix in Markdown, a line for each verifier and form, and then the refusals' words."""
    numbers: dict[str, int] = {}
    lines = [
        _row("verifier", "called with", "`Signature-Agent`", *matrix.arrangements.values()),
        _row(*["---"] * (3 + len(matrix.arrangements))),
    ]
    for verifier in matrix.verifiers:
        for form, cells in _forms(verifier):
            told = [_cell(cells[one], numbers) for one in matrix.arrangements]
            name = f"{verifier.registry} `{verifier.package}` {verifier.version}"
            lines.append(_row(name, verifier.call, form, *told))
    lines += ["", "What they say:", ""]
    lines += [f"{number}. {matrix.reasons[reason]}" for reason, number in numbers.items()]
    return "\n".join(lines)


def refreshed(readme: str, matrix: Matrix) -> str:
    """README with the table as it is now. ValueError where it lacks a marker."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"there is no {BEGIN} … {END}")
    return f"{before}{begin}\n{table(matrix)}\n{end}{after}"


def _forms(verifier: Verifier) -> Iterator[tuple[str, dict[str, str]]]:
    cells = list(verifier.cells.values())
    if all(one == cells[0] for one in cells):
        yield "either form", cells[0]
    else:
        yield from verifier.cells.items()


def _cell(cell: str, numbers: dict[str, int]) -> str:
    return "yes" if cell == ACCEPTED else f"no ({numbers.setdefault(cell, len(numbers) + 1)})"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    readme = Path(sys.argv[1] if len(sys.argv) > 1 else "README.md")
    readme.write_text(refreshed(readme.read_text(encoding="utf-8"), load()), encoding="utf-8")
