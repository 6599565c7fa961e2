"""Samples of Prometheus metrics about GPUs and hosts: which attribute of a card a metric is, and what it states.

Names are those of NVIDIA's dcgm-exporter, of nvidia_gpu_exporter (``nvidia_smi_*``) and of node_exporter. On a virtual
GPU fields that are not supported read 0, so a zero states nothing but for utilisation, and only beside other load.
``DCGM_FI_DEV_XID_ERRORS`` holds the last Xid until the driver is loaded anew: it may be old, and the quote says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.evidence.readers.machines.snapshot import Gpu, fact, finding, judge
from engine.model.evidence import FactReading, Reading

# attribute of a card -> metric names, with the factor into percent, watts, degrees, MHz, MiB and counts
_ATTRIBUTES: dict[str, tuple[str, float]] = {
    "DCGM_FI_DEV_GPU_UTIL": ("utilisation", 1.0),
    "nvidia_smi_utilization_gpu_ratio": ("utilisation", 100.0),
    "DCGM_FI_DEV_POWER_USAGE": ("power", 1.0),
    "nvidia_smi_power_draw_watts": ("power", 1.0),
    "DCGM_FI_DEV_GPU_TEMP": ("temperature", 1.0),
    "nvidia_smi_temperature_gpu": ("temperature", 1.0),
    "DCGM_FI_DEV_SM_CLOCK": ("clock", 1.0),
    "nvidia_smi_clocks_current_sm_clock_hz": ("clock", 1e-6),
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": ("uncorrected", 1.0),
    "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL": ("corrected", 1.0),
}
_XID = frozenset({"DCGM_FI_DEV_XID_ERRORS"})
_REMAP_FAILED = frozenset({"DCGM_FI_DEV_ROW_REMAP_FAILURE"})
_REMAP_PENDING = frozenset({"DCGM_FI_DEV_ROW_REMAP_PENDING"})
_THROTTLE = frozenset({"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"})
# nvmlClocksEventReason*: hardware slowdown 0x8, thermal 0x40, power brake 0x80 (0x1 idle, 0x4 software cap: normal)
_HARDWARE_REASONS = 0x8 | 0x40 | 0x80


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one metric; ``line`` is 0 where the file has no lines."""

    metric: str
    labels: Mapping[str, str]
    value: float
    line: int = 0


def host_of(labels: Mapping[str, str]) -> str:
    """The host a sample comes from, as far as its labels tell."""
    return labels.get("Hostname") or labels.get("hostname") or labels.get("node") or labels.get("instance") or ""


def gpu_of(labels: Mapping[str, str]) -> str:
    """The card a sample is about; empty if it is about none."""
    return labels.get("gpu") or labels.get("minor_number") or labels.get("uuid") or labels.get("UUID") or ""


def is_gpu_metric(name: str) -> bool:
    """Whether the metric is one that this module reads."""
    return name in _ATTRIBUTES or name in _XID | _REMAP_FAILED | _REMAP_PENDING | _THROTTLE


def judge_samples(samples: Iterable[Sample], label: str) -> list[Reading]:
    """Each host's cards against each other, and what single metrics state."""
    hosts: dict[str, dict[str, Gpu]] = {}
    found: list[Reading] = []
    memory: dict[tuple[str, str], Sample] = {}
    for sample in samples:
        if sample.metric.startswith("node_memory_Mem"):
            memory[host_of(sample.labels), sample.metric] = sample
        gpu = gpu_of(sample.labels)
        if not gpu or sample.value != sample.value:
            continue
        name = f"{host_of(sample.labels)} {gpu}".strip()
        known = _ATTRIBUTES.get(sample.metric)
        if known is not None:
            card = hosts.setdefault(host_of(sample.labels), {}).setdefault(gpu, Gpu(gpu, sample.line))
            setattr(card, known[0], sample.value * known[1])
        else:
            found += _stated(sample, name, f"{label}:{sample.line}" if sample.line else label)
    for host, cards in hosts.items():
        found += judge([*cards.values()], f"{label} ({host})" if len(hosts) > 1 else label)
    return [*_single_xid(found), *_host_memory(memory, label)]


def _stated(sample: Sample, name: str, where: str) -> list[Reading]:
    if sample.metric in _XID and sample.value >= 1:
        quote = f"GPU {name}: last Xid {sample.value:g}, kept until the driver is loaded anew"
        return [fact("gpu.xid", sample.value, where, quote)]
    if sample.metric in _REMAP_FAILED and sample.value >= 1:
        return [finding("gpu.memory-errors", where, f"GPU {name}: a row could not be remapped")]
    if sample.metric in _REMAP_PENDING and sample.value >= 1:
        return [fact("gpu.remap_pending", True, where, f"GPU {name}: row remapping pending")]
    if sample.metric in _THROTTLE and 0 <= sample.value < 2**53 and int(sample.value) & _HARDWARE_REASONS:
        return [fact("gpu.slowdown", True, where, f"GPU {name}: clock event reasons {int(sample.value):#x}")]
    return []


def _single_xid(found: list[Reading]) -> list[Reading]:
    """Several cards with different codes give no single fact; each code keeps its first card."""
    codes = {one.value for one in found if isinstance(one, FactReading) and one.fact == "gpu.xid"}
    if len(codes) < 2:
        return found
    return [
        finding("device.hardware-errors", reading.source.where, reading.source.quote)
        if getattr(reading, "fact", "") == "gpu.xid"
        else reading
        for reading in found
    ]


def _host_memory(memory: Mapping[tuple[str, str], Sample], label: str) -> list[Reading]:
    """The fullest host: 1 - available / total of node_exporter."""
    shares = []
    for (host, metric), sample in memory.items():
        total = memory.get((host, "node_memory_MemTotal_bytes"))
        if metric == "node_memory_MemAvailable_bytes" and total is not None and total.value > 0:
            shares.append((round(1 - sample.value / total.value, 3), host, sample.line))
    if not shares:
        return []
    share, host, line = max(shares)
    if not 0 <= share <= 1:
        return []
    where = f"{label}:{line}" if line else label
    return [fact("host.ram_used_ratio", share, where, f"{host or 'host'}: {share:.0%} of the memory is in use")]
