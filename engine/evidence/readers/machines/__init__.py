"""What the machines say: GPUs, kernel, scheduler, monitoring."""

from __future__ import annotations

from engine.evidence.readers.format import Format

FORMATS: tuple[Format, ...] = ()
