"""Log lines in the formats of the tools, written here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.evidence.series import RunRecord, Series

SHARED = Path(__file__).resolve().parents[5] / "shared" / "samples"


def iteration(
    step: int,
    loss: float | None = 2.5,
    total: int = 1000,
    scale: float = 32768.0,
    norm: str = "0.312",
    skipped: int = 0,
) -> str:
    middle = "" if loss is None else f"lm loss: {loss:.6E} | "
    return (
        f" iteration {step:8d}/{total:8d} | consumed samples: {step * 8:12d} | "
        f"elapsed time per iteration (ms): {1500.0 + step % 7:.1f} | learning rate: 6.000E-05 | "
        f"global batch size:     8 | "
        f"{middle}loss scale: {scale} | grad norm: {norm} | num zeros: 0.0 | "
        f"number of skipped iterations: {skipped:3d} | number of nan iterations:   0 |"
    )


def bar(step: int, total: int) -> str:
    return f" {100 * step // total:2d}%|####      | {step}/{total} [00:10<00:20,  2.00it/s]"


@pytest.fixture
def megatron_line() -> Callable[..., str]:
    return iteration


@pytest.fixture
def progress() -> Callable[[int, int], str]:
    return bar


@pytest.fixture
def column() -> Callable[[RunRecord, str], list[tuple[float, float]]]:
    """Return (step, value) of a series."""

    def get(record: RunRecord, name: str) -> list[tuple[float, float]]:
        one: Series = next(one for one in record.series if one.name == name)
        return list(zip(one.steps.tolist(), one.values.tolist(), strict=True))

    return get


@pytest.fixture(scope="session")
def samples() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the shared sample files are not here")
    return SHARED
