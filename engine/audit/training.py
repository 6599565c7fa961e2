"""The trainer's state beside a checkpoint: which file it is, what it says of the run's end, and its curves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.audit.checkpoint import Checkpoint
from engine.audit.documents import parse_json
from engine.audit.evaluation.files import MAX_DOCUMENT_BYTES, Bundle, NoEvidenceError, declared
from engine.audit.folder import UnreadableError
from engine.model.base import Text

if TYPE_CHECKING:
    from engine.evidence.series import Floats, RunRecord

STATE = "trainer_state.json"
_STEP = re.compile(r"(?:^|/)checkpoint-(\d{1,9})(?:/|$)")
# What the trainer writes beside weights that are those of the step, not of the best one loaded at the end.
_BESIDE = ("optimizer.pt", "optimizer.bin", "scheduler.pt", "rng_state.pth", "latest")


@dataclass(frozen=True)
class TrainerState:
    """One trainer_state.json.

    Args:
        label: how the file is named in answers.
        record: its series as the readers give them.
        document: the whole, for what is no series; empty if the file is damaged.
        folder_step: N if it lies in a folder ``checkpoint-N``.
        of_step: whether the weights beside it are those of its last step.
        scheduler_step: ``last_epoch`` of the scheduler.pt beside it.
        declared_step: the step of the released weights by the intent, ``run.released_step``.
    """

    label: str
    record: RunRecord
    document: Mapping[str, Any]
    folder_step: int | None
    of_step: bool
    scheduler_step: float | None = None
    declared_step: float | None = None

    def number(self, key: str) -> float | None:
        """A number beside the history."""
        value = self.record.config.get(key)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def series(self, name: str) -> tuple[Floats, Floats]:
        """Steps and values of a metric; of several stretches the longest."""
        found = max((s for s in self.record.series if s.name == name), key=len, default=None)
        return (found.steps, found.values) if found is not None else (np.empty(0), np.empty(0))

    def evaluations(self, name: str) -> tuple[Floats, Floats]:
        """The same of an evaluated metric, in order of steps; of two at one step (the best once more) the first."""
        steps, values = self.series(name)
        order, first = np.unique(steps, return_index=True)
        return order, values[first]

    @property
    def released_step(self) -> float | None:
        """The step of the weights: as declared, by the name of their folder, else the last of the run."""
        known = (self.declared_step, self.folder_step, self.number("global_step"))
        return next((float(step) for step in known if step is not None), None)

    @property
    def best_step(self) -> int | None:
        """The step of the best checkpoint as the trainer tracks it."""
        step = self.number("best_global_step")
        if step is not None and step > 0:
            return int(step)
        named = _STEP.search(str(self.record.config.get("best_model_checkpoint") or ""))
        return int(named[1]) if named else None

    @property
    def stopped_early(self) -> bool:
        """Whether the early-stopping callback had lost its patience."""
        callbacks = self.document.get("stateful_callbacks")
        early = callbacks.get("EarlyStoppingCallback") if isinstance(callbacks, dict) else None
        if not isinstance(early, dict):
            return False
        counter = _number(early, "attributes", "early_stopping_patience_counter")
        patience = _number(early, "args", "early_stopping_patience")
        return counter is not None and patience is not None and counter >= patience > 0

    @property
    def losses_without_value(self) -> int:
        """Records that have a loss which is no number: writers of strict JSON put null where NaN was."""
        rows = self.document.get("log_history")
        rows = rows if isinstance(rows, list) else []
        return sum(1 for row in rows if isinstance(row, dict) and row.get("loss", 0.0) in (None, "null", "None"))


def _number(value: Any, *keys: str) -> float | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def read_state(checkpoint: Checkpoint) -> TrainerState:
    """The state that the intent names, else the one in the folder, else that of its latest ``checkpoint-N``.

    Raises:
        NoEvidenceError: if there is none, or it holds no history.
    """
    bundle, path = _place(checkpoint)
    from engine.evidence.readers import read  # slow to load, and most folders have no state

    label = bundle.label(path)
    try:
        content = bundle.read(path, MAX_DOCUMENT_BYTES)
    except UnreadableError as error:
        raise NoEvidenceError(Text(en=f"{error}.", zh=f"无法读取 {label}。")) from None
    record = read(content, label)
    if record.read.format != "trainer_state":
        raise NoEvidenceError(Text(en=f"{label} holds no training history.", zh=f"{label} 中没有训练历史。"))
    inside = bundle.folder is checkpoint.folder
    # The checkpoint's folder may be called checkpoint-N itself.
    named = _STEP.search(f"{checkpoint.folder.root.resolve().name}/{path}" if inside else label)
    beside = path.rpartition("/")[0]
    declared_step = _number(checkpoint.intent.run, "released_step")
    saved = (
        bool(named)
        or declared_step is not None
        or any(f"{beside}/{name}".lstrip("/") in bundle.folder for name in _BESIDE)
    )
    return TrainerState(
        label,
        record,
        parse_json(label, content).mapping,
        int(named[1]) if named else None,
        saved or not record.config.get("best_model_checkpoint"),
        _scheduler_step(checkpoint, f"{beside}/scheduler.pt".lstrip("/")) if inside else None,
        declared_step,
    )


def _scheduler_step(checkpoint: Checkpoint, path: str) -> float | None:
    if path not in checkpoint.folder:
        return None
    from engine.audit.pickles.values import named

    return next(
        (step for one in checkpoint.pickles.of(path) if (step := _number(named(one.value), "last_epoch"))), None
    )


def _place(checkpoint: Checkpoint) -> tuple[Bundle, str]:
    name = checkpoint.intent.evidence.trainer_state
    if name is not None:
        bundle = declared(checkpoint, name, "evidence.trainer_state")
        if bundle.single is None:
            raise NoEvidenceError(Text(en=f"{name!r} is a folder, not a file.", zh=f"{name!r} 是目录而不是文件。"))
        file, root = (bundle.folder.root / bundle.single).resolve(), checkpoint.folder.root.resolve()
        inside = file.relative_to(root).as_posix() if file.is_relative_to(root) else ""
        if inside in checkpoint.folder:
            return Bundle(name, checkpoint.folder, inside), inside
        return bundle, bundle.single
    found = [e.path for e in checkpoint.folder.files() if e.name == STATE]
    numbered = [path for path in found if _STEP.search(path)]
    latest = max(numbered, key=lambda path: int(_step_of(path)), default=None)
    path = STATE if STATE in found else latest
    if path is None:
        raise NoEvidenceError(
            Text(en=f"There is no {STATE} in the folder or the intent.", zh=f"目录与意图文件中都没有 {STATE}。"),
            Text(
                en=f"Add {STATE} to the folder, or its path as `evidence.trainer_state` to the intent.",
                zh=f"把 {STATE} 放入目录，或在意图文件的 `evidence.trainer_state` 中写明其路径。",
            ),
        )
    return Bundle(path, checkpoint.folder, path), path


def _step_of(path: str) -> str:
    named = _STEP.search(path)
    return named[1] if named else "0"
