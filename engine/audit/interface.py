"""What an embedding model makes a vector by: modules, pooling, normalisation, prompts, dimension, longest input.

Both spellings of sentence-transformers are read: one boolean for each pooling mode (releases up to 5), and
``pooling_mode`` with ``embedding_dimension`` (from 6 on). Module classes moved between packages: the last name counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.audit.tokenizers.files import once

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint

_OLD_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_MODE_NAMES = {
    "last": "lasttoken",
    "last_token": "lasttoken",
    "eos": "lasttoken",
    "cls_token": "cls",
    "average": "mean",
}
_ROLE_NAMES = {"Asym": "Router"}
MODULES, SETTINGS = "modules.json", "config_sentence_transformers.json"


@dataclass(frozen=True, slots=True)
class Module:
    """One step of the chain: its role and the folder of its files, without a slash at the end."""

    role: str
    path: str


@dataclass(frozen=True)
class Interface:
    """The interface as the files declare it; None where they do not say.

    Args:
        modules: the chain in order.
        pooling: modes, joined by ``+`` in order of name.
        no_pooling: every mode is switched off, which no vector can be made by.
        prompts: prompts by name, without empty ones; ``prompt_names`` has the names of those, too.
        width: size of the vectors that are pooled; ``dimension``: size of the vectors that come out.
        max_length: tokens that are read of a text.
    """

    modules: tuple[Module, ...]
    pooling: str | None
    include_prompt: bool | None
    normalizes: bool
    prompts: Mapping[str, str]
    default_prompt: str | None
    similarity: str | None
    width: int | None
    dimension: int | None
    max_length: int | None
    no_pooling: bool = False
    prompt_names: frozenset[str] = frozenset()

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles of the chain without Normalize, which is judged by itself."""
        return tuple(module.role for module in self.modules if module.role != "Normalize")

    def first(self, role: str) -> Module | None:
        """The first module of a role."""
        return next((module for module in self.modules if module.role == role), None)


def interface(checkpoint: Checkpoint) -> Interface | None:
    """The interface of a sentence-transformers folder; None without a readable modules.json. Read once."""
    return once(checkpoint, "_interface", lambda: _read(checkpoint))


def pooling_name(text: str) -> str:
    """A pooling mode, or several joined by ``+`` or commas, in one spelling."""
    modes = (_MODE_NAMES.get(mode, mode) for mode in re.split(r"[+,\s]+", text.strip().lower()) if mode)
    return "+".join(sorted(modes))


def _read(checkpoint: Checkpoint) -> Interface | None:
    document = checkpoint.json(MODULES)
    if document is None or not isinstance(document.value, list):
        return None
    modules = tuple(_module(entry) for entry in document.value if isinstance(entry, dict))
    settings = _mapping(checkpoint, SETTINGS)
    pooling = _of_role(checkpoint, modules, "Pooling")
    prompts = settings.get("prompts")
    named = {k: v for k, v in prompts.items() if isinstance(v, str) and v} if isinstance(prompts, dict) else {}
    width = _number(pooling.get("embedding_dimension", pooling.get("word_embedding_dimension")))
    modes = _modes(pooling)
    include = pooling.get("include_prompt")
    return Interface(
        modules=modules,
        pooling=modes,
        include_prompt=include if isinstance(include, bool) else None,
        normalizes=any(module.role == "Normalize" for module in modules),
        prompts=named,
        default_prompt=_text(settings.get("default_prompt_name")),
        similarity=_text(settings.get("similarity_fn_name")),
        width=width,
        dimension=_dimension(checkpoint, modules, settings, width, modes),
        max_length=_max_length(checkpoint, modules),
        no_pooling=modes is None and pooling.get("pooling_mode_mean_tokens") is False,
        prompt_names=frozenset(prompts) if isinstance(prompts, dict) else frozenset(),
    )


def _module(entry: Mapping[str, Any]) -> Module:
    role = str(entry.get("type", "")).rpartition(".")[2]
    path = entry.get("path")
    return Module(_ROLE_NAMES.get(role, role), path.strip("/") if isinstance(path, str) else "")


def _mapping(checkpoint: Checkpoint, path: str) -> dict[str, Any]:
    document = checkpoint.json(path)
    return document.mapping if document else {}


def _of_role(checkpoint: Checkpoint, modules: tuple[Module, ...], role: str) -> dict[str, Any]:
    """config.json of the last module of a role."""
    module = next((module for module in reversed(modules) if module.role == role), None)
    return _mapping(checkpoint, f"{module.path}/config.json") if module and module.path else {}


def _modes(pooling: Mapping[str, Any]) -> str | None:
    mode = pooling.get("pooling_mode")
    if isinstance(mode, list) and all(isinstance(item, str) for item in mode):
        return pooling_name("+".join(mode))
    if isinstance(mode, str):
        return pooling_name(mode)
    old = [name for key, name in _OLD_MODES.items() if pooling.get(key) is True]
    return "+".join(sorted(old)) or None


def _dimension(
    checkpoint: Checkpoint,
    modules: tuple[Module, ...],
    settings: Mapping[str, Any],
    width: int | None,
    modes: str | None,
) -> int | None:
    size = width * (modes.count("+") + 1) if width is not None and modes else width
    size = _number(_of_role(checkpoint, modules, "Dense").get("out_features")) or size
    cut = _number(settings.get("truncate_dim"))
    return min(size, cut) if size and cut else size


def _max_length(checkpoint: Checkpoint, modules: tuple[Module, ...]) -> int | None:
    first = next((module for module in modules if module.role == "Transformer"), None)
    if first is None:
        return None
    prefix = f"{first.path}/" if first.path else ""
    for entry in checkpoint.folder.files("_config.json"):
        if entry.path.startswith(prefix + "sentence_") and "/" not in entry.path[len(prefix) :]:
            length = _number(_mapping(checkpoint, entry.path).get("max_seq_length"))
            if length is not None:
                return length
    length = _number(_mapping(checkpoint, prefix + "tokenizer_config.json").get("model_max_length"))
    return length if length is not None and length < 10**9 else None


def _number(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
