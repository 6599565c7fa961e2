"""Detectors: series to typed facts with sources. They know neither causes nor findings.

A fact is False only where its series is there and long enough to say so; else it is left out, and the gaps say why.
Order matters: what later detectors ask of earlier ones is only in ``Collector.value``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.evidence.detectors.amp import detect_amp
from engine.evidence.detectors.collector import Collector, Detected, Detections, Gap
from engine.evidence.detectors.contrastive import detect_contrastive
from engine.evidence.detectors.course import detect_course
from engine.evidence.detectors.first_rank import detect_first_rank
from engine.evidence.detectors.gradients import detect_gradients
from engine.evidence.detectors.memory import detect_memory
from engine.evidence.detectors.metrics import detect_metrics
from engine.evidence.detectors.nonfinite import detect_nonfinite
from engine.evidence.detectors.overfit import detect_overfit
from engine.evidence.detectors.periodic import detect_periodic
from engine.evidence.detectors.plateau import detect_plateau
from engine.evidence.detectors.policy import detect_policy
from engine.evidence.detectors.preference import detect_preference
from engine.evidence.detectors.ranks import detect_ranks
from engine.evidence.detectors.schedule import detect_schedule
from engine.evidence.detectors.spikes import detect_spikes
from engine.evidence.detectors.throughput import detect_throughput
from engine.evidence.detectors.trend import detect_trend
from engine.evidence.detectors.view import DetectContext, View, context_of
from engine.evidence.detectors.warmup import detect_warmup
from engine.evidence.series import Series

__all__ = ["DetectContext", "Detected", "Detections", "Gap", "compare_ranks", "context_of", "detect"]

_DETECTORS = (
    detect_first_rank,
    detect_nonfinite,
    detect_spikes,
    detect_trend,
    detect_plateau,
    detect_overfit,
    detect_metrics,
    detect_gradients,
    detect_amp,
    detect_schedule,
    detect_warmup,
    detect_throughput,
    detect_periodic,
    detect_ranks,
    detect_memory,
    detect_preference,
    detect_policy,
    detect_contrastive,
    detect_course,
)


def compare_ranks(series: Sequence[Series]) -> Detections:
    """Return what series that name their ranks show together."""
    out = Collector()
    with np.errstate(all="ignore"):
        detect_first_rank(View(series, DetectContext()), out)
    return out.done()


def detect(series: Sequence[Series], context: DetectContext | None = None) -> Detections:
    """Return the facts that the series show; deterministic, and never raises on their content."""
    out = Collector()
    with np.errstate(all="ignore"):  # values near the limits of floats overflow to infinity, which the tests expect
        view = View(series, context or DetectContext())
        for detector in _DETECTORS:
            detector(view, out)
    return out.done()
