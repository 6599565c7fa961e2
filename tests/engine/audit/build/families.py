"""Checkpoints of other architectures: one in no table, and one of each that is."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from tests.engine.audit.build.causal_lm import causal_lm, renew_sums
from tests.engine.audit.build.weights import Raw, edit_weights, f32
from tests.engine.audit.given import Given


def stranger(folder: Path) -> Given:
    """A model whose class nobody knows; only its base says what tensors there must be."""
    given = causal_lm(folder)
    for root in (given.root, folder / "base"):
        Given(root).edit_json("config.json", architectures=["FooForCausalLM"], model_type="foo")
    renew_sums(given.root)
    return given


def lone_stranger(folder: Path) -> Given:
    """The same without a base."""
    given = stranger(folder)
    shutil.rmtree(folder / "base")
    return Given(given.root, {**given.intent, "base_reference": None})


def nested(folder: Path) -> Given:
    """A config with another one inside, as models of several modalities have; both have the tie flag."""
    given = causal_lm(folder)
    for root in (given.root, folder / "base"):
        inner = {"model_type": "llama", "tie_word_embeddings": False}
        Given(root).edit_json("config.json", text_config=inner)
    renew_sums(given.root)
    return given


def scaled(folder: Path) -> Given:
    """Positions stretched fourfold by YaRN, as in the base."""
    given = causal_lm(folder)
    scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}
    for root in (given.root, folder / "base"):
        Given(root).edit_json("config.json", rope_scaling=scaling)
    renew_sums(given.root)
    return given


def both_keys(folder: Path) -> Given:
    """Rotary settings in the keys of both generations of the library."""
    given = causal_lm(folder)
    for root in (given.root, folder / "base"):
        Given(root).edit_json("config.json", rope_parameters={"rope_type": "default", "rope_theta": 10000.0})
    renew_sums(given.root)
    return given


def in_eight_bits(folder: Path) -> Given:
    """Matrices of the layers in eight-bit floats, each with its scale, and the config's entry."""
    given = causal_lm(folder)

    def pack(tensors: dict[str, Raw]) -> None:
        for seed, name in enumerate(name for name in list(tensors) if name.endswith("_proj.weight")):
            shape = tensors[name].shape
            codes = np.random.default_rng(seed).integers(1, 120, shape, np.uint8)
            tensors[name] = Raw("F8_E4M3", shape, codes.tobytes())
            tensors[name + "_scale_inv"] = f32(np.array([[0.001]]))

    edit_weights(given.root / "model.safetensors", pack)
    given.edit_json("config.json", quantization_config={"quant_method": "fp8", "activation_scheme": "dynamic"})
    renew_sums(given.root)
    return given


def quantised(folder: Path) -> Given:
    """Matrices of the layers packed to four bits, the state of the quantiser beside them, and the config's entry."""
    given = causal_lm(folder)

    def pack(tensors: dict[str, Raw]) -> None:
        matrices = [name for name in tensors if name.endswith("_proj.weight")]
        for seed, name in enumerate(matrices):
            size = tensors[name].shape[0] * tensors[name].shape[1]
            random = np.random.default_rng(seed)
            packed = random.integers(1, 255, (size // 2, 1), np.uint8)
            tensors[name] = Raw("U8", packed.shape, packed.tobytes())
            tensors[name + ".absmax"] = f32(random.uniform(0.01, 0.05, (size // 64,)))
            tensors[name + ".quant_map"] = f32(np.linspace(-1, 1, 16))

    edit_weights(given.root / "model.safetensors", pack)
    given.edit_json("config.json", quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True})
    renew_sums(given.root)
    return given
