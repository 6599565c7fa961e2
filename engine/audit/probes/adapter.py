"""Adapters: the base they belong to, and whether their matrices fit it and were trained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from engine.audit.adapters import PREFIX, Adapter
from engine.audit.documents import shown
from engine.audit.ledger import Place
from engine.audit.probes.card import front_matter
from engine.audit.tokenizers.files import tokenizer_files
from engine.model.base import Text

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger

_CONFIG = "adapter_config.json"
_QUANTISED = re.compile(r"[-_](unsloth[-_])?(bnb[-_]4bit|4bit|8bit|gptq\S*|awq\S*|int4|int8|fp8)$", re.IGNORECASE)
# A path, or the name that trainers give to the folder of a step; a public name is an owner and a name.
_LOCAL = re.compile(r"^(\.{0,2}/|~|[A-Za-z]:[\\/]|\\\\)|^[^/]+/[^/]+/.+|(^|/)checkpoint-\d+$")


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what the adapter says of its base, and how its matrices are."""
    if checkpoint.kind != "adapter":
        return
    document = checkpoint.adapter_config
    readable = document is not None and document.problem is None and isinstance(document.value, dict)
    observed = shown(document.problem or "no object") if document else "absent"
    ledger.fact("audit.adapter.config_readable", readable,
                () if readable else [Place(_CONFIG, "", observed, "a JSON object", "format")])  # fmt: skip
    if document is None or not readable:
        why = document.problem or "no object" if document else f"{_CONFIG} is not there"
        for fact in (*_BASE_FACTS, *_MATRIX_FACTS):
            ledger.unknown(fact, f"The adapter's config cannot be read: {why}.", f"无法读取适配器配置：{why}。")
        return
    _base(checkpoint, document.mapping, ledger)
    adapter = Adapter.of(checkpoint)
    if adapter is None or not checkpoint.tensors:
        what = ("The adapter is of another method than low rank.", "该适配器不是低秩方法。")
        none = ("The adapter's tensors could not be listed.", "未能列出适配器的张量。")
        for fact in _MATRIX_FACTS:
            ledger.unknown(fact, *(none if adapter else what))
        if adapter and (file := _without_tensors(checkpoint)):
            place = Place(file, "", "no tensors", "lora_A and lora_B of every target", "format")
            ledger.count("audit.adapter.incomplete", [place])
        return
    _matrices(checkpoint, adapter, ledger)
    _fits(checkpoint, adapter, ledger)
    _vocabulary(checkpoint, adapter, ledger)


def _without_tensors(checkpoint: Checkpoint) -> str | None:
    """A weight file that was read to its end and holds nothing, as a save with partitioned weights leaves it."""
    for path in ("adapter_model.safetensors", "adapter_model.bin"):
        if path in checkpoint.headers and checkpoint.headers[path].listed:
            return path
        pickled = checkpoint.pickles.of(path)
        if pickled and all(fault.path != path for fault in checkpoint.pickles.faults):
            return path
    return None


_BASE_FACTS = (
    "audit.adapter.base_disagrees", "audit.adapter.base_is_local", "audit.adapter.base_unnamed",
    "audit.adapter.revision_missing", "audit.adapter.revision_differs",
)  # fmt: skip
_MATRIX_FACTS = (
    "audit.adapter.misfits", "audit.adapter.wrong_ranks", "audit.adapter.scale", "audit.adapter.incomplete",
    "audit.adapter.malformed_names", "audit.adapter.untrained_share", "audit.adapter.rows_missing",
    "audit.adapter.tied_targets",
)  # fmt: skip


def _base(checkpoint: Checkpoint, config: dict[str, Any], ledger: Ledger) -> None:
    name, intent = config.get("base_model_name_or_path"), checkpoint.intent
    at = "base_model_name_or_path"
    unnamed = not isinstance(name, str) or not name.strip()
    place = Place(_CONFIG, at, shown(name), "the base's public name")
    ledger.fact("audit.adapter.base_unnamed", unnamed, [place] if unnamed else ())
    local = isinstance(name, str) and bool(_LOCAL.match(name))
    ledger.fact(
        "audit.adapter.base_is_local", local, [Place(_CONFIG, at, f"{name!r:.120}", "a name others can resolve")]
    )
    card = front_matter(checkpoint).get("base_model")
    declared = [
        (source, value)
        for source, value in (("intent", intent.base_model), ("metadata", card if isinstance(card, str) else None))
        if value
    ]
    if not isinstance(name, str) or not name or not declared:
        ledger.unknown(
            "audit.adapter.base_disagrees",
            "The base is not named both in the adapter's config and in the intent or the model card.",
            "适配器配置与意图文件（或模型卡）没有同时写明基座。",
        )
    else:
        ledger.count(
            "audit.adapter.base_disagrees",
            (Place(_CONFIG, at, name[:120], value[:120], "intent" if source == "intent" else "metadata")
             for source, value in declared if not local and _plain(name) != _plain(value)),
        )  # fmt: skip
    revision, wanted = config.get("revision"), intent.base_revision
    known = isinstance(revision, str) and bool(revision) and revision not in ("main", "master")
    ledger.fact(
        "audit.adapter.revision_missing",
        not known and not wanted,
        [Place(_CONFIG, "revision", f"{revision!r:.80}", "a commit of the base")],
    )
    ledger.fact(
        "audit.adapter.revision_differs",
        known and wanted is not None and revision != wanted,
        [Place(_CONFIG, "revision", f"{revision!r:.80}", wanted or "", "intent" if wanted else None)],
    )


def _plain(name: str) -> str:
    """A base's name without its owner if that is a repackager's, and without the mark of a quantised twin."""
    bare = _QUANTISED.sub("", name.strip().rstrip("/"))
    bare = _QUANTISED.sub("", bare)
    owner, _, model = bare.rpartition("/")
    return model.casefold() if _QUANTISED.search(name) or owner.casefold() == "unsloth" else bare.casefold()


def _matrices(checkpoint: Checkpoint, adapter: Adapter, ledger: Ledger) -> None:
    pairs = adapter.pairs
    wrong = []
    for module, parts in pairs.items():
        rank = adapter.rank(module)
        for part, tensor in parts.items():
            inner = tensor.shape[0 if part == "A" else -1] if len(tensor.shape) >= 2 else 0
            if ".lora_embedding_" in tensor.name:
                inner = tensor.shape[0 if part == "A" else 1] if len(tensor.shape) == 2 else 0
            if rank is not None and inner != rank:
                wrong.append(Place(tensor.file, tensor.name, f"shape {list(tensor.shape)}", f"rank {rank}", "config"))
    ledger.count("audit.adapter.wrong_ranks", wrong)
    if adapter.scale is None:
        ledger.unknown(
            "audit.adapter.scale", "The config gives no rank or no lora_alpha.", "配置缺少 r 或 lora_alpha。"
        )
    else:
        ledger.fact("audit.adapter.scale", adapter.scale, [Place(_CONFIG, "lora_alpha / r", f"{adapter.scale:g}")])
    ledger.count("audit.adapter.malformed_names", (
        Place(adapter.tensors[name].file, name, "a name no loader looks for", PREFIX + "….lora_A.weight", "format")
        for name in adapter.malformed
    ))  # fmt: skip
    ledger.count("audit.adapter.incomplete", _incomplete(checkpoint, adapter))
    seconds = [(parts["B"], stats) for parts in pairs.values()
               if "B" in parts and (stats := checkpoint.stats.get(parts["B"].name)) is not None]  # fmt: skip
    if not seconds:
        ledger.unknown("audit.adapter.untrained_share", "No lora_B could be read.", "未能读取任何 lora_B。")
    else:
        zero = [tensor for tensor, stats in seconds if stats.zero]
        ledger.fact("audit.adapter.untrained_share", len(zero) / len(seconds),
                    (Place(t.file, t.name, "all zero, as at the start", "trained numbers") for t in zero))  # fmt: skip


def _incomplete(checkpoint: Checkpoint, adapter: Adapter) -> Iterator[Place]:
    """Halves without their other half, layers left out, targets without matrices, and matrices of no target."""
    for module, parts in adapter.pairs.items():
        if len(parts) == 1:
            (part, tensor) = next(iter(parts.items()))
            yield Place(tensor.file, tensor.name, f"only lora_{part}", "lora_A and lora_B", "format")
        elif adapter.targets(module) is False:
            tensor = parts["A"]
            yield Place(tensor.file, tensor.name, "not among target_modules", "a target", "config")
    wanted = adapter.config.get("target_modules")
    for name in wanted if isinstance(wanted, list) else ():
        if isinstance(name, str) and not any(m == name or m.endswith(f".{name}") for m in adapter.pairs):
            yield Place(_CONFIG, "target_modules", f"{name!r:.80} has no matrices", "lora_A and lora_B", "config")
    yield from _unsaved(adapter)
    if adapter.limited_layers:
        return
    base = checkpoint.base.config.mapping if checkpoint.base and checkpoint.base.config else {}
    count = base.get("num_hidden_layers") or base.get("n_layer")
    seen = set().union(*adapter.layers.values()) if adapter.layers else set()
    every = set(range(count)) if isinstance(count, int) and 0 < count < 10_000 else seen
    for kind, layers in sorted(adapter.layers.items()):
        missing = sorted(every - layers)
        if missing and (seen == layers or 2 * len(layers) >= len(every)):
            yield Place(
                "", kind, f"no matrices in layers {', '.join(map(str, missing[:8]))}", f"{len(every)} layers", "base"
            )


def _unsaved(adapter: Adapter) -> Iterator[Place]:
    """Modules that were to be saved whole, such as a new head, and the magnitudes that DoRA adds to the matrices."""
    saved = {part for name in adapter.saved_whole for part in name.split(".")[:-1]}
    wanted = adapter.config.get("modules_to_save")
    for name in wanted if isinstance(wanted, list) else ():
        if isinstance(name, str) and name.rpartition(".")[2] not in saved:
            yield Place(_CONFIG, "modules_to_save", f"{name!r:.80} has no tensors", "its whole weights", "config")
    if adapter.config.get("use_dora") is True and not any("lora_magnitude_vector" in n for n in adapter.tensors):
        yield Place(_CONFIG, "use_dora", "true, and no magnitudes", "lora_magnitude_vector of every target", "config")


def _fits(checkpoint: Checkpoint, adapter: Adapter, ledger: Ledger) -> None:
    """Whether the two matrices have the sides of the base's matrix."""
    shapes = _base_shapes(checkpoint)
    if not shapes:
        ledger.unknown(
            "audit.adapter.misfits",
            "The base is not at hand (base_reference or --base), or its architecture is not in the tables.",
            "没有基座（base_reference 或 --base），或其架构不在表中。",
        )
        return
    swapped = bool(adapter.config.get("fan_in_fan_out"))
    places = []
    for module, parts in adapter.pairs.items():
        shape = next((shapes[k] for k in (f"{module}.weight", _bare(module)) if k in shapes), None)
        if shape is None or len(shape) != 2:
            if shape is None and not module.startswith(("score", "classifier", "v_head")):
                name = next(iter(parts.values()))
                places.append(Place(name.file, name.name, "no such module in the base", "a module of the base", "base"))
            continue
        out, into = (shape[1], shape[0]) if swapped else (shape[0], shape[1])
        for part, tensor in parts.items():
            side, wanted = (tensor.shape[-1], into) if part == "A" else (tensor.shape[0], out)
            if ".lora_embedding_" in tensor.name:
                side, wanted = (tensor.shape[-1], shape[0]) if part == "A" else (tensor.shape[0], shape[1])
            if len(tensor.shape) == 2 and side != wanted:
                places.append(
                    Place(tensor.file, tensor.name, f"shape {list(tensor.shape)}", f"a side of {wanted}", "base")
                )
    ledger.count("audit.adapter.misfits", places)


def _base_shapes(checkpoint: Checkpoint) -> dict[str, tuple[int, ...]]:
    """Shapes of the base's weights, by full and by bare name: from its files, else from its config."""
    base = checkpoint.base
    if base is None:
        return {}
    if base.tensors:
        return {name: tensor.shape for name, tensor in base.tensors.items()}
    expected = base.layout
    if isinstance(expected, Text):
        return {}
    found = {expected.root + name: shape for name, shape in expected.shapes.items()}
    if expected.output:
        width = expected.shapes[expected.embedding][1] if expected.embedding in expected.shapes else 0
        found[expected.output] = (expected.vocab, width)
    return found


def _bare(module: str) -> str:
    return module.removeprefix("model.") + ".weight"


def _vocabulary(checkpoint: Checkpoint, adapter: Adapter, ledger: Ledger) -> None:
    base = checkpoint.base
    config = base.config.mapping if base and base.config else {}
    rows = config.get("vocab_size")
    highest = _highest_id(checkpoint)
    if highest is None:
        ledger.fact("audit.adapter.rows_missing", False)
    elif not isinstance(rows, int):
        ledger.unknown(
            "audit.adapter.rows_missing",
            "How many rows the base's embedding has is not known: the base is not at hand.",
            "基座不在手边，不知道其词嵌入有多少行。",
        )
    else:
        ledger.fact(
            "audit.adapter.rows_missing",
            highest >= rows and not adapter.saves_rows,
            [Place("tokenizer.json", "", f"highest token id {highest:,}", f"below {rows:,}, or saved rows", "base")],
        )
    tied = config.get("tie_word_embeddings")
    touched = adapter.touches_embeddings
    if touched and not isinstance(tied, bool):
        ledger.unknown(
            "audit.adapter.tied_targets",
            "Whether the base ties embedding and head is not known: it is not at hand, or its config does not say.",
            "不知道基座是否绑定词嵌入与输出头：基座不在手边或配置未写明。",
        )
    else:
        ledger.count(
            "audit.adapter.tied_targets",
            (
                Place(_CONFIG, "target_modules", module, "a base that does not tie it", "base")
                for module in touched
                if tied
            ),
        )


def _highest_id(checkpoint: Checkpoint) -> int | None:
    """The highest id of the adapter's own tokenizer; None if it ships none that can be read."""
    view = tokenizer_files(checkpoint).view
    return max(view.texts, default=None) if view is not None else None
