"""Whatever the numbers are, detecting neither raises nor depends on the order of the series."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evidence.detectors import DetectContext, detect
from engine.evidence.series import Series

NAMES = (
    "loss", "eval_loss", "grad_norm", "learning_rate", "loss_scale", "skipped_steps", "nan_steps", "step_time", "epoch",
    "gpu_memory_used", "gpu_utilisation", "sequence_length", "tokens_per_second", "dataloader_time", "global_batch",
)  # fmt: skip
numbers = st.floats(width=32) | st.sampled_from([0.0, 1.0, -1.0, float("nan"), float("inf"), 1e-300, 65536.0])


@st.composite
def any_series(draw: st.DrawFn) -> Series:
    values = draw(st.lists(numbers, max_size=40))
    steps = draw(
        st.lists(st.floats(-10, 1e6), min_size=len(values), max_size=len(values)) | st.just(list(range(len(values))))
    )
    return Series(draw(st.sampled_from(NAMES)), np.array(steps, dtype=float), np.array(values, dtype=float))


@settings(max_examples=100, deadline=None)
@given(st.lists(any_series(), max_size=6, unique_by=lambda one: one.name))
def test_never_raises_and_is_deterministic(given_series):
    context = DetectContext(vocabulary=32000, batch=16, total_steps=100.0, intervals={"epoch": 10.0})
    with np.errstate(all="ignore"):
        found = detect(given_series, context)
        again = detect(given_series[::-1], context)
    assert repr(found.facts) == repr(again.facts)
    assert all(np.isfinite(fact.value) for fact in found.facts if isinstance(fact.value, float))
    assert len({fact.fact for fact in found.facts}) == len(found.facts)


def test_an_absurd_epoch_does_not_hang():
    steps = np.arange(1.0, 41.0) * 1e4
    epoch = Series("epoch", steps, np.linspace(0, 1e30, 40))
    assert detect([Series("loss", steps, np.linspace(3, 2, 40)), epoch]).value("loss.drop_at_epoch") is None
