"""Layouts of decoders. Source of names, shapes and defaults: the models of transformers 4.57 and their configs."""

from __future__ import annotations

from collections.abc import Callable

from engine.audit.architectures.layout import Config, Layout, Shapes, Stack

_NORMS = ("input_layernorm", "post_attention_layernorm")
_FOUR_NORMS = (*_NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm")
Mlp = Callable[[int], Shapes]


def llama(config: Config) -> Layout:
    """Llama 1 to 3."""
    return _rotary(config, bias=_bias(config), mlp=_gated(bias=config.flag("mlp_bias")))


def mistral(config: Config) -> Layout:
    """Mistral."""
    return _rotary(config, kv_heads=8)


def qwen2(config: Config) -> Layout:
    """Qwen 1.5 to 2.5: q, k and v have a bias, whatever the config says."""
    return _rotary(config, kv_heads=32, bias="qkv")


def qwen3(config: Config) -> Layout:
    """Qwen 3."""
    return _rotary(config, kv_heads=32, head=128, bias=_bias(config), head_norms=True)


def gemma(config: Config) -> Layout:
    """Gemma."""
    return _rotary(config, kv_heads=16, head=256, bias=_bias(config))


def gemma2(config: Config) -> Layout:
    """Gemma 2."""
    return _rotary(config, kv_heads=4, head=256, bias=_bias(config), norms=_FOUR_NORMS)


def gemma3(config: Config) -> Layout:
    """The text model of Gemma 3."""
    return _rotary(config, kv_heads=4, head=256, bias=_bias(config), norms=_FOUR_NORMS, head_norms=True)


def phi3(config: Config) -> Layout:
    """Phi 3 and 4, with fused matrices."""
    fused = {"mlp.gate_up_proj.weight": "inner2 hidden", "mlp.down_proj.weight": "hidden inner"}
    return _rotary(config, mlp=lambda _: fused, fused=True)


def mixtral(config: Config) -> Layout:
    """Mixtral."""
    count = config.layers("num_local_experts", default=8)
    layer = {"block_sparse_moe.gate.weight": "experts hidden"}
    for number in range(count):
        expert = f"block_sparse_moe.experts.{number}."
        layer |= {expert + "w1.weight": "inner hidden", expert + "w3.weight": "inner hidden"}
        layer[expert + "w2.weight"] = "hidden inner"
    every = range(config.layers("num_hidden_layers"))
    experts = {f"layers.{i}.block_sparse_moe.experts.": count for i in every}
    return _rotary(config, kv_heads=8, mlp=lambda _: layer, experts=experts, more={"experts": count})


def qwen2_moe(config: Config) -> Layout:
    """Qwen 1.5 and 2 with experts, one of them always on."""
    shared = {f"mlp.shared_expert.{name}": sizes for name, sizes in _gate_up_down("shared").items()}
    shared["mlp.shared_expert_gate.weight"] = "one hidden"
    more = {"shared": config.size("shared_expert_intermediate_size", default=5632), "one": 1}
    bias = "qkv" if config.flag("qkv_bias", default=True) else ""
    return _sparse(config, shared, more, kv_heads=16, experts=60, bias=bias)


def qwen3_moe(config: Config) -> Layout:
    """Qwen 3 with experts."""
    return _sparse(config, {}, {}, kv_heads=4, experts=128, bias=_bias(config), head_norms=True)


def gpt_neox(config: Config) -> Layout:
    """GPT-NeoX and Pythia."""
    layer: dict[str, str] = {}
    for norm in _NORMS:
        layer |= {f"{norm}.weight": "hidden", f"{norm}.bias": "hidden"}
    layer |= {"attention.query_key_value.weight": "hidden3 hidden", "attention.dense.weight": "hidden hidden"}
    if config.flag("attention_bias", default=True):
        layer |= {"attention.query_key_value.bias": "hidden3", "attention.dense.bias": "hidden"}
    layer |= {"mlp.dense_h_to_4h.weight": "inner hidden", "mlp.dense_h_to_4h.bias": "inner"}
    layer |= {"mlp.dense_4h_to_h.weight": "hidden inner", "mlp.dense_4h_to_h.bias": "hidden"}
    hidden = config.size("hidden_size")
    sizes = {"vocab": config.size("vocab_size"), "hidden": hidden, "hidden3": 3 * hidden, "labels": config.labels()}
    sizes["inner"] = config.size("intermediate_size")
    fixed = {"embed_in.weight": "vocab hidden", "final_layer_norm.weight": "hidden", "final_layer_norm.bias": "hidden"}
    stack = Stack("layers.", config.layers("num_hidden_layers"), lambda _: layer)
    return Layout(sizes, "embed_in.weight", fixed, (stack,))


def gpt2(config: Config) -> Layout:
    """GPT-2."""
    config.plain("add_cross_attention")
    layer: dict[str, str] = {}
    for norm in ("ln_1", "ln_2"):
        layer |= {f"{norm}.weight": "hidden", f"{norm}.bias": "hidden"}
    # These are stored as input times output.
    layer |= {"attn.c_attn.weight": "hidden hidden3", "attn.c_attn.bias": "hidden3"}
    layer |= {"attn.c_proj.weight": "hidden hidden", "attn.c_proj.bias": "hidden"}
    layer |= {"mlp.c_fc.weight": "hidden inner", "mlp.c_fc.bias": "inner"}
    layer |= {"mlp.c_proj.weight": "inner hidden", "mlp.c_proj.bias": "hidden"}
    hidden = config.size("n_embd", "hidden_size")
    sizes = {"vocab": config.size("vocab_size"), "hidden": hidden, "hidden3": 3 * hidden, "labels": config.labels()}
    sizes["inner"] = config.size("n_inner", default=4 * hidden)
    sizes["positions"] = config.size("n_positions", "max_position_embeddings", default=1024)
    fixed = {"wte.weight": "vocab hidden", "wpe.weight": "positions hidden"}
    fixed |= {"ln_f.weight": "hidden", "ln_f.bias": "hidden"}
    stack = Stack("h.", config.layers("n_layer", "num_hidden_layers"), lambda _: layer)
    return Layout(sizes, "wte.weight", fixed, (stack,))


def _bias(config: Config) -> str:
    return "qkvo" if config.flag("attention_bias") else ""


def _gate_up_down(inner: str) -> dict[str, str]:
    return {
        "gate_proj.weight": f"{inner} hidden",
        "up_proj.weight": f"{inner} hidden",
        "down_proj.weight": f"hidden {inner}",
    }


def _gated(bias: bool = False) -> Mlp:
    layer = {f"mlp.{name}": sizes for name, sizes in _gate_up_down("inner").items()}
    if bias:
        layer |= {"mlp.gate_proj.bias": "inner", "mlp.up_proj.bias": "inner", "mlp.down_proj.bias": "hidden"}
    return lambda _: layer


def _sparse(
    config: Config, shared: Shapes, more: dict[str, int], *, kv_heads: int, experts: int, bias: str,
    head_norms: bool = False,
) -> Layout:  # fmt: skip
    """A decoder some of whose layers choose among experts, as the config says."""
    count = config.layers("num_experts", "num_local_experts", default=experts)
    layer = {"mlp.gate.weight": "experts hidden", **shared}
    for number in range(count):
        layer |= {f"mlp.experts.{number}.{name}": sizes for name, sizes in _gate_up_down("expert").items()}
    every, only = config.size("decoder_sparse_step", default=1), config.values.get("mlp_only_layers")
    dense = {number for number in only if type(number) is int} if isinstance(only, list) else set[int]()
    sparse = [
        i for i in range(config.layers("num_hidden_layers")) if i not in dense and (i + 1) % every == 0
    ]  # fmt: skip
    chosen = frozenset(sparse)
    plain = _gated()
    sizes = more | {"experts": count, "expert": config.size("moe_intermediate_size")}
    return _rotary(
        config, kv_heads=kv_heads, head=128 if head_norms else None, bias=bias, head_norms=head_norms,
        mlp=lambda i: layer if i in chosen else plain(i),
        experts={f"layers.{i}.mlp.experts.": count for i in sparse}, more=sizes,
    )  # fmt: skip


def _rotary(
    config: Config, *, kv_heads: int | None = None, head: int | None = None, bias: str = "",
    norms: tuple[str, ...] = _NORMS, head_norms: bool = False, fused: bool = False, mlp: Mlp | None = None,
    experts: dict[str, int] | None = None, more: dict[str, int] | None = None,
) -> Layout:  # fmt: skip
    """A decoder of the Llama kind.

    Args:
        kv_heads, head: the library's defaults for the key-value heads and the size of a head; None derives them.
        bias: of q, k, v and o, those that have one.
        norms: norms of a layer. ``head_norms``: q and k are normalised head by head.
        fused: q, k and v are one matrix.
        mlp: tensors of the feed-forward part of each layer; ``experts`` and ``more`` are its experts and sizes.
    """
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    width = config.size("head_dim", default=head or max(hidden // heads, 1))
    groups = config.size("num_key_value_heads", default=kv_heads or heads)
    inner = config.size("intermediate_size")
    sizes = {
        "vocab": config.size("vocab_size"), "hidden": hidden, "head": width, "q": heads * width, "kv": groups * width,
        "qkv": (heads + 2 * groups) * width, "inner": inner, "inner2": 2 * inner, "labels": config.labels(),
    }  # fmt: skip
    attention = {f"{norm}.weight": "hidden" for norm in norms}
    outputs = {"qkv": "qkv"} if fused else {"q": "q", "k": "kv", "v": "kv"}
    for name, size in outputs.items():
        attention[f"self_attn.{name}_proj.weight"] = f"{size} hidden"
        if name in bias:
            attention[f"self_attn.{name}_proj.bias"] = size
    attention["self_attn.o_proj.weight"] = "hidden q"
    if "o" in bias:
        attention["self_attn.o_proj.bias"] = "hidden"
    if head_norms:
        attention |= {"self_attn.q_norm.weight": "head", "self_attn.k_norm.weight": "head"}
    feed = mlp or _gated()
    stack = Stack("layers.", config.layers("num_hidden_layers"), lambda i: {**attention, **feed(i)})
    fixed = {"embed_tokens.weight": "vocab hidden", "norm.weight": "hidden"}
    return Layout(sizes | (more or {}), "embed_tokens.weight", fixed, (stack,), experts or {})
