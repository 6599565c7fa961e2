"""Dumps of a stuck or dying process: flight recorder, py-spy."""

from __future__ import annotations

from engine.evidence.readers.format import Format
from engine.evidence.readers.traces import flight_recorder, py_spy

FORMATS: tuple[Format, ...] = (
    Format("flight_recorder", flight_recorder.recognises, flight_recorder.read),
    Format("py_spy", py_spy.recognises, py_spy.read),
)
