"""Dumps of a stuck or dying process: flight recorder, py-spy."""

from __future__ import annotations

from engine.evidence.readers.format import Format

FORMATS: tuple[Format, ...] = ()
