"""A tiny healthy low-rank adapter on the base of the tiny release."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.engine.audit.build.causal_lm import LAYERS, release, renew_sums, shapes, write_json
from tests.engine.audit.build.weights import bf16, save
from tests.engine.audit.given import Given

RANK = 4
TARGETS = ("q_proj", "v_proj", "up_proj")
WEIGHTS = "adapter_model.safetensors"
REVISION = "0123456789abcdef0123456789abcdef01234567"


def adapter(folder: Path) -> Given:
    """An adapter of rank 4 on three modules of every layer, with tokenizer, card and manifest."""
    given = release(folder)
    root = given.root
    for name in ("model.safetensors", "config.json", "generation_config.json", "model.safetensors.index.json"):
        (root / name).unlink(missing_ok=True)
    random = np.random.default_rng(7)
    tensors = {}
    for name, (out, into) in ((n, s) for n, s in shapes(False, LAYERS).items() if n.split(".")[-2] in TARGETS):
        module = "base_model.model." + name.removesuffix(".weight")
        tensors[f"{module}.lora_A.weight"] = bf16(random.normal(0, 0.02, (RANK, into)))
        tensors[f"{module}.lora_B.weight"] = bf16(random.normal(0, 0.02, (out, RANK)))
    save(root / WEIGHTS, tensors)
    write_json(root / "adapter_config.json", {
        "base_model_name_or_path": given.intent["base_model"], "bias": "none", "fan_in_fan_out": False,
        "init_lora_weights": True, "lora_alpha": 8, "lora_dropout": 0.0, "modules_to_save": None, "peft_type": "LORA",
        "r": RANK, "rank_pattern": {}, "revision": REVISION, "target_modules": list(TARGETS), "task_type": "CAUSAL_LM",
    })  # fmt: skip
    renew_sums(root)
    return Given(root, given.intent | {"base_revision": REVISION}, given.base, given.evidence)
