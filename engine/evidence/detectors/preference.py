"""Preference training (DPO, KTO and relatives): implicit rewards, margins, accuracies and log-probabilities.

The reward of the chosen answers may fall while the margin grows: the loss only asks for the difference. Displaced is
what goes beyond that: it fell by more than the margin it bought, or its log-probability fell by half of its size or by
50 nats. One early: accuracy 0.99 and more from within the first fifth of the run on. Reward at the start: policy and
reference are equal in the first step, so both rewards are 0 there (0.1 allows for rounding in bf16).

False positives: losses with an extra likelihood term; accuracy averaged over very few pairs.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View
from engine.evidence.detectors.windows import first_level, last_level, noise
from engine.evidence.series import Series

_CHOSEN = ("rewards_chosen", "reward_chosen", "chosen_rewards", "chosen_reward", "dpo_chosen_reward")
_REJECTED = ("rewards_rejected", "reward_rejected", "rejected_rewards", "rejected_reward", "dpo_rejected_reward")
_MARGIN = ("rewards_margins", "rewards_margin", "reward_margin", "reward_margins", "margin", "margins", "dpo_margin")
_ACCURACY = ("rewards_accuracies", "rewards_accuracy", "reward_accuracy", "dpo_accuracy")
_LOGP = ("logps_chosen", "chosen_logps", "policy_chosen_logps", "dpo_chosen_logp")
_ONE, _EARLY, _CHANCE = 0.99, 0.2, (0.4, 0.6)
_DROP_NATS, _DROP_SHARE = 50.0, 0.5
_AT_START, _AT_START_MEAN, _MEAN_OF = 0.1, 1.0, 10.0
_BEGUN = 0.2


def detect_preference(view: View, out: Collector) -> None:
    """State dpo.* and run.preference_pairs; must run after the detectors of the loss."""
    chosen, rejected = view.finite(*_CHOSEN), view.finite(*_REJECTED)
    accuracy = view.finite(*_ACCURACY)
    if chosen is None and accuracy is None:
        return
    out.judge(messages.PREFERENCE)
    logged = chosen if chosen is not None else accuracy
    if logged is not None:
        out.say("run.preference_pairs", True, logged.source(0))
    if chosen is not None and rejected is not None:
        _rewards(view, chosen, rejected, out)
        _at_start(chosen, rejected, out)
    if accuracy is not None and len(accuracy) >= 3:
        _accuracy(view, accuracy, out)
    logp = view.finite(*_LOGP)
    if logp is not None and len(logp) >= 8:
        drop = first_level(logp.values) - last_level(logp.values)
        note = f"{first_level(logp.values):.4g} to {last_level(logp.values):.4g} nats"
        out.say("dpo.chosen_logp", last_level(logp.values), logp.source(len(logp) - 1), "median of the last window")
        out.say("dpo.chosen_logp_drop", max(drop, 0.0), logp.source(len(logp) - 1), note)


def _rewards(view: View, chosen: Series, rejected: Series, out: Collector) -> None:
    if len(chosen) < 8 or len(rejected) < 8:
        out.skip(messages.PREFERENCE, messages.filled(messages.FEW_RECORDS, count=len(chosen), least=8))
        return
    source = chosen.source(len(chosen) - 1)
    high, low = last_level(chosen.values), last_level(rejected.values)
    given = view.finite(*_MARGIN)
    margin = last_level(given.values) if given is not None else high - low
    out.say("dpo.chosen_reward", high, source, "median of the last window")
    out.say("dpo.rejected_reward", low, rejected.source(len(rejected) - 1), "median of the last window")
    out.say("dpo.margin", margin, given.source(len(given) - 1) if given is not None else source)
    fell = high < -2 * noise(chosen.values) and low < 0
    logp = view.finite(*_LOGP)
    collapsed = False
    if logp is not None and len(logp) >= 8:
        before = first_level(logp.values)
        collapsed = before - last_level(logp.values) > min(_DROP_NATS, _DROP_SHARE * abs(before))
    note = f"chosen {high:.3g}, rejected {low:.3g}, margin {margin:.3g}"
    out.say("dpo.displaced", fell and (-high > max(margin, 0.0) or collapsed), source, note)


def _at_start(chosen: Series, rejected: Series, out: Collector) -> None:
    step = float(chosen.steps[0])
    if step > _MEAN_OF:
        out.skip(messages.REWARD_START, messages.filled(messages.LATE_START, step=step))
        return
    out.judge(messages.REWARD_START)
    limit = _AT_START if step <= 1 else _AT_START_MEAN  # a mean of the first steps holds what they learned
    size = max(abs(float(chosen.values[0])), abs(float(rejected.values[0])))
    out.say("dpo.reward_at_start", size > limit, chosen.source(0), f"{size:.3g} at step {step:g}, limit {limit:g}")


def _accuracy(view: View, accuracy: Series, out: Collector) -> None:
    level, source = last_level(accuracy.values), accuracy.source(len(accuracy) - 1)
    total = view.context.total_steps or float(accuracy.steps[-1])
    if _CHANCE[0] < level < _CHANCE[1] and (len(accuracy) < 8 or float(accuracy.steps[-1]) < _BEGUN * total):
        out.skip(messages.PREFERENCE, messages.EARLY_RUN)
        return
    if not 0 <= level <= 1:
        return
    out.say("dpo.accuracy", level, source, "median of the last window")
    if len(accuracy) >= 8:
        below = np.flatnonzero(accuracy.values < _ONE)
        since = int(below[-1]) + 1 if len(below) else 0
        early = level >= _ONE and since < len(accuracy) and float(accuracy.steps[since]) <= _EARLY * total
        out.say("dpo.accuracy_one_early", early, accuracy.source(min(since, len(accuracy) - 1)), f"of {total:g} steps")
