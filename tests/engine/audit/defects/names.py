"""One defect for each gate of names and shapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.engine.audit.build.causal_lm import HIDDEN, LAYERS, causal_lm, sharded_lm, then_summed, tied_lm, write_json
from tests.engine.audit.build.families import lone_stranger, stranger
from tests.engine.audit.build.tokenizer import VOCAB_SIZE
from tests.engine.audit.build.weights import Raw, bf16, edit_weights
from tests.engine.audit.given import Defect, Given

WEIGHTS = "model.safetensors"
Tensors = dict[str, Raw]


def wrapped(prefix: str) -> Callable[[Given], None]:
    def spoil(given: Given) -> None:
        def change(tensors: Tensors) -> None:
            before = dict(tensors)
            tensors.clear()
            tensors.update({prefix + name: raw for name, raw in before.items()})

        edit_weights(given.root / WEIGHTS, change)

    spoil.__name__ = "wrapped_" + prefix.strip(".").replace(".", "_")
    return spoil


def inside_compiled(given: Given) -> None:
    def change(tensors: Tensors) -> None:
        for name in [name for name in tensors if name.startswith("model.")]:
            tensors["model._orig_mod." + name.removeprefix("model.")] = tensors.pop(name)

    edit_weights(given.root / WEIGHTS, change)


def dropped(given: Given) -> None:
    edit_weights(given.root / WEIGHTS, lambda tensors: tensors.__delitem__("model.layers.1.mlp.up_proj.weight"))


def renamed(given: Given) -> None:
    def change(tensors: Tensors) -> None:
        tensors["model.final_norm.weight"] = tensors.pop("model.norm.weight")

    edit_weights(given.root / WEIGHTS, change)


def adapter_left(given: Given) -> None:
    def change(tensors: Tensors) -> None:
        random = np.random.default_rng(1)
        name = "model.layers.0.self_attn.q_proj.lora_"
        tensors[name + "A.weight"] = bf16(random.normal(0, 0.02, (4, HIDDEN)))
        tensors[name + "B.weight"] = bf16(random.normal(0, 0.02, (HIDDEN, 4)))

    edit_weights(given.root / WEIGHTS, change)


def reward_head(given: Given) -> None:
    random = np.random.default_rng(1)
    head = bf16(random.normal(0, 0.02, (1, HIDDEN)))
    edit_weights(given.root / WEIGHTS, lambda tensors: tensors.update({"score.weight": head}))


def peft_prefix(given: Given) -> None:
    edit_weights(given.root / WEIGHTS, _prefixed("base_model.model."))


def peft_prefix_inside(given: Given) -> None:
    edit_weights(given.root / WEIGHTS, _prefixed("language_model.base_model.model."))


def _prefixed(prefix: str) -> Callable[[Tensors], None]:
    def change(tensors: Tensors) -> None:
        for name in list(tensors):
            tensors[prefix + name] = tensors.pop(name)

    return change


def unmerged(given: Given) -> None:
    def change(tensors: Tensors) -> None:
        for name in [name for name in tensors if name.endswith("q_proj.weight")]:
            stem = name.removesuffix("weight")
            tensors[stem + "base_layer.weight"] = tensors.pop(name)
            for part, shape in (("A", (4, HIDDEN)), ("B", (HIDDEN, 4))):
                matrix = np.random.default_rng(len(tensors)).normal(0, 0.02, shape)
                tensors[f"{stem}lora_{part}.default.weight"] = bf16(matrix)

    edit_weights(given.root / WEIGHTS, change)


def wider(given: Given) -> None:
    given.edit_json("config.json", intermediate_size=128)


def transposed(given: Given) -> None:
    def change(tensors: Tensors) -> None:
        name = "model.layers.0.mlp.down_proj.weight"
        tensors[name] = bf16(tensors[name].floats().T)

    edit_weights(given.root / WEIGHTS, change)


def not_gathered(given: Given) -> None:
    def change(tensors: Tensors) -> None:
        tensors["model.layers.0.self_attn.q_proj.weight"] = Raw("BF16", (0,), b"")

    edit_weights(given.root / WEIGHTS, change)


def layer_lost(given: Given) -> None:
    def change(tensors: Tensors) -> None:
        for name in [name for name in tensors if name.startswith("model.layers.1.")]:
            del tensors[name]

    edit_weights(given.root / WEIGHTS, change)


def fewer_layers_stated(given: Given) -> None:
    given.edit_json("config.json", num_hidden_layers=LAYERS - 1)


def resize_not_in_config(given: Given) -> None:
    given.edit_json("config.json", vocab_size=VOCAB_SIZE + 64)


def head_not_resized(given: Given) -> None:
    def change(tensors: Tensors) -> None:
        rows = tensors["lm_head.weight"].floats()
        tensors["lm_head.weight"] = bf16(np.concatenate([rows, rows[:8] * 1.01]))

    edit_weights(given.root / WEIGHTS, change)


def token_added(given: Given) -> Given:
    tokenizer = json.loads((given.root / "tokenizer.json").read_text("utf-8"))
    config = json.loads((given.root / "tokenizer_config.json").read_text("utf-8"))
    added = {**tokenizer["added_tokens"][0], "id": VOCAB_SIZE, "content": "<|tool|>"}
    tokenizer["added_tokens"].append(added)
    config["added_tokens_decoder"][str(VOCAB_SIZE)] = {k: v for k, v in added.items() if k != "id"}
    write_json(given.root / "tokenizer.json", tokenizer)
    write_json(given.root / "tokenizer_config.json", config)
    changes = {**given.intent["expected_changes"], "vocab": "extended"}
    return Given(given.root, {**given.intent, "expected_changes": changes}, given.base)


def stated_of_another(given: Given) -> None:
    path = given.root / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["metadata"]["total_parameters"] = round(index["metadata"]["total_size"] / 2 * 1.006)
    write_json(path, index)


def _one(
    gate: str, spoil: Callable[[Given], Given | None], *also: str, build: Callable[[Path], Given] = causal_lm
) -> Defect:
    return Defect(f"names/{gate}", build, then_summed(spoil), frozenset(also))


DEFECTS = (
    _one("wrapper-prefix", wrapped("_orig_mod.")),
    _one("wrapper-prefix", wrapped("module.")),
    _one("wrapper-prefix", wrapped("module._orig_mod.")),
    _one("wrapper-prefix", inside_compiled),
    _one("params-present", dropped),
    _one("params-present", dropped, build=tied_lm),
    _one("params-present", dropped, build=stranger),
    _one("params-present", renamed, "names/params-unexpected"),
    _one("wrapper-prefix", peft_prefix),
    _one("wrapper-prefix", peft_prefix_inside, build=lone_stranger),
    _one("adapter-merged", adapter_left, "names/params-unexpected"),
    _one("adapter-merged", unmerged, "names/params-present", "names/params-unexpected"),
    _one("adapter-merged", unmerged, build=lone_stranger),
    _one("params-unexpected", reward_head),
    _one("params-unexpected", reward_head, build=stranger),
    _one("params-shape", wider, "config/cfg-diff-vs-base"),
    _one("params-shape", transposed),
    _one("params-shape", transposed, build=stranger),
    _one("zero-element", not_gathered),
    _one("zero-element", not_gathered, build=lone_stranger),
    _one("layer-gap", layer_lost, "names/params-present"),
    _one("layer-gap", layer_lost, "names/params-present", build=stranger),
    _one("layer-gap", fewer_layers_stated, "names/params-unexpected", "config/cfg-diff-vs-base"),
    _one("embed-rows", resize_not_in_config),
    _one("embed-rows", head_not_resized),
    _one("token-id-range", token_added, "tokenizer/tok-vs-base"),
    _one("param-count", stated_of_another, build=sharded_lm),
)
