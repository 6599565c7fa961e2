from __future__ import annotations

import pytest

from engine.evidence.readers.names import canonical


@pytest.mark.parametrize(
    ("raw", "name", "scale"),
    [
        ("lm loss", "loss", 1),
        ("lm-loss", "loss", 1),
        ("elapsed time per iteration (ms)", "step_time", 1e-3),
        ("step_time_ms", "step_time", 1e-3),
        ("dt (ms)", "step_time", 1e-3),
        ("memory(GiB)", "gpu_memory_used", 2**30),
        ("memory/max_active (GiB)", "gpu_memory_used", 2**30),
        ("train_speed(iter/s)", "steps_per_second", 1),
        ("tokens/sec/GPU", "tokens_per_second", 1),
        ("number of naniterations", "nan_steps", 1),
        ("objective/kl", "kl", 1),
        ("policy/entropy_avg", "entropy", 1),
        ("critic_loss", "value_loss", 1),
        ("act_loss", "policy_loss", 1),
        ("completion_length", "completions/mean_length", 1),
        ("completions/mean_length", "completions/mean_length", 1),
        ("clip_ratio/region_mean", "clip_ratio", 1),
        ("objective/scores", "reward", 1),
    ],
)
def test_spellings_of_one_metric(raw, name, scale):
    found = canonical(raw)
    assert (found.name, found.scale, found.known) == (name, scale, True)


@pytest.mark.parametrize("raw", ["rewards/chosen", "rewards/margins", "logps/rejected", "reward_std", "eval_accuracy"])
def test_families_keep_their_own_names(raw):
    assert canonical(raw).name == raw
    assert canonical(raw).known


@pytest.mark.parametrize("raw", ["loss_after_fix", "initial_loss", "temperature", "rank"])
def test_other_quantities_are_not_known(raw):
    assert not canonical(raw).known
    assert canonical(raw).name == raw


def test_reading_a_canonical_name_again_changes_nothing():
    for raw in ("loss", "step_time", "gpu_memory_used", "completions/mean_length", "clip_ratio", "value_loss"):
        assert canonical(raw).name == raw
