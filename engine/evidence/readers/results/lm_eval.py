"""Result files of lm-evaluation-harness: ``acc,none`` since 0.4, flat ``acc`` before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import IO

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes
from engine.evidence.readers.results.document import mapping, number_of, object_of, text_of
from engine.evidence.readers.results.judge import record_of
from engine.evidence.readers.results.scores import Evaluation, Score, chance_of, rises
from engine.evidence.series import RunRecord

_PARTS = ("results", "configs", "versions", "n-shot", "n-samples", "higher_is_better", "config")
_NOT_SCORES = frozenset({"alias", "name", "sample_len", "sample_count", "samples"})
_MODEL_ARG = re.compile(r"(?:^|,)\s*(?:pretrained|model|path)=([^,]+)")
_ADAPTER_ARG = re.compile(r"(?:^|,)\s*(?:peft|delta|lora_local_path)=([^,]+)")


def read_lm_eval(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the results; of a file cut short, the tasks that stand whole."""
    notes = Notes([])
    document = object_of(text_of(stream, limits, notes), notes, _PARTS)
    return record_of(_evaluation(document, label), "lm_eval", notes)


def _evaluation(document: Mapping[str, object], label: str) -> Evaluation:
    config = mapping(document.get("config") or document.get("config_general"))
    arguments = config.get("model_args")
    if isinstance(arguments, dict):
        arguments = ",".join(f"{key}={value}" for key, value in sorted(arguments.items()))
    arguments = arguments if isinstance(arguments, str) else ""
    named = _MODEL_ARG.search(arguments)
    adapter = _ADAPTER_ARG.search(arguments)
    model = named[1] if named else _text(document.get("model_name")) or _text(config.get("model_name")) or arguments
    revision = _text(config.get("model_sha")) or _text(config.get("model_revision"))
    tasks = mapping(document.get("results"))
    return Evaluation(
        label,
        "lm_eval",
        tuple(
            score
            for task, metrics in tasks.items()
            if task != "all"
            for score in _scores(task, mapping(metrics), document)
        ),
        f"{model}@{revision}" if revision and revision != "main" else model,
        adapter[1] if adapter else "",
        number_of(document.get("date")),
        number_of(config.get("model_num_parameters")),
        config.get("limit") not in (None, 0, "None"),
        _protocol(document, config),
    )


def _scores(task: str, metrics: Mapping[str, object], document: Mapping[str, object]) -> Iterator[Score]:
    samples = mapping(mapping(document.get("n-samples")).get(task))
    items = number_of(samples.get("effective")) or number_of(metrics.get("sample_len"))
    settings = mapping(mapping(document.get("configs")).get(task))
    choices = settings.get("doc_to_choice")
    directions = mapping(mapping(document.get("higher_is_better")).get(task))
    for metric, raw in metrics.items():
        name, _, filter_ = metric.partition(",")
        value = number_of(raw)
        if value is None or name.endswith("_stderr") or metric in _NOT_SCORES:
            continue
        stderr = metrics.get(f"{name}_stderr,{filter_}" if filter_ else f"{name}_stderr")
        rising = directions.get(name)
        yield Score(
            task,
            name if filter_ in ("", "none") else metric,
            value,
            number_of(stderr),
            rising if isinstance(rising, bool) else rises(name),
            chance_of(task, name, len(choices) if isinstance(choices, list) else None),
            items,
        )


def _protocol(document: Mapping[str, object], config: Mapping[str, object]) -> dict[str, str]:
    """What changes a score with the same weights: shots, task version, chat template, system prompt, limit."""
    settings: dict[str, str] = {}
    for key in ("n-shot", "versions"):
        for task, value in mapping(document.get(key)).items():
            settings[f"{key} {task}"] = str(value)
    for key in ("chat_template_sha", "system_instruction_sha", "fewshot_as_multiturn"):
        if key in document:
            settings[key] = str(document[key])
    for key in ("limit", "gen_kwargs", "num_fewshot"):
        if key in config:
            settings[key] = str(config[key])
    return settings


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _recognises(head: bytes) -> bool:
    """``results`` with tasks of metrics; the other parts may lie beyond the head."""
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{" or b'"results"' not in head:
        return False
    if any(key in head for key in (b'"group_subtasks"', b'"n-shot"', b'"model_args"', b'"config_general"')):
        return True
    return re.search(rb'_stderr(?:,[\w-]+)?"\s*:', head) is not None


LM_EVAL = Format("lm_eval", _recognises, read_lm_eval)
