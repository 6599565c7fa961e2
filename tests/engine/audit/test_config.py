"""The config: variants that are sound, both sides of what is judged, and hostile values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from engine.audit import rope
from engine.audit.decide import Auditor
from tests.engine.audit.build.causal_lm import POSITIONS, causal_lm
from tests.engine.audit.build.families import quantised
from tests.engine.audit.build.tokenizer import END, PAD, SPECIALS, TURN, VOCAB_SIZE
from tests.engine.audit.build.weights import Raw, edit_weights, f32
from tests.engine.audit.given import Given
from tests.engine.audit.look import failing, looked

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 64, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}  # fmt: skip


def with_config(folder: Path, intent: dict[str, Any] | None = None, **changes: Any) -> Given:
    given = causal_lm(folder)
    given.edit_json("config.json", **changes)
    return Given(given.root, {**given.intent, **(intent or {})}, given.base)


@pytest.mark.parametrize(
    "changes",
    [
        {"rope_theta": 10000},
        {"rope_theta": None},
        {"rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
        {"partial_rotary_factor": 1.0},
    ],
)
def test_one_setting_in_other_words_is_no_change(changes: dict[str, Any], tmp_path: Path, auditor: Auditor) -> None:
    given = with_config(tmp_path, {"serving": {"transformers": "5.1.0"}}, **changes)
    assert failing(auditor, given) == {}
    assert looked(auditor, given)["config/rope-vs-base"].status == "pass"


def test_a_declared_change_of_the_positions_passes_and_an_undeclared_one_is_asked(
    tmp_path: Path, auditor: Auditor
) -> None:
    given = with_config(tmp_path, rope_theta=500000.0)
    for declared, status in (("changed", "pass"), ("unchanged", "fail"), (None, "not_enough_evidence")):
        intent = {**given.intent, "expected_changes": {"rope": declared} if declared else {}}
        gate = looked(auditor, Given(given.root, intent, given.base))["config/rope-vs-base"]
        assert gate.status == status


@pytest.mark.parametrize(
    ("serving", "status"),
    [
        ({"transformers": "4.57.1"}, "fail"),
        ({"transformers": "5.0"}, "pass"),
        ({"stack": "transformers 4.46"}, "fail"),
        ({"rope_keys": "v4"}, "fail"),
        ({"rope_keys": "both"}, "pass"),
        ({"stack": "vllm"}, "not_enough_evidence"),
        ({}, "not_enough_evidence"),
    ],
)
def test_new_keys_need_a_server_that_reads_them(
    serving: dict[str, Any], status: str, tmp_path: Path, auditor: Auditor
) -> None:
    parameters = {"rope_type": "default", "rope_theta": 10000.0}
    given = with_config(tmp_path, {"serving": serving}, rope_theta=None, rope_parameters=parameters)
    assert looked(auditor, given)["config/rope-key-generation"].status == status


def test_old_keys_are_read_by_every_server_but_one_that_says_otherwise(tmp_path: Path, auditor: Auditor) -> None:
    assert "config/rope-key-generation" not in failing(auditor, with_config(tmp_path))
    given = Given(tmp_path / "model", {"serving": {"rope_keys": "v5"}}, None)
    assert failing(auditor, given)["config/rope-key-generation"] == "blocker"


@pytest.mark.parametrize(
    ("scaling", "sound"),
    [
        (YARN, True),
        ({**YARN, "factor": 4.03}, True),
        ({**YARN, "factor": 4.1}, False),
        ({**YARN, "factor": 8.0, "original_max_position_embeddings": POSITIONS}, True),
        (LLAMA3, True),
        ({**LLAMA3, "low_freq_factor": None}, False),
        ({"type": "linear", "factor": 2.0}, True),
        ({"type": "linear"}, False),
        ({"type": "su", "short_factor": [1.0], "long_factor": [2.0]}, True),
        ({"rope_type": "default", "type": "mrope", "mrope_section": [1, 1, 2]}, True),
        ({"rope_type": "yarn", "type": "linear", "factor": 4.0}, False),
        ({"rope_type": "some-other-kind"}, True),
    ],
)
def test_a_scaling_needs_the_fields_of_its_kind(
    scaling: dict[str, Any], sound: bool, tmp_path: Path, auditor: Auditor
) -> None:
    given = with_config(tmp_path, {"expected_changes": {"rope": "changed"}}, rope_scaling=scaling)
    assert ("config/rope-scaling-complete" not in failing(auditor, given)) == sound


def test_settings_by_kind_of_layer_are_compared_by_kind() -> None:
    old = {"model_type": "gemma3_text", "rope_theta": 1e6, "rope_local_base_freq": 1e4}
    layers = {"full_attention": {"rope_theta": 1e6}, "sliding_attention": {"rope_theta": 1e4, "rope_type": "default"}}
    new = {"model_type": "gemma3_text", "rope_parameters": layers}
    assert rope.differences(rope.record(old), rope.record(new)) == []
    layers["sliding_attention"]["rope_theta"] = 1e5
    assert rope.differences(rope.record(old), rope.record(new)) == ["sliding_attention.theta"]


@pytest.mark.parametrize(
    ("limit", "sound"),
    [(POSITIONS, True), (POSITIONS + 1, False), (1000000000000000019884624838656, True), (None, True), ("x", True)],
)
def test_a_tokenizer_promises_no_more_than_there_is(limit: Any, sound: bool, tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    given.edit_json("tokenizer_config.json", model_max_length=limit)
    assert ("config/context-length" not in failing(auditor, given)) == sound


def test_a_promise_of_the_base_weighs_less(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    for root in (given.root, tmp_path / "base"):
        Given(root).edit_json("tokenizer_config.json", model_max_length=4 * POSITIONS)
    assert failing(auditor, given) == {"config/context-length": "minor"}


def test_a_declared_extension_passes(tmp_path: Path, auditor: Auditor) -> None:
    changes = {"config": ["max_position_embeddings"]}
    given = with_config(tmp_path, {"expected_changes": changes}, max_position_embeddings=2 * POSITIONS)
    assert failing(auditor, given) == {}


def test_float8_weights_count_as_packed(tmp_path: Path, auditor: Auditor) -> None:
    given = with_config(tmp_path, quantization_config={"quant_method": "fp8"})

    def cast(tensors: dict[str, Raw]) -> None:
        for name in [name for name in tensors if name.endswith("_proj.weight")]:
            shape = tensors[name].shape
            tensors[name] = Raw("F8_E4M3", shape, bytes(range(1, 33)) * (shape[0] * shape[1] // 32))
            tensors[name + "_scale_inv"] = f32(np.ones((1, 1)))

    edit_weights(given.root / "model.safetensors", cast)
    assert failing(auditor, given) == {}


def test_packed_weights_have_their_own_shapes_and_names(tmp_path: Path, auditor: Auditor) -> None:
    gates = looked(auditor, quantised(tmp_path))
    assert {id_ for id_, gate in gates.items() if gate.status == "fail"} == set()
    assert gates["names/params-present"].status == "pass"
    assert gates["weights/dtype-declared"].status == "not_applicable"


@pytest.mark.parametrize(
    ("changes", "sound"),
    [
        ({"eos_token_id": [SPECIALS[END], SPECIALS[PAD]]}, True),
        ({"eos_token_id": [SPECIALS[END], VOCAB_SIZE]}, False),
        ({"eos_token_id": None}, True),
        ({"eos_token_id": True}, False),
        ({"eos_token_id": -1}, False),
        ({"pad_token_id": -1}, True),
        ({"pad_token_id": None}, True),
        ({"pad_token_id": SPECIALS[TURN]}, False),
        ({"bos_token_id": SPECIALS[TURN]}, True),
    ],
)
def test_special_ids_are_tokens_and_the_named_ones(
    changes: dict[str, Any], sound: bool, tmp_path: Path, auditor: Auditor
) -> None:
    assert ("config/special-ids" not in failing(auditor, with_config(tmp_path, **changes))) == sound


def test_ids_of_the_base_weigh_less(tmp_path: Path, auditor: Auditor) -> None:
    given = with_config(tmp_path, pad_token_id=SPECIALS[TURN])
    Given(tmp_path / "base").edit_json("config.json", pad_token_id=SPECIALS[TURN])
    assert failing(auditor, given) == {"config/special-ids": "minor"}


def test_what_an_encoder_would_end_with_matters_to_nobody(tmp_path: Path, auditor: Auditor) -> None:
    given = with_config(tmp_path, eos_token_id=SPECIALS[TURN])
    (given.root / "modules.json").write_text("[]")
    assert "config/special-ids" not in failing(auditor, given)
    given.edit_json("config.json", pad_token_id=SPECIALS[TURN])
    assert "config/special-ids" in failing(auditor, given)


def test_a_decoder_on_the_vocabulary_of_bert_may_end_with_its_separator(tmp_path: Path, auditor: Auditor) -> None:
    given = with_config(tmp_path, eos_token_id=SPECIALS[TURN])
    given.edit_json("tokenizer_config.json", sep_token=TURN)
    assert failing(auditor, given) == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"transformers_version": "5.0.0", "use_cache": False, "torch_dtype": None, "dtype": "bfloat16"},
        {"attention_bias": None, "mlp_bias": None, "sliding_window": None},
        {"attention_dropout": 0.1, "some_new_switch": True},
        {"architectures": ["LlamaForCausalLM"], "_name_or_path": "example-org/tiny-llama"},
    ],
)
def test_what_libraries_rewrite_is_no_change(changes: dict[str, Any], tmp_path: Path, auditor: Auditor) -> None:
    assert failing(auditor, with_config(tmp_path, **changes)) == {}


def test_a_declared_setting_may_change(tmp_path: Path, auditor: Auditor) -> None:
    given = with_config(tmp_path, {"expected_changes": {"config": ["hidden_act"]}}, hidden_act="gelu")
    assert failing(auditor, given) == {}


def test_without_a_base_nothing_is_compared(tmp_path: Path, auditor: Auditor) -> None:
    given = with_config(tmp_path, hidden_act="gelu", rope_theta=5e5, _name_or_path="/data/x")
    gates = looked(auditor, Given(given.root, given.intent, None))
    for name in ("cfg-diff-vs-base", "rope-vs-base"):
        assert gates[f"config/{name}"].status == "not_enough_evidence"


@pytest.mark.parametrize(
    ("stated", "intended", "sound"),
    [
        ("bfloat16", "bf16", True),
        ("torch.bfloat16", None, True),
        ("float32", "bfloat16", False),
        (None, "float16", False),
        ("an-unknown-word", "bfloat16", True),
    ],
)
def test_the_declared_number_format_is_that_of_most_weights(
    stated: str | None, intended: str | None, sound: bool, tmp_path: Path, auditor: Auditor
) -> None:
    given = with_config(tmp_path, {"dtype": intended}, torch_dtype=stated)
    assert ("weights/dtype-declared" not in failing(auditor, given)) == sound


def test_norms_may_be_kept_in_float32(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)

    def widen(tensors: dict[str, Raw]) -> None:
        for name in [name for name in tensors if "norm" in name]:
            tensors[name] = f32(tensors[name].floats())

    edit_weights(given.root / "model.safetensors", widen)
    assert failing(auditor, given) == {}


@pytest.mark.parametrize("content", ["", "[]", "null", "{}", "{", '{"a": ' + "[" * 100_000, '"x"'])
def test_a_config_that_cannot_be_used_fails_and_says_nothing_else(
    content: str, tmp_path: Path, auditor: Auditor
) -> None:
    given = causal_lm(tmp_path)
    (given.root / "config.json").write_text(content, "utf-8")
    gates = looked(auditor, given)
    assert {id_ for id_, gate in gates.items() if gate.status == "fail"} == {"config/cfg-readable"}
    for name in ("special-ids", "quant-config-left", "rope-vs-base", "cfg-diff-vs-base", "context-length"):
        assert gates[f"config/{name}"].status == "not_enough_evidence"


def test_a_missing_config_is_no_pass(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    (given.root / "config.json").unlink()
    assert looked(auditor, given)["config/cfg-readable"].status == "not_enough_evidence"


KEYS = [
    "rope_scaling", "rope_parameters", "rope_theta", "text_config", "quantization_config", "tie_word_embeddings",
    "num_experts", "mlp_only_layers", "decoder_sparse_step", "moe_intermediate_size", "id2label", "_name_or_path",
    "sliding_window", "dtype", "head_dim", "architectures", "model_type", "vocab_size", "hidden_size",
    "num_hidden_layers", "num_key_value_heads", "eos_token_id", "bos_token_id", "max_position_embeddings",
    "original_max_position_embeddings", "partial_rotary_factor", "rope_local_base_freq",
]  # fmt: skip
SCALARS = st.sampled_from(
    [None, True, False, 0, -1, 1, 2, 3.5, 1e308, float("nan"), float("inf"), 10**30, 10**400, "", "yarn", "\ud800",
     "/x", "llama", "t5", "gemma3_text", "mixtral", "qwen3_moe", "LlamaForCausalLM", "T5ForConditionalGeneration"]
)  # fmt: skip
NAMES = st.sampled_from([*KEYS, "rope_type", "type", "factor", "full_attention"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Given:
    return causal_lm(tmp_path_factory.mktemp("scratch"))


CHANGES = st.dictionaries(st.sampled_from(KEYS), VALUES, min_size=1, max_size=4)


@settings(max_examples=25, deadline=None)
@drawn(changes=CHANGES, in_base=st.booleans())
def test_no_value_breaks_the_audit(changes: dict[str, Any], in_base: bool, scratch: Given, auditor: Auditor) -> None:
    _breaks_nothing(changes, in_base, scratch, auditor)


@pytest.mark.long
@settings(max_examples=1_000, deadline=None)
@drawn(changes=CHANGES, in_base=st.booleans())
def test_no_value_of_a_thousand_breaks_the_audit(
    changes: dict[str, Any], in_base: bool, scratch: Given, auditor: Auditor
) -> None:
    _breaks_nothing(changes, in_base, scratch, auditor)


def _breaks_nothing(changes: dict[str, Any], in_base: bool, scratch: Given, auditor: Auditor) -> None:
    assert scratch.base is not None
    file = (scratch.base if in_base else scratch.root) / "config.json"
    before = file.read_text("utf-8")
    try:
        file.write_text(json.dumps(json.loads(before) | changes), "utf-8")
        gates = looked(auditor, scratch)
    finally:
        file.write_text(before, "utf-8")
    assert gates["container/st-file-length"].status == "pass"
