"""``python -m bench.evidence``: files of 100 MB to 2 GB through the product and its peers, one process each."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.evidence import files
from bench.evidence.run import Measured, measure

ROOT = Path(__file__).resolve().parents[2]
OURS = ROOT / ".venv" / "bin" / "traintriage"
PEERS = ROOT / "bench" / ".venv" / "bin"
CPU_LIMIT = 180
TIMES_FASTER = 10.0
FLAT = 1.25  # peak memory of the 2 GB log against that of the 100 MB log
ROWS_SECONDS, ROWS_PEAK_MB = 3.0, 500.0
LEAST_RATES = {"series": 80.0, "scan, hyperscan": 400.0, "scan, RE2": 80.0}  # MB a CPU second


@dataclass(frozen=True)
class Task:
    """A file to make, and the peers that read its kind."""

    name: str
    make: Callable[[Path], None]
    peers: tuple[str, ...]


TASKS = {
    "rows.jsonl": Task("1 million rows of JSONL", files.jsonl, ("runmedic", "losslint", "trainproof")),
    "trainer_state.json": Task("trainer_state.json", files.trainer_state, ("runmedic", "losslint", "trainproof")),
    "small.log": Task("console log, 100 MB", files.console(100 * files.MB), ("runmedic",)),
    "large.log": Task("console log, 2 GB", files.console(2000 * files.MB), ()),
}
COMMANDS = {
    "runmedic": ("runmedic", "diagnose"),
    "losslint": ("losslint", "check"),
    "trainproof": ("trainproof", "doctor"),
}
Results = dict[tuple[str, str], tuple[float, Measured]]


def main() -> int:
    """Make the files, run every command on those it reads, print one table and the verdict."""
    if not (PEERS / "runmedic").exists():
        print("bench: the peers are not installed; run 'make bench'", file=sys.stderr)
        return 2
    results: Results = {}
    rates: dict[str, float] = {}
    # What is worked out of the knowledge once and kept is not what is measured here.
    measure([str(OURS), "diagnose", "--report", "loss is NaN"], CPU_LIMIT)
    with tempfile.TemporaryDirectory() as folder:
        for file, task in TASKS.items():
            path = Path(folder, file)
            print(f"{task.name} …", file=sys.stderr)
            task.make(path)
            size = path.stat().st_size / files.MB
            results[file, "traintriage"] = size, measure([str(OURS), "diagnose", "--json", str(path)], CPU_LIMIT)
            for peer in task.peers:
                program, verb = COMMANDS[peer]
                results[file, peer] = size, measure([str(PEERS / program), verb, str(path)], CPU_LIMIT)
            if file == "small.log":
                rates = stages(path)
            path.unlink()
    print(table(results))
    print("\n".join(f"| {name} | | alone | | {rate:.0f} | |" for name, rate in rates.items()))
    return 0 if verdict(results, rates) else 1


def stages(path: Path) -> dict[str, float]:
    """MB a CPU second of the stages, each alone."""
    command = [sys.executable, "-m", "bench.evidence.stages", str(path)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    rates: dict[str, float] = json.loads(done.stdout)
    return rates


def table(results: Results) -> str:
    """Markdown: for each file and command the CPU seconds, MB a CPU second and peak memory."""
    lines = ["| file | MB | command | CPU s | MB per CPU s | peak MB |", "|---|--:|---|--:|--:|--:|"]
    for (file, command), (size, measured) in results.items():
        seconds = f"{measured.seconds:.1f}" if measured.status >= 0 else f"over {CPU_LIMIT}"
        speed = f"{size / measured.seconds:.1f}" if measured.status >= 0 else "-"
        lines.append(f"| {TASKS[file].name} | {size:.0f} | {command} | {seconds} | {speed} | {measured.peak_mb:.0f} |")
    return "\n".join(lines)


def verdict(results: Results, rates: dict[str, float]) -> bool:
    """Whether the budgets hold, printed line by line. An answer of ours that failed counts as a failure."""
    checks = [
        (f"{name}: {least:g} MB a CPU second", rates[name] >= least, f"{rates[name]:.0f}")
        for name, least in LEAST_RATES.items()
    ]
    for (file, command), (_, measured) in results.items():
        ours = results[file, "traintriage"][1]
        if command == "traintriage":
            checks.append((f"{TASKS[file].name}: answered", measured.status in (0, 1), f"exit {measured.status}"))
        else:
            ratio = measured.seconds / ours.seconds
            checks.append(
                (f"{TASKS[file].name}: {TIMES_FASTER:g} x {command}", ratio >= TIMES_FASTER, f"{ratio:.1f} x")
            )
    rows, small, large = (results[file, "traintriage"][1] for file in ("rows.jsonl", "small.log", "large.log"))
    checks += [
        (f"1 million rows <= {ROWS_SECONDS:g} s", rows.seconds <= ROWS_SECONDS, f"{rows.seconds:.1f} s"),
        (f"1 million rows <= {ROWS_PEAK_MB:g} MB", rows.peak_mb <= ROWS_PEAK_MB, f"{rows.peak_mb:.0f} MB"),
        ("memory flat in the size of the log", large.peak_mb <= FLAT * small.peak_mb, f"{large.peak_mb:.0f} MB"),
    ]
    print()
    for what, holds, measured_text in checks:
        print(f"  {'holds' if holds else 'FAILS'}: {what} (measured {measured_text})")
    return all(holds for _, holds, _ in checks)


if __name__ == "__main__":
    sys.exit(main())
