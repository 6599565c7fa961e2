"""Who, where and when a log line is about: rank, device and time, as launchers, loggers and kernels write them."""

from __future__ import annotations

import re
from datetime import date

_RANK = re.compile(r"\bRank (\d{1,6})\]|\brank\s*[=:]?\s*(\d{1,6})\b")
# One file a rank: "rank3.log", "log.rank_12", "_dump_14", and torchrun's "attempt_0/3/stderr.log".
_RANK_OF_FILE = re.compile(
    r"(?:^|[^a-z])rank[_\-.]?(\d{1,6})(?!\d)|_dump_(\d{1,6})(?:\.\w+)?$"
    r"|attempt_\d+/(\d{1,6})/std(?:out|err)",
    re.IGNORECASE,
)
_DEVICE = re.compile(r"\bGPU (\d{1,3})\b|\bcuda:(\d{1,3})\b|PCI:(?:[0-9A-Fa-f]{4,8}:)?([0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CLOCK = re.compile(
    r"(?P<year>\d{4})[-/](?P<month>\d{2})[-/](?P<day>\d{2})[T _](?P<at>\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?)"
    r"|\b[IWEFC](?P<gmonth>\d{1,2})(?P<gday>\d{2}) (?P<gat>\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)"
    r"|\b(?P<name>" + "|".join(_MONTHS) + r") {1,2}(?P<nday>\d{1,2}) (?P<nat>\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)"
)  # fmt: skip


def rank_in(text: str) -> int | None:
    """The rank that a line names as its own."""
    match = _RANK.search(text)
    return int(match[1] or match[2]) if match is not None else None


def rank_of_file(label: str) -> int | None:
    """The rank whose file this is, by its name."""
    match = _RANK_OF_FILE.search(label.replace("\\", "/"))
    return int(next(filter(None, match.groups()))) if match is not None else None


def device_in(text: str) -> str | None:
    """The device that a line names: ``gpu 3`` by index, ``pci 1b:00`` by bus."""
    match = _DEVICE.search(text)
    if match is None:
        return None
    index = match[1] or match[2]
    return f"gpu {index}" if index else f"pci {match[3].lower()}"


def clock_in(text: str) -> float | None:
    """Seconds since the first of January of the year, from the first time stamp of the line.

    The year is left out: glog (``E0520``, or ``E520`` in PyTorch: the 20th of May) and syslog do not write it.
    """
    match = _CLOCK.search(text[:400])
    if match is None:
        return None
    clock = match["at"] or match["gat"] or match["nat"]
    if match["year"]:
        month, day = int(match["month"]), int(match["day"])
    elif match["name"]:
        month, day = _MONTHS.index(match["name"]) + 1, int(match["nday"])
    else:
        month, day = int(match["gmonth"]), int(match["gday"])
    hours, minutes, seconds = clock.replace(",", ".").split(":")
    try:
        days = (date(2000, month, day) - date(2000, 1, 1)).days
    except ValueError:
        return None
    return days * 86_400 + int(hours) * 3_600 + int(minutes) * 60 + float(seconds)
