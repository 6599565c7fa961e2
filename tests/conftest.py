"""What every test may ask for."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# As the command does, before numpy is loaded: threads for small matrices only wait for each other, above all where the
# tests run on all cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A slow machine is no failure, so no example has a time limit. Where CI is set the examples are the same each time:
# a new one that fails there would blame a change that has nothing to do with it. Everywhere else they go on exploring.
settings.register_profile("traintriage", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("traintriage")

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout."""
    return CHECKOUT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference samples beside the checkout; skips where there is none."""
    folder = CHECKOUT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder of reference samples, ../shared, beside the checkout")
    return folder
