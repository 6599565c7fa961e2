"""Names of tensors: what wrappers put around them, and under which other names the same numbers are stored."""

from __future__ import annotations

import re
from collections.abc import Iterable

# What wrappers put before a module's own names: torch.compile, FSDP, DeepSpeed, PEFT; outermost also DDP.
WRAPPERS = (
    "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_forward_module.", "base_model.model.",
)  # fmt: skip
_OUTERMOST = ("module.", *WRAPPERS)
_ANY_WRAPPER = re.compile(
    r"^module\.|(?<![^.])(_(orig_mod|fsdp_wrapped_module|checkpoint_wrapped_module|forward_module)|base_model\.model)\."
)
_MAX_WRAPPERS = 8
# Tensors that libraries store or not as they please: caches, masks, positions, and the value head of RL trainers.
_OPTIONAL = re.compile(
    r"rotary_emb\.(inv_freq|(cos|sin)_cached)$|rotary_emb\.original_inv_freq$|(attn|attention)\.(masked_)?bias$"
    r"|position_ids$|token_type_ids$|^v_head\.|distance_embedding\.weight$|^pooler\.dense\.(weight|bias)$"
    r"|^(cls\.predictions|lm_head)\.decoder\.(weight|bias)$|^cls\.seq_relationship\.|EncDecAttention\.relative_attention_bias\.weight$"
)
_QUANTISER = re.compile(
    r"\.(qweight|qzeros|scales|g_idx|SCB|weight_format|weight_(packed|shape|scale|scale_inv|zero_point|g_idx|scale_2)"
    r"|(weight|input)_global_scale|(input|output|k|v|q|activation)_scale|input_zero_point|act_scale"
    r"|weight\.(absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w+)|\w+_(blocks|scales))$"
)
# Matrices of an adapter that was not merged; one of the name that PEFT gives where none was chosen. Models that are
# made of adapters on purpose give them names of their own.
_ADAPTER = re.compile(r"\.lora_(embedding_)?[AB](\.default)?(\.weight)?$")
# Other spellings of one matrix: fused ones, old names of norms, and packed weights.
_SPELLINGS = (
    (re.compile(r"self_attn\.[qkv]_proj\."), "self_attn.qkv_proj."),
    (re.compile(r"mlp\.(gate|up)_proj\."), "mlp.gate_up_proj."),
    (re.compile(r"experts\.\d+\.(gate_proj|up_proj|w1|w3)\.weight$"), "experts.gate_up_proj"),
    (re.compile(r"experts\.\d+\.(down_proj|w2)\.weight$"), "experts.down_proj"),
    (re.compile(r"LayerNorm\.weight$"), "LayerNorm.gamma"),
    (re.compile(r"LayerNorm\.bias$"), "LayerNorm.beta"),
    (re.compile(r"\.weight$"), ".qweight"),
    (re.compile(r"\.weight$"), ".weight_packed"),
    (re.compile(r"experts\.\d+\.(gate_proj|up_proj|w1|w3)\.weight$"), "experts.gate_up_proj_blocks"),
    (re.compile(r"experts\.\d+\.(down_proj|w2)\.weight$"), "experts.down_proj_blocks"),
)


def unwrapped(name: str) -> str:
    """The name without what wrappers put into it, also several around each other."""
    if not _ANY_WRAPPER.search(name):
        return name
    for _ in range(_MAX_WRAPPERS):
        outer = next((wrapper for wrapper in _OUTERMOST if name.startswith(wrapper)), None)
        if outer is None:
            break
        name = name[len(outer) :]
    for wrapper in WRAPPERS:
        name = name.replace("." + wrapper, ".")
    return name


def variants(name: str) -> Iterable[str]:
    """Names under which other writers store the same numbers."""
    return (pattern.sub(other, name) for pattern, other in _SPELLINGS if pattern.search(name))


def is_optional(name: str) -> bool:
    """Whether a tensor of that name, without the root, may be there or not."""
    return _OPTIONAL.search(name) is not None


def is_adapter_part(name: str) -> bool:
    """Whether the name is one that a low-rank adapter gives to its matrices inside the model."""
    return _ADAPTER.search(name) is not None


def is_quantiser_state(name: str) -> bool:
    """Whether the name is one that quantisers give to packed weights, scales and tables."""
    return _QUANTISER.search(name) is not None
