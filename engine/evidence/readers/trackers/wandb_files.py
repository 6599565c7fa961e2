"""The files beside a W&B log: ``wandb-summary.json`` (last value of every metric) and ``config.yaml``.

The summary of a crashed run looks like a result and is none: it holds whatever was logged last. Only the summary
record of the Trainer (``train_runtime``) says that a run went to its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import IO

import numpy as np

from engine.evidence.readers.builder import SeriesBuilder
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, chunks
from engine.evidence.readers.tables.axis import STEP_NAMES, plain
from engine.evidence.readers.tables.json_lines import run_of
from engine.evidence.readers.tables.rows import own_name, value_of
from engine.evidence.series import ReadNote, RunEnd, RunRecord
from engine.model.evidence import Source

MOST_BYTES = 8 << 20
_MEANS = frozenset({"train_loss"})  # a mean over the run: no last loss
_WRAPPED = re.compile(rb"(?m)^[\w./-]+:\r?\n(?:[ ]+desc:.*\r?\n)?[ ]+value:")


def read_summary(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the summary as series of one point each; never raises on content."""
    notes = Notes([])
    summary = _json(_content(stream, limits, notes), notes)
    named = {plain(key): value_of(value) for key, value in summary.items()}
    step = next((found for key in STEP_NAMES if (found := named.get(key)) is not None), 0.0)
    finished = "train_runtime" in summary
    builder, config = SeriesBuilder(label), dict[str, object]()
    for key, value in summary.items():
        number = value_of(value)
        if number is None or key.startswith("_") or plain(key) in STEP_NAMES or key in _MEANS:
            continue
        if finished and key.startswith(("train_", "total_flos")):
            config[key] = number
        else:
            builder.add(own_name(key), np.array([step]), np.array([number]), None)
    series, remarks = builder.build()
    if not series:
        notes.add("the summary holds no metrics: the run died before its first log, or was offline")
    elif not finished:
        notes.add("the summary holds the values logged last: no proof that the run went to its end")
    quote = (
        f"train_runtime {summary.get('train_runtime')}" if finished else "the summary does not say how the run ended"
    )
    return RunRecord(
        read=ReadNote(label, "wandb_summary", len(series), 0),
        end=RunEnd("finished" if finished else "unknown", Source("measured", label, quote)),
        series=series,
        config=config,
        run=run_of(label),
        not_understood=(*notes.texts, *remarks),
    )


def read_config_file(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read ``config.yaml``: every option stands in a mapping with the key ``value``."""
    from engine.evidence.case_file import CaseError, parse_document

    notes = Notes([])
    document: object = None
    try:
        document = parse_document(_content(stream, limits, notes).decode("utf-8", "replace"))
    except CaseError as error:
        notes.add(str(error)[:300])
    config: dict[str, object] = {}
    for key, wrapped in document.items() if isinstance(document, Mapping) else ():
        if isinstance(wrapped, Mapping) and "value" in wrapped and key not in {"_wandb", "wandb_version"}:
            config[str(key)] = wrapped["value"]
    return RunRecord(
        read=ReadNote(label, "wandb_config", len(config), 0),
        end=RunEnd("unknown", Source("measured", label, "a configuration")),
        config=config,
        run=run_of(label),
        not_understood=tuple(notes.texts),
    )


def _content(stream: IO[bytes], limits: Limits, notes: Notes) -> bytes:
    content = bytearray()
    for piece in chunks(stream, limits, notes):
        content += piece
        if len(content) > MOST_BYTES:
            notes.add(f"larger than {MOST_BYTES} bytes: not read")
            return b""
    return bytes(content)


def _json(content: bytes, notes: Notes) -> Mapping[str, object]:
    try:
        document = json.loads(content.decode("utf-8-sig", "replace")) if content else {}
    except (ValueError, RecursionError) as error:
        notes.add(f"JSON is damaged or cut short ({error or 'nested too deeply'})")
        return {}
    return document if isinstance(document, dict) else {}


def _is_summary(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith(b"{") or b"\n{" in start.rstrip():  # a history has a record a line
        return False
    return b'"_wandb"' in head or (b'"_runtime"' in head and b'"_step"' in head)


def _is_config(head: bytes) -> bool:
    """Several options with a value below, and the trace of W&B; Kubernetes manifests have neither."""
    wrapped = len(_WRAPPED.findall(head))
    return b"wandb_version:" in head[:200] or (wrapped > 0 and b"\n_wandb:" in b"\n" + head) or wrapped >= 5


WANDB_SUMMARY = Format("wandb_summary", _is_summary, read_summary)
WANDB_CONFIG = Format("wandb_config", _is_config, read_config_file)
