"""Result files of MTEB: flat under the split up to 1.5 (and in old files of later releases), ``scores`` since 1.6."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import IO

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes
from engine.evidence.readers.results.document import mapping, number_of, object_of, text_of
from engine.evidence.readers.results.judge import record_of
from engine.evidence.readers.results.scores import Evaluation, Score
from engine.evidence.series import RunRecord

_SPLITS = ("test", "dev", "validation", "train", "dev2", "devtest")
_HEAD = ("mteb_dataset_name", "task_name", "mteb_version", "dataset_revision")
_SIMILARITIES = frozenset({"cos_sim", "dot", "dot_sim", "euclidean", "manhattan", "max", "similarity"})
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z]{2,4}){0,2}")
_NOT_SCORES = frozenset({"evaluation_time", "hf_subset", "languages", "scores_per_experiment", "kg_co2_emissions"})


def read_mteb(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read one task. The file does not name the model: its folder does."""
    notes = Notes([])
    document = object_of(text_of(stream, limits, notes), notes, ("scores", *_SPLITS))
    task = document.get("task_name") or document.get("mteb_dataset_name") or PurePosixPath(label).stem
    folder = str(PurePosixPath(label.replace("\\", "/")).parent)
    evaluation = Evaluation(
        label,
        "mteb",
        tuple(_scores(str(task), document)),
        "" if folder == "." else folder,
        protocol={
            f"{key} {task}": str(document[key]) for key in ("dataset_revision",) if document.get(key) is not None
        },
    )
    return record_of(evaluation, "mteb", notes)


def _scores(task: str, document: Mapping[str, object]) -> Iterator[Score]:
    for split, parts in mapping(document.get("scores")).items():
        for part in parts if isinstance(parts, list) else [parts]:
            subset = mapping(part).get("hf_subset")
            name = task if subset in (None, "default") else f"{task} {subset}"
            yield from _flat(name, split, mapping(part), "")
    for split in _SPLITS:
        content = mapping(document.get(split))
        languages = {key: value for key, value in content.items() if _is_language(key, value)}
        for language, values in languages.items():
            yield from _flat(f"{task} {language}", split, mapping(values), "")
        yield from _flat(task, split, {key: value for key, value in content.items() if key not in languages}, "")


def _is_language(key: str, value: object) -> bool:
    """Whether a part of a split is a language or a pair ("de", "zh-CN", "en-de"), not a similarity."""
    return isinstance(value, dict) and key not in _SIMILARITIES and _LANGUAGE.fullmatch(key) is not None


def _flat(task: str, split: str, values: Mapping[str, object], prefix: str) -> Iterator[Score]:
    for key, raw in values.items():
        if key in _NOT_SCORES:
            continue
        if isinstance(raw, dict) and not prefix:
            yield from _flat(task, split, raw, f"{key} ")
        elif (value := number_of(raw)) is not None and not key.endswith("_threshold"):
            yield Score(task if split == "test" else f"{task} ({split})", f"{prefix}{key}", value)


def _recognises(head: bytes) -> bool:
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{" or b'"mteb_version"' not in head:
        return False
    return b'"mteb_dataset_name"' in head or b'"task_name"' in head or b'"scores"' in head


MTEB = Format("mteb", _recognises, read_mteb)
