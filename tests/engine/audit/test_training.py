"""Evidence of the training run at its thresholds, and of states that say less."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.audit.checkpoint import Checkpoint
from engine.audit.folder import Folder
from engine.audit.intent import parse_intent
from engine.audit.ledger import Ledger
from engine.audit.probes import training
from tests.engine.audit.build.evidence import trainer_state

Change = Callable[[dict[str, Any]], object]
_F = "audit.training."


def seen(
    folder: Path, change: Change = lambda _: None, *, root: str = "model", beside: tuple[str, ...] = (), **intent: Any
) -> Ledger:
    """What the probe states of a trainer_state.json in a folder of that name."""
    state = trainer_state()
    change(state)
    (folder / root).mkdir()
    (folder / root / "trainer_state.json").write_text(json.dumps(state), "utf-8")
    for name in beside:
        (folder / root / name).write_bytes(b"")
    ledger = Ledger()
    checkpoint = Checkpoint(Folder.of(folder / root), parse_intent(json.dumps(intent).encode()), folder)
    training.probe(checkpoint, ledger)
    return ledger


def logs(change: Callable[[dict[str, Any], float], object], key: str = "loss") -> Change:
    """Change every log that has ``key``; ``change`` gets its share of the run."""

    def edit(state: dict[str, Any]) -> None:
        for row in state["log_history"]:
            if key in row:
                change(row, row["step"] / state["max_steps"])

    return edit


def evals(*values: float) -> Change:
    def edit(state: dict[str, Any]) -> None:
        rows = [row for row in state["log_history"] if "eval_loss" in row]
        for row, value in zip(rows, values, strict=True):
            row["eval_loss"] = value

    return edit


def test_a_healthy_run(tmp_path: Path) -> None:
    ledger = seen(tmp_path, schedule="cosine")
    assert ledger.value(_F + "steps_left") == 0
    assert ledger.value(_F + "nonfinite_losses") == 0
    assert ledger.value(_F + "zero_losses") == 0
    assert ledger.value(_F + "best_not_last") is False
    assert ledger.value(_F + "rate_left") == 0
    assert ledger.value(_F + "rate_jumps") == 0
    late = ledger.value(_F + "late_spike")
    assert isinstance(late, float)
    assert late < 3


def test_early_stopping_is_on_purpose(tmp_path: Path) -> None:
    early = {"attributes": {"early_stopping_patience_counter": 3}, "args": {"early_stopping_patience": 3}}

    def stopped(state: dict[str, Any]) -> None:
        state.update(max_steps=800, stateful_callbacks={"EarlyStoppingCallback": early})

    ledger = seen(tmp_path, stopped)
    assert ledger.value(_F + "steps_left") == 400
    assert ledger.value(_F + "stopped_on_purpose") is True
    early["attributes"]["early_stopping_patience_counter"] = 2
    (tmp_path / "impatient").mkdir()
    assert seen(tmp_path / "impatient", stopped).value(_F + "stopped_on_purpose") is False


def test_a_declared_stop_and_a_chosen_checkpoint_are_on_purpose(tmp_path: Path) -> None:
    for number, (change, declared) in enumerate([({}, True), ({"best_model_checkpoint": "out/checkpoint-400"}, None)]):
        (tmp_path / str(number)).mkdir()
        intent = {"early_stopping": declared} if declared else {}
        ledger = seen(
            tmp_path / str(number), lambda s, c=change: s.update(c, max_steps=800), root="checkpoint-400", **intent
        )
        assert ledger.value(_F + "stopped_on_purpose") is True


@pytest.mark.parametrize(
    ("norms", "counted"),
    # Forty logs: an overflow in the first tenth belongs to the search of the loss scale.
    [({2: math.inf}, 0), ({3: math.nan}, 0), ({4: math.inf}, 1), ({39: math.nan}, 1)],
)
def test_gradient_norms_that_overflow(tmp_path: Path, norms: dict[int, float], counted: int) -> None:
    def edit(state: dict[str, Any]) -> None:
        rows = [row for row in state["log_history"] if "loss" in row]
        for at, value in norms.items():
            rows[at]["grad_norm"] = value

    ledger = seen(tmp_path, edit)
    assert ledger.value(_F + "nonfinite_grad_norms") == counted
    assert ledger.value(_F + "last_grad_norm_finite") is (39 not in norms)


@pytest.mark.parametrize(
    ("values", "counted"),
    [([0.0, 0.0, 0.0], 3), ([0.0005, 0.0, 0.0], 0), ([0.4, 0.0, 0.3], 1)],
)
def test_zeros_of_a_memorised_set_are_rounding(tmp_path: Path, values: list[float], counted: int) -> None:
    def edit(state: dict[str, Any]) -> None:
        for row, value in zip([r for r in state["log_history"] if "loss" in r][-3:], values, strict=True):
            row["loss"] = value

    assert seen(tmp_path, edit).value(_F + "zero_losses") == counted


def test_policy_gradients_may_have_no_loss(tmp_path: Path) -> None:
    assert seen(tmp_path, logs(lambda row, _: row.update(loss=0.0)), paradigm="rlhf").value(_F + "zero_losses") == 0


def test_a_spike_that_comes_back_is_none(tmp_path: Path) -> None:
    ledger = seen(tmp_path, logs(lambda row, share: row.update(loss=9.0 if share == 0.9 else 1.2)))
    assert ledger.value(_F + "late_spike") == 0


@pytest.mark.parametrize(("level", "beyond"), [(1.295, False), (1.297, True)])
def test_a_late_level_is_measured_in_deviations(tmp_path: Path, level: float, beyond: bool) -> None:
    """A level of 1.2 without scatter: a MAD is 1 % of it, eight of them are 0.096."""
    value = seen(tmp_path, logs(lambda row, share: row.update(loss=1.2 if share < 0.9 else level))).value(
        _F + "late_spike"
    )
    assert isinstance(value, float)
    assert (value > 8) is beyond


def test_few_logs_say_nothing_of_spikes(tmp_path: Path) -> None:
    def short(state: dict[str, Any]) -> None:
        state["log_history"] = [row for row in state["log_history"] if row["step"] % 40 == 0]

    assert "at least 20" in seen(tmp_path, short).missing[_F + "late_spike"].en


@pytest.mark.parametrize(("last", "worse"), [(1.59, False), (1.61, True)])
def test_the_best_step_is_better_by_more_than_noise(tmp_path: Path, last: float, worse: bool) -> None:
    """Evaluations of which the median deviation is 0.2: the gap counts from 0.4 on."""
    assert seen(tmp_path, evals(2.0, 1.6, 1.2, 1.8, last)).value(_F + "best_not_last") is worse


def test_the_best_may_have_been_loaded_at_the_end(tmp_path: Path) -> None:
    """The weights in the output folder are the best ones if the trainer loads them; in checkpoint-N those of step N."""

    def tracked(state: dict[str, Any]) -> None:
        evals(1.9, 1.2, 1.9, 1.85, 1.84)(state)
        state.update(best_metric=1.2, best_model_checkpoint="out/checkpoint-160")

    ledger = seen(tmp_path, tracked)
    assert ledger.value(_F + "best_not_last") is None
    assert "may have loaded it" in ledger.missing[_F + "best_not_last"].en
    assert seen(tmp_path, tracked, root="checkpoint-400").value(_F + "best_not_last") is True
    assert seen(tmp_path, tracked, root="saved", beside=("rng_state.pth",)).value(_F + "best_not_last") is True
    for step, worse in ((400, True), (160, False)):
        ledger = seen(tmp_path, tracked, root=f"said{step}", run={"released_step": step})
        assert ledger.value(_F + "best_not_last") is worse


def test_the_direction_of_a_metric_shows_in_the_best_value(tmp_path: Path) -> None:
    def accuracy(state: dict[str, Any]) -> None:
        rows = [row for row in state["log_history"] if "eval_loss" in row]
        for row, value in zip(rows, (0.5, 0.9, 0.52, 0.51, 0.5), strict=True):
            row["eval_accuracy"] = value
        state.update(best_metric=0.9, best_model_checkpoint="out/checkpoint-160")

    assert seen(tmp_path, accuracy, root="checkpoint-400").value(_F + "best_not_last") is True
    unknown = seen(tmp_path, lambda s: (accuracy(s), s.update(best_metric=0.77)), root="checkpoint-401")
    assert unknown.value(_F + "best_not_last") is None


def test_rises_at_the_end_are_counted(tmp_path: Path) -> None:
    ledger = seen(tmp_path, evals(1.9, 1.7, 1.705, 1.71, 1.72))
    assert ledger.value(_F + "eval_rises") == 3
    assert ledger.value(_F + "eval_rise_share") == pytest.approx(0.02 / 1.7)
    assert ledger.value(_F + "train_loss_falls") is True
    (tmp_path / "again").mkdir()
    assert seen(tmp_path / "again", evals(1.9, 1.7, 1.75, 1.71, 1.72)).value(_F + "eval_rises") == 1


def test_the_best_evaluated_once_more_is_no_rise(tmp_path: Path) -> None:
    def more(state: dict[str, Any]) -> None:
        state["log_history"].append({"step": state["max_steps"], "epoch": 3.0, "eval_loss": 9.0})

    assert seen(tmp_path, more).value(_F + "eval_rises") == 0


def test_pairs_told_apart_count_in_preference_tuning(tmp_path: Path) -> None:
    rising = evals(0.5, 0.6, 0.7, 0.8, 0.9)
    assert seen(tmp_path, rising, paradigm="dpo").value(_F + "eval_rises") is None

    def accuracies(state: dict[str, Any]) -> None:
        rising(state)
        for row in [row for row in state["log_history"] if "eval_loss" in row]:
            row["eval_rewards/accuracies"] = 1 - row["eval_loss"] / 2

    (tmp_path / "with").mkdir()
    assert seen(tmp_path / "with", accuracies, paradigm="dpo").value(_F + "eval_rises") == 4


@pytest.mark.parametrize(
    ("schedule", "decays"),
    [
        ("linear", True), ("cosine", True), ("warmup_stable_decay", True), ("constant_with_warmup", False),
        ("cosine_with_restarts", False), ("cosine_with_min_lr", False), ("inverse_sqrt", False),
    ],
)  # fmt: skip
def test_which_schedules_end_near_zero(tmp_path: Path, schedule: str, decays: bool) -> None:
    assert seen(tmp_path, schedule=schedule).value(_F + "rate_decays") is decays


def test_sparse_logs_are_followed_to_the_end(tmp_path: Path) -> None:
    """Linear, logged every 100 of 350 steps: the last log is at 14 % of the peak, and all is in order."""

    def sparse(state: dict[str, Any]) -> None:
        state.update(max_steps=350, global_step=350)
        state["log_history"] = [{"step": s, "loss": 1.0, "learning_rate": 1 - s / 350} for s in (100, 200, 300)]

    ledger = seen(tmp_path, sparse)
    assert ledger.value(_F + "rate_left") == pytest.approx(0.0, abs=1e-9)
    (tmp_path / "killed").mkdir()
    killed = seen(tmp_path / "killed", lambda s: (sparse(s), s.update(max_steps=900)))
    assert "before the end" in killed.missing[_F + "rate_left"].en


@pytest.mark.parametrize(("ratio", "jumps"), [(1.45, 0), (1.55, 1)])
def test_a_rise_after_the_decay_is_a_restart(tmp_path: Path, ratio: float, jumps: int) -> None:
    def edit(state: dict[str, Any]) -> None:
        rows = [row for row in state["log_history"] if "loss" in row]
        for row in rows[20:]:
            row["learning_rate"] = (
                rows[19]["learning_rate"] * ratio if row is rows[20] else rows[19]["learning_rate"] / 2
            )

    assert seen(tmp_path, edit).value(_F + "rate_jumps") == jumps


def test_the_latest_numbered_folder_is_read(tmp_path: Path) -> None:
    for step in (80, 400):
        (tmp_path / f"model/checkpoint-{step}").mkdir(parents=True)
        state = trainer_state() | {"global_step": step}
        (tmp_path / f"model/checkpoint-{step}/trainer_state.json").write_text(json.dumps(state), "utf-8")
    ledger = Ledger()
    training.probe(Checkpoint(Folder.of(tmp_path / "model")), ledger)
    assert ledger.value(_F + "steps_left") == 0
    assert ledger.value(_F + "steps_disagree") == 0


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\x80\x04K\x01.", b'{"log_history": 3}', b"[" * 50_000])
def test_no_state_is_no_evidence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "trainer_state.json").write_bytes(content)
    ledger = Ledger()
    training.probe(Checkpoint(Folder.of(tmp_path)), ledger)
    assert not ledger.seen.keys() - {_F + "stopped_on_purpose"}
    assert _F + "steps_left" in ledger.missing


def test_a_state_cut_short_gives_what_stands_before_the_cut(tmp_path: Path) -> None:
    content = json.dumps(trainer_state())
    (tmp_path / "trainer_state.json").write_text(content[: len(content) * 2 // 3], "utf-8")
    ledger = Ledger()
    training.probe(Checkpoint(Folder.of(tmp_path)), ledger)
    assert ledger.value(_F + "nonfinite_losses") == 0
