"""The example configuration that comes with the project, wherever it was installed."""

from importlib import metadata
from pathlib import Path
from typing import Final

CONFIG: Final = ("crawler.toml", "origins.toml")
GATE: Final = ("gate.toml", "gate-nginx.conf", "gate-nginx-location.conf")


def text(name: str) -> str:
    """The text of a shipped file, one of CONFIG or GATE.

    A source tree (an editable installation too) has it in config/. pip put a copy into the data
    folder otherwise, and the installation's own record says where that is: sysconfig would not know
    it for --user and --prefix. FileNotFoundError where the file did not come along.
    """
    root = Path(__file__).resolve().parents[1]
    if (root / "pyproject.toml").is_file():
        return (root / "config" / name).read_text(encoding="utf-8")
    for file in metadata.files("callingcard") or ():
        path = Path(str(file.locate()))
        if file.parts[-3:] == ("share", "callingcard", name) and path.is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(f"{name}: did not come with this installation; install it with pip")
