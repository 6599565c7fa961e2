"""What every test may ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from engine.diagnose import Diagnoser
    from engine.knowledge.knowledge import Knowledge

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


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    """The bundled knowledge base: loaded once, for it takes a second."""
    from engine.knowledge.load import load_knowledge

    return load_knowledge()


@pytest.fixture(scope="session")
def diagnoser(knowledge: Knowledge) -> Iterator[Diagnoser]:
    """The one engine over the bundled knowledge base; its answers are held against the reference evaluator."""
    from engine.diagnose import Diagnoser

    made = Diagnoser(knowledge, keep=True)
    yield made
    made.close()
