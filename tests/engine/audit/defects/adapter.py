"""One defect for each gate of adapters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.engine.audit.build.adapter import REVISION, WEIGHTS, adapter
from tests.engine.audit.build.causal_lm import then_summed
from tests.engine.audit.build.weights import Raw, bf16, edit_weights
from tests.engine.audit.given import Defect, Given

Tensors = dict[str, Raw]
UP = "base_model.model.model.layers.1.mlp.up_proj.lora_{}.weight"


def config(**changes: Any) -> Callable[[Given], Given | None]:
    def spoil(given: Given) -> None:
        given.edit_json("adapter_config.json", **changes)

    spoil.__name__ = "-".join(changes)
    return then_summed(spoil)


def weights(change: Callable[[Tensors], None]) -> Callable[[Given], Given | None]:
    def spoil(given: Given) -> None:
        edit_weights(given.root / WEIGHTS, change)

    spoil.__name__ = change.__name__
    return then_summed(spoil)


def wider(tensors: Tensors) -> None:
    name = UP.format("A")
    tensors[name] = bf16(np.full((4, tensors[name].shape[1] * 2), 0.01))


def half_missing(tensors: Tensors) -> None:
    del tensors[UP.format("B")]


def layer_missing(tensors: Tensors) -> None:
    for part in "AB":
        del tensors[UP.format(part)]


def wrapped(tensors: Tensors) -> None:
    before = dict(tensors)
    tensors.clear()
    tensors.update({n.replace("base_model.model.", "base_model.model._orig_mod."): raw for n, raw in before.items()})


def doubled(tensors: Tensors) -> None:
    before = dict(tensors)
    tensors.clear()
    tensors.update({n.replace(".weight", ".default.weight"): raw for n, raw in before.items()})


def untrained(tensors: Tensors) -> None:
    for name in [name for name in tensors if "lora_B" in name]:
        tensors[name] = bf16(np.zeros(tensors[name].shape))


def partly_untrained(tensors: Tensors) -> None:
    tensors[UP.format("B")] = bf16(np.zeros(tensors[UP.format("B")].shape))


def new_token(given: Given) -> None:
    assert given.base is not None
    base = Given(given.base)
    base.edit_json("config.json", vocab_size=200)


def on_tied_head(given: Given) -> None:
    assert given.base is not None
    Given(given.base).edit_json("config.json", tie_word_embeddings=True)

    def change(tensors: Tensors) -> None:
        rows, width = 288, tensors[UP.format("A")].shape[1]
        tensors["base_model.model.lm_head.lora_A.weight"] = bf16(np.full((4, width), 0.01))
        tensors["base_model.model.lm_head.lora_B.weight"] = bf16(np.full((rows, 4), 0.01) + np.arange(4) * 0.01)

    edit_weights(given.root / WEIGHTS, change)
    given.edit_json("adapter_config.json", target_modules=["q_proj", "v_proj", "up_proj", "lm_head"])


def emptied(tensors: Tensors) -> None:
    tensors.clear()


def no_config(given: Given) -> None:
    (given.root / "adapter_config.json").unlink()


def config_cut(given: Given) -> None:
    (given.root / "adapter_config.json").write_text('{"peft_type": "LORA", ')


COVERED = frozenset({"adapter/adp-coverage"})
DEFECTS = (
    Defect("adapter/adp-base-name", adapter, config(base_model_name_or_path="someone/other-base"), name="other"),
    Defect("adapter/adp-base-name", adapter, config(base_model_name_or_path="/data/models/base"), name="local"),
    Defect("adapter/adp-base-name", adapter, config(base_model_name_or_path="checkpoint-500"), name="step"),
    Defect("adapter/adp-base-name", adapter, config(base_model_name_or_path=None), name="none"),
    Defect("adapter/adp-config", adapter, then_summed(no_config)),
    Defect("adapter/adp-config", adapter, then_summed(config_cut)),
    Defect("adapter/adp-coverage", adapter, weights(emptied)),
    Defect("adapter/adp-coverage", adapter, config(modules_to_save=["score"]), name="head"),
    Defect("adapter/adp-coverage", adapter, config(use_dora=True), name="magnitudes"),
    Defect("adapter/adp-base-revision", adapter, config(revision=REVISION[::-1])),
    Defect("adapter/adp-shape", adapter, weights(wider)),
    Defect("adapter/adp-rank", adapter, config(r=8), name="rank"),
    Defect("adapter/adp-rank", adapter, config(lora_alpha=1000), name="scale"),
    Defect("adapter/adp-coverage", adapter, weights(half_missing)),
    Defect("adapter/adp-coverage", adapter, weights(layer_missing)),
    Defect("adapter/adp-coverage", adapter, config(target_modules=["q_proj", "v_proj", "up_proj", "o_proj"])),
    Defect("adapter/adp-key-form", adapter, weights(wrapped), COVERED | {"adapter/adp-shape", "names/wrapper-prefix"}),
    Defect("adapter/adp-key-form", adapter, weights(doubled), COVERED | {"adapter/adp-shape"}),
    Defect("adapter/adp-b-zero", adapter, weights(untrained)),
    Defect("adapter/adp-b-zero", adapter, weights(partly_untrained)),
    Defect("adapter/adp-vocab-saved", adapter, new_token),
    Defect("adapter/adp-tied-target", adapter, then_summed(on_tied_head)),
)
