"""What many tests ask for."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of published test vectors, which the environment variable VECTORS names."""
    folder = os.environ.get("VECTORS")
    if not folder:
        pytest.skip("no published vectors: run with VECTORS=<their folder> pytest")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"VECTORS={folder} is no folder")
    return path
