"""Rotary position settings of a config in one form, whichever generation of keys they are written in.

Source of the keys: config classes of transformers 4 (``rope_theta``, ``rope_scaling``) and 5 (``rope_parameters``), and
the required fields that its ``modeling_rope_utils`` checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.audit.documents import shown

OLD_KEYS = (
    "rope_theta",
    "rope_scaling",
    "rotary_emb_base",
    "rotary_pct",
    "partial_rotary_factor",
    "rope_local_base_freq",
)
NEW_KEY = "rope_parameters"
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor",),
    "longrope": ("short_factor", "long_factor"),
    "llama3": ("factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
}
# What the library takes where the config says nothing, by ``model_type``; 10,000 for the others.
_DEFAULT_THETA = {"mixtral": 1e6, "gemma3_text": 1e6}
_LOCAL_THETA = 10_000.0
_DEFAULT_PART = {"gpt_neox": 0.25}
_TYPES = {"su": "longrope", "mrope": "default"}
Record = dict[str, Any]


def has_old(config: Mapping[str, Any]) -> bool:
    """Whether the settings are written in the keys of transformers 4; null says nothing."""
    return any(config.get(key) is not None for key in OLD_KEYS)


def has_new(config: Mapping[str, Any]) -> bool:
    """Whether they are written in the key of transformers 5."""
    return isinstance(config.get(NEW_KEY), dict) and bool(config[NEW_KEY])


def record(config: Mapping[str, Any]) -> Record:
    """The settings by name; those that differ by kind of layer carry its name before a dot."""
    return record_of_new(config) if has_new(config) else record_of_old(config)


def record_of_old(config: Mapping[str, Any]) -> Record:
    """The settings from the keys of transformers 4."""
    theta = config.get("rope_theta", config.get("rotary_emb_base"))
    found = {"theta": _number(theta) if theta is not None else _default_theta(config)}
    found |= _scaling(config.get("rope_scaling"))
    part = config.get("partial_rotary_factor", config.get("rotary_pct"))
    found["part"] = _number(part) if part is not None else _default_part(config)
    if (original := config.get("original_max_position_embeddings")) is not None:
        found.setdefault("original_max_position_embeddings", _number(original))
    if (local := config.get("rope_local_base_freq")) is None and config.get("model_type") != "gemma3_text":
        return found
    local_settings = {"theta": _number(local) if local is not None else _LOCAL_THETA, "type": "default"}
    local_settings["part"] = found["part"]
    return _by_layer({"full_attention": found, "sliding_attention": local_settings})


def record_of_new(config: Mapping[str, Any]) -> Record:
    """The settings from ``rope_parameters``."""
    parameters = config[NEW_KEY]
    layers = {name: part for name, part in parameters.items() if isinstance(part, dict)}
    if layers:
        return _by_layer({name: _new(part, config) for name, part in layers.items()})
    return _new(parameters, config)


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Names of the settings in which two records differ, in order."""
    return [name for name in dict.fromkeys((*first, *second)) if first.get(name) != second.get(name)]


def _new(part: Mapping[str, Any], config: Mapping[str, Any]) -> Record:
    theta, share = part.get("rope_theta"), part.get("partial_rotary_factor", config.get("partial_rotary_factor"))
    found = {"theta": _number(theta) if theta is not None else _default_theta(config)}
    rest = {key: value for key, value in part.items() if key not in ("rope_theta", "partial_rotary_factor")}
    found |= _scaling(rest)
    found["part"] = _number(share) if share is not None else _default_part(config)
    if (original := config.get("original_max_position_embeddings")) is not None:
        found.setdefault("original_max_position_embeddings", _number(original))
    return found


def _scaling(scaling: object) -> Record:
    found: Record = {"type": scaling_type(scaling)}
    for key, value in scaling.items() if isinstance(scaling, dict) else ():
        if key not in ("type", "rope_type") and value is not None and isinstance(key, str):
            found[key] = tuple(map(_number, value)) if isinstance(value, list) else _number(value)
    return found


def scaling_type(scaling: object) -> str:
    """The kind of scaling, the newer key first; ``default`` for none."""
    if not isinstance(scaling, dict):
        return "default"
    kind = scaling.get("rope_type", scaling.get("type"))
    return _TYPES.get(kind, kind) if isinstance(kind, str) else "default"


def _by_layer(layers: Mapping[str, Record]) -> Record:
    return {f"{layer}.{name}": value for layer, settings in layers.items() for name, value in settings.items()}


def _default_theta(config: Mapping[str, Any]) -> float:
    return _DEFAULT_THETA.get(str(config.get("model_type")), 10_000.0)


def _default_part(config: Mapping[str, Any]) -> float:
    return _DEFAULT_PART.get(str(config.get("model_type")), 1.0)


def _number(value: Any) -> Any:
    """Numbers as floats, so that 10000 and 10000.0 are one; other values as they are, if they can be compared."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if value.bit_length() < 1000 else str(value.bit_length())
    return value if isinstance(value, str | float | bool) else shown(value)
