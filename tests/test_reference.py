"""README's reference is what the code says."""

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from crawler import configuration, events, reference, shipped
from crawler.configuration import SettingsError

README = Path(__file__).resolve().parents[1] / "README.md"
REFRESH = "README.md is not up to date: python -m crawler.reference"


def test_readme_has_both_tables_as_the_code_tells_them() -> None:
    readme = README.read_text(encoding="utf-8")

    assert reference.refreshed(readme) == readme, REFRESH


def test_the_events_table_lists_exactly_the_union() -> None:
    listed = re.findall(r"^\| \*\*(.+?)\*\* ", reference.events_table(), re.MULTILINE)

    assert listed == [kind.__struct_config__.tag for kind in get_args(events.Event)]


def test_the_events_table_lists_each_field_with_a_meaning() -> None:
    rows = [row.split(" | ") for row in reference.events_table().splitlines()]
    fields = [row for row in rows if row[0].startswith("| `")]
    expected = [
        name
        for kind in get_args(events.Event)
        for name in kind.__struct_fields__
        if name != "at"  # README says it once
    ]

    assert [row[0].strip("| `") for row in fields] == expected
    assert all(row[-1].strip("| ") for row in fields)


def test_the_settings_table_knows_all_that_is_shipped() -> None:
    table = reference.settings_table()
    written = tomllib.loads(shipped.text("crawler.toml"))
    second = written["signatures"].pop("second")
    sections = {**written, "signatures.second": second}
    names = [f"{section}.{name}" for section, values in sections.items() for name in values]

    assert [name for name in names if f"| `{name}` |" not in table] == []


def durations() -> list[str]:
    return re.findall(r"^\| `([\w.]+)` \| (?:list of )?duration", reference.settings_table(), re.M)


def numbers() -> list[str]:
    return re.findall(r"^\| `([\w.]+)` \| (?:whole )?number", reference.settings_table(), re.M)


def load(folder: Path, name: str, value: str) -> None:
    """Load a configuration in which one setting has that value."""
    section, _, key = name.rpartition(".")
    origin = f"\n{key} = {value}" if section == "origin" else ""
    own = "" if section == "origin" else f"\n[{section}]\n{key} = {value}\n"
    (folder / "crawler.toml").write_text(
        f'[bot]\nproduct = "ExampleBot"\nhome = "https://bot.example"\n'
        f'contact = "mailto:bot@bot.example"\n{own}'
    )
    (folder / "origins.toml").write_text(
        f'[[origin]]\nname = "example"\nurl = "https://example.com/"{origin}\n'
    )
    configuration.load(folder / "crawler.toml")


@pytest.mark.parametrize("name", durations())
def test_what_is_called_a_duration_may_be_written_with_a_unit(name: str, tmp_path: Path) -> None:
    listed = name.endswith("freeze")

    load(tmp_path, name, '["6h"]' if listed else '"6h"')


@pytest.mark.parametrize("name", numbers())
def test_what_is_called_a_number_may_not(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        load(tmp_path, name, '"6h"')


def test_a_readme_without_a_marker_is_refused() -> None:
    with pytest.raises(ValueError, match="<!-- settings -->"):
        reference.refreshed("<!-- settings -->\n")


def test_refreshing_again_changes_nothing() -> None:
    settings = "<!-- settings -->\n<!-- /settings -->"
    told = "<!-- events -->\nof yesterday\n<!-- /events -->"
    bare = f"a\n{settings}\nb\n{told}\nc\n"
    once = reference.refreshed(bare)

    assert reference.refreshed(once) == once
    assert "of yesterday" not in once
