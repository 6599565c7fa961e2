"""A low-rank adapter as its files describe it: which modules it changes, by which matrices, at which scale.

Source of names and fields: the configuration and the checkpoint format of the PEFT library (LoraConfig).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import re2

from engine.audit.tensors import TensorInfo

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint

Part = Literal["A", "B"]
PREFIX = "base_model.model."
_PAIR = re.compile(r"^base_model\.model\.(?P<module>.+)\.lora_(?P<kind>embedding_)?(?P<part>[AB])(\.weight)?$")
_EXTRA = re.compile(r"\.(lora_magnitude_vector(\.weight)?|token_adapter\.\w+|trainable_tokens_\w+)$")
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|block|blocks|layer)\.(\d+)\.")
_EMBEDDINGS = ("embed_tokens", "lm_head", "wte", "shared", "embed_in", "embed_out", "word_embeddings")


@dataclass(frozen=True)
class Adapter:
    """The adapter of a checkpoint of kind ``adapter``."""

    config: Mapping[str, Any]
    tensors: Mapping[str, TensorInfo]

    @staticmethod
    def of(checkpoint: Checkpoint) -> Adapter | None:
        """The adapter; None if its config cannot be read or is of another method than low rank."""
        document = checkpoint.adapter_config
        config = document.mapping if document else {}
        method = config.get("peft_type")
        return Adapter(config, checkpoint.tensors) if isinstance(method, str) and method.upper() == "LORA" else None

    @cached_property
    def pairs(self) -> dict[str, dict[Part, TensorInfo]]:
        """The two matrices by module; one may be missing."""
        found: dict[str, dict[Part, TensorInfo]] = {}
        for name, tensor in self.tensors.items():
            if match := _PAIR.match(name):
                part: Part = "A" if match["part"] == "A" else "B"
                found.setdefault(match["module"], {})[part] = tensor
        return found

    @cached_property
    def saved_whole(self) -> tuple[str, ...]:
        """Names of the tensors that are saved as they are, such as a resized embedding, without the prefix."""
        return tuple(
            name.removeprefix(PREFIX)
            for name in self.tensors
            if not _PAIR.match(name) and not _EXTRA.search(name) and name.startswith(PREFIX)
        )

    @cached_property
    def malformed(self) -> tuple[str, ...]:
        """Names that a loader would pass over in silence."""
        return tuple(
            name
            for name in self.tensors
            if not name.startswith(PREFIX)
            or "_orig_mod." in name
            or ".default." in name
            or ".modules_to_save." in name
            or ".base_layer." in name
            or ("lora_" in name and not _PAIR.match(name) and not _EXTRA.search(name))
        )

    def rank(self, module: str) -> int | None:
        """The rank that the config gives a module."""
        return _whole(_by_pattern(self.config.get("rank_pattern"), module), _whole(self.config.get("r")))

    @property
    def scale(self) -> float | None:
        """What the product of the two matrices is multiplied by."""
        alpha, rank = self.config.get("lora_alpha"), _whole(self.config.get("r"))
        if not isinstance(alpha, int | float) or isinstance(alpha, bool) or not rank:
            return None
        return float(alpha) / (math.sqrt(rank) if self.config.get("use_rslora") else rank)

    def targets(self, module: str) -> bool | None:
        """Whether the config names the module as a target; None if that cannot be told from the config."""
        wanted = self.config.get("target_modules")
        if isinstance(wanted, str):
            if wanted == "all-linear":
                return None
            try:
                return re2.fullmatch(wanted, module) is not None
            except re2.error:
                return None
        if isinstance(wanted, list):
            return any(module == name or module.endswith(f".{name}") for name in wanted if isinstance(name, str))
        return None

    @cached_property
    def layers(self) -> dict[str, set[int]]:
        """By kind of module (its name without the layer number): the layers that have it."""
        found: dict[str, set[int]] = {}
        for module in self.pairs:
            if match := _LAYER.search(module):
                kind = module[: match.start(1)] + "*" + module[match.end(1) :]
                found.setdefault(kind, set()).add(int(match[1]))
        return found

    @property
    def limited_layers(self) -> bool:
        """Whether the config changes a part of the layers on purpose, or leaves modules out."""
        keys = ("layers_to_transform", "layers_pattern", "exclude_modules", "layer_replication")
        return isinstance(self.config.get("target_modules"), str) or any(self.config.get(key) for key in keys)

    @property
    def touches_embeddings(self) -> list[str]:
        """Embedding or output modules that are trained by low rank."""
        return sorted(module for module in self.pairs if module.rpartition(".")[2] in _EMBEDDINGS)

    @property
    def saves_rows(self) -> bool:
        """Whether rows of the vocabulary are saved: a whole table, or single tokens."""
        whole = any(name.rpartition(".")[0].rpartition(".")[2] in _EMBEDDINGS for name in self.saved_whole)
        tokens = any("trainable_tokens" in name or "token_adapter" in name for name in self.tensors)
        return whole or tokens or bool(self.touches_embeddings)


def _by_pattern(patterns: object, module: str) -> object:
    """The value of the first key that is the module's name, ends it, or matches it as a pattern."""
    if not isinstance(patterns, dict):
        return None
    for key, value in patterns.items():
        try:
            if module == key or module.endswith(f".{key}") or re2.fullmatch(rf"(.*\.)?({key})", module):
                return value
        except re2.error:
            continue
    return None


def _whole(value: object, other: int | None = None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else other
