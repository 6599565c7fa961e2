"""One command in a process of its own: its CPU seconds and its peak memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """CPU seconds (user and system), peak resident MB, and the exit status: a negative one is a signal."""

    seconds: float
    peak_mb: float
    status: int


def measure(command: Sequence[str], cpu_limit: int) -> Measured:
    """Run ``command``, ended after ``cpu_limit`` CPU seconds; what it prints is thrown away."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit, cpu_limit + 5)),  # noqa: PLW1509
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Measured(usage.ru_utime + usage.ru_stime, kilobytes / 1000, process.returncode)
