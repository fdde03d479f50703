"""The example configuration is found wherever the project was installed."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from crawler import shipped

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", [*shipped.CONFIG, *shipped.GATE])
def test_a_source_tree_offers_the_files_in_config(name: str) -> None:
    assert shipped.text(name) == (ROOT / "config" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*shipped.CONFIG, "gate.toml"])
def test_a_shipped_file_is_toml(name: str) -> None:
    assert tomllib.loads(shipped.text(name))


def test_pip_installs_every_file_that_is_offered() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packed = project["tool"]["setuptools"]["data-files"]["share/callingcard"]

    assert set(packed) == {f"config/{name}" for name in (*shipped.CONFIG, *shipped.GATE)}


def _ask(site: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Ask an installation in `site`, without sight of this source tree."""
    code = f"from crawler import shipped; print(shipped.text({name!r}), end='')"
    return subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=site,
        env={"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site-packages folder as pip leaves it, its data files two folders up."""
    site = tmp_path / "lib" / "site-packages"
    (site / "crawler").mkdir(parents=True)
    (site / "crawler" / "__init__.py").touch()
    shutil.copy(shipped.__file__, site / "crawler" / "shipped.py")
    record = site / "callingcard-0.1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: callingcard\nVersion: 0.1.0\n")
    (record / "RECORD").write_text("../../share/callingcard/crawler.toml,,\ncrawler/shipped.py,,\n")
    data = tmp_path / "share" / "callingcard"
    data.mkdir(parents=True)
    (data / "crawler.toml").write_text("[bot]\n# copied\n", encoding="utf-8")
    return site


def test_an_installation_offers_what_pip_copied(site: Path) -> None:
    answer = _ask(site, "crawler.toml")

    assert answer.stdout == "[bot]\n# copied\n", answer.stderr


def test_a_file_that_did_not_come_along_is_named(site: Path) -> None:
    answer = _ask(site, "origins.toml")

    assert answer.returncode != 0
    assert "FileNotFoundError: origins.toml: did not come with this installation" in answer.stderr
