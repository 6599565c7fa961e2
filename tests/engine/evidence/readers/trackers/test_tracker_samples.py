"""Real files of trackers beside the project: what their labels say is found."""

from __future__ import annotations

import pytest

from engine.evidence.detectors import context_of, detect
from engine.evidence.readers import read

FACTS = {
    "tensorboard/decision_transformer_nan.tfevents": {"grad_norm.nan": True, "loss.zero_filtered": True},
    "tensorboard/modded_nanogpt_euc.tfevents": {"throughput.cliff": True, "loss.falling": True},
    "tensorboard/modded_nanogpt_char_overfit_note.tfevents": {"throughput.cliff": False, "step_time.periodic": False},
    "tensorboard/keras_tf2_train.tfevents": {"loss.falling": True},
    "wandb/offline_nanogpt_overfit_ct8nwitg/history.jsonl": {"eval_loss.rising": True},
    "lightning/slm_dead_lr_v7/metrics.csv": {"loss.plateau": True},
    "lightning/slm_long_healthy_v0/metrics.csv": {"loss.plateau": False, "eval_loss.rising": False},
}


@pytest.mark.parametrize("name", FACTS)
def test_labels_of_real_runs(name, samples):
    record = read(samples / name, name)
    found = {fact.fact: fact.value for fact in detect(record.series, context_of(record)).facts}
    assert {fact: found.get(fact) for fact in FACTS[name]} == FACTS[name]


def test_runs_that_logged_nothing(samples):
    board = read(samples / "tensorboard/decision_transformer_aborted_args_only.tfevents")
    assert "holds no scalars" in board.not_understood[0]
    old = read(samples / "wandb/trl_2022_old_sdk_3kfg7utt/run-3kfg7utt.wandb")
    assert old.end.kind == "finished"
    assert old.series == ()
    assert old.config["batch_size"] == 256
    store = read(samples / "mlflow/hf_run_without_metrics/meta.yaml", "hf_run_without_metrics/meta.yaml")
    assert store.end.kind == "finished"


def test_summaries_of_real_runs(samples):
    ended, stopped = (
        read(samples / f"wandb/{run}/files/wandb-summary.json")
        for run in ("reward_model_finished_wvk49vqj", "reward_model_interrupted_chk58nkd")
    )
    assert (ended.end.kind, stopped.end.kind) == ("finished", "unknown")
    assert "train_loss" not in ended.config
