"""What many tests ask for."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine, and the tables that a fresh checkout has to build first, are no failures.
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of published test vectors, which the environment variable VECTORS names."""
    folder = os.environ.get("VECTORS")
    if not folder:
        pytest.skip("no published vectors: run VECTORS=<folder> pytest; README says which")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"VECTORS={folder} is no folder")
    return path
