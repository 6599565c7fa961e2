"""Containers: variants that are sound, and what a fault leaves unsaid."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.audit.decide import Auditor
from tests.engine.audit.build.causal_lm import causal_lm, sharded_lm, tied_lm, write_json
from tests.engine.audit.build.weights import Raw, bf16, edit_weights, f32
from tests.engine.audit.given import Given
from tests.engine.audit.look import failing, looked

INDEX = "model.safetensors.index.json"


def edit_index(given: Given, **metadata: Any) -> None:
    index = json.loads((given.root / INDEX).read_text())
    index["metadata"] |= metadata
    write_json(given.root / INDEX, index)


def test_a_second_format_of_the_same_numbers_is_sound(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    (given.root / "consolidated.safetensors").write_bytes((given.root / "model.safetensors").read_bytes())
    assert failing(auditor, given) == {}


def test_a_second_format_with_other_names_is_not_judged(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    (given.root / "consolidated.safetensors").write_bytes((given.root / "model.safetensors").read_bytes())

    def rename(tensors: dict[str, Raw]) -> None:
        for name in list(tensors):
            tensors["other." + name] = tensors.pop(name)

    edit_weights(given.root / "consolidated.safetensors", rename)
    assert looked(auditor, given)["container/stale-weights"].status == "not_enough_evidence"


def test_weights_of_a_checkpoint_below_are_not_the_models(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    below = given.root / "checkpoint-100"
    below.mkdir()
    (below / "model.safetensors").write_bytes((given.root / "model.safetensors").read_bytes())
    edit_weights(below / "model.safetensors", lambda tensors: tensors.__delitem__("model.norm.weight"))
    assert failing(auditor, given) == {}


def test_rotary_caches_need_not_stand_in_the_index(tmp_path: Path, auditor: Auditor) -> None:
    given = sharded_lm(tmp_path)
    cache = f32(np.ones(4))
    first = given.root / "model-00001-of-00002.safetensors"
    edit_weights(first, lambda t: t.update({"model.layers.0.self_attn.rotary_emb.inv_freq": cache}))
    assert "container/idx-equals-headers" not in failing(auditor, given)
    edit_weights(first, lambda t: t.update({"model.layers.0.self_attn.extra": cache}))
    assert failing(auditor, given)["container/idx-equals-headers"] == "blocker"


def test_the_stated_size_may_count_a_tied_matrix_twice(tmp_path: Path, auditor: Auditor) -> None:
    given = sharded_lm(tmp_path)
    index = json.loads((given.root / INDEX).read_text())
    size = index["metadata"]["total_size"]
    embedding = 288 * 32 * 2
    for stated, sound in ((size, True), (size + embedding, True), (size + 1, False), (size - embedding, False)):
        edit_index(given, total_size=stated)
        assert ("container/idx-total-size" not in failing(auditor, given)) == sound


def test_shards_may_be_counted_from_zero(tmp_path: Path, auditor: Auditor) -> None:
    given = sharded_lm(tmp_path)
    names = {f"model-0000{i}-of-00002.safetensors": f"model-0000{i - 1}-of-00002.safetensors" for i in (1, 2)}
    for before, after in sorted(names.items()):
        (given.root / before).rename(given.root / after)
    index = json.loads((given.root / INDEX).read_text())
    index["weight_map"] = {tensor: names[file] for tensor, file in index["weight_map"].items()}
    write_json(given.root / INDEX, index)
    assert failing(auditor, given) == {}


def test_one_broken_file_leaves_the_others_unsaid(tmp_path: Path, auditor: Auditor) -> None:
    given = sharded_lm(tmp_path)
    file = given.root / "model-00001-of-00002.safetensors"
    file.write_bytes(file.read_bytes()[:20])
    gates = looked(auditor, given)
    assert gates["container/st-header-length"].status == "fail"
    for gate in ("st-contiguous", "st-extent-size", "st-file-length", "st-duplicate-key"):
        assert gates[f"container/{gate}"].status == "not_enough_evidence"
        assert file.name in gates[f"container/{gate}"].because
    assert {gates[f"names/{gate}"].status for gate in ("params-present", "layer-gap")} == {"not_enough_evidence"}


def test_a_snapshot_of_the_model_cache_is_read_through_its_links(tmp_path: Path, auditor: Auditor) -> None:
    given = tied_lm(tmp_path)
    repository = tmp_path / "models--example-org--tiny"
    snapshot, blobs = repository / "snapshots" / "0123", repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, file in enumerate(sorted(given.root.iterdir())):
        (blobs / f"blob{number}").write_bytes(file.read_bytes())
        (snapshot / file.name).symlink_to(f"../../blobs/blob{number}")
    assert failing(auditor, Given(snapshot, given.intent, given.base)) == {}


@pytest.mark.parametrize("name", ["../model.safetensors", "/etc/x", "a//b", "./a.safetensors", "a\\b", "C:/a", ""])
def test_no_spelling_leads_out(name: str, tmp_path: Path, auditor: Auditor) -> None:
    given = sharded_lm(tmp_path)
    index = json.loads((given.root / INDEX).read_text())
    index["weight_map"]["model.norm.weight"] = name
    write_json(given.root / INDEX, index)
    assert failing(auditor, given)["container/path-escape"] == "blocker"


def test_a_folder_that_was_not_listed_to_its_end_is_no_pass(
    tmp_path: Path, auditor: Auditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = causal_lm(tmp_path)
    monkeypatch.setattr("engine.audit.folder.MAX_ENTRIES", 6)
    gates = looked(auditor, given)
    for name in (
        "container/path-escape",
        "container/st-file-length",
        "container/stale-weights",
        "names/params-present",
    ):
        assert gates[name].status == "not_enough_evidence"


def test_a_pipe_is_a_finding_and_is_not_waited_for(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    os.mkfifo(given.root / "more.safetensors")
    assert failing(auditor, given) == {"container/path-escape": "blocker"}


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"weight_map": [1]}', '{"weight_map": {"a": 1}}'])
def test_an_index_that_cannot_be_used_fails(content: str, tmp_path: Path, auditor: Auditor) -> None:
    given = sharded_lm(tmp_path)
    (given.root / INDEX).write_text(content)
    gates = looked(auditor, given)
    assert gates["container/idx-equals-headers"].root
    for gate in ("idx-files-exist", "idx-total-size"):
        assert gates[f"container/{gate}"].status == "not_enough_evidence"


def test_a_folder_without_weights_is_no_pass(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    (given.root / "model.safetensors").unlink()
    gates = looked(auditor, given)
    assert gates["names/params-present"].status == "not_enough_evidence"
    assert gates["container/st-file-length"].status == "not_applicable"


def test_a_stale_extra_file_with_its_own_numbers_fails_once(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)

    def change(tensors: dict[str, Raw]) -> None:
        tensors["model.norm.weight"] = bf16(np.full(32, 1.5))

    (given.root / "adapter_model.safetensors").write_bytes((given.root / "model.safetensors").read_bytes())
    edit_weights(given.root / "adapter_model.safetensors", change)
    assert looked(auditor, given)["container/stale-weights"].place_count == 1
