"""A tiny healthy Llama after supervised fine-tuning, with its base, as a release folder would hold them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.engine.audit.build.tokenizer import (
    CHAT_TEMPLATE,
    END,
    PAD,
    SPECIALS,
    VOCAB_SIZE,
    special_tokens_map,
    tokenizer_config,
    tokenizer_json,
)
from tests.engine.audit.build.weights import Raw, bf16, save
from tests.engine.audit.given import Given

HIDDEN, INNER, LAYERS, HEADS, KV_HEADS, POSITIONS = 32, 64, 2, 4, 2, 128
BASE_MODEL, BASE_REVISION = "example-org/tiny-llama", "0123456789abcdef0123456789abcdef01234567"


def causal_lm(folder: Path) -> Given:
    """One weight file, a head of its own."""
    return release(folder)


def sharded_lm(folder: Path) -> Given:
    """Two weight files and their index."""
    return release(folder, sharded=True)


def tied_lm(folder: Path) -> Given:
    """The head is the embedding matrix, stored once."""
    return release(folder, tied=True)


def release(
    folder: Path, *, sharded: bool = False, tied: bool = False, chat: bool = True, layers: int = LAYERS
) -> Given:
    """``folder``/model with the release and ``folder``/base with its base; the intent's paths start at ``folder``."""
    base, model = folder / "base", folder / "model"
    before = base_weights(tied, layers)
    write_model(base, before, tied=tied, chat=False, layers=layers)
    write_model(model, trained(before), tied=tied, chat=chat, sharded=sharded, layers=layers)
    (model / "README.md").write_text(_card(), "utf-8")
    renew_sums(model)
    return Given(model, intent(tied=tied, chat=chat), base)


def intent(*, tied: bool = False, chat: bool = True) -> dict[str, Any]:
    """What was declared: a fine-tune for chat in which neither vocabulary nor positions change."""
    declared: dict[str, Any] = {
        "paradigm": "sft" if chat else "pretrain",
        "release_kind": "downstream",
        "license": "apache-2.0",
        "base_model": BASE_MODEL,
        "base_revision": BASE_REVISION,
        "base_reference": "base",
        "dtype": "bfloat16",
        "expected_changes": {"vocab": "unchanged", "rope": "unchanged", "tied_embeddings": tied},
    }
    if chat:
        declared["chat"] = {
            "end_of_turn_token": END,
            "training_template_sha256": hashlib.sha256(CHAT_TEMPLATE.encode()).hexdigest(),
            "loss_masks_padding_by_token_id": True,
            "serving_path": "template_ids",
        }
    return declared


def shapes(tied: bool = False, layers: int = LAYERS) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors."""
    head = HIDDEN // HEADS
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm": (HIDDEN,),
        "mlp.down_proj": (HIDDEN, INNER),
        "mlp.gate_proj": (INNER, HIDDEN),
        "mlp.up_proj": (INNER, HIDDEN),
        "post_attention_layernorm": (HIDDEN,),
        "self_attn.k_proj": (KV_HEADS * head, HIDDEN),
        "self_attn.o_proj": (HIDDEN, HEADS * head),
        "self_attn.q_proj": (HEADS * head, HIDDEN),
        "self_attn.v_proj": (KV_HEADS * head, HIDDEN),
    }
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (VOCAB_SIZE, HIDDEN),
        "model.norm.weight": (HIDDEN,),
    }
    if not tied:
        found["lm_head.weight"] = (VOCAB_SIZE, HIDDEN)
    for number in range(layers):
        found |= {f"model.layers.{number}.{name}.weight": shape for name, shape in layer.items()}
    return found


def base_weights(tied: bool = False, layers: int = LAYERS) -> dict[str, Raw]:
    """Weights as after a short pretraining: normal matrices, norms about one."""
    random = np.random.default_rng(20)
    return {
        name: bf16(random.normal(1.0, 0.02, shape) if len(shape) == 1 else random.normal(0.0, 0.02, shape))
        for name, shape in shapes(tied, layers).items()
    }


def trained(before: dict[str, Raw]) -> dict[str, Raw]:
    """The same weights after steps of fine-tuning: every tensor has moved a little."""
    random = np.random.default_rng(21)
    return {name: bf16(raw.floats() + random.normal(0.0, 0.002, raw.shape)) for name, raw in before.items()}


def write_model(
    root: Path,
    weights: dict[str, Raw],
    *,
    tied: bool = False,
    chat: bool = True,
    sharded: bool = False,
    layers: int = LAYERS,
) -> None:
    """Weights, configs and tokenizer; no card and no manifest."""
    root.mkdir(parents=True, exist_ok=True)
    write_json(root / "config.json", _config(tied, chat) | {"num_hidden_layers": layers})
    write_json(root / "generation_config.json", _generation_config(chat))
    write_json(root / "tokenizer.json", tokenizer_json())
    write_json(root / "tokenizer_config.json", tokenizer_config(CHAT_TEMPLATE if chat else None, POSITIONS))
    write_json(root / "special_tokens_map.json", special_tokens_map(chat))
    if sharded:
        write_shards(root, weights)
    else:
        save(root / "model.safetensors", weights)


def write_shards(root: Path, weights: dict[str, Raw], count: int = 2) -> None:
    """The weights in ``count`` files by turns of their sorted names, and the index."""
    names = sorted(weights)
    weight_map: dict[str, str] = {}
    for number in range(count):
        file = f"model-{number + 1:05d}-of-{count:05d}.safetensors"
        part = names[number * len(names) // count : (number + 1) * len(names) // count]
        save(root / file, {name: weights[name] for name in part})
        weight_map |= dict.fromkeys(part, file)
    size = sum(len(raw.data) for raw in weights.values())
    write_json(root / "model.safetensors.index.json", {"metadata": {"total_size": size}, "weight_map": weight_map})


def write_json(path: Path, value: Any) -> None:
    """A JSON file in the manner of the common writers."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")


def renew_sums(root: Path) -> None:
    """Write SHA256SUMS over every other file."""
    files = sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink() and p.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(root).as_posix()}\n" for p in files]
    (root / "SHA256SUMS").write_text("".join(lines), "utf-8")


def then_summed(spoil: Callable[[Given], Given | None]) -> Callable[[Given], Given | None]:
    """A spoil after which SHA256SUMS is written anew, so that the manifest is no second defect."""

    def spoiled(given: Given) -> Given | None:
        after = spoil(given)
        root = (after or given).root
        if (root / "SHA256SUMS").exists():
            renew_sums(root)
        return after

    spoiled.__name__ = spoil.__name__
    return spoiled


def _config(tied: bool, chat: bool) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": None,
        "eos_token_id": SPECIALS[END if chat else PAD],
        "head_dim": HIDDEN // HEADS,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "initializer_range": 0.02,
        "intermediate_size": INNER,
        "max_position_embeddings": POSITIONS,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "pad_token_id": SPECIALS[PAD],
        "pretraining_tp": 1,
        "rms_norm_eps": 1e-05,
        "rope_scaling": None,
        "rope_theta": 10000.0,
        "tie_word_embeddings": tied,
        "torch_dtype": "bfloat16",
        "transformers_version": "4.51.3",
        "use_cache": True,
        "vocab_size": VOCAB_SIZE,
    }


def _generation_config(chat: bool) -> dict[str, Any]:
    ids: dict[str, Any] = {"eos_token_id": SPECIALS[PAD], "pad_token_id": SPECIALS[PAD]}
    if chat:
        ids = {"do_sample": True, "eos_token_id": SPECIALS[END], "pad_token_id": SPECIALS[PAD], "temperature": 0.7}
        ids["top_p"] = 0.9
    return ids | {"transformers_version": "4.51.3"}


def _card() -> str:
    return f"""---
license: apache-2.0
language: [en]
library_name: transformers
pipeline_tag: text-generation
base_model: {BASE_MODEL}
datasets: [example-org/tiny-chats]
---

# Tiny chat

A toy: {BASE_MODEL} (revision {BASE_REVISION}) after supervised fine-tuning on 2,000 short chats.

## Intended use

Tests of tools that read checkpoints. It answers nothing of use and is not meant for people.

## Training

* code: commit 89abcdef0123456789abcdef0123456789abcdef of example-org/tiny-train
* data: example-org/tiny-chats, revision fedcba9876543210fedcba9876543210fedcba98
* hyperparameters: 3 epochs, batch size 8, learning rate 2e-5, cosine, warmup 3 %, seed 42
* environment: Python 3.11, torch 2.6.0, transformers 4.51.3; lock file requirements.lock in the code
"""
