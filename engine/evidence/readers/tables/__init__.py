"""Metrics in rows: exports, histories and tables."""

from __future__ import annotations

from engine.evidence.readers.format import Format
from engine.evidence.readers.tables.delimited import DELIMITED
from engine.evidence.readers.tables.document import JSON_DOCUMENT
from engine.evidence.readers.tables.json_lines import JSON_LINES
from engine.evidence.readers.tables.trainer_state import TRAINER_STATE

FORMATS: tuple[Format, ...] = (TRAINER_STATE, JSON_LINES, JSON_DOCUMENT, DELIMITED)
