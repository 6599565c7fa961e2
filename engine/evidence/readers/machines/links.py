"""Links of a host: ``nvidia-smi nvlink --status``, ``ibstat``, ``lspci -vv``.

What is switched off on purpose is no fault: a card without any active NVLink, an InfiniBand port whose physical state
is Disabled, a PCIe link of lower speed (an idle card saves power so; its width stays).
"""

from __future__ import annotations

import re
from typing import IO

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes
from engine.evidence.readers.machines.snapshot import cell, fact, finding, record, text_of
from engine.evidence.series import RunRecord
from engine.model.evidence import Reading

_GPU = re.compile(r"^GPU (\d+): ")
_LINK = re.compile(r"^\s+Link (\d+): (.*\S)")
_ADAPTER = re.compile(r"^CA '([^']+)'")
_PORT = re.compile(r"^\s+Port (\d+):")
_PORT_STATE = re.compile(r"^\s+(State|Physical state|Rate|Link layer): (.*\S)")
# the port looks for a peer that it had or should have; "Disabled" and "Sleep" are set by people
_TROUBLED = frozenset({"polling", "linkerrorrecovery", "portconfigurationtraining", "phy test"})
_DEVICE = re.compile(r"^([0-9A-Fa-f]{2,4}:\S+)\s+(.*)")
_WIDTH = re.compile(r"Lnk(Cap|Sta):.*?Width x(\d{1,4})")


def read_nvlink(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Count the inactive links of cards that have active ones."""
    notes = Notes([])
    lines = text_of(stream, limits, notes).splitlines()
    gpu = ""
    links: dict[str, list[tuple[bool, int, str]]] = {}
    for number, line in enumerate(lines, 1):
        found = _GPU.match(line)
        gpu = found[1] if found is not None else gpu
        link = _LINK.match(line)
        if link is not None and gpu:
            links.setdefault(gpu, []).append((cell(link[2]) not in {None, 0.0}, number, f"GPU {gpu} Link {link[1]}"))
    down = [
        (number, name)
        for states in links.values()
        if any(active for active, _, _ in states)
        for active, number, name in states
        if not active
    ]
    readings: list[Reading] = []
    if links:
        where = f"{label}:{down[0][0]}" if down else label
        quote = f"inactive: {', '.join(name for _, name in down[:8])}" if down else "no inactive link"
        readings.append(fact("nvlink.inactive_links", float(len(down)), where, quote))
    return record("nvlink_status", label, sum(map(len, links.values())), len(lines), readings, notes=notes.texts)


def read_ibstat(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Name the ports that look for their peer in vain."""
    notes = Notes([])
    lines = text_of(stream, limits, notes).splitlines()
    adapter, port = "", ""
    states: dict[str, dict[str, tuple[str, int]]] = {}
    for number, line in enumerate(lines, 1):
        found = _ADAPTER.match(line)
        if found is not None:
            adapter, port = found[1], ""
        elif (found := _PORT.match(line)) is not None:
            port = f"{adapter} port {found[1]}"
        elif port and (found := _PORT_STATE.match(line)) is not None:
            states.setdefault(port, {})[found[1]] = (found[2], number)
    readings: list[Reading] = []
    for name, state in states.items():
        logical, place = state.get("State", ("", 0))
        physical, _ = state.get("Physical state", ("", 0))
        if logical.lower() != "active" and physical.lower() in _TROUBLED:
            quote = f"{name}: state {logical}, physical state {physical}"
            readings.append(finding("network.port-down", f"{label}:{place}", quote))
    return record("ibstat", label, len(states), len(lines), readings, notes=notes.texts)


def read_lspci(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Compare the width of each NVIDIA device's link with what it is capable of; the narrowest counts."""
    notes = Notes([])
    lines = text_of(stream, limits, notes).splitlines()
    device, most, count = "", 0.0, 0
    narrowest: tuple[float, int, str] | None = None
    for number, line in enumerate(lines, 1):
        found = _DEVICE.match(line)
        if found is not None:
            device = found[1] if "NVIDIA" in found[2] and "Bridge" not in found[2] else ""
            count += bool(device)
        width = _WIDTH.search(line) if device else None
        if width is not None and width[1] == "Cap":
            most = float(width[2])
        elif width is not None and most:
            ratio = min(float(width[2]) / most, 1.0)
            if narrowest is None or ratio < narrowest[0]:
                narrowest = (ratio, number, f"{device}: width x{width[2]} of x{most:g}")
    readings: list[Reading] = []
    if narrowest is not None:
        readings.append(fact("gpu.pcie_width_ratio", narrowest[0], f"{label}:{narrowest[1]}", narrowest[2]))
    return record("lspci", label, count, len(lines), readings, notes=notes.texts)


NVLINK = Format(
    "nvlink_status",
    lambda head: (
        re.search(rb"^GPU \d+: .*UUID", head, re.MULTILINE) is not None
        and re.search(rb"^[ \t]+Link \d+: ", head, re.MULTILINE) is not None
    ),
    read_nvlink,
)
IBSTAT = Format(
    "ibstat",
    lambda head: re.search(rb"^CA '[^']+'", head, re.MULTILINE) is not None and b"Physical state:" in head,
    read_ibstat,
)
LSPCI = Format(
    "lspci",
    lambda head: (
        b"LnkCap:" in head
        and b"LnkSta:" in head
        and re.search(rb"^[0-9a-f]{2,4}:[0-9a-f:.]+ ", head, re.MULTILINE) is not None
    ),
    read_lspci,
)
