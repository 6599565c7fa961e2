"""Contrastive training: the similarity scale, its cap, and how far apart the embeddings lie.

The learned scale is exp(log scale), capped at 100 by CLIP and its descendants; logged values below 10 that start near
ln(1/0.07) = 2.66 are its logarithm. At the cap: within half a percent of 100 in the last third. Uniformity (Wang and
Isola 2020, log of the mean Gaussian potential, -4 to -2 in trained encoders) above -0.2 means one point.

False positives: a scale that is fixed at 100 on purpose (sentence-transformers use 20, some recipes 100).
"""

from __future__ import annotations

import math

import numpy as np

from engine.evidence.detectors import messages
from engine.evidence.detectors.collector import Collector
from engine.evidence.detectors.view import View
from engine.evidence.detectors.windows import last_level
from engine.evidence.series import Series

_SCALE = ("logit_scale", "similarity_scale", "clip_logit_scale", "train_logit_scale")
_TEMPERATURE = ("temperature", "contrastive_temperature", "tau")
_POSITIVE = ("positive_similarity", "pos_sim", "positive_cosine", "cos_pos", "mean_positive_similarity", "sim_pos")
_NEGATIVE = ("negative_similarity", "neg_sim", "negative_cosine", "cos_neg", "mean_negative_similarity", "sim_neg",
             "unrelated_cosine")  # fmt: skip
_UNIFORMITY = ("uniformity", "eval_uniformity", "uniform_loss")
_CAP, _AT_CAP = 100.0, 0.005


def detect_contrastive(view: View, out: Collector) -> None:
    """State contrastive.logit_scale/scale_at_cap, embedding.positive_cosine/unrelated_cosine/uniformity."""
    scale = view.finite(*_SCALE)
    temperature = view.finite(*_TEMPERATURE)
    if scale is not None:
        _scale(scale, out)
    elif temperature is not None and view.context.paradigm in ("contrastive", "embedding"):
        last = len(temperature) - 1
        out.say("contrastive.temperature", last_level(temperature.values), temperature.source(last))
    for fact, names in (("embedding.positive_cosine", _POSITIVE), ("embedding.unrelated_cosine", _NEGATIVE)):
        one = view.finite(*names)
        if one is not None and len(one) >= 3 and -1.001 <= (level := last_level(one.values)) <= 1.001:
            out.judge(messages.SIMILARITY)
            out.say(fact, min(max(level, -1.0), 1.0), one.source(len(one) - 1), "median of the last window")
    spread = view.finite(*_UNIFORMITY)
    if spread is not None and len(spread) >= 3:
        out.judge(messages.SIMILARITY)
        out.say("embedding.uniformity", last_level(spread.values), spread.source(len(spread) - 1))


def _scale(scale: Series, out: Collector) -> None:
    values = scale.values
    if math.log(2.0) < float(values[0]) < math.log(_CAP) + 0.1 and float(values.max()) < 10:
        values = np.exp(values)
    out.judge(messages.SIMILARITY)
    source = scale.source(len(scale) - 1)
    out.say("contrastive.logit_scale", last_level(values), source, "median of the last window")
    late = values[-max(len(values) // 3, 3) :]
    moved = float(values[0]) < _CAP * (1 - _AT_CAP)  # a scale that stands at 100 from the start is chosen
    if len(values) >= 8 and moved:
        at_cap = bool((np.abs(late - _CAP) <= _AT_CAP * _CAP).all())
        out.say("contrastive.scale_at_cap", at_cap, source, f"{values[0]:.3g} at first, {values[-1]:.4g} lately")
