"""Answers of Prometheus' HTTP API (``/api/v1/query`` and ``query_range``), also where a tool wrapped them.

Values are text; NaN and infinity occur; a gap in the times is a missed scrape. A training metric that several ranks
export becomes one series, the median over them at each time; a metric of the cards becomes the mean over the cards, and
each card is judged by its median against its peers. Steps are seconds since the first sample.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes
from engine.evidence.readers.machines.metrics import Sample, is_gpu_metric, judge_samples
from engine.evidence.readers.machines.snapshot import record, text_of
from engine.evidence.readers.names import canonical
from engine.evidence.series import Floats, RunRecord, Series

# names of exporters -> canonical series, factor into the canonical unit
_NAMES = {
    "DCGM_FI_DEV_GPU_UTIL": ("gpu_utilisation", 1.0),
    "nvidia_smi_utilization_gpu_ratio": ("gpu_utilisation", 100.0),
    "DCGM_FI_DEV_FB_USED": ("gpu_memory_used", 2.0**20),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ("gpu_engine_active", 100.0),
    "DCGM_FI_PROF_SM_ACTIVE": ("gpu_sm_active", 100.0),
    "DCGM_FI_DEV_POWER_USAGE": ("gpu_power", 1.0),
    "container_memory_working_set_bytes": ("host_memory_used", 1.0),
}
_GPU_MEAN = frozenset({"gpu_utilisation", "gpu_memory_used", "gpu_engine_active", "gpu_sm_active", "gpu_power"})


def read_query_result(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read matrix and vector results; whatever else stands in the document is left alone."""
    notes = Notes([])
    text = text_of(stream, limits, notes)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        notes.add(f"JSON is damaged or nested too deeply ({type(error).__name__})")
        document = None
    tracks: dict[str, list[tuple[Floats, Floats]]] = defaultdict(list)
    samples: list[Sample] = []
    unnamed = count = 0
    for labels, times, values in _results(document, notes):
        count += len(times)
        metric = labels.get("__name__", "")
        if not metric:
            unnamed += 1
            continue
        if is_gpu_metric(metric) and len(values):
            finite = values[np.isfinite(values)]
            if len(finite):
                samples.append(Sample(metric, labels, float(np.median(finite))))
        tracks[metric].append((times, values))
    if unnamed:
        notes.add(f"{unnamed} series carry no metric name (an expression was asked for): what they measure is unknown")
    series = _series(tracks, label)
    readings = judge_samples(samples, label)
    return record("prometheus_query", label, count, text.count("\n") + 1, readings, (), series, notes=notes.texts)


def _results(document: Any, notes: Notes) -> Iterator[tuple[Mapping[str, str], Floats, Floats]]:
    data = document.get("data") if isinstance(document, Mapping) else None
    found = data.get("result") if isinstance(data, Mapping) else None
    for item in found if isinstance(found, list) else ():
        labels = item.get("metric") if isinstance(item, Mapping) else None
        pairs = item.get("values", [item.get("value")]) if isinstance(item, Mapping) else None
        if not isinstance(labels, Mapping) or not isinstance(pairs, list):
            notes.add("an entry of the result holds no metric and values")
            continue
        points = [_point(pair) for pair in pairs]
        kept = [point for point in points if point is not None]
        if len(kept) < len(points):
            notes.add("some points are no pair of a time and a value")
        table = np.array(kept, dtype=np.float64).reshape(-1, 2)
        yield {str(key): str(value) for key, value in labels.items()}, table[:, 0], table[:, 1]


def _point(pair: Any) -> tuple[float, float] | None:
    try:
        time, value = pair
        return float(time), float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _series(tracks: Mapping[str, list[tuple[Floats, Floats]]], label: str) -> list[Series]:
    starts = [float(times[0]) for found in tracks.values() for times, _ in found if len(times)]
    result: dict[str, Series] = {}
    for metric, found in tracks.items():
        name, unit, scale = _canonical(metric)
        times = np.concatenate([track[0] for track in found])
        values = np.concatenate([track[1] for track in found]) * scale
        if len(np.unique(times)) < 2 or name in result:
            continue
        steps, joined = _joined(times, values, mean=name in _GPU_MEAN)
        result[name] = Series(name, steps - min(starts), joined, unit, label)
    return [*result.values()]


def _canonical(metric: str) -> tuple[str, str, float]:
    if metric in _NAMES:
        name, scale = _NAMES[metric]
        return name, canonical(name).unit, scale
    # exporters put their own name in front: "trainer_train_loss", "megatron:grad_norm"
    words = metric.replace(":", "_").split("_")
    for start in range(len(words)):
        known = canonical("_".join(words[start:]))
        if known.known:
            return known.name, known.unit, known.scale
    return metric, "", 1.0


def _joined(times: Floats, values: Floats, *, mean: bool) -> tuple[Floats, Floats]:
    """One value at each time: mean or median over the tracks. NaN of one rank is kept as NaN: it is the news."""
    order = np.lexsort((values, times))
    times, values = times[order], values[order]
    steps, first, counts = np.unique(times, return_index=True, return_counts=True)
    if mean:
        return steps, np.add.reduceat(values, first) / counts
    # values are sorted within each time, NaN last: the middle one is the median
    middle = values[first + (counts - 1) // 2]
    last = values[first + counts - 1]
    return steps, np.where(np.isnan(last), last, middle)


def _recognises(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return start.startswith(b"{") and b'"resultType"' in head and b'"result"' in head


QUERY_RESULT = Format("prometheus_query", _recognises, read_query_result)
