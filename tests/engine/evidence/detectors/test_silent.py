"""Healthy runs through the whole diagnosis: no finding at all. And faults: the finding that people know them by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engine.evidence.series import Series
from engine.model.case import Case


@pytest.fixture
def findings(diagnoser) -> Callable[..., set[str]]:
    def run(series: list[Series], **case: object) -> set[str]:
        given = [{"name": s.name, "values": s.values.tolist(), "steps": s.steps.tolist()} for s in series]
        return {found.id for found in diagnoser.diagnose(Case.model_validate({"series": given, **case})).findings}

    return run


def test_ordinary_run(rng, healthy, findings):
    assert findings(list(healthy(rng).values())) == set()


def test_full_rate_from_the_first_step_is_no_trouble_by_itself(rng, falling, one, findings):
    loss = falling(rng, 100, 3, 1.5, 0.02)
    full = one("learning_rate", np.linspace(2e-5, 0, 100), 1.0)
    assert findings([one("loss", loss, 1.0), full]) == set()
    loss[8:60] = np.linspace(9, 3, 52)
    assert {"lr.no-warmup", "loss.spike"} <= findings([one("loss", loss, 1.0), full])


def test_expected_preference_training(rng, one, findings):
    time = np.linspace(0, 1, 60)
    run = {"loss": 0.693 - 0.25 * time, "rewards/chosen": -0.3 * time, "rewards/rejected": -1.4 * time,
           "rewards/margins": 1.1 * time, "rewards/accuracies": 0.5 + 0.25 * time,
           "logps/chosen": -90 - 3 * time}  # fmt: skip
    series = [one(name, values + rng.normal(0, 0.01, 60), steps=1 + np.arange(60) * 10) for name, values in run.items()]
    assert findings(series, paradigm="dpo") == set()


def test_ordinary_policy_training(rng, one, findings):
    time = np.linspace(0, 1, 80)
    run = {"loss": 0 * time, "reward": 0.3 + 0.3 * time, "kl": 0.05 + 0.1 * time, "entropy": 0.9 - 0.4 * time,
           "completions/mean_length": 3 + time, "completions/clipped_ratio": 0.05 + 0 * time,
           "frac_reward_zero_std": 0.3 + 0 * time}  # fmt: skip
    series = [one(name, values + rng.normal(0, 0.01, 80)) for name, values in run.items()]
    assert findings(series, paradigm="rlhf") == set()


@pytest.mark.parametrize(("name", "values", "finding"), [
    ("kl", np.concatenate([np.full(60, 0.2), np.geomspace(0.2, 30, 20)]), "rl.kl-blows-up"),
    ("entropy", np.geomspace(1, 0.01, 80), "rl.entropy-collapses"),
    ("frac_reward_zero_std", np.full(80, 0.9), "rl.groups-without-spread"),
    ("completions/clipped_ratio", np.full(80, 0.5), "rl.answers-cut"),
    ("grad_norm", np.geomspace(0.3, 6, 80), "grad.norm-creeps-up"),
    ("host_memory_used", np.linspace(1e11, 3e11, 80), "host.ram-grows"),
    ("eval_loss", np.full(80, 2.31), "eval-loss.constant"),
])  # fmt: skip
def test_faults_are_known_by_their_finding(one, findings, name, values, finding):
    reward = [one("reward", np.linspace(0.2, 0.5, 80))] if name == "entropy" else []
    assert finding in findings([one(name, values), *reward])


def test_late_spike_speaks_against_a_missing_warmup(rng, falling, one, findings):
    loss = falling(rng, 300, 10, 3, 0.01)
    loss[250:260] *= 3
    rate = np.minimum(1, np.arange(1, 301) / 20) * 3e-4
    found = findings([one("loss", loss), one("learning_rate", rate)])
    assert {"loss.spike", "lr.trouble-late"} <= found
    assert not {"lr.no-warmup", "lr.trouble-at-peak"} & found


def test_utilisation_is_compared_as_a_share(rng, one, findings):
    assert "gpu.util-low" in findings([one("gpu_utilisation", 30 + rng.normal(0, 2, 50))])
    assert findings([one("gpu_utilisation", 94 + rng.normal(0, 1, 50))]) == set()
