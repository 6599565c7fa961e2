"""Two stages of reading, alone: ``python -m bench.evidence.stages LOG`` prints MB a CPU second as JSON."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from engine.evidence import readers
from engine.evidence.signatures import SignatureScan, blocks
from engine.knowledge.load import load_knowledge

TRIES = 3
BLOCK_LINES = 10_000
EVENTS = [
    b"node03:771:812 [3] NCCL INFO Channel 05/0 : 3[3] -> 2[2] via P2P/CUMEM/read",
    b"node07:4410:4598 [1] NCCL INFO comm 0x55d2 rank 9 nRanks 64 nNodes 8 localRanks 8 localRank 1 MNNVL 0",
    b"[2026-03-02 11:04:51,117] [INFO] [logging.py:107:log_dist] [Rank 0] step=1200, skipped=0, lr=[0.0003]",
    b"W0302 11:04:52.001 140213 torch/distributed/run.py:793] Setting OMP_NUM_THREADS for each process to be 1",
    b"Loading dataset shards:  45%|####5     | 118/262 [00:12<00:15,  9.41it/s]",
    b"INFO 2026-03-02 11:04:53 [worker 12] opened /data/tokens/part-00412.bin (1.9 GB), 8 readers",
]


def main() -> None:
    """Measure the stages; the log is one of ``files.console``."""
    path = Path(sys.argv[1])
    scan = SignatureScan(load_knowledge().signatures.values())
    chance = random.Random(3)
    lines = [chance.choice(EVENTS) + b" #%d" % chance.randrange(10**6) for _ in range(400_000)]
    size = sum(map(len, lines)) + len(lines)
    rates = {
        "series": rate(path.stat().st_size, lambda: readers.read(path)),
        "scan, hyperscan": rate(size, lambda: _scan(scan, lines, worth=0)),
        "scan, RE2": rate(size, lambda: _scan(scan, lines, worth=1 << 60)),
    }
    print(json.dumps(rates))


def rate(size: int, work: Callable[[], object]) -> float:
    """MB a CPU second, the best of a few tries; the first also loads what is loaded once."""
    best = float("inf")
    for _ in range(TRIES):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return size / best / 1e6


def _scan(scan: SignatureScan, lines: list[bytes], worth: int) -> None:
    blocks.WORTH_HYPERSCAN = worth
    of_one_log = scan.blocks()
    for first in range(0, len(lines), BLOCK_LINES):
        of_one_log.hits(lines[first : first + BLOCK_LINES])


if __name__ == "__main__":
    main()
