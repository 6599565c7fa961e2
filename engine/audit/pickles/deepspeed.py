"""Checkpoints of DeepSpeed: one folder a tag, one optimizer file a rank, and a file that names the latest tag.

Source of the names and keys: DeepSpeed's engine and its converter ``zero_to_fp32``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.audit.folder import Folder
from engine.audit.pickles.survey import Survey
from engine.audit.pickles.values import Built, named

_OPTIMIZER = re.compile(r"(?:bf16_|fp16_)?zero_pp_rank_(\d{1,6})_mp_rank_(\d{1,6})_optim_states\.pt")
_MODEL = re.compile(r"(?:zero_pp_rank_(\d{1,6})_)?mp_rank_(\d{1,6})_model_states\.pt")
_STEP = re.compile(r"global_step(\d{1,12})$")
_TAG_FILE = re.compile(r"_(?:optim|model)_states\.pt$")


@dataclass
class Tag:
    """One saved state.

    Args:
        optimizer: path of each rank's optimizer file by model-parallel and data-parallel rank.
        model: path of each model file by model-parallel and data-parallel rank; the latter is None below ZeRO-3.
        partitions, stages: what the optimizer files say of the number of ranks and of the ZeRO stage, by path.
    """

    path: str
    files: list[str] = field(default_factory=list)
    optimizer: dict[tuple[int, int], str] = field(default_factory=dict)
    model: dict[tuple[int, int | None], str] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)
    stages: dict[str, int] = field(default_factory=dict)

    @property
    def step(self) -> int | None:
        found = _STEP.search(self.path)
        return int(found[1]) if found else None

    @property
    def ranks(self) -> int | None:
        """How many ranks there were, as their files say; None if none of them says it."""
        return max(self.partitions.values(), default=None)

    @property
    def stage(self) -> int | None:
        return max(self.stages.values(), default=None)

    def missing_optimizer(self) -> list[str]:
        """Names of the ranks' files that should be there."""
        groups = {model for model, _ in self.optimizer}
        there = set(self.optimizer)
        return [
            f"zero_pp_rank_{rank}_mp_rank_{group:02d}_optim_states.pt"
            for group in sorted(groups)
            for rank in range(self.ranks or 0)
            if (group, rank) not in there
        ]

    def surplus_optimizer(self) -> list[str]:
        """Files of ranks that this state had not: they are of another one."""
        return [path for (_, rank), path in self.optimizer.items() if self.ranks is not None and rank >= self.ranks]

    def missing_model(self) -> list[str]:
        """Names of the model files that should be there."""
        groups = sorted({model for model, _ in self.optimizer} or {0})
        if self.stage == 3:
            ranks = range(self.ranks or 0)
            names = {(g, r): f"zero_pp_rank_{r}_mp_rank_{g:02d}_model_states.pt" for g in groups for r in ranks}
            return [name for key, name in names.items() if key not in self.model]
        if self.stage is None and self.model:
            return []
        return [f"mp_rank_{group:02d}_model_states.pt" for group in groups if (group, None) not in self.model]

    @property
    def complete(self) -> bool:
        return not (self.missing_optimizer() or self.missing_model())


def tags(folder: Folder, survey: Survey) -> list[Tag]:
    """The saved states of a folder, in the order of their paths."""
    found: dict[str, Tag] = {}
    for entry in folder.files("_states.pt"):
        if not _TAG_FILE.search(entry.name):
            continue
        where = entry.path.rpartition("/")[0]
        tag = found.setdefault(where, Tag(where))
        tag.files.append(entry.path)
        if match := _OPTIMIZER.fullmatch(entry.name):
            tag.optimizer[int(match[2]), int(match[1])] = entry.path
        elif match := _MODEL.fullmatch(entry.name):
            tag.model[int(match[2]), int(match[1]) if match[1] else None] = entry.path
    states = {pickled.path: pickled.value for pickled in survey.pickles if pickled.form in ("torch", "legacy")}
    for tag in found.values():
        _read(tag, states)
    return list(found.values())


def _read(tag: Tag, states: Mapping[str, Any]) -> None:
    for path in tag.optimizer.values():
        state = named(named(states.get(path)).get("optimizer_state_dict"))
        count, stage = state.get("partition_count"), state.get("zero_stage")
        if isinstance(stage, Built) and isinstance(stage.args, tuple) and len(stage.args) == 1:
            stage = stage.args[0]  # a member of an enumeration
        # Groups of parameters may be spread over fewer ranks than there are; the largest number is that of the ranks.
        counts = [n for n in (count if isinstance(count, Iterable) else (count,)) if type(n) is int and 0 < n < 1 << 20]
        if counts:
            tag.partitions[path] = max(counts)
        if type(stage) is int and 0 <= stage <= 9:
            tag.stages[path] = stage
