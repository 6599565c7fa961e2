"""Names, shapes and ties: variants that are sound, both sides of the thresholds, and what is not known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.audit.decide import Auditor
from tests.engine.audit.build.causal_lm import HIDDEN, LAYERS, causal_lm, sharded_lm, tied_lm, write_json
from tests.engine.audit.build.families import stranger
from tests.engine.audit.build.tokenizer import VOCAB_SIZE
from tests.engine.audit.build.weights import Raw, bf16, edit_weights, f32, load, save
from tests.engine.audit.given import Given
from tests.engine.audit.look import failing, looked

WEIGHTS = "model.safetensors"
Tensors = dict[str, Raw]


def edited(given: Given, change: Callable[[Tensors], None]) -> Given:
    edit_weights(given.root / WEIGHTS, change)
    return given


def rename(change: Callable[[str], str]) -> Callable[[Tensors], None]:
    def renamed(tensors: Tensors) -> None:
        before = dict(tensors)
        tensors.clear()
        tensors.update({change(name): raw for name, raw in before.items()})

    return renamed


@pytest.mark.parametrize(("wrapped", "sound"), [(10, True), (11, False)])
def test_more_than_half_of_the_names_make_a_wrapper(
    wrapped: int, sound: bool, tmp_path: Path, auditor: Auditor
) -> None:
    names = sorted(load(causal_lm(tmp_path).root / WEIGHTS))[:wrapped]
    given = edited(Given(tmp_path / "model", {}, None), rename(lambda n: f"module.{n}" if n in names else n))
    edit_weights(given.root / WEIGHTS, lambda t: t.pop("model.norm.weight", None) or t.pop("module.model.norm.weight"))
    assert len(load(given.root / WEIGHTS)) == 20
    assert ("names/wrapper-prefix" not in failing(auditor, given)) == sound


def test_names_that_the_base_has_too_are_no_wrapper(tmp_path: Path, auditor: Auditor) -> None:
    given = stranger(tmp_path)
    for root in (given.root, tmp_path / "base"):
        edit_weights(root / WEIGHTS, rename(lambda name: f"module.{name}"))
    assert "names/wrapper-prefix" not in failing(auditor, given)


def fused(tensors: Tensors) -> None:
    for layer in range(LAYERS):
        start = f"model.layers.{layer}."
        for whole, parts in (("self_attn.qkv_proj", "qkv"), ("mlp.gate_up_proj", ("gate", "up"))):
            folder = whole.rpartition(".")[0]
            matrices = [tensors.pop(f"{start}{folder}.{part}_proj.weight").floats() for part in parts]
            tensors[f"{start}{whole}.weight"] = bf16(np.concatenate(matrices))


def with_caches(tensors: Tensors) -> None:
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = f32(np.ones(4))
    tensors["v_head.summary.weight"] = f32(np.ones((1, HIDDEN)))


def without_root(tensors: Tensors) -> None:
    rename(lambda name: name.removeprefix("model."))(tensors)


@pytest.mark.parametrize("change", [fused, with_caches, without_root])
def test_other_ways_to_store_the_same_are_sound(
    change: Callable[[Tensors], None], tmp_path: Path, auditor: Auditor
) -> None:
    given = edited(causal_lm(tmp_path), change)
    assert {id_ for id_ in failing(auditor, given) if id_.startswith("names/")} == set()


def test_rows_beyond_the_tokens_are_padding(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    for root in (given.root, tmp_path / "base"):

        def pad(tensors: Tensors) -> None:
            for name in ("model.embed_tokens.weight", "lm_head.weight"):
                tensors[name] = bf16(np.concatenate([tensors[name].floats(), np.full((32, HIDDEN), 0.01)]))

        edit_weights(root / WEIGHTS, pad)
        Given(root).edit_json("config.json", vocab_size=VOCAB_SIZE + 32)
    assert failing(auditor, given) == {}


def test_the_last_row_belongs_to_the_last_token(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)

    def cut(tensors: Tensors) -> None:
        for name in ("model.embed_tokens.weight", "lm_head.weight"):
            tensors[name] = bf16(tensors[name].floats()[:-1])

    edited(given, cut)
    given.edit_json("config.json", vocab_size=VOCAB_SIZE - 1, eos_token_id=0)
    gate = looked(auditor, given)["names/token-id-range"]
    assert (gate.status, gate.place_count, gate.observed) == ("fail", 1, f"id {VOCAB_SIZE - 1}")


def test_tokens_without_a_row_that_the_base_has_too_weigh_less(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    for root in (given.root, tmp_path / "base"):
        file = root / "tokenizer.json"
        tokenizer = json.loads(file.read_text("utf-8"))
        tokenizer["added_tokens"].append({**tokenizer["added_tokens"][0], "id": VOCAB_SIZE, "content": "<image>"})
        write_json(file, tokenizer)
    assert failing(auditor, given) == {"names/token-id-range": "minor"}


@pytest.mark.parametrize(
    ("share", "sound"), [(1.0, True), (1.0049, True), (0.9951, True), (1.006, False), (0.99, False)]
)
def test_a_stated_count_may_be_rounded(share: float, sound: bool, tmp_path: Path, auditor: Auditor) -> None:
    given = sharded_lm(tmp_path)
    path = given.root / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["metadata"]["total_parameters"] = index["metadata"]["total_size"] / 2 * share
    write_json(path, index)
    gate = looked(auditor, given)["names/param-count"]
    assert gate.status == ("pass" if sound else "fail")


def test_an_unknown_architecture_without_a_base_is_said_plainly(tmp_path: Path, auditor: Auditor) -> None:
    given = stranger(tmp_path)
    gates = looked(auditor, Given(given.root, given.intent, None))
    for name in ("params-present", "params-unexpected", "params-shape", "zero-element", "layer-gap"):
        assert gates[f"names/{name}"].status == "not_enough_evidence"
        assert "FooForCausalLM is not in the tables" in gates[f"names/{name}"].because
    assert gates["names/embed-rows"].status == "pass"


def test_caches_that_only_the_base_has_are_not_missing(tmp_path: Path, auditor: Auditor) -> None:
    given = stranger(tmp_path)
    cache = f32(np.ones(4))
    edit_weights(tmp_path / "base" / WEIGHTS, lambda t: t.update({"model.layers.0.rotary_emb.inv_freq": cache}))
    assert failing(auditor, given) == {}


def test_a_base_of_another_class_or_packed_says_nothing_of_an_unknown_architecture(
    tmp_path: Path, auditor: Auditor
) -> None:
    given = stranger(tmp_path)
    base = tmp_path / "base"
    scale = f32(np.ones(4))
    edit_weights(base / WEIGHTS, lambda t: t.update({"model.layers.0.mlp.up_proj.weight.absmax": scale}))
    assert "quantised" in looked(auditor, given)["names/params-present"].because
    Given(base).edit_json("config.json", architectures=["FooModel"])
    assert "FooModel" in looked(auditor, given)["names/params-present"].because


def test_a_reward_model_has_its_head_instead_of_the_words(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)

    def change(tensors: Tensors) -> None:
        del tensors["lm_head.weight"]
        tensors["score.weight"] = bf16(np.random.default_rng(5).normal(0, 0.02, (1, HIDDEN)))

    edited(given, change)
    given.edit_json("config.json", architectures=["LlamaForSequenceClassification"], id2label={"0": "score"})
    assert failing(auditor, given) == {}
    given.edit_json("config.json", id2label={"0": "a", "1": "b"})
    assert failing(auditor, given) == {"names/params-shape": "blocker"}


def test_an_equal_copy_of_a_tied_head_is_harmless(tmp_path: Path, auditor: Auditor) -> None:
    given = tied_lm(tmp_path)
    edited(given, lambda tensors: tensors.update({"lm_head.weight": tensors["model.embed_tokens.weight"]}))
    assert failing(auditor, given) == {}


def test_the_embedding_may_be_stored_as_the_tied_head_alone(tmp_path: Path, auditor: Auditor) -> None:
    given = tied_lm(tmp_path)
    edited(given, lambda tensors: tensors.update({"lm_head.weight": tensors.pop("model.embed_tokens.weight")}))
    assert failing(auditor, given) == {}


def test_a_missing_head_weighs_less_where_only_vectors_are_used(tmp_path: Path, auditor: Auditor) -> None:
    given = edited(causal_lm(tmp_path), lambda tensors: tensors.__delitem__("lm_head.weight"))
    assert failing(auditor, given) == {"tied/tie-flag-vs-head": "blocker"}
    vectors = Given(given.root, {**given.intent, "paradigm": "embedding", "chat": None}, given.base)
    assert failing(auditor, vectors) == {"tied/tie-flag-vs-head": "minor"}


def test_one_of_two_tie_flags_alone_is_not_judged(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    given.edit_json("config.json", text_config={"model_type": "llama"})
    assert looked(auditor, given)["tied/tie-nested-flag"].status == "not_enough_evidence"


def test_encoders_are_read_with_and_without_their_root_and_pooler(tmp_path: Path, auditor: Auditor) -> None:
    from engine.audit.architectures import expect

    config = {
        "model_type": "bert", "architectures": ["BertModel"], "vocab_size": 40, "hidden_size": 16,
        "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 64,
        "type_vocab_size": 2, "torch_dtype": "float32",
    }  # fmt: skip
    root = tmp_path / "model"
    root.mkdir()
    write_json(root / "config.json", config)
    random = np.random.default_rng(6)
    tensors = {name: f32(random.normal(0.5, 0.1, shape)) for name, shape in expect(config, "BertModel").shapes.items()}
    for prefix in ("", "bert."):
        for pooler in ({}, {"pooler.dense.weight": f32(np.ones((16, 16))), "pooler.dense.bias": f32(np.ones(16))}):
            save(root / WEIGHTS, {prefix + name: raw for name, raw in (tensors | pooler).items()})
            gates = looked(auditor, Given(root))
            assert {id_ for id_, gate in gates.items() if gate.status == "fail"} == set()
            assert gates["names/params-present"].status == "pass"
            assert gates["tied/tie-flag-vs-head"].status == "not_applicable"
