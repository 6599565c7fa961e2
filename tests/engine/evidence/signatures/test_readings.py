"""Roots before their consequences: what the readers of a diagnosis get to see."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.evidence import readers
from engine.evidence.readers.console.events import Events
from engine.evidence.readers.lines import Limits
from engine.evidence.signatures import Hit, SignatureScan, readings
from engine.evidence.signatures.places import clock_in, device_in, rank_in, rank_of_file
from engine.model.evidence import FindingReading, Source
from engine.model.kb import Signature


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def scan(signatures: tuple[Signature, ...]) -> SignatureScan:
    return SignatureScan(signatures)


def read(scan: SignatureScan, **files: str) -> dict[str, Source]:
    """The source of each finding, the first that was read."""
    hits: list[Hit] = []
    for name, text in files.items():
        hits += scan.hits(readers.read(text.encode(), name.replace("_", ".")))
    found: dict[str, Source] = {}
    for reading in readings(hits, lambda *_: None):
        if isinstance(reading, FindingReading):
            found.setdefault(reading.finding, reading.source)
    return found


def test_the_access_fault_stands_before_the_watchdog(scan: SignatureScan) -> None:
    found = read(
        scan, log="CUDA error: an illegal memory access was encountered\n[Rank 0] Watchdog caught collective\n"
    )
    assert found["cuda.access"].kind == "signature"
    assert (found["hang.timeout"].kind, found["hang.timeout"].where) == ("mention", "log:2 <- log:1")


def test_a_watchdog_alone_counts_in_full(scan: SignatureScan) -> None:
    found = read(scan, log="[Rank 0] Watchdog caught collective\nSending process 12 closing signal SIGTERM\n")
    assert {source.kind for source in found.values()} == {"signature"}


def test_a_root_after_the_cascade_in_one_file_is_no_excuse(scan: SignatureScan) -> None:
    assert read(scan, log="Watchdog caught collective\nKilled\n")["hang.timeout"].kind == "signature"


def test_the_clock_orders_files_of_ranks(scan: SignatureScan) -> None:
    late = "2026-05-20 06:40:00 Watchdog caught collective\n"
    early = "2026-05-20 06:10:00 illegal memory access\n"
    assert read(scan, rank0_log=late, rank3_log=early)["hang.timeout"].kind == "mention"
    after = "2026-05-20 06:50:00 illegal memory access\n"
    assert read(scan, rank0_log=late, rank3_log=after)["hang.timeout"].kind == "signature"


@pytest.mark.parametrize(("device", "kind"), [("3", "mention"), ("5", "signature")])
def test_memory_runs_out_on_the_card_with_errors(scan: SignatureScan, device: str, kind: str) -> None:
    text = f"cuda:3: uncorrectable ECC error encountered\nrestart\nCUDA out of memory. GPU {device} has 80 GiB\n"
    found = read(scan, log=text)
    assert (found["gpu.ecc"].kind, found["oom.gpu"].kind) == ("signature", kind)


def test_a_root_that_was_survived_explains_nothing_later(scan: SignatureScan) -> None:
    record = (
        " iteration {:8d}/     100 | consumed samples: 8 | elapsed time per iteration (ms): 10.0 | "
        "learning rate: 6.000E-05 | global batch size:     8 | lm loss: 2.5E+00 | loss scale: 1.0 | grad norm: 0.3 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )
    steps = "".join(record.format(step) for step in range(1, 40))
    text = "illegal memory access in a probe\n" + steps + "Watchdog caught collective\n"
    assert read(scan, log=text)["hang.timeout"].kind == "signature"


def test_counts_are_exact_however_many_lines_are_kept(scan: SignatureScan) -> None:
    events = Events(Limits(scan=scan.blocks()))
    noise = [b"[W] nfs: server %d evicted" % number for number in range(5_000)]
    other = [b"WARNING: %s failed" % bytes([65 + n % 26, 65 + n // 26 % 26, 65 + n // 676]) for n in range(5_000)]
    lines = [*noise, b"Killed", *other, *noise]
    for first in range(0, len(lines), 700):
        block = lines[first : first + 700]
        events.take(list(range(first + 1, first + 1 + len(block))), block, list(range(len(block))))
    kept = events.all()
    assert len(kept) < 3_500
    note = readers.read(b"x", "log")
    hits = scan.hits(type(note)(note.read, note.end, events=kept))
    counts = {hit.signature.id: (hit.count, hit.line, hit.last) for hit in reversed(hits)}
    assert counts == {"gap": (10_000, 1, 15_001), "killed": (1, 5_001, 5_001)}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-02 00:00:01,500 x", 86_401.5),
        ("[rank0]:[E102 00:00:01.25 ProcessGroupNCCL.cpp:1] x", 86_401.25),
        ("W0102 00:00:01.000000 77 x", 86_401.0),
        ("[Fri Jan  2 00:00:01 2026] NVRM", 86_401.0),
        ("2026-01-02_00:00:01", 86_401.0),
        ("2026-13-45 00:00:01", None),
        ("no time at all", None),
    ],
)
def test_clocks(text: str, seconds: float | None) -> None:
    assert clock_in(text) == seconds


def test_ranks_and_devices() -> None:
    assert [rank_in(text) for text in ("[PG ID 0 Rank 7] x", "rank: 3", "ranks 4", "NCCL [2]")] == [7, 3, None, None]
    names = ("run/rank_12.log", "_dump_14", "attempt_0/3/stderr.log", "train.log", "frank3.log")
    assert [rank_of_file(name) for name in names] == [12, 14, 3, None, None]
    assert [device_in(t) for t in ("GPU 3 has", "cuda:1", "(PCI:0000:1b:00): 48", "x")] == [
        "gpu 3",
        "gpu 1",
        "pci 1b:00",
        None,
    ]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("slurmstepd: JOB 7 CANCELLED\n", "job.by-person"),
        ("CUDA error: an illegal memory access\nslurmstepd: JOB 7 CANCELLED\n", "job.torn"),
        ("slurmstepd: JOB 7 CANCELLED\nCUDA error: an illegal memory access\n", "job.by-person"),
    ],
)
def test_what_a_line_says_after_a_failure(signatures: tuple[Signature, ...], text: str, finding: str) -> None:
    cancelled = Signature(
        id="cancelled", pattern="CANCELLED", role="cascade", finding="job.by-person", explained_as="job.torn",
        examples=("x",),
    )  # fmt: skip
    found = read(SignatureScan([*signatures, cancelled]), log=text)
    assert {name for name in found if name.startswith("job.")} == {finding}
