"""Results of evaluations."""

from __future__ import annotations

from engine.evidence.readers.format import Format

FORMATS: tuple[Format, ...] = ()
