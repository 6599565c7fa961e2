"""Part of group config: rotary settings and the length of the context."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.audit import rope
from engine.audit.architectures import family_of
from engine.audit.documents import shown
from engine.audit.ledger import Place
from engine.audit.probes.expectation import text_config
from engine.audit.tokenizers.files import tokenizer_files

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger

_UNROTATED = frozenset({"gpt2", "bert", "roberta", "xlm-roberta", "t5"})
_TOLERANCE = 0.01
_SAME_KIND = (["default", "mrope"], ["mrope", "default"])
# Tokenizers without a limit carry a number that no model reaches.
_NO_LIMIT = 10_000_000


def state_rope(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State the rotary settings against the base, the readers, and what their kind of scaling needs."""
    config = text_config(checkpoint)
    base = text_config(checkpoint.base) if checkpoint.base else {}
    rotary = any(rope.has_old(c) or rope.has_new(c) for c in (config, base))
    known = family_of(config) is not None and config.get("model_type") not in _UNROTATED
    ledger.fact("audit.config.rotary", rotary or known)
    if not rotary and not known:
        return
    _base_rope(checkpoint, config, base, ledger)
    _forms(checkpoint, config, ledger)
    ledger.count("audit.config.rope_scaling_faults", _scaling_faults(config))


def _base_rope(checkpoint: Checkpoint, config: Mapping[str, Any], base: Mapping[str, Any], ledger: Ledger) -> None:
    if not base:
        ledger.unknown("audit.config.rope_differences", "The base's config is not at hand.", "没有基座的配置。")
        return
    places = list(_against_base(config, base))
    ledger.count("audit.config.rope_differences", places)
    change = checkpoint.intent.expected_changes.rope
    if change is not None:
        ledger.fact("audit.config.rope_change_declared", change == "changed")
    elif places:
        ledger.unknown(
            "audit.config.rope_change_declared",
            "The settings differ from the base's, and the intent does not say whether they should.",
            "设置与基座不同，而意图文件没有说明是否有意更改。",
        )


def _against_base(config: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[Place]:
    ours, theirs = rope.record(config), rope.record(base)
    for name in rope.differences(ours, theirs):
        at = f"rotary {shown(name)}"
        yield Place("config.json", at, shown(ours.get(name, "not set")), shown(theirs.get(name, "not set")), "base")


def _forms(checkpoint: Checkpoint, config: Mapping[str, Any], ledger: Ledger) -> None:
    """Whether the server that is declared reads the keys there are, and whether two forms say two things."""
    old, new = rope.has_old(config), rope.has_new(config)
    places: list[Place] = []
    if old and new:
        first, second = rope.record_of_old(config), rope.record_of_new(config)
        written = _written(config, first)
        for name in rope.differences(first, second):
            if name in written and name in second:
                where = f"rope_theta or rope_scaling ({shown(name)})"
                places.append(Place("config.json", where, shown(first[name]), shown(second[name]), "config"))
    ledger.count("audit.config.rope_forms_differ", places)
    reader = transformers_read_by(checkpoint.intent.serving)
    if new and not old and reader is None:
        ledger.unknown(
            "audit.config.rope_unread",
            "Only rope_parameters is set, and the intent does not say which version of transformers serves it.",
            "只写了 rope_parameters，而意图文件没有说明由哪个 transformers 版本提供服务。",
        )
        return
    unread = (reader == "v4" and new and not old) or (reader == "v5" and old and not new)
    here, wanted = (rope.NEW_KEY, "rope_theta, rope_scaling") if new else ("rope_theta, rope_scaling", rope.NEW_KEY)
    place = Place("config.json", "rotary settings", here, f"{wanted}, which the server reads", "intent")
    ledger.fact("audit.config.rope_unread", unread, [place] if unread else ())


def _written(config: Mapping[str, Any], old: rope.Record) -> set[str]:
    """Settings that the old keys really state; the others of the record are defaults."""
    keys = {"theta": ("rope_theta", "rotary_emb_base"), "part": ("partial_rotary_factor", "rotary_pct")}
    absent = {name for name, forms in keys.items() if not any(config.get(form) is not None for form in forms)}
    if not isinstance(config.get("rope_scaling"), dict):
        absent |= {name.rpartition(".")[2] for name in old} - {"theta", "part"}
    return {name for name in old if name.rpartition(".")[2] not in absent}


def transformers_read_by(serving: Mapping[str, Any]) -> str | None:
    """Which keys the declared server reads: ``v4``, ``v5``, both, or None if that is not declared.

    transformers 5 reads both forms; a server that reads the new one only says so by ``rope_keys: v5``.
    """
    keys = serving.get("rope_keys")
    if keys in ("v4", "v5", "both"):
        return str(keys)
    for name, value in serving.items():
        text = f"{name} {value}"
        if "transformers" in text and (match := re.search(r"(?<![\d.])(\d{1,2})\.\d", text)):
            return "v4" if int(match[1]) < 5 else "both"
    return None


def _scaling_faults(config: Mapping[str, Any]) -> Iterator[Place]:
    """Required fields that are missing, two names for the kind that disagree, lengths that do not fit together."""
    key, parts = rope.NEW_KEY, config.get(rope.NEW_KEY)
    if not isinstance(parts, dict):
        key, parts = "rope_scaling", config.get("rope_scaling")
    if not isinstance(parts, dict):
        return
    layers = {f"{key}.{shown(name)}": part for name, part in parts.items() if isinstance(part, dict)}
    for where, part in (layers or {key: parts}).items():
        kind, older = part.get("rope_type"), part.get("type")
        if kind is not None and older is not None and kind != older and [kind, older] not in _SAME_KIND:
            yield Place("config.json", f"{where}.type", shown(older), f"{shown(kind)}, as rope_type", "config")
        known = rope.scaling_type(part)
        for name in rope.REQUIRED.get(known, ()):
            if part.get(name) is None and config.get(name) is None:
                yield Place("config.json", f"{where}.{name}", "not set", f"set, for {known}", "architecture")
        yield from _length(config, where, known, part)


def _length(config: Mapping[str, Any], where: str, kind: str, part: Mapping[str, Any]) -> Iterator[Place]:
    """YaRN reaches ``factor`` times the original length. A config may also keep the original length and leave the
    rest to the server, so that is no fault; other kinds have a free factor."""
    factor, original = part.get("factor"), part.get("original_max_position_embeddings")
    stated = config.get("max_position_embeddings")
    numbers = [factor, original, stated]
    if kind != "yarn" or any(
        isinstance(n, bool) or not isinstance(n, int | float) or not 0 < n < 1e12 for n in numbers
    ):
        return
    reach = float(factor or 0) * float(original or 0)
    if stated != original and abs(reach - float(stated or 0)) > _TOLERANCE * reach:
        at = f"{where}.factor"
        yield Place("config.json", at, f"{factor} x {original}", f"max_position_embeddings {stated:,}", "config")


def state_context(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State whether tokenizer or config promise more positions than there are."""
    positions, limit = _positions(checkpoint), _tokenizer_limit(checkpoint)
    ledger.fact("audit.config.has_positions", positions is not None)
    if positions is None:
        return
    places = []
    path = tokenizer_files(checkpoint).prefix + "tokenizer_config.json"
    if limit is not None and limit > positions:
        place = Place(path, "model_max_length", f"{limit:,}", f"max_position_embeddings {positions:,}", "config")
        places.append(place)
    before = _positions(checkpoint.base) if checkpoint.base else None
    changes = checkpoint.intent.expected_changes
    declared = changes.rope == "changed" or "max_position_embeddings" in changes.config
    if before is not None and positions > before and not declared:
        at, wanted = "max_position_embeddings", f"{before:,}, or a declared change"
        places.append(Place("config.json", at, f"{positions:,}", wanted, "base"))
    ledger.count("audit.config.context_faults", places)
    same = checkpoint.base is not None and (before, _tokenizer_limit(checkpoint.base)) == (positions, limit)
    ledger.fact("audit.config.context_as_in_base", same)


def _positions(checkpoint: Checkpoint) -> int | None:
    """Positions the model has; None for a model without a limit, or a config without one."""
    config = text_config(checkpoint)
    if config.get("model_type") == "t5":
        return None
    value = config.get("max_position_embeddings", config.get("n_positions"))
    return value if type(value) is int and 0 < value < _NO_LIMIT * 10 else None


def _tokenizer_limit(checkpoint: Checkpoint) -> int | None:
    value = tokenizer_files(checkpoint).settings.get("model_max_length")
    return int(value) if isinstance(value, int | float) and 0 < value <= _NO_LIMIT else None
