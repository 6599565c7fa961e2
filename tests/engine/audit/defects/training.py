"""What can be wrong with the run that a checkpoint comes from."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.engine.audit.build.causal_lm import release, renew_sums, write_json
from tests.engine.audit.build.evidence import edited, evidenced_lm, trainer_state
from tests.engine.audit.build.pickled import save
from tests.engine.audit.given import Defect, Given

STATE = "run/trainer_state.json"
Change = Callable[[dict[str, Any]], None]


def numbered_lm(folder: Path) -> Given:
    """A release whose trainer state lies in a folder checkpoint-400."""
    given = release(folder)
    (folder / "checkpoint-400").mkdir()
    write_json(folder / "checkpoint-400/trainer_state.json", trainer_state())
    given.intent["evidence"] = {"trainer_state": "checkpoint-400/trainer_state.json"}
    return given


def resumable_lm(folder: Path) -> Given:
    """A checkpoint to go on training from, with the state of its scheduler."""
    given = release(folder)
    write_json(given.root / "trainer_state.json", trainer_state())
    save(given.root / "scheduler.pt", {"last_epoch": 400, "_step_count": 401, "base_lrs": [2e-5]})
    renew_sums(given.root)
    given.intent["release_kind"] = "resume"
    return given


def _logs(change: Callable[[dict[str, Any], float], None], after: float = 0.0) -> Change:
    """Change every log of the training loss beyond that share of the run; ``change`` gets its share of the run."""

    def edit(state: dict[str, Any]) -> None:
        for row in state["log_history"]:
            share = row["step"] / state["max_steps"]
            if share > after and ("loss" in row):
                change(row, share)

    return edit


def _evals(values: list[float]) -> Change:
    def edit(state: dict[str, Any]) -> None:
        rows = [row for row in state["log_history"] if "eval_loss" in row]
        for row, value in zip(rows, values, strict=True):
            row["eval_loss"] = value

    return edit


def _killed(state: dict[str, Any]) -> None:
    state["log_history"].pop()
    state["global_step"], state["epoch"] = 399, 2.99


def _killed_by_epochs(state: dict[str, Any]) -> None:
    state["log_history"].pop()
    state["max_steps"], state["epoch"] = 0, 2.96


def _jump(row: dict[str, Any], share: float) -> None:
    if 0.5 < share < 0.6:
        row["learning_rate"] = 1.9e-5


_CASES: tuple[tuple[str, str, Change], ...] = (
    ("ts-finished", "killed_at_the_last_step", _killed),
    ("ts-finished", "killed_by_epochs", _killed_by_epochs),
    ("ts-finite", "loss_nan", _logs(lambda row, _: row.update(loss=math.nan), after=0.9)),
    (
        "ts-finite",
        "loss_infinite",
        _logs(lambda row, share: row.update(loss=math.inf if share == 0.5 else row["loss"])),
    ),
    ("ts-finite", "loss_null", _logs(lambda row, share: row.update(loss=None if share == 0.5 else row["loss"]))),
    ("ts-finite", "loss_zero", _logs(lambda row, _: row.update(loss=0.0), after=0.5)),
    ("ts-finite", "norm_nan_to_the_end", _logs(lambda row, _: row.update(grad_norm=math.nan), after=0.9)),
    ("ts-spikes", "not_recovered", _logs(lambda row, _: row.update(loss=4.0), after=0.9)),
    ("ts-spikes", "norm_late", _logs(lambda row, share: row.update(grad_norm=120.0 if share == 0.9 else 1.1))),
    ("ts-best-not-last", "best_before", _evals([1.9, 1.2, 1.9, 1.85, 1.84])),
    ("ts-eval-trend", "rises_thrice", _evals([1.9, 1.7, 1.705, 1.71, 1.72])),
    ("ts-lr-finished", "cut_short", _logs(lambda row, _: row.update(learning_rate=4e-6), after=0.9)),
    ("ts-lr-finished", "restarted", _logs(_jump)),
)


def _case(gate: str, name: str, change: Change) -> Defect:
    def spoil(given: Given) -> None:
        edited(given, STATE, change)

    return Defect(f"training/{gate}", evidenced_lm, spoil, name=name)


def _other_step(given: Given) -> None:
    edited(given, "checkpoint-400/trainer_state.json", lambda state: state.update(global_step=380, max_steps=380))


def _other_scheduler(given: Given) -> None:
    save(given.root / "scheduler.pt", {"last_epoch": 300, "_step_count": 301, "base_lrs": [2e-5]})
    renew_sums(given.root)


DEFECTS: tuple[Defect, ...] = (
    *(_case(*case) for case in _CASES),
    Defect("training/ts-folder-step", numbered_lm, _other_step),
    Defect("training/ts-folder-step", resumable_lm, _other_scheduler),
)
