"""Reinforcement learning from rewards (PPO, GRPO and relatives): reward, KL, entropy, answers, groups, clipping.

KL blow-up: five times its level of the middle of the run and above 1 nat (adaptive controllers aim at up to 6).
KL zero: exactly 0 in the last third. Entropy collapse: a tenth of its first level. Answers grow: 1.5 x with rank
correlation 0.7. Shares (answers cut at the limit, groups whose rewards are all equal, clipped ratios) are levels of the
last window, their limits stand with the findings, and so are KL, explained variance and the gap between sampler and
trainer. The ratio of trainer to sampler is 1 in the first step. Reward falls: half of what was gained is lost, by more
than six standard errors. Entropy grows: 1.5 x with rank correlation 0.7.

A KL below zero counts only where it is clear of its noise: the plain estimator scatters around a small KL. A critic
explains nothing in its first updates: its level is that of the last window of 20 or more.

False positives: ``kl_zero`` where the KL term is switched off (beta 0) and still logged; growth of answers that is
wanted (reasoning); ``reward_rising`` false on a run that began at the ceiling.
"""

from __future__ import annotations

import math

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View
from engine.evidence.detectors.windows import first_level, last_level, level_noise, spearman, window, window_medians
from engine.evidence.series import Series

_REWARD = ("reward", "rewards", "reward_mean", "mean_reward", "objective_rlhf_reward", "objective_scores",
           "critic_rewards_mean", "critic_score_mean", "ppo_mean_scores", "env_reward_mean")  # fmt: skip
_KL = ("kl", "objective_kl", "ppo_kl", "actor_ppo_kl", "actor_kl_loss", "kl_loss", "policy_approxkl_avg", "approx_kl",
       "mean_kl")  # fmt: skip
_ENTROPY = ("entropy", "policy_entropy_avg", "policy_entropy", "actor_entropy", "actor_entropy_loss",
            "objective_entropy")  # fmt: skip
_LENGTH = ("completions_mean_length", "completion_length", "response_length_mean", "tokens_mean_length",
           "mean_response_length", "response_length")  # fmt: skip
_CUT = ("completions_clipped_ratio", "response_length_clip_ratio", "truncated_ratio", "clipped_ratio")
_NO_SPREAD = ("frac_reward_zero_std", "reward_zero_std_ratio", "zero_std_ratio", "frac_zero_std")
_CLIPPED = ("clip_ratio_region_mean", "clip_ratio", "policy_clipfrac_avg", "policy_clipfrac", "actor_pg_clipfrac",
            "clipfrac", "pg_clipfrac", "ppo_policy_clipfrac")  # fmt: skip
_EXPLAINED = ("explained_variance", "critic_vf_explained_var", "vf_explained_var", "ppo_val_var_explained",
              "explained_var")  # fmt: skip
_GAP = ("rollout_probs_diff_mean", "sampling_sampling_logp_difference_mean", "sampling_logp_difference_mean",
        "mismatch_kl", "rollout_kl", "logprob_diff", "logprob_gap")  # fmt: skip
_RATIO = ("sampling_importance_sampling_ratio_mean", "importance_sampling_ratio_mean", "val_ratio", "ratio",
          "importance_ratio")  # fmt: skip
_LEAST, _LONG = 10, 20
_BLOW_UP, _KL_NATS, _COLLAPSE = 5.0, 1.0, 0.1
_GROWTH, _RANK = 1.5, 0.7
_LOST, _SIGMAS = 0.5, 6.0


def detect_policy(view: View, out: Collector) -> None:
    """State rl.*."""
    reward, kl = view.finite(*_REWARD), view.finite(*_KL)
    if not view.is_policy_loss() and view.raw(*_KL, *_CUT, *_NO_SPREAD) is None:
        return  # supervised trainers log an entropy as well
    out.judge(messages.POLICY)
    if kl is not None and len(kl) >= _LEAST:
        _kl(kl, out)
    if reward is not None and len(reward) >= _LONG:
        size = window(len(reward))
        gain = last_level(reward.values) - first_level(reward.values)
        clear = gain > 3 * math.sqrt(2) * level_noise(reward.values, size) and gain > 0
        note = f"{first_level(reward.values):.4g} to {last_level(reward.values):.4g}"
        out.say("rl.reward_rising", clear, reward.source(len(reward) - 1), note)
        _reward_falls(reward, out)
    _entropy(view.finite(*_ENTROPY), out)
    _length(view.finite(*_LENGTH), out)
    for fact, names in (("rl.answers_cut_share", _CUT), ("rl.groups_without_spread", _NO_SPREAD),
                        ("rl.clip_share", _CLIPPED)):  # fmt: skip
        one = view.finite(*names)
        if one is not None and len(one) >= 3 and 0 <= (level := last_level(one.values)) <= 1:
            out.say(fact, level, one.source(len(one) - 1), "median of the last window")
    for fact, least, one in (
        ("rl.explained_variance", _LONG, view.finite(*_EXPLAINED)),
        ("rl.logprob_gap", _LEAST, view.finite(*_GAP)),
    ):
        if one is not None and len(one) >= least and (level := last_level(one.values)) <= 1:
            out.say(fact, level, one.source(len(one) - 1), "median of the last window")
    ratio = view.finite(*_RATIO)
    if ratio is not None and float(ratio.steps[0]) <= 2:
        out.say("rl.ratio_at_start", ratio.values[0], ratio.source(0))


def _reward_falls(reward: Series, out: Collector) -> None:
    """Is half of what was gained lost again, clear of the noise?"""
    values, size = reward.values, window(len(reward))
    medians = window_medians(values, size)
    best, first, last = float(medians.max()), float(medians[0]), last_level(values)
    lost = best - last
    falls = lost > _LOST * (best - first) and lost > _SIGMAS * math.sqrt(2) * level_noise(values, size)
    note = f"best window {best:.4g}, last {last:.4g}"
    out.say("rl.reward_falls", falls, reward.source(len(reward) - 1), note)


def _kl(kl: Series, out: Collector) -> None:
    source = kl.source(len(kl) - 1)
    level = last_level(kl.values)
    if level >= 0 or level < -3 * level_noise(kl.values, window(len(kl))):
        out.say("rl.kl", level, source, "median of the last window")
    late = kl.values[-max(len(kl) // 3, 3) :]
    out.say("rl.kl_zero", not late.any(), source, f"the last {len(late)} records are {kl.values[-1]:.3g}")
    middle = kl.values[len(kl) // 10 : max(3 * len(kl) // 4, len(kl) // 10 + 1)]
    usual, last = float(np.median(np.abs(middle))), last_level(kl.values)
    note = f"{usual:.3g} in the run, {last:.3g} lately"
    out.say("rl.kl_blows_up", last > max(_BLOW_UP * usual, _KL_NATS), source, note)


def _entropy(entropy: Series | None, out: Collector) -> None:
    if entropy is None or len(entropy) < _LONG or first_level(entropy.values) <= 0:
        return
    first, last = first_level(entropy.values), last_level(entropy.values)
    out.say(
        "rl.entropy_collapsed", last < _COLLAPSE * first, entropy.source(len(entropy) - 1), f"{first:.3g} to {last:.3g}"
    )
    grows = last >= _GROWTH * first and spearman(entropy.steps, entropy.values) >= _RANK
    out.say("rl.entropy_grows", grows, entropy.source(len(entropy) - 1), f"{first:.3g} to {last:.3g}")


def _length(length: Series | None, out: Collector) -> None:
    if length is None or len(length) < _LONG or first_level(length.values) <= 0:
        return
    first, last = first_level(length.values), last_level(length.values)
    grows = last >= _GROWTH * first and spearman(length.steps, length.values) >= _RANK
    out.say("rl.answers_grow", grows, length.source(len(length) - 1), f"{first:.4g} to {last:.4g} tokens")
