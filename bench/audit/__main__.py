"""``python -m bench.audit [GIGABYTES]``: one pass over a made-up checkpoint against what the machine can do at all."""

from __future__ import annotations

import hashlib
import json
import mmap
import resource
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from engine.audit.folder import Folder
from engine.audit.safetensors import read_header
from engine.audit.scan import scan
from engine.audit.scan.passes import CHUNK_BYTES
from engine.audit.scan.running import Running
from engine.audit.tensors import TensorInfo

SHARDS, ROWS, COLUMNS = 4, 4096, 4096
SHARE_OF_READING = 0.65
GB = 1e9
READING = "memory read, the fastest numpy reduction"
NUMBERS = "numbers alone (NaN, Inf, extremes, zero)"


def main() -> int:
    """Make the folder, measure, print one table and the verdict of the budget."""
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "model")
        root.mkdir()
        make(root, gigabytes)
        return measure(root, Path(name, "cache"))


def make(root: Path, gigabytes: float) -> None:
    """Shards of bfloat16 matrices with normal numbers; the same each time."""
    size = ROWS * COLUMNS * 2
    count = max(int(gigabytes * GB / size / SHARDS), 1)
    normal = np.random.default_rng(0).standard_normal(ROWS * COLUMNS, dtype=np.float32)
    for shard in range(SHARDS):
        tensors = {
            f"model.layers.{shard}.{n}.weight": {
                "dtype": "BF16", "shape": [ROWS, COLUMNS], "data_offsets": [n * size, (n + 1) * size],
            }
            for n in range(count)
        }  # fmt: skip
        header = json.dumps(tensors).encode()
        header += b" " * (-len(header) % 8)  # as the library writes it: aligned
        with (root / f"model-{shard + 1:05d}-of-{SHARDS:05d}.safetensors").open("wb") as stream:
            stream.write(struct.pack("<Q", len(header)) + header)
            for n in range(count):
                stream.write((np.roll(normal, shard * count + n).view(np.uint32) >> 16).astype(np.uint16).tobytes())


def measure(root: Path, cache: Path) -> int:
    """Every row once for warmth, then for the figure: the stages alone often, a pass over all once."""
    folder = Folder.of(root)
    tensors = [tensor for entry in folder.files() for tensor in read_header(folder, entry.path).tensors]
    first = folder.files()[0]
    own = [tensor for tensor in tensors if tensor.file == first.path]
    total, part = sum(entry.size for entry in folder.files()), first.size
    print(f"{total / GB:.1f} GB in {len(tensors)} tensors; stages alone on one shard of {part / GB:.2f} GB, warm\n")
    print(f"{'':44} {'GB per CPU s':>12} {'GB/s wall':>10}")
    with (root / first.path).open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        alone = {
            READING: lambda: largest(mapped),
            NUMBERS: lambda: feed(own, mapped),
            "numpy: widen to float32, isfinite": lambda: widened(own, mapped),
            "sha256 alone": lambda: hashlib.sha256(mapped).digest(),
            "read from the page cache": lambda: drained(root / first.path),
        }
        rates = rows(part, alone, 9)
    rows(total, {"one pass over all: numbers and sha256": lambda: scan(folder, tensors)}, 1)
    time.sleep(4)  # a scan is kept only of files that have settled
    scan(folder, tensors, cache)
    rows(total, {"the same again, from the cache": lambda: scan(folder, tensors, cache)}, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory {peak:.0f} MB, the mapped shard included")
    share = rates[NUMBERS] / rates[READING]
    print(f"numbers alone reach {share:.0%} of the read limit (budget {SHARE_OF_READING:.0%})")
    return 0 if share >= SHARE_OF_READING else 1


def rows(size: int, works: Mapping[str, Callable[[], object]], tries: int) -> dict[str, float]:
    """Print a row for each work; returns the best GB a CPU second of each.

    They take turns, so that whatever else the machine does falls on all of them alike.
    """
    cpu: dict[str, list[float]] = {title: [] for title in works}
    wall: dict[str, list[float]] = {title: [] for title in works}
    for work in works.values():
        work()
    for _ in range(tries):
        for title, work in works.items():
            began, since = time.perf_counter(), time.process_time()
            work()
            wall[title].append(time.perf_counter() - began)
            cpu[title].append(time.process_time() - since)
    rates = {title: size / GB / max(min(taken), 1e-9) for title, taken in cpu.items()}
    for title, rate in rates.items():
        print(f"{title:44} {rate:12.2f} {size / GB / min(wall[title]):10.2f}", flush=True)
    return rates


def largest(mapped: mmap.mmap) -> int:
    """The largest 16-bit number: as fast as memory is read."""
    codes = np.frombuffer(mapped, np.uint16, len(mapped) // 2)
    step = CHUNK_BYTES // 2
    return max(int(codes[at : at + step].max()) for at in range(0, codes.size, step))


def feed(tensors: list[TensorInfo], mapped: mmap.mmap) -> None:
    """The audit's numbers, without reading or hashing."""
    view = memoryview(mapped)
    for tensor in tensors:
        running = Running(tensor)
        for at in range(tensor.offset, tensor.offset + tensor.nbytes, CHUNK_BYTES):
            running.feed(view[at : min(at + CHUNK_BYTES, tensor.offset + tensor.nbytes)])
        running.stats()


def widened(tensors: list[TensorInfo], mapped: mmap.mmap) -> bool:
    """What one would write in numpy."""
    found = True
    for tensor in tensors:
        codes = np.frombuffer(mapped, np.uint16, tensor.numel, tensor.offset)
        found &= bool(np.isfinite((codes.astype(np.uint32) << np.uint32(16)).view(np.float32)).all())
    return found


def drained(path: Path) -> None:
    """The file, read into one buffer."""
    buffer = bytearray(CHUNK_BYTES)
    with path.open("rb", buffering=0) as stream:
        while stream.readinto(buffer):
            pass


if __name__ == "__main__":
    sys.exit(main())
