"""A few signatures of the tests' own: anchors, gaps, guards, flags, roles."""

from __future__ import annotations

from typing import Any

import pytest

from engine.model.kb import Signature

SIGNATURES: tuple[dict[str, Any], ...] = (
    {"id": "ecc", "pattern": r"uncorrectable ECC error", "role": "root", "finding": "gpu.ecc", "explains": ["oom.gpu"]},
    {"id": "oom", "pattern": r"out of memory\. GPU (?P<gpu>\d+)", "role": "root", "finding": "oom.gpu"},
    {"id": "access", "pattern": r"illegal memory access", "role": "root", "finding": "cuda.access"},
    {"id": "watchdog", "pattern": r"Watchdog caught collective", "role": "cascade", "finding": "hang.timeout"},
    {"id": "sigterm", "pattern": r"Sending process \d+ closing", "role": "teardown", "finding": "job.torn"},
    {"id": "killed", "pattern": r"^Killed$", "role": "root", "finding": "host.killed"},
    {"id": "gap", "pattern": r"nfs: .*(?:lost|evicted)\b", "unless": "OK", "role": "root", "finding": "nfs.lost"},
    {"id": "caseless", "pattern": r"(?i)No Space \S+ on", "role": "root", "finding": "disk.full"},
    {"id": "begins", "pattern": r"\A\[Errno 5\] x{2,4}\z", "role": "root", "finding": "disk.io"},
    {"id": "quoted", "pattern": r"\Qa.b*c\E", "role": "context", "finding": "quoted.text"},
    {"id": "counted", "pattern": r"é.{2,3}!", "role": "context", "finding": "counted.text"},
    {"id": "short", "pattern": r"Xid: (?:48|79)\b", "role": "root", "fact": "gpu.xid_seen"},
)


@pytest.fixture(scope="session")
def signatures() -> tuple[Signature, ...]:
    return tuple(Signature(examples=("x",), **one) for one in SIGNATURES)
