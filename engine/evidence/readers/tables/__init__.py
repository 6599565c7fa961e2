"""Metrics in rows: exports, histories and tables."""

from __future__ import annotations

from engine.evidence.readers.format import Format
from engine.evidence.readers.tables.trainer_state import TRAINER_STATE

FORMATS: tuple[Format, ...] = (TRAINER_STATE,)
