"""Whether two evaluations were taken in the same way, on all items; what differs makes scores incomparable."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.audit.documents import shown
from engine.audit.evaluation.results import Result, Results
from engine.audit.ledger import Place

# Keys of a result file of lm-evaluation-harness that change scores with the same weights (harness issues 1841, 2676,
# 2211, 879). Batch size and device move the third or fourth decimal only and are left out.
_FOR_ALL = (
    ("lm_eval_version",), ("chat_template_sha",), ("system_instruction_sha",), ("fewshot_as_multiturn",),
    ("max_length",), ("config", "gen_kwargs"), ("config", "limit"),
)  # fmt: skip
_FOR_A_TASK = (("versions",), ("n-shot",), ("task_hashes",))
_BOS = re.compile(r"add_bos_token=(\w+)")
_ABSENT = object()


def differences(candidate: Results, baseline: Results, tasks: Sequence[str]) -> tuple[list[Place], int]:
    """Settings that differ for any of the tasks (all common ones if none is named), and how many could be compared.

    A setting that only one side records says nothing. A limit of the candidate alone is told by :func:`partial`.
    """
    mine, other = candidate.by_task(tasks), baseline.by_task(tasks)
    common = [task for task in mine if task in other]
    found: dict[Place, None] = {}
    compared = 0
    for task in common:
        for at, ours, theirs in _settings(mine[task], other[task], task):
            compared += 1
            if ours != theirs and not (at == "config.limit" and ours is not None):
                found[Place(mine[task].label, at, _short(ours), _short(theirs), "baseline")] = None
    return list(found), compared


def _settings(ours: Result, theirs: Result, task: str) -> Iterator[tuple[str, Any, Any]]:
    paths = [*_FOR_ALL, *((*path, task) for path in _FOR_A_TASK), ("configs", task, "generation_kwargs")]
    for path in paths:
        a, b = _value(ours.document, path), _value(theirs.document, path)
        if a is not _ABSENT and b is not _ABSENT:
            yield ".".join(path), a, b
    a, b = _begin_token(ours), _begin_token(theirs)
    if a is not None and b is not None:
        yield "config.model_args add_bos_token", a, b


def _value(document: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = document
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return _ABSENT
        value = value[key]
    return value


def _begin_token(result: Result) -> str | None:
    """What was said of the begin token; "default" if nothing was, None if the arguments are not recorded."""
    arguments = result.part("config", "model_args")
    if isinstance(arguments, dict):
        return shown(arguments.get("add_bos_token", "default"))
    if not isinstance(arguments, str):
        return None
    said = _BOS.search(arguments)
    return said[1].lower() if said else "default"


def partial(candidate: Results, tasks: Sequence[str]) -> tuple[list[Place], bool]:
    """Tasks that were run on a part of their items, and whether the files say so much at all."""
    found: list[Place] = []
    told = False
    for task, result in candidate.by_task(tasks).items():
        whole, used = result.part("n-samples", task, "original"), result.part("n-samples", task, "effective")
        limit = _value(result.document, ("config", "limit"))
        if isinstance(whole, int | float) and isinstance(used, int | float):
            told = True
            if used < whole:
                seen = f"{used:g} items" + ("" if limit in (_ABSENT, None) else f", limit {limit}")
                found.append(Place(result.label, f"n-samples.{task}", seen, f"{whole:g} items", "evaluation"))
        elif limit is not _ABSENT:
            told = True
            if limit not in (None, 0, "None"):
                found.append(Place(result.label, "config.limit", _short(limit), "no limit", "evaluation"))
    return list(dict.fromkeys(found)), told


def _short(value: object) -> str:
    return value[:120] if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)[:120]
