"""Reinforcement learning: what moves as it should, and what runs away."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def policy(rng, one):
    """A healthy GRPO run of 80 records."""
    time = np.linspace(0.0, 1.0, 80)
    return {
        "loss": one("loss", rng.normal(0, 0.01, 80)),
        "reward": one("reward", 0.3 + 0.4 * time + rng.normal(0, 0.04, 80)),
        "kl": one("kl", 0.002 + 0.08 * time + np.abs(rng.normal(0, 0.003, 80))),
        "entropy": one("entropy", 0.9 - 0.5 * time + rng.normal(0, 0.02, 80)),
        "length": one("completions/mean_length", 220 + 40 * time + rng.normal(0, 8, 80)),
        "cut": one("completions/clipped_ratio", np.abs(rng.normal(0.03, 0.01, 80))),
        "equal": one("frac_reward_zero_std", np.clip(rng.normal(0.3, 0.05, 80), 0, 1)),
        "clip": one("clip_ratio/region_mean", np.abs(rng.normal(0.02, 0.005, 80))),
    }


def test_healthy_run(policy, facts, alarms):
    found = facts(policy)
    assert alarms(found) == []
    assert found["rl.reward_rising"] is True
    for fact in ("rl.kl_blows_up", "rl.kl_zero", "rl.entropy_collapsed", "rl.answers_grow"):
        assert found[fact] is False
    assert found["rl.groups_without_spread"] == pytest.approx(0.3, abs=0.06)
    assert "loss.spike" not in found


@pytest.mark.parametrize(("name", "values", "fact"), [
    ("kl", np.concatenate([np.full(60, 0.2), np.geomspace(0.2, 30, 20)]), "rl.kl_blows_up"),
    ("kl", np.concatenate([np.linspace(0.1, 0, 40), np.zeros(40)]), "rl.kl_zero"),
    ("entropy", np.geomspace(1.0, 0.02, 80), "rl.entropy_collapsed"),
    ("completions/mean_length", np.linspace(200, 900, 80), "rl.answers_grow"),
])  # fmt: skip
def test_what_runs_away(policy, one, facts, name, values, fact):
    assert facts([s for s in policy.values() if s.name != name] + [one(name, values)])[fact] is True


def test_levels_of_shares(policy, one, facts):
    shares = {"cut": one("completions/clipped_ratio", np.linspace(0.0, 0.6, 80)),
              "clip": one("clip_ratio/region_mean", np.full(80, 0.45))}  # fmt: skip
    found = facts(policy | shares)
    assert found["rl.answers_cut_share"] == pytest.approx(0.57, abs=0.03)
    assert found["rl.clip_share"] == pytest.approx(0.45)


def test_reward_that_stays(policy, one, rng, facts):
    assert facts(policy | {"reward": one("reward", rng.normal(0.3, 0.04, 80))})["rl.reward_rising"] is False


def test_names_of_other_trainers(rng, one, facts):
    found = facts([
        one("critic/rewards/mean", 0.1 + np.linspace(0, 0.5, 50) + rng.normal(0, 0.02, 50)),
        one("actor/ppo_kl", np.zeros(50)),
        one("actor/entropy", np.geomspace(1, 0.01, 50)),
    ])  # fmt: skip
    assert (found["rl.kl_zero"], found["rl.entropy_collapsed"], found["rl.reward_rising"]) == (True, True, True)


def test_ratio_of_trainer_and_sampler_in_the_first_step(policy, one, facts):
    name = "sampling/importance_sampling_ratio/mean"
    first = one(name, [1.3, 1.2, 1.2], 1.0)
    assert facts([*policy.values(), first])["rl.ratio_at_start"] == pytest.approx(1.3)
    late = one(name, [1.3, 1.2, 1.2], steps=[100, 110, 120])
    assert "rl.ratio_at_start" not in facts([*policy.values(), late])


def test_levels_of_kl_critic_and_sampler(policy, one, rng, facts):
    critic = np.concatenate([np.linspace(-0.5, 0.6, 30), np.full(50, 0.6)])  # explains nothing in its first updates
    found = facts(policy | {
        "critic": one("critic/vf_explained_var", critic + rng.normal(0, 0.02, 80)),
        "gap": one("training/rollout_probs_diff_mean", np.full(80, 0.012)),
    })  # fmt: skip
    assert found["rl.kl"] == pytest.approx(0.08, abs=0.01)
    assert found["rl.explained_variance"] == pytest.approx(0.6, abs=0.03)
    assert found["rl.logprob_gap"] == pytest.approx(0.012)


def test_a_critic_that_has_only_begun_is_not_judged(policy, one, facts):
    assert "rl.explained_variance" not in facts(policy | {"critic": one("explained_variance", np.full(12, -0.3))})


@pytest.mark.parametrize(("level", "spread", "said"), [(-0.2, 0.01, True), (-0.004, 0.02, None), (0.004, 0.0, True)])
def test_a_kl_below_zero_is_told_from_its_noise(policy, one, facts, level, spread, said):
    scatter = spread * np.where(np.arange(80) % 2, 1.0, -1.0)
    found = facts(policy | {"kl": one("kl", level + scatter)})
    assert ("rl.kl" in found) is bool(said)


def test_what_turns_back(policy, one, rng, facts):
    healthy = facts(policy)
    assert (healthy["rl.reward_falls"], healthy["rl.entropy_grows"]) == (False, False)
    there_and_back = np.concatenate([np.linspace(0.3, 0.8, 50), np.linspace(0.8, 0.2, 30)]) + rng.normal(0, 0.02, 80)
    found = facts(
        policy | {"reward": one("reward", there_and_back), "entropy": one("entropy", np.linspace(0.5, 2, 80))}
    )
    assert (found["rl.reward_falls"], found["rl.entropy_grows"]) == (True, True)
    flat = facts(policy | {"reward": one("reward", rng.normal(0.3, 0.04, 80))})
    assert flat["rl.reward_falls"] is False
