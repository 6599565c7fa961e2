"""Evidence of the training run: ended as planned, finite, without late spikes, and its best step is what goes out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from engine.audit.evaluation.files import NoEvidenceError
from engine.audit.ledger import Place

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger
    from engine.audit.training import TrainerState
    from engine.evidence.series import Floats

_F = "audit.training."
_FACTS = (
    "steps_left", "nonfinite_losses", "zero_losses", "late_spike", "best_not_last", "eval_rises", "rate_left",
    "steps_disagree",
)  # fmt: skip
_FEWEST_LOGS = 20  # fewer say nothing about what is usual in a run
_PREFERENCE = frozenset({"dpo", "rlhf"})


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what trainer_state.json shows; without one everything stays unknown, with the reason."""
    from engine.audit.training import read_state

    _schedule(checkpoint, ledger)
    try:
        state = read_state(checkpoint)
    except NoEvidenceError as error:
        for fact in _FACTS:
            ledger.unknown(_F + fact, error.text.en, error.text.zh, error.wanted)
        return
    _finished(checkpoint, state, ledger)
    _finite(checkpoint, state, ledger)
    _spikes(state, ledger)
    _best(state, ledger)
    _trend(checkpoint, state, ledger)
    _rate(state, ledger)
    _steps(state, ledger)


def _schedule(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Whether the declared schedule ends near zero; one with restarts, a constant or an unknown one does not say so."""
    name = checkpoint.intent.schedule
    if name is not None:
        decays = re.search(r"linear|cosine|poly|wsd|decay", name, re.IGNORECASE) is not None
        ledger.fact(_F + "rate_decays", decays and "restart" not in name.lower() and "min_lr" not in name.lower())
    else:
        ledger.unknown(
            _F + "rate_decays",
            "The intent does not declare the learning-rate schedule.",
            "意图文件没有声明学习率调度。",
        )


def _finished(checkpoint: Checkpoint, state: TrainerState, ledger: Ledger) -> None:
    done, planned = state.number("global_step"), state.number("max_steps")
    chosen = state.best_step is not None and state.best_step == state.released_step
    ledger.fact(_F + "stopped_on_purpose", bool(checkpoint.intent.early_stopping) or state.stopped_early or chosen)
    if done is not None and planned is not None and planned > 0:
        place = Place(state.label, "global_step", f"{done:g}", f"{planned:g}", "training")
        ledger.fact(_F + "steps_left", max(0.0, planned - done), [place])
        return
    epoch, epochs = state.number("epoch"), state.number("num_train_epochs")
    if epoch is not None and epochs is not None and epochs > 0:
        place = Place(state.label, "epoch", f"{epoch:g}", f"{epochs:g}", "training")
        ledger.fact(_F + "epochs_left", max(0.0, 1 - epoch / epochs), [place])
        return
    ledger.unknown(
        _F + "steps_left",
        f"{state.label} does not say how many steps or epochs were planned and done.",
        f"{state.label} 没有说明计划与完成的步数或轮数。",
    )


def _finite(checkpoint: Checkpoint, state: TrainerState, ledger: Ledger) -> None:
    """Losses that are no number, gradient norms likewise, and losses of exactly zero.

    A gradient norm overflows now and then under a dynamic loss scale and the step is skipped: early ones are not
    counted, and whether the last is finite is a fact of its own.
    """
    steps, losses = state.series("loss")
    if len(losses) == 0 and not state.losses_without_value:
        ledger.unknown(_F + "nonfinite_losses", f"{state.label} holds no loss.", f"{state.label} 中没有损失。")
        ledger.unknown(_F + "zero_losses", f"{state.label} holds no loss.", f"{state.label} 中没有损失。")
        return
    bad = np.flatnonzero(~np.isfinite(losses))
    places = [Place(state.label, f"step {steps[at]:g}", f"loss {losses[at]}", "a number", "training") for at in bad]
    places += [Place(state.label, "log_history", "loss null", "a number", "training")] * state.losses_without_value
    ledger.count(_F + "nonfinite_losses", places)
    at_steps, norms = state.series("grad_norm")
    late = [at for at in np.flatnonzero(~np.isfinite(norms)) if at >= len(norms) / 10]
    ledger.count(
        _F + "nonfinite_grad_norms",
        (Place(state.label, f"step {at_steps[at]:g}", f"grad_norm {norms[at]}", "a number", "training") for at in late),
    )
    ledger.fact(_F + "last_grad_norm_finite", bool(len(norms) == 0 or np.isfinite(norms[-1])))
    zeros = [] if checkpoint.intent.paradigm == "rlhf" else list(_sudden_zeros(losses))
    ledger.count(
        _F + "zero_losses",
        (Place(state.label, f"step {steps[at]:g}", "loss 0.0", "above 0", "training") for at in zeros),
    )


def _sudden_zeros(losses: Floats) -> Iterator[int]:
    """Zeros that no small loss led to: the trainer rounds to four digits, so a memorised set may end at 0.0, too."""
    before = np.inf
    for at, loss in enumerate(losses):
        if loss == 0 and before > 0.001:
            yield at
        elif loss != 0:
            before = loss


def _spikes(state: TrainerState, ledger: Ledger) -> None:
    """How far the end of the run lies above its usual level: the last three losses in MADs, the norms as a ratio.

    The usual level is that of the second half before its last fifth, so that the fall of the loss is not in it. A MAD
    is taken as 1 % of the median at least: a smooth curve has nearly none.
    """
    steps, losses = state.series("loss")
    if len(losses) < _FEWEST_LOGS or not np.isfinite(losses).all():
        ledger.unknown(
            _F + "late_spike",
            f"{state.label} holds {len(losses)} losses; at least {_FEWEST_LOGS} finite ones are needed.",
            f"{state.label} 中有 {len(losses)} 个损失；至少需要 {_FEWEST_LOGS} 个有限值。",
        )
        return
    cut = int(len(losses) * 0.8)
    usual = losses[len(losses) // 2 : cut]
    middle = float(np.median(usual))
    mad = max(float(np.median(np.abs(usual - middle))), 0.01 * abs(middle), 1e-12)
    worst = cut + int(np.argmax(losses[cut:]))
    # Recovered if the end is back at the usual level, whatever the peak was.
    level = min(float(np.median(losses[-3:])), float(losses[worst]))
    place = Place(state.label, f"step {steps[worst]:g}", f"loss {losses[worst]:.4g}", f"about {middle:.4g}", "training")
    ledger.fact(_F + "late_spike", max(0.0, (level - middle) / mad), [place])
    at_steps, norms = state.series("grad_norm")
    finite = norms[np.isfinite(norms)]
    if len(finite) >= _FEWEST_LOGS and (usual_norm := float(np.median(finite))) > 0:
        tail = norms[int(len(norms) * 0.8) :]
        at = len(norms) - len(tail) + int(np.nanargmax(np.where(np.isfinite(tail), tail, -1.0)))
        seen = Place(state.label, f"step {at_steps[at]:g}", f"grad_norm {norms[at]:.4g}", f"about {usual_norm:.4g}")
        ledger.fact(_F + "late_norm_ratio", float(norms[at]) / usual_norm, [seen])


def _best(state: TrainerState, ledger: Ledger) -> None:
    """Whether the released step is worse than the best one by more than the noise, 2 MAD of the evaluations."""
    name, rises = _best_metric(state)
    steps, values = state.evaluations(name)
    step = state.released_step
    if len(values) < 3 or not np.isfinite(values).all() or step is None:
        ledger.unknown(
            _F + "best_not_last",
            f"{state.label} holds {len(values)} evaluations by the metric that chose the best; three are needed.",
            f"{state.label} 中按选优指标的评估有 {len(values)} 次；至少需要三次。",
        )
        return
    if not state.of_step:
        ledger.unknown(
            _F + "best_not_last",
            f"{state.label} tracks the best checkpoint: the trainer may have loaded it at the end, and the folder does "
            "not show whether these are its weights or the last ones: declare run.released_step in the intent.",
            f"{state.label} 记录了最佳检查点：训练器可能在结束时加载了它，而目录看不出这是最佳权重还是最后权重："
            "请在意图文件中声明 run.released_step。",
        )
        return
    worth = values if rises else -values
    until = np.flatnonzero(steps <= step)
    best, last = int(np.argmax(worth)), int(until[-1]) if len(until) else 0
    noise = 2 * float(np.median(np.abs(values - np.median(values))))
    gap = float(worth[best] - worth[last])
    seen = f"{name} {values[last]:.4g} at step {steps[last]:g}"
    place = Place(state.label, f"step {step:g}", seen, f"{values[best]:.4g}, step {steps[best]:g}", "training")
    ledger.fact(_F + "best_not_last", bool(steps[best] != steps[last] and gap > noise), [place])


def _best_metric(state: TrainerState) -> tuple[str, bool]:
    """The series that chose the best checkpoint, and whether more is better; the loss if the trainer tracked nothing.

    The direction shows in the value: the best is the largest or the smallest. Empty if no series holds it.
    """
    best = state.number("best_metric")
    if best is None:
        return "eval_loss", False
    for name in sorted({one.name for one in state.record.series if one.name.startswith("eval_")}):
        _, values = state.evaluations(name)
        if len(values) and np.isclose(best, [values.min(), values.max()], rtol=1e-6).any():
            return name, bool(np.isclose(best, values.max(), rtol=1e-6))
    return "", False


def _trend(checkpoint: Checkpoint, state: TrainerState, ledger: Ledger) -> None:
    """How often in a row the evaluation got worse at the end, by how much, and whether the training loss still fell.

    In preference tuning the loss may rise while the pairs are told apart better: the accuracy of the rewards counts.
    """
    name = "eval_loss" if checkpoint.intent.paradigm not in _PREFERENCE else "eval_rewards/accuracies"
    steps, values = state.evaluations(name)
    if len(values) < 4 or not np.isfinite(values).all():
        ledger.unknown(
            _F + "eval_rises",
            f"{state.label} holds {len(values)} values of {name}; at least four are needed.",
            f"{state.label} 中有 {len(values)} 个 {name}；至少需要四个。",
        )
        return
    worse = np.diff(values) if name == "eval_loss" else -np.diff(values)
    rises = len(worse) - int(np.flatnonzero(worse <= 0)[-1]) - 1 if (worse <= 0).any() else len(worse)
    start = len(values) - 1 - rises
    change = abs(float(values[-1] - values[start])) / max(abs(float(values[start])), 1e-12)
    at_steps, losses = state.series("loss")
    before, after = losses[at_steps <= steps[start]], losses[at_steps > steps[start]]
    place = Place(
        state.label, f"step {steps[start]:g}", f"{name} {values[start]:.4g} to {values[-1]:.4g}", "falling", "training"
    )
    ledger.fact(_F + "eval_rises", float(rises), [place])
    ledger.fact(_F + "eval_rise_share", change)
    if len(before) and len(after):
        ledger.fact(_F + "train_loss_falls", bool(np.median(after) < np.median(before[-len(after) :])))


def _rate(state: TrainerState, ledger: Ledger) -> None:
    """What is left of the peak learning rate at the end, and where it jumped up after it had begun to fall."""
    steps, rates = state.series("learning_rate")
    planned = state.number("max_steps") or state.number("global_step")
    if len(rates) < 3 or not np.isfinite(rates).all() or float(rates.max()) <= 0:
        why = (f"{state.label} holds too few learning rates.", f"{state.label} 中的学习率过少。")
        ledger.unknown(_F + "rate_left", *why)
        return
    top = np.maximum.accumulate(rates)
    # A rise by half after the peak was left by a tenth: no warmup, and more than rounding.
    jumps = [
        at
        for at in range(2, len(rates))
        if rates[at - 1] < 0.9 * top[at - 1] and rates[at] > max(1.5 * rates[at - 1], 0.1 * top[at - 1])
    ]
    ledger.count(
        _F + "rate_jumps",
        (
            Place(state.label, f"step {steps[at]:g}", f"{rates[at]:.3g}", f"at most {rates[at - 1]:.3g}", "training")
            for at in jumps
        ),
    )
    # The last log may lie up to one interval before the end; the line through the last two goes on to it.
    interval, slope = float(steps[-1] - steps[-2]), float(rates[-1] - rates[-2])
    if planned is None or interval <= 0 or steps[-1] + interval < planned:
        ledger.unknown(
            _F + "rate_left",
            f"The last learning rate of {state.label} is of step {steps[-1]:g}, before the end.",
            f"{state.label} 的最后一个学习率属于第 {steps[-1]:g} 步，未到结束。",
        )
        return
    end = max(0.0, float(rates[-1]) + min(0.0, slope) / interval * max(0.0, planned - float(steps[-1])))
    seen = f"{rates[-1]:.3g} of {top[-1]:.3g}"
    place = Place(state.label, f"step {steps[-1]:g}", seen, "at most a tenth of the peak", "training")
    ledger.fact(_F + "rate_left", end / float(top[-1]), [place])


def _steps(state: TrainerState, ledger: Ledger) -> None:
    """The step by the folder's name ``checkpoint-N`` and by the scheduler against that of the state.

    Several processes may step a scheduler once each, and steps that overflow may not step it: a multiple, and a few
    less, are no contradiction.
    """
    step, scheduler = state.number("global_step"), state.scheduler_step
    if step is None or (state.folder_step is None and scheduler is None):
        ledger.unknown(
            _F + "steps_disagree",
            "Neither a folder checkpoint-N nor a scheduler.pt names the step beside trainer_state.json.",
            "trainer_state.json 之外，没有 checkpoint-N 目录或 scheduler.pt 可核对步数。",
        )
        return
    places = []
    if state.folder_step not in (None, step):
        places.append(Place(state.label, "global_step", f"{step:g}", f"{state.folder_step}, by its folder", "training"))
    if scheduler is not None and step > 0 and scheduler % step and not 0.9 * step <= scheduler <= step:
        places.append(Place(state.label, "global_step", f"{step:g}", f"{scheduler:g}, by scheduler.pt", "training"))
    ledger.count(_F + "steps_disagree", places)
