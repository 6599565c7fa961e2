"""Synthetic runs: each builder gives series of one run, seeded, in the shapes that real runs have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engine.evidence.detectors import DetectContext, Detections, detect
from engine.evidence.series import Floats, Series

# Facts that say something is wrong when they are true; a healthy run shows none of them.
ABNORMAL = (
    "loss.nan", "loss.zero_filtered", "eval_loss.nan", "eval_loss.nan_only", "loss.spike", "loss.diverging",
    "loss.plateau", "loss.near_zero", "eval_loss.rising", "grad_norm.nan", "grad_norm.exploding",
    "grad_norm.vanishing", "amp.scale_collapsed", "lr.zero", "lr.frozen", "lr.restarted", "lr.spike_at_peak",
    "throughput.cliff", "throughput.drift", "step_time.periodic", "gpu.util_periodic_drop", "memory.rising",
    "memory.peak_grows_with_length", "host.ram_rising", "run.loss_jumps", "run.stalled", "loss.oscillating",
    "loss.early_blow_up", "loss.rises_gradually", "loss.solved_early", "eval_loss.near_zero", "eval_loss.constant",
    "eval_loss.gap_wide", "eval_metric.falling", "eval_metric.frozen", "eval_metric.flat", "grad_norm.creeping",
    "lr.decayed_early", "dpo.displaced", "dpo.reward_at_start", "dpo.accuracy_one_early", "rl.kl_blows_up",
    "rl.kl_zero", "rl.reward_falls", "rl.entropy_grows",
    "rl.entropy_collapsed", "rl.answers_grow", "rank.slow_place_moves", "contrastive.scale_at_cap",
)  # fmt: skip


def series(name: str, values: object, every: float = 10.0, steps: object = None) -> Series:
    data = np.asarray(values, dtype=np.float64)
    axis = np.arange(1, len(data) + 1) * every if steps is None else np.asarray(steps, dtype=np.float64)
    return Series(name, axis, data, origin="run")


def decay(rng: np.random.Generator, count: int, first: float, last: float, sigma: float) -> Floats:
    """A falling loss with multiplicative noise, as losses of small batches have it."""
    time = np.linspace(0.0, 5.0, count)
    curve: Floats = (last + (first - last) * np.exp(-time)) * np.exp(rng.normal(0.0, sigma, count))
    return curve


def run_of(rng: np.random.Generator, count: int = 300, sigma: float = 0.02, first: float = 10.8) -> dict[str, Series]:
    """A healthy run: loss, norm, warm-up and cosine, step time, memory, utilisation, four evaluations."""
    warm = count // 20
    ramp = np.minimum(1.0, np.arange(1, count + 1) / warm)
    cosine = 0.5 * (1 + np.cos(np.pi * np.clip((np.arange(count) - warm) / (count - warm - 1), 0, 1)))
    loss = decay(rng, count, first, first / 3.5, sigma)
    evals = slice(count // 8 - 1, None, count // 8)
    axis = np.arange(1, count + 1) * 10.0
    return {
        "loss": series("loss", loss),
        "grad_norm": series("grad_norm", np.exp(rng.normal(-0.5, 0.25, count))),
        "learning_rate": series("learning_rate", 3e-4 * ramp * cosine),
        "step_time": series("step_time", np.abs(1.5 + rng.normal(0, 0.03, count))),
        "gpu_memory_used": series("gpu_memory_used", 6e10 + rng.normal(0, 1e8, count)),
        "gpu_utilisation": series("gpu_utilisation", np.clip(94 + rng.normal(0, 2, count), 0, 100)),
        "eval_loss": series("eval_loss", decay(rng, count, first, first / 3.4, 0.003)[evals], steps=axis[evals]),
    }


@pytest.fixture(params=[0, 1, 2])
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


@pytest.fixture
def one() -> Callable[..., Series]:
    return series


@pytest.fixture
def healthy() -> Callable[..., dict[str, Series]]:
    return run_of


@pytest.fixture
def falling() -> Callable[..., Floats]:
    return decay


@pytest.fixture
def facts() -> Callable[..., dict[str, object]]:
    """Detect and return fact -> value."""

    def run(given: dict[str, Series] | list[Series], context: DetectContext | None = None) -> dict[str, object]:
        found: Detections = detect(list(given.values()) if isinstance(given, dict) else given, context)
        for fact in found.facts:
            assert fact.source.where
        return {fact.fact: fact.value for fact in found.facts}

    return run


@pytest.fixture
def alarms() -> Callable[[dict[str, object]], list[str]]:
    """Return the abnormal facts that are true."""
    return lambda found: [fact for fact in ABNORMAL if found.get(fact) is True]
