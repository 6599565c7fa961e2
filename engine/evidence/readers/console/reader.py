"""Console logs of any tool, streamed: metric records to series, the other lines to a bounded choice of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import IO

import numpy as np

from engine.evidence.readers.builder import SeriesBuilder, segments_of
from engine.evidence.readers.console.composer import COMPOSER
from engine.evidence.readers.console.cut_lines import whole_lines
from engine.evidence.readers.console.deepspeed import DEEPSPEED, DEEPSPEED_CHAT
from engine.evidence.readers.console.ending import run_end
from engine.evidence.readers.console.events import Events
from engine.evidence.readers.console.grammar import Grammar
from engine.evidence.readers.console.hugging_face import HfConsole
from engine.evidence.readers.console.key_values import KEY_VALUES
from engine.evidence.readers.console.megatron import Megatron
from engine.evidence.readers.console.nanogpt import LLM_C, MODDED, NANOGPT
from engine.evidence.readers.console.progress_bars import KERAS, PROGRESS_BAR
from engine.evidence.readers.console.record_times import RecordTimes
from engine.evidence.readers.console.records import LineRecords
from engine.evidence.readers.console.torchtitan import TORCHTITAN
from engine.evidence.readers.console.underflow import UnderflowOverflow
from engine.evidence.readers.lines import Limits, Notes, line_blocks
from engine.evidence.series import ReadNote, RunRecord

_DIALECTS = (
    TORCHTITAN, NANOGPT, MODDED, LLM_C, DEEPSPEED, DEEPSPEED_CHAT, COMPOSER, KERAS, PROGRESS_BAR, KEY_VALUES,
)  # fmt: skip


def _grammars(builder: SeriesBuilder) -> list[Grammar]:
    """In this order: a line that one takes is not offered to the next."""
    line_records = LineRecords(builder, dialects=_DIALECTS)
    return [Megatron(builder), HfConsole(builder), UnderflowOverflow(builder), line_records]


def read_console(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read a text log; a log without metric records gives events only (format ``text``)."""
    notes = Notes([])
    builder, events = SeriesBuilder(label), Events(limits)
    grammars, times = _grammars(builder), RecordTimes()
    last = 0
    for block in line_blocks(stream, limits, notes):
        numbers, lines = whole_lines(*block)
        text = b"\n".join(lines)
        places: Sequence[int] = range(len(lines))
        for grammar in grammars:
            if places and grammar.concerns(text):
                places = grammar.take(numbers, lines, places)
        times.take(lines, places)
        events.take(numbers, lines, places)
        last = numbers[-1]
    for grammar in grammars:
        grammar.finish()
    return replace(_record(label, last, builder, grammars, events, notes), times=times.times())


def _record(
    label: str, last: int, builder: SeriesBuilder, grammars: list[Grammar], events: Events, notes: Notes
) -> RunRecord:
    series, remarks = builder.build()
    for remark in [*remarks, *(remark for grammar in grammars for remark in grammar.remarks)]:
        notes.add(remark)
    if events.dropped:
        notes.add(f"{events.dropped} marked lines beyond {events.limits.marked_events} were left out of the events")
    config: dict[str, object] = {}
    for grammar in grammars:
        config |= grammar.config
    if len(events.saved) > 1:
        config["save_steps"] = float(np.median(np.abs(np.diff(events.saved))))
    kept = events.all()
    axis = next((one for one in series if one.name in {"loss", "learning_rate", "grad_norm"}), None)
    resumed_at = sorted(events.resumed_at + [line for grammar in grammars for line in grammar.resumed_at])
    new_run_at = sorted(line for grammar in grammars for line in grammar.new_run_at)
    after = max(grammar.last_line for grammar in grammars)
    return RunRecord(
        read=ReadNote(
            label,
            "+".join(grammar.name for grammar in grammars if grammar.records) or "text",
            sum(grammar.records for grammar in grammars),
            last,
        ),
        end=run_end(kept, after, max(grammar.finished_line for grammar in grammars), label),
        series=series,
        events=kept,
        config=config,
        segments=segments_of(axis, resumed_at, new_run_at),
        readings=tuple(reading for grammar in grammars for reading in grammar.readings),
        not_understood=tuple(notes.texts),
    )
