"""One defect for each gate of the numbers of the weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.engine.audit.build.causal_lm import causal_lm, release, then_summed
from tests.engine.audit.build.weights import Raw, bf16, edit_weights, f16, load, save
from tests.engine.audit.given import Defect, Given

WEIGHTS = "model.safetensors"
MATRIX = "model.layers.1.mlp.up_proj.weight"
Change = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def deep_lm(folder: Path) -> Given:
    """Twelve layers: enough that one can be far from its like."""
    return release(folder, layers=12)


def half_lm(folder: Path) -> Given:
    """The same release in half precision."""
    given = release(folder)
    for root in (given.root, given.base):
        assert root is not None
        weights = load(root / WEIGHTS)
        save(root / WEIGHTS, {name: f16(raw.floats()) for name, raw in weights.items()})
    given.edit_json("config.json", dtype="float16")
    given.intent["dtype"] = "float16"
    then_summed(lambda _: None)(given)
    return given


def changed(name: str, change: Change, write: Callable[[NDArray[np.float32]], Raw] = bf16) -> Callable[[Given], None]:
    def spoil(given: Given) -> None:
        def edit(tensors: dict[str, Raw]) -> None:
            tensors[name] = write(change(tensors[name].floats()))

        edit_weights(given.root / WEIGHTS, edit)

    return then_summed(spoil)  # type: ignore[return-value]


def put(value: float, *at: int) -> Change:
    def change(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
        numbers[at or ...] = value
        return numbers

    return change


def zero_rows(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    numbers[: len(numbers) // 4] = 0
    return numbers


def twin(given: Given) -> None:
    def edit(tensors: dict[str, Raw]) -> None:
        tensors[MATRIX] = tensors[MATRIX.replace(".1.", ".0.")]

    edit_weights(given.root / WEIGHTS, edit)


def untouched(given: Given) -> None:
    assert given.base is not None
    save(given.root / WEIGHTS, load(given.base / WEIGHTS))


def thawed(given: Given) -> Given:
    return Given(given.root, given.intent | {"expected_changes": {"frozen": ["mlp.up_proj"]}}, given.base)


NORM = "model.layers.0.input_layernorm.weight"
DEFECTS = (
    Defect("weights/nonfinite", causal_lm, changed(MATRIX, put(np.nan, 3, 4)), name="nan"),
    Defect("weights/nonfinite", causal_lm, changed(NORM, put(np.inf, 0)), name="inf in a norm"),
    Defect(
        "weights/f16-saturation", half_lm, changed(MATRIX, put(65504, 0, 0), f16), frozenset({"weights/absmax-outlier"})
    ),
    Defect("weights/all-zero", causal_lm, changed(MATRIX, put(0)), name="matrix"),
    Defect("weights/all-zero", causal_lm, changed(MATRIX, zero_rows), name="a quarter of the rows"),
    Defect("weights/constant", causal_lm, changed(MATRIX, put(0.02))),
    Defect("weights/norm-degenerate", causal_lm, changed(NORM, put(0.0)), name="zero"),
    Defect("weights/norm-degenerate", causal_lm, changed(NORM, put(-1.0)), name="negative"),
    Defect("weights/absmax-outlier", causal_lm, changed(MATRIX, put(3e4, 0, 0)), name="against the base"),
    Defect("weights/layer-profile", deep_lm, changed(MATRIX.replace(".1.", ".6."), lambda numbers: numbers * 5)),
    Defect("weights/twin-tensors", causal_lm, then_summed(twin)),
    Defect("weights/unchanged-from-base", causal_lm, then_summed(untouched)),
    Defect("weights/unchanged-from-base", causal_lm, thawed, name="frozen but changed"),
)  # fmt: skip
