"""Result files of one model: lm-evaluation-harness and MTEB, single files or folders of them, with their samples."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.audit.documents import parse_json
from engine.audit.evaluation.files import MAX_DOCUMENT_BYTES, Bundle, NoEvidenceError, json_rows
from engine.audit.folder import UnreadableError
from engine.model.base import Text

if TYPE_CHECKING:
    from engine.evidence.readers.results.scores import Evaluation, Score

MAX_FILES = 2_000
MAX_BYTES = 512 << 20
# lm-evaluation-harness writes samples_<task>_<time>.jsonl beside results_<time>.json.
_SAMPLES = re.compile(r"samples_(.+?)(?:_\d{4}-\d\d-\d\dT[\d\-:.]+)?\.jsonl")


@dataclass(frozen=True, slots=True)
class Result:
    """One result file: its scores as the readers understand them, and the whole document for the settings."""

    label: str
    evaluation: Evaluation
    document: Mapping[str, Any]

    def part(self, *keys: str) -> Any:
        """The value at a path of keys; None where it ends early."""
        value: Any = self.document
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value


@dataclass(frozen=True, slots=True)
class Measured:
    """A score and the file it stands in."""

    score: Score
    result: Result

    @property
    def at(self) -> str:
        return f"results.{self.score.task}.{self.score.metric}"


@dataclass(frozen=True)
class Results:
    """All results of one model.

    Args:
        samples: where the scores of the items lie.
        files: in the order of time as far as they say it, else by name; of two scores of one task the later counts.
        meta: ``model_meta.json`` of MTEB by the label of the file.
        unread: files that look like results and could not be read.
    """

    bundle: Bundle
    samples: Bundle
    files: tuple[Result, ...]
    meta: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    @property
    def tool(self) -> str:
        """``mteb`` if any file is of MTEB, else the tool of the first."""
        return "mteb" if any(one.evaluation.tool == "mteb" for one in self.files) else self.files[0].evaluation.tool

    def scores(self) -> dict[tuple[str, str], Measured]:
        """Every score by task and metric."""
        return {(s.task, s.metric): Measured(s, one) for one in self.files for s in one.evaluation.scores}

    def by_task(self, tasks: Sequence[str] = ()) -> dict[str, Result]:
        """The file whose score of a task counts, for the tasks named; none means all."""
        found = {score.task: one for one in self.files for score in one.evaluation.scores}
        return {task: one for task, one in found.items() if task in tasks or not tasks}

    def find(self, task: str, metric: str) -> Measured | None:
        """The score of a task under a metric as people write it: ``acc,none`` is ``acc``; a filter that is the only
        one may be left out.
        """
        known = self.scores()
        name = metric.strip().removesuffix(",none")
        for wanted in (name, name.replace("cosine_", "cos_sim ")):
            if (task, wanted) in known:
                return known[task, wanted]
        filtered = [m for (t, other), m in known.items() if t == task and other.partition(",")[0] == name]
        return filtered[0] if len(filtered) == 1 else None


def read_results(bundle: Bundle, samples: Bundle | None = None) -> Results:
    """Read every result file of the bundle; ``samples`` are looked for beside them if they do not lie elsewhere.

    Raises:
        NoEvidenceError: if there is none.
    """
    from engine.evidence.readers import read

    found: list[Result] = []
    meta: dict[str, Mapping[str, Any]] = {}
    unread: list[str] = []
    left = MAX_BYTES
    for path in [path for path in bundle.paths if path.endswith(".json") or bundle.single][:MAX_FILES]:
        label = bundle.label(path)
        try:
            content = bundle.read(path, min(left, MAX_DOCUMENT_BYTES))
        except UnreadableError:
            unread.append(label)
            continue
        left -= len(content)
        document = parse_json(label, content)
        if path.rpartition("/")[2] == "model_meta.json":
            meta[label] = document.mapping
        elif document.problem:
            unread.append(label)
        elif (evaluation := read(content, label).evaluation) is not None:
            found.append(Result(label, evaluation, document.mapping))
    if not found:
        raise NoEvidenceError(
            Text(
                en=f"{bundle.name} holds no result of lm-evaluation-harness or MTEB that can be read.",
                zh=f"{bundle.name} 中没有可读取的 lm-evaluation-harness 或 MTEB 结果。",
            ),
            Text(
                en=f"Write `results.TASK` with a metric and its standard error (`acc,none`, `acc_stderr,none`) into "
                f"{bundle.name}, as the harness does.",
                zh=f"在 {bundle.name} 中像评测工具那样写入 `results.TASK`，含指标及其标准误"
                "（`acc,none`、`acc_stderr,none`）。",
            ),
        )
    found.sort(key=lambda one: one.evaluation.when or 0.0)
    return Results(bundle, samples or bundle, tuple(found), meta, tuple(unread))


def item_scores(bundle: Bundle, task: str, metric: str) -> dict[str, float]:
    """The score of every item of a task by a key of the item, from the per-sample files; empty if there are none.

    ``metric`` may carry a filter after a comma. An item that stands twice with different scores is left out.
    """
    name, _, filter_ = metric.removesuffix(",none").partition(",")
    found: dict[str, float] = {}
    unsure: set[str] = set()
    for path in bundle.paths:
        of_file = _SAMPLES.fullmatch(path.rpartition("/")[2])
        if not path.endswith(".jsonl") or (of_file is not None and of_file[1] != task):
            continue
        for key, value in _items(bundle, path, task, name, filter_, named=of_file is not None):
            if found.setdefault(key, value) != value:
                unsure.add(key)
    return {key: value for key, value in found.items() if key not in unsure}


def _items(
    bundle: Bundle, path: str, task: str, metric: str, filter_: str, *, named: bool
) -> Iterator[tuple[str, float]]:
    for _, row in json_rows(bundle, path):
        if not named and row.get("task", row.get("task_name")) != task:
            continue
        if filter_ and row.get("filter") not in (None, filter_):
            continue
        value, key = row.get(metric), row.get("doc_id", row.get("id"))
        if key is not None and isinstance(value, bool | int | float) and math.isfinite(value):
            # The hash of the document tells items of another version of the task apart.
            yield f"{key} {row.get('doc_hash', '')}", float(value)
