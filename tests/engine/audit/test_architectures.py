"""The tables against the parameter counts that the makers of well-known models publish, and their limits."""

from __future__ import annotations

import math
from typing import Any

import pytest

from engine.audit.architectures import UnknownLayoutError, expect
from engine.audit.architectures.names import is_optional, is_quantiser_state, unwrapped, variants

LLAMA = {
    "model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
}  # fmt: skip
BERT = {
    "model_type": "bert", "vocab_size": 30522, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
    "num_attention_heads": 12, "max_position_embeddings": 512, "type_vocab_size": 2,
}  # fmt: skip
# Class, config, and the number of parameters as the library counts them: tied matrices once.
PUBLISHED: dict[str, tuple[str, dict[str, Any], int]] = {
    "Llama-3-8B": ("LlamaForCausalLM", LLAMA, 8_030_261_248),
    "Mistral-7B-v0.1": (
        "MistralForCausalLM",
        {**LLAMA, "model_type": "mistral", "vocab_size": 32000},
        7_241_732_096,
    ),
    "Qwen2.5-0.5B": (
        "Qwen2ForCausalLM",
        {
            "model_type": "qwen2", "vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864,
            "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": True,
        },
        494_032_768,
    ),
    "Qwen3-0.6B": (
        "Qwen3ForCausalLM",
        {
            "model_type": "qwen3", "vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072,
            "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
            "tie_word_embeddings": True,
        },
        596_049_920,
    ),
    "Gemma-2B": (
        "GemmaForCausalLM",
        {
            "model_type": "gemma", "vocab_size": 256000, "hidden_size": 2048, "intermediate_size": 16384,
            "num_hidden_layers": 18, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256,
        },
        2_506_172_416,
    ),
    "Gemma-2-2B": (
        "Gemma2ForCausalLM",
        {
            "model_type": "gemma2", "vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216,
            "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        },
        2_614_341_888,
    ),
    "Gemma-3-1B": (
        "Gemma3ForCausalLM",
        {
            "model_type": "gemma3_text", "vocab_size": 262144, "hidden_size": 1152, "intermediate_size": 6912,
            "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
        },
        999_885_952,
    ),
    "Phi-3-mini": (
        "Phi3ForCausalLM",
        {
            "model_type": "phi3", "vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
        },
        3_821_079_552,
    ),
    "Pythia-410M": (
        "GPTNeoXForCausalLM",
        {
            "model_type": "gpt_neox", "vocab_size": 50304, "hidden_size": 1024, "intermediate_size": 4096,
            "num_hidden_layers": 24, "num_attention_heads": 16,
        },
        405_334_016,
    ),
    "GPT-2": (
        "GPT2LMHeadModel",
        {"model_type": "gpt2", "vocab_size": 50257, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024},
        124_439_808,
    ),
    "BERT-base-uncased for masked words": ("BertForMaskedLM", BERT, 109_514_298),
    "RoBERTa-base for masked words": (
        "RobertaForMaskedLM",
        {**BERT, "model_type": "roberta", "vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1},
        124_697_433,
    ),
    "T5-small": (
        "T5ForConditionalGeneration",
        {"model_type": "t5", "vocab_size": 32128, "d_model": 512, "d_ff": 2048, "d_kv": 64, "num_heads": 8,
         "num_layers": 6},
        60_506_624,
    ),
    "Mixtral-8x7B": (
        "MixtralForCausalLM",
        {**LLAMA, "model_type": "mixtral", "vocab_size": 32000, "num_local_experts": 8},
        46_702_792_704,
    ),
    "Qwen1.5-MoE-A2.7B": (
        "Qwen2MoeForCausalLM",
        {
            "model_type": "qwen2_moe", "vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632,
            "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 60,
            "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "decoder_sparse_step": 1,
        },
        14_315_784_192,
    ),
    "Qwen3-30B-A3B": (
        "Qwen3MoeForCausalLM",
        {
            "model_type": "qwen3_moe", "vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 6144,
            "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "num_experts": 128,
            "moe_intermediate_size": 768, "head_dim": 128, "decoder_sparse_step": 1,
        },
        30_532_122_624,
    ),
}  # fmt: skip


@pytest.mark.parametrize("model", PUBLISHED)
def test_the_layout_has_the_published_number_of_parameters(model: str) -> None:
    architecture, config, published = PUBLISHED[model]
    expected = expect(config, architecture)
    count = sum(math.prod(shape) for shape in expected.shapes.values())
    if expected.output is not None and not config.get("tie_word_embeddings", expected.tied):
        count += math.prod(expected.shapes[expected.embedding])
    assert count == published


CLASSIFIER = {"classifier.weight", "classifier.bias"}


@pytest.mark.parametrize(
    ("architecture", "names"),
    [
        ("BertModel", set()),
        ("BertForSequenceClassification", CLASSIFIER | {"pooler.dense.weight", "pooler.dense.bias"}),
        ("BertForTokenClassification", CLASSIFIER),
    ],
)
def test_heads_follow_from_the_class(architecture: str, names: set[str]) -> None:
    assert expect(BERT, architecture).shapes.keys() - expect(BERT, "BertModel").shapes.keys() == names


def test_a_reward_head_has_one_row_a_label() -> None:
    config = {**LLAMA, "id2label": {"0": "score"}}
    assert expect(config, "LlamaForSequenceClassification").shapes["score.weight"] == (1, 4096)


def test_layers_that_the_config_keeps_dense_have_no_experts() -> None:
    config = {**PUBLISHED["Qwen3-30B-A3B"][1], "mlp_only_layers": [0], "decoder_sparse_step": 2}
    expected = expect(config, "Qwen3MoeForCausalLM")
    assert "layers.0.mlp.gate_proj.weight" in expected.shapes
    assert "layers.2.mlp.gate_proj.weight" in expected.shapes
    assert "layers.1.mlp.experts.127.up_proj.weight" in expected.shapes
    assert expected.stacks["layers.1.mlp.experts."] == 128


@pytest.mark.parametrize(
    ("changes", "architecture"),
    [
        ({}, "MyLlamaForCausalLM"),
        ({}, "LlamaForSomething"),
        ({}, None),
        ({"model_type": "foo"}, "FooForCausalLM"),
        ({"model_type": ["llama"]}, "LlamaForCausalLM"),
        ({"hidden_size": None}, "LlamaForCausalLM"),
        ({"hidden_size": -1}, "LlamaForCausalLM"),
        ({"hidden_size": "4096"}, "LlamaForCausalLM"),
        ({"num_hidden_layers": 10**9}, "LlamaForCausalLM"),
        ({"model_type": "qwen3_moe", "num_hidden_layers": 4000, "num_experts": 4000, "moe_intermediate_size": 8,
          "mlp_only_layers": [0, 1, 3999]}, "Qwen3MoeForCausalLM"),
        ({"model_type": "mixtral", "num_hidden_layers": 4000, "num_local_experts": 4000}, "MixtralForCausalLM"),
        ({"model_type": "qwen3_moe", "num_hidden_layers": 4000, "num_experts": 4000, "moe_intermediate_size": 8},
         "Qwen3MoeForCausalLM"),
    ],
)  # fmt: skip
def test_what_cannot_be_derived_is_said_within_bounds(changes: dict[str, Any], architecture: str | None) -> None:
    with pytest.raises(UnknownLayoutError):
        expect({**LLAMA, **changes}, architecture)


def test_names_lose_their_wrappers_and_nothing_else() -> None:
    assert unwrapped("module._orig_mod.model.layers.0._checkpoint_wrapped_module.mlp.up.weight") == (
        "model.layers.0.mlp.up.weight"
    )
    assert unwrapped("model._orig_mod.norm.weight") == "model.norm.weight"
    assert unwrapped("submodule.weight") == "submodule.weight"
    assert len(unwrapped("module." * 100_000)) > 600_000


def test_other_spellings_are_known() -> None:
    assert "layers.0.self_attn.qkv_proj.weight" in set(variants("layers.0.self_attn.k_proj.weight"))
    assert "layers.0.mlp.experts.gate_up_proj" in set(variants("layers.0.mlp.experts.7.up_proj.weight"))
    assert "embeddings.LayerNorm.gamma" in set(variants("embeddings.LayerNorm.weight"))
    assert is_optional("layers.0.self_attn.rotary_emb.inv_freq")
    assert not is_optional("layers.0.self_attn.q_proj.bias")
    assert is_quantiser_state("layers.0.mlp.up_proj.weight.absmax")
    assert not is_quantiser_state("layers.0.mlp.up_proj.weight")
