"""Detectors: series to typed facts with sources. They know neither causes nor findings.

A fact is False only where its series is there and long enough to say so; else it is left out and
``not_judged`` says why. Order matters: what later detectors ask of earlier ones is only in
``Collector.value``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.evidence.detectors.amp import detect_amp
from engine.evidence.detectors.course import detect_course
from engine.evidence.detectors.gradients import detect_gradients
from engine.evidence.detectors.memory import detect_memory
from engine.evidence.detectors.nonfinite import detect_nonfinite
from engine.evidence.detectors.periodic import detect_periodic
from engine.evidence.detectors.schedule import detect_schedule
from engine.evidence.detectors.spikes import detect_spikes
from engine.evidence.detectors.throughput import detect_throughput
from engine.evidence.detectors.trend import detect_trend
from engine.evidence.detectors.view import Collector, DetectContext, Detected, Detections, View, context_of
from engine.evidence.series import Series

__all__ = ["DetectContext", "Detected", "Detections", "context_of", "detect"]

_DETECTORS = (
    detect_nonfinite,
    detect_spikes,
    detect_trend,
    detect_gradients,
    detect_amp,
    detect_schedule,
    detect_throughput,
    detect_periodic,
    detect_memory,
    detect_course,
)


def detect(series: Sequence[Series], context: DetectContext | None = None) -> Detections:
    """Return the facts that the series show; deterministic, and never raises on their content."""
    view, out = View(series, context or DetectContext()), Collector()
    with np.errstate(all="ignore"):  # values near the limits of floats overflow to infinity, which the tests expect
        for detector in _DETECTORS:
            detector(view, out)
    # A ratio of values near the limits of floats is no number to compare with.
    facts = tuple(f for f in out.facts.values() if not isinstance(f.value, float) or np.isfinite(f.value))
    return Detections(facts, tuple(out.judged), tuple(out.not_judged))
