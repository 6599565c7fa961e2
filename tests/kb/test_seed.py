"""The source document's knowledge is all there: steps, ways to split, checklist, six incidents, linked topics."""

from __future__ import annotations

import pytest

from engine.diagnose import Diagnoser
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.load import load_cases
from engine.model.case import Case

STATIONS = ["read", "batch", "forward", "loss", "backward", "sync", "optimizer", "checkpoint"]
INCIDENTS = {
    "S6.1 utilisation drops": [
        "dataloader_starvation", "storage_fault", "checkpoint_write_stall", "eval_or_logging_stall",
    ],
    "S6.2 spikes and NaN": [
        "data_shard_corrupt", "data_length_outlier", "attention_mask_wrong", "fp16_range", "grad_clip_misapplied",
        "lr_schedule", "lr_too_high",
    ],
    "S6.3 out of memory": [
        "gpu_oom_activations", "gpu_oom_static_state", "gpu_oom_fragmentation", "gpu_oom_logits",
        "gpu_oom_unsharded_grads",
    ],
    "S6.4 worse on several cards": [
        "batch_lr_scaling", "loss_normalisation", "sampler_misuse", "rng_seed_per_rank", "gradient_sync_timing",
        "cross_rank_desync",
    ],
    "S6.5 poor SFT output": [
        "chat_template_mismatch", "eos_not_supervised", "label_mask_misaligned", "packing_contamination",
        "long_answer_weighting", "generation_stop_config",
    ],
    "S6.6 worse retrieval": [
        "pooling_mismatch", "projection_head_dropped", "vector_norm_metric_mismatch", "prompt_prefix_missing",
        "objective_mismatch", "index_model_mismatch", "catastrophic_forgetting",
    ],
}  # fmt: skip
TOPICS = {
    "finite differences": "gradcheck.fails",
    "row and column sharding": "layer.wrong-when-sharded",
    "save or recompute": "memory.no-activation-checkpointing",
    "finite precision": "activation.beyond-fp16",
    "which samples each card reads": "samples.ranks-read-same",
    "vocabulary-sharded loss": "vocab-parallel.loss-differs",
    "pipeline order": "pipeline.too-few-microbatches",
    "requests and KV blocks": "kv.blocks-exhausted",
}


def test_four_paradigms_of_eight_stations(knowledge: Knowledge) -> None:
    assert sorted(knowledge.pipelines) == ["contrastive", "dpo", "pretrain", "sft"]
    for pipeline in knowledge.pipelines.values():
        assert [entry.station for entry in pipeline.stations] == STATIONS
        for entry in pipeline.stations:
            assert set(entry.findings) <= set(knowledge.findings)
        assert any(entry.findings for entry in pipeline.stations)


@pytest.mark.parametrize("incident", INCIDENTS)
def test_each_incident_has_its_causes(knowledge: Knowledge, incident: str) -> None:
    covered = {cause.family for cause in knowledge.active_causes.values()}
    assert set(INCIDENTS[incident]) - covered == set()


@pytest.mark.parametrize("topic", TOPICS)
def test_each_linked_topic_is_known(knowledge: Knowledge, topic: str) -> None:
    finding = TOPICS[topic]
    assert any(finding in {link.finding for link in cause.shows} for cause in knowledge.active_causes.values())
    assert any(finding in check.settles for check in knowledge.checks.values())


def test_checklist_has_four_stages_in_order(knowledge: Knowledge) -> None:
    stages = [gate.stage for gate in knowledge.gates.values()]
    assert sorted(set(stages)) == [1, 2, 3, 4]


def test_every_cause_has_its_examples(knowledge: Knowledge) -> None:
    kinds: dict[str, list[str]] = {}
    for owned in load_cases():
        if owned.cause_id is not None:
            kinds.setdefault(owned.cause_id, []).append(owned.case.kind)
    assert len(knowledge.active_causes) >= 60
    for cause in knowledge.active_causes:
        assert kinds[cause].count("fires") >= 2, cause
        assert {"near_miss", "healthy"} <= set(kinds[cause]), cause


def test_ten_healthy_runs_are_there() -> None:
    assert sum(owned.cause_id is None for owned in load_cases()) >= 10


@pytest.mark.parametrize(
    ("parameters", "cards", "memory", "recommended"),
    [
        (1e9, 8, 80, {"data-parallel"}),
        (7e9, 8, 80, {"zero-1"}),
        (13e9, 8, 80, {"zero-2"}),
        (70e9, 8, 80, {"smaller-state"}),
    ],
)
def test_ways_to_split_follow_the_memory(
    diagnoser: Diagnoser, parameters: float, cards: int, memory: int, recommended: set[str]
) -> None:
    facts = {
        "model.parameters": parameters,
        "parallel.world_size": cards,
        "gpu.memory_gb": memory,
        "optimizer.name": "adamw",
    }
    advice = {item.id for item in diagnoser.diagnose(Case.model_validate({"facts": facts})).advice}
    assert recommended <= advice
    assert ("data-parallel" in advice) is (recommended == {"data-parallel"})
