"""One defect for each gate of tied weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.engine.audit.build.causal_lm import causal_lm, then_summed, tied_lm
from tests.engine.audit.build.families import lone_stranger, nested, stranger
from tests.engine.audit.build.weights import bf16, edit_weights
from tests.engine.audit.given import Defect, Given

WEIGHTS = "model.safetensors"


def head_gone(given: Given) -> None:
    edit_weights(given.root / WEIGHTS, lambda tensors: tensors.__delitem__("lm_head.weight"))


def flag_turned(given: Given) -> None:
    given.edit_json("config.json", tie_word_embeddings=False)


def flag_set(given: Given) -> None:
    given.edit_json("config.json", tie_word_embeddings=True)


def flag_gone(given: Given) -> None:
    given.edit_json("config.json", tie_word_embeddings=None)


def head_trained_apart(given: Given) -> None:
    def change(tensors: dict[str, object]) -> None:
        rows = tensors["model.embed_tokens.weight"].floats()  # type: ignore[attr-defined]
        tensors["lm_head.weight"] = bf16(rows + np.random.default_rng(3).normal(0, 0.002, rows.shape))

    edit_weights(given.root / WEIGHTS, change)  # type: ignore[arg-type]


def inner_flag(given: Given) -> None:
    given.edit_json("config.json", text_config={"model_type": "llama", "tie_word_embeddings": True})


def _one(gate: str, spoil: Callable[[Given], None], *also: str, build: Callable[[Path], Given] = causal_lm) -> Defect:
    return Defect(f"tied/{gate}", build, then_summed(spoil), frozenset(also))


DEFECTS = (
    _one("tie-flag-vs-head", head_gone),
    _one("tie-flag-vs-head", head_gone, build=stranger),
    _one("tie-flag-vs-head", head_gone, build=lone_stranger),
    _one("tie-copy-differs", flag_set, "config/cfg-diff-vs-base", build=lone_stranger),
    _one("tie-flag-vs-head", flag_turned, build=tied_lm),
    _one("tie-flag-vs-head", flag_gone, build=tied_lm),
    _one("tie-copy-differs", head_trained_apart, build=tied_lm),
    _one("tie-nested-flag", inner_flag, "config/cfg-diff-vs-base", build=nested),
)
