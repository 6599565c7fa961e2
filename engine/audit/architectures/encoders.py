"""Layouts of encoders and of T5. Source of names, shapes and defaults: the models of transformers 4.57."""

from __future__ import annotations

from engine.audit.architectures.layout import Config, Layout, Shapes, Stack

POOLER: Shapes = {"pooler.dense.weight": "hidden hidden", "pooler.dense.bias": "hidden"}


def bert(config: Config) -> Layout:
    """BERT and RoBERTa, which differ in their heads and defaults only. The pooler is optional and no part of it."""
    config.plain("is_decoder", "add_cross_attention")
    layer: dict[str, str] = {}
    for part in ("query", "key", "value"):
        layer |= _dense(f"attention.self.{part}", "hidden", "hidden")
    layer |= _dense("attention.output.dense", "hidden", "hidden") | _norm("attention.output.LayerNorm")
    layer |= _dense("intermediate.dense", "inner", "hidden")
    layer |= _dense("output.dense", "hidden", "inner") | _norm("output.LayerNorm")
    sizes = {
        "vocab": config.size("vocab_size"),
        "hidden": config.size("hidden_size"),
        "inner": config.size("intermediate_size"),
        "positions": config.size("max_position_embeddings"),
        "types": config.size("type_vocab_size", default=2),
        "labels": config.labels(),
        "two": 2,
    }
    fixed = {
        "embeddings.word_embeddings.weight": "vocab hidden",
        "embeddings.position_embeddings.weight": "positions hidden",
        "embeddings.token_type_embeddings.weight": "types hidden",
        **_norm("embeddings.LayerNorm"),
    }
    stack = Stack("encoder.layer.", config.layers("num_hidden_layers"), lambda _: layer)
    return Layout(sizes, "embeddings.word_embeddings.weight", fixed, (stack,))


def t5(config: Config) -> Layout:
    """Encoder and decoder; the position biases stand in the first block of each."""
    sizes = {
        "vocab": config.size("vocab_size"),
        "hidden": config.size("d_model", "hidden_size"),
        "inner": config.size("d_ff", "intermediate_size"),
        "heads": config.size("num_heads", "num_attention_heads"),
        "buckets": config.size("relative_attention_num_buckets", default=32),
        "labels": config.labels(),
    }
    sizes["q"] = sizes["heads"] * config.size("d_kv")
    gated = str(config.values.get("feed_forward_proj", "relu")).startswith("gated-")
    count = config.layers("num_layers", "num_hidden_layers")
    fixed = {"shared.weight": "vocab hidden"}
    fixed |= {f"{side}.final_layer_norm.weight": "hidden" for side in ("encoder", "decoder")}
    stacks = (
        Stack("encoder.block.", count, lambda i: _t5_block(i, gated, decoder=False)),
        Stack("decoder.block.", config.layers("num_decoder_layers", default=count), lambda i: _t5_block(i, gated)),
    )
    copies = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    return Layout(sizes, "shared.weight", fixed, stacks, copies=copies)


def t5_encoder(config: Config) -> Layout:
    """The encoder alone."""
    whole = t5(config)
    fixed = {name: sizes for name, sizes in whole.fixed.items() if not name.startswith("decoder.")}
    return Layout(whole.sizes, whole.embedding, fixed, whole.stacks[:1], copies=whole.copies)


def _t5_block(number: int, gated: bool, decoder: bool = True) -> Shapes:
    parts = ["SelfAttention", "EncDecAttention"] if decoder else ["SelfAttention"]
    block: dict[str, str] = {}
    for place, part in enumerate(parts):
        block |= {f"layer.{place}.{part}.{name}.weight": "q hidden" for name in "qkv"}
        block |= {f"layer.{place}.{part}.o.weight": "hidden q", f"layer.{place}.layer_norm.weight": "hidden"}
    if number == 0:
        block["layer.0.SelfAttention.relative_attention_bias.weight"] = "buckets heads"
    last = len(parts)
    inputs = ("wi_0", "wi_1") if gated else ("wi",)
    block |= {f"layer.{last}.DenseReluDense.{name}.weight": "inner hidden" for name in inputs}
    block |= {f"layer.{last}.DenseReluDense.wo.weight": "hidden inner", f"layer.{last}.layer_norm.weight": "hidden"}
    return block


def _dense(name: str, out: str, into: str) -> dict[str, str]:
    return {f"{name}.weight": f"{out} {into}", f"{name}.bias": out}


def _norm(name: str) -> dict[str, str]:
    return {f"{name}.weight": "hidden", f"{name}.bias": "hidden"}
