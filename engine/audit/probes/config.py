"""Group config: does config.json fit the weights, the tokenizer and the base?"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.audit.architectures.names import is_optional, is_quantiser_state
from engine.audit.documents import Document, shown
from engine.audit.ledger import Place
from engine.audit.probes.expectation import places, text_config, vocabulary
from engine.audit.probes.positions import state_context, state_rope
from engine.audit.tensors import FLOAT_DTYPES
from engine.audit.tokenizers.files import tokenizer_files
from engine.model.base import Text

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger
    from engine.audit.tensors import TensorInfo

_PLAIN = frozenset({"F64", "F32", "F16", "BF16"})
_PACKED = frozenset({"I8", "U8", "I32", "U32", "F4", "F6_E2M3", "F6_E3M2"}) | (FLOAT_DTYPES - _PLAIN)
_DTYPES = {
    "float64": "F64", "double": "F64", "float32": "F32", "float": "F32", "fp32": "F32", "float16": "F16", "half": "F16",
    "fp16": "F16", "bfloat16": "BF16", "bf16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip
_EIGHT_BIT = frozenset({"F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"})
# The names of scales: weight_scale and weight_scale_inv beside a weight, or a suffix to the name of fused experts.
_SCALE = re.compile(r"([._]weight)?[._]scale(_inv|_weight)?$")
# Small tensors that many families keep in another number format on purpose.
_OTHER_DTYPE = re.compile(r"norm|router|(^|\.)gate\.|scale|inv_freq|(^|\.)ln_|bias$|position|A_log$|\.D$")
_IDS = ("bos_token_id", "eos_token_id", "pad_token_id")
_OTHER_ROLE = {"bos_token_id": "cls_token", "eos_token_id": "sep_token"}
_FACTS = (
    "readable rotary rope_differences rope_forms_differ rope_unread rope_scaling_faults has_positions context_faults "
    "quantization_declared packed_tensors scales_missing dtype_faults bad_special_ids changed_keys"
)
_MAX_KEYS = 2000
# Settings that a fine-tune may change, that say nothing of what is computed, or that have gates of their own.
_FREE = frozenset({
    "_name_or_path", "_commit_hash", "transformers_version", "torch_dtype", "dtype", "use_cache", "vocab_size",
    "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "cls_token_id", "mask_token_id",
    "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id", "quantization_config",
    "compression_config", "auto_map", "id2label", "label2id", "num_labels", "problem_type", "finetuning_task",
    "task_specific_params", "tie_word_embeddings", "tie_encoder_decoder", "attn_implementation",
    "_attn_implementation", "_attn_implementation_autoset", "_attn_implementation_internal", "gradient_checkpointing",
    "output_attentions", "output_hidden_states", "output_scores", "output_router_logits", "return_dict",
    "return_dict_in_generate", "torchscript", "use_bfloat16", "max_length", "min_length", "do_sample",
    "early_stopping", "num_beams", "num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p",
    "typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
    "bad_words_ids", "num_return_sequences", "chunk_size_feed_forward", "remove_invalid_values",
    "exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens", "pruned_heads", "prefix",
    "tokenizer_class", "initializer_range", "initializer_factor", "pretraining_tp", "router_aux_loss_coef",
    "router_jitter_noise", "unsloth_version", "unsloth_fixed", "rope_theta", "rope_scaling", "rope_parameters",
    "rotary_emb_base", "rotary_pct", "partial_rotary_factor", "rope_local_base_freq", "max_position_embeddings",
    "n_positions", "n_ctx", "original_max_position_embeddings", "tf_legacy_loss", "cross_attention_hidden_size",
    "bos_token", "eos_token", "pad_token", "summary_type", "summary_use_proj", "summary_activation",
    "summary_proj_to_labels", "summary_first_dropout",
})  # fmt: skip
_DROPOUT = re.compile(r"dropout|_pdrop$|layerdrop")
# What the library takes where the key is absent; other keys that stand on one side only are not judged.
_DEFAULTS: Mapping[str, Any] = {
    "attention_bias": False, "mlp_bias": False, "rms_norm_eps": 1e-6, "layer_norm_eps": 1e-5, "sliding_window": None,
    "use_sliding_window": False, "is_decoder": False, "add_cross_attention": False, "attn_logit_softcapping": None,
    "final_logit_softcapping": None, "qk_layernorm": False, "use_parallel_residual": True,
}  # fmt: skip


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what config.json shows."""
    config = checkpoint.config
    if config is not None:
        readable = config.problem is None and isinstance(config.value, dict) and bool(config.value)
        place = Place(
            "config.json", "", shown(config.problem or "no object, or an empty one"), "a JSON object", "format"
        )
        ledger.fact("audit.config.readable", readable, () if readable else [place])
    if config is None or not config.mapping:
        for fact in _FACTS.split():
            ledger.unknown(
                f"audit.config.{fact}", "There is no config.json that can be read.", "没有可读的 config.json。"
            )
        return
    ledger.count("audit.config.impossible", _impossible(config.mapping))
    _named_class(checkpoint, config.mapping, ledger)
    state_rope(checkpoint, ledger)
    state_context(checkpoint, ledger)
    _quantised(checkpoint, ledger)
    _dtypes(checkpoint, ledger)
    _special_ids(checkpoint, ledger)
    _against_base(checkpoint, ledger)


# Whole numbers of at least one, with what no model comes near; and constants that are finite and above zero.
_SIZES = {
    "hidden_size": 10**6, "num_hidden_layers": 10_000, "num_attention_heads": 100_000, "num_key_value_heads": 100_000,
    "intermediate_size": 10**7, "vocab_size": 10**8, "max_position_embeddings": 10**9,
}  # fmt: skip
_CONSTANTS = ("rope_theta", "rms_norm_eps", "layer_norm_eps", "initializer_range")


def _impossible(config: Mapping[str, Any]) -> Iterator[Place]:
    """Values of another kind, or beyond any model. A key that is absent or null is left to the library's default."""
    family = config.get("model_type")
    if ("architectures" in config or "transformers_version" in config) and not isinstance(family, str):
        yield Place("config.json", "model_type", shown(family or "not set"), "a family's name", "format")
    for key, limit in _SIZES.items():
        value = config.get(key)
        if value is not None and (type(value) is not int or not 1 <= value <= limit):
            yield Place("config.json", key, shown(value), f"a whole number from 1 to {limit:,}", "format")
    for key in _CONSTANTS:
        value = config.get(key)
        if value is not None and (type(value) not in (int, float) or not 0 < value < math.inf):
            yield Place("config.json", key, shown(value), "a finite number above 0", "format")


def _named_class(checkpoint: Checkpoint, config: Mapping[str, Any], ledger: Ledger) -> None:
    """Whether a config of a family names the class, too: servers choose the model by it."""
    wanted = isinstance(config.get("model_type"), str) and bool(checkpoint.named)
    absent = wanted and checkpoint.architecture is None
    place = Place("config.json", "architectures", shown(config.get("architectures", "not set")), "a class", "format")
    ledger.fact("audit.config.class_missing", absent, [place] if absent else ())


def _quantised(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Whether the config says that the weights are packed, and how many are."""
    config = checkpoint.config.mapping if checkpoint.config else {}
    declared = any(
        isinstance(part.get(key), dict) and part[key]
        for part in (config, text_config(checkpoint))
        for key in ("quantization_config", "compression_config")
    )
    if not checkpoint.named:
        for name in ("packed_tensors", "plain_matrices"):
            ledger.unknown(f"audit.config.{name}", "No tensor can be listed.", "无法列出任何张量。")
        ledger.fact("audit.config.quantization_declared", declared)
        return
    _scales(checkpoint, declared, ledger)
    packed = [t for name, t in checkpoint.named.items() if _is_packed(name, t)]
    plain = [t for t in checkpoint.named.values() if t.is_matrix and t.dtype in _PLAIN]
    ledger.count(
        "audit.config.packed_tensors",
        places(packed, lambda t: Place(t.file, shown(t.name), f"{t.dtype} {shown(list(t.shape))}", "", "header")),
    )
    ledger.fact("audit.config.plain_matrices", float(len(plain)))
    entry = []
    if declared and not packed:
        wanted = "not set, as no tensor is packed"
        entry.append(Place("config.json", "quantization_config", "set", wanted, "header"))
    elif packed and not declared:
        wanted = f"set, as {shown(packed[0].name)} is packed"
        entry.append(Place("config.json", "quantization_config", "not set", wanted, "header"))
    ledger.fact("audit.config.quantization_declared", declared, entry)


def _scales(checkpoint: Checkpoint, declared: bool, ledger: Ledger) -> None:
    """Matrices in eight-bit floats without the scale that the declared quantisation multiplies them by."""
    eights = {n: t for n, t in checkpoint.named.items() if t.is_matrix and t.dtype in _EIGHT_BIT} if declared else {}
    scaled = {_SCALE.sub("", name) for name in checkpoint.named if _SCALE.search(name)} if eights else set[str]()
    bare = [tensor for name, tensor in eights.items() if name.removesuffix(".weight") not in scaled]
    ledger.fact("audit.config.eight_bit", float(len(eights)))
    ledger.count(
        "audit.config.scales_missing",
        places(bare, lambda t: Place(t.file, shown(t.name), f"{t.dtype} without a scale", "weight_scale", "config")),
    )


def _is_packed(name: str, tensor: TensorInfo) -> bool:
    return is_quantiser_state(name) or (tensor.is_matrix and tensor.dtype in _PACKED and not is_optional(name))


def _dtypes(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Number format of most weights against the declared ones, and tensors that are out of line."""
    fact = "audit.config.dtype_faults"
    numbers: Counter[str] = Counter()
    floats = {n: t for n, t in checkpoint.named.items() if t.dtype in FLOAT_DTYPES and not is_quantiser_state(n)}
    for tensor in floats.values():
        numbers[tensor.dtype] += tensor.numel
    if not numbers:
        ledger.unknown(fact, "No floating-point tensor can be listed.", "无法列出任何浮点张量。")
        return
    main = numbers.most_common(1)[0][0]
    config = text_config(checkpoint)
    key = "dtype" if isinstance(config.get("dtype"), str) else "torch_dtype"
    stated = _DTYPES.get(str(config.get(key)).removeprefix("torch."))
    intended = _DTYPES.get(str(checkpoint.intent.dtype).removeprefix("torch."))
    if stated is None and intended is None:
        ledger.unknown(fact, "Neither config.json nor the intent states a dtype.", "配置与意图都没有声明 dtype。")
        return
    found: list[Place] = []
    if stated not in (None, main):
        found.append(Place("config.json", key, shown(config[key]), f"{main}, as most weights", "header"))
    if intended not in (None, main):
        declared = f"{checkpoint.intent.dtype}, as the intent says"
        found.append(Place("config.json", key, f"{main} in most weights", shown(declared), "intent"))
    others = [t for name, t in floats.items() if t.dtype != main and not _OTHER_DTYPE.search(name)]
    more = places(others, lambda tensor: Place(tensor.file, shown(tensor.name), tensor.dtype, main, "header"))
    ledger.count(fact, (*found, *more))


def _special_ids(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Ids of special tokens without a row or a token, and those that are not the token named for their part."""
    faults = list(_id_faults(checkpoint))
    ledger.count("audit.config.bad_special_ids", faults)
    before = set(_id_faults(checkpoint.base)) if checkpoint.base and faults else set()
    ledger.fact("audit.config.special_ids_as_in_base", bool(faults) and set(faults) <= before)


def _id_faults(checkpoint: Checkpoint) -> Iterator[Place]:
    words = vocabulary(checkpoint)
    rows = None
    if not isinstance(words, Text):
        rows = max((tensor.shape[0] for tensor in words[1]), default=words[0])
    for document in (checkpoint.config, checkpoint.generation_config):
        if document is not None:
            for key in _IDS:
                yield from _faults_of(checkpoint, document, key, rows)


def _faults_of(checkpoint: Checkpoint, document: Document, key: str, rows: int | None) -> Iterator[Place]:
    files = tokenizer_files(checkpoint)
    value = document.mapping.get(key)
    # -1 was written for a padding token that was not chosen.
    ids: list[Any] = [
        id_
        for id_ in (value if isinstance(value, list) else [value])[:100]
        if id_ is not None and not (id_ == -1 and key == "pad_token_id")
    ]
    if not ids:
        return
    sound = True
    for id_ in ids:
        if type(id_) is not int or id_ < 0 or (rows is not None and id_ >= rows):
            sound = False
            limit = f"an id below {rows:,}" if rows is not None else "an id"
            yield Place(document.path, key, shown(id_), limit, "header")
        elif files.view is not None and key != "pad_token_id" and files.text_of(id_) is None:
            sound = False
            yield Place(document.path, key, f"{id_}, which no token has", "the id of a token", "tokenizer")
    # Which tokens end a generation is judged with the generation config; an encoder generates nothing.
    silent = checkpoint.kind in ("encoder", "sentence_transformers") and key != "pad_token_id"
    if not sound or document is not checkpoint.config or silent:
        return
    name = files.named.get(key.removesuffix("_id"))
    wanted = files.id_of(name) if name is not None else None
    # Decoders on the vocabulary of BERT begin and end with its [CLS] and [SEP], whatever else is named.
    other = files.named.get(_OTHER_ROLE.get(key, ""))
    if wanted is not None and wanted not in ids and (other is None or files.id_of(other) not in ids):
        observed = ", ".join(f"{id_} {shown(files.text_of(id_) or '')}" for id_ in ids[:4])
        yield Place(document.path, key, observed, f"{wanted} {shown(name)}", "tokenizer")


def _against_base(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Settings that differ from the base's and are neither free to change nor declared."""
    base = checkpoint.base.config if checkpoint.base else None
    if base is None or not base.mapping or checkpoint.config is None:
        ledger.unknown("audit.config.changed_keys", "The base's config is not at hand.", "没有基座的配置。")
        return
    declared = checkpoint.intent.expected_changes.config
    ours, theirs = _flat(checkpoint.config.mapping), _flat(base.mapping)
    changed = []
    for key in dict.fromkeys((*ours, *theirs)):
        last = key.rpartition(".")[2]
        free = last in _FREE or _DROPOUT.search(last) or key in declared or last in declared
        if not free and _differ(last, ours, theirs, key):
            here, there = (shown(side.get(key, "not set")) for side in (ours, theirs))
            changed.append(Place("config.json", shown(key), here, there, "base"))
    ledger.count("audit.config.changed_keys", changed)
    source = checkpoint.config.mapping.get("_name_or_path")
    local = isinstance(source, str) and re.match(r"[/~\\]|\.{1,2}/|[A-Za-z]:[\\/]", source) is not None
    place = Place("config.json", "_name_or_path", shown(source), "a public name, or nothing", "policy")
    ledger.fact("audit.config.local_path", local, [place] if local else ())


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by path, one level of parts opened."""
    found: dict[str, Any] = {}
    for key, value in list(config.items())[:_MAX_KEYS]:
        if isinstance(value, dict) and key not in _FREE:
            found |= {f"{key}.{inner}": part for inner, part in list(value.items())[:_MAX_KEYS]}
        else:
            found[key] = value
    return found


def _differ(name: str, ours: Mapping[str, Any], theirs: Mapping[str, Any], key: str) -> bool:
    if key in ours and key in theirs:
        here, there = ours[key], theirs[key]
        if name == "architectures":
            return _family(here) != _family(there)
        return bool(here != there)
    if name not in _DEFAULTS:
        return False
    return bool(ours.get(key, _DEFAULTS[name]) != theirs.get(key, _DEFAULTS[name]))


def _family(architectures: object) -> str:
    """The class without its task: a reward model is trained from a language model."""
    first = architectures[0] if isinstance(architectures, list) and architectures else architectures
    return re.sub(r"(For\w+|LMHeadModel|Model)$", "", first) if isinstance(first, str) else ""
