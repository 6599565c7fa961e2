"""``python -m bench.api``: the service's budget, and whose the CPU time of a request is."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import to_json

from api.submission import Submission
from bench.api.cases import FACTS, bodies
from bench.api.service import NO_ENGINE, ROOT, SHIPPED, cpu_seconds, service
from engine.diagnose import Diagnoser
from engine.knowledge.load import load_knowledge

CLIENTS = 8
SECONDS = 8.0
WARM_UP = 2.0
TRIES = 20
SPLIT = 20  # cases whose stages are measured alone
BUDGET_CASE = f"{FACTS} facts"
BUDGET_RATE = 300.0
BUDGET_P99_MS = 60.0
BUDGET_OWN_MS = 1.5


@dataclass(frozen=True)
class Load:
    """What one load came to: answers a second, milliseconds at the quantiles, CPU milliseconds a request."""

    rate: float
    p50: float
    p99: float
    cpu: float


def main() -> int:
    """Measure the service as shipped and without an engine; print one table and the verdict."""
    knowledge = load_knowledge(None)
    cases = bodies(knowledge)
    with tempfile.TemporaryDirectory() as folder:
        shipped = measure(SHIPPED, cases, Path(folder))
        empty = measure(NO_ENGINE, cases, Path(folder))
    diagnoser = Diagnoser(knowledge)
    try:
        stages = {name: mean([split(diagnoser, body) for body in found[:SPLIT]]) for name, found in cases.items()}
    finally:
        diagnoser.close()
    print(table(shipped, empty, stages))
    return 0 if verdict(shipped[BUDGET_CASE], max(load.cpu for load in empty.values())) else 1


def measure(module: str, cases: dict[str, list[bytes]], folder: Path) -> dict[str, Load]:
    """Each load, one after the other, on one service."""
    loads = {}
    with service(module, folder) as (port, process):
        for name, bodies_ in cases.items():
            print(f"{module}: {name} …", file=sys.stderr)
            path = folder / "bodies.jsonl"
            path.write_bytes(b"\n".join(body.replace(b"\n", b" ") for body in bodies_))
            drive(port, WARM_UP, path)
            before = cpu_seconds(process)
            took = drive(port, SECONDS, path)
            spent = cpu_seconds(process) - before
            p50, p99 = np.quantile(took, [0.5, 0.99]) * 1e3
            loads[name] = Load(len(took) / SECONDS, float(p50), float(p99), spent / len(took) * 1e3)
    return loads


def drive(port: int, seconds: float, path: Path) -> list[float]:
    """Seconds each answer took."""
    command = [sys.executable, "-m", "bench.api.load", str(port), str(CLIENTS), str(seconds), str(path)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    answers: list[float] = json.loads(done.stdout)
    return answers


def split(diagnoser: Diagnoser, body: bytes) -> dict[str, float]:
    """Best CPU milliseconds of each stage of a request, alone in this process."""
    submission = Submission(body, "json")
    case = submission.case()
    observed = diagnoser.collect(case)
    answer = diagnoser.answer(observed)
    return {
        "parse": best(submission.case),
        "collect": best(lambda: diagnoser.collect(case)),
        "conclude": best(lambda: diagnoser.answer(observed)),
        "serialise": best(lambda: to_json(answer, inf_nan_mode="null")),
    }


def mean(splits: list[dict[str, float]]) -> dict[str, float]:
    """Stage by stage, over the cases."""
    return {name: sum(found[name] for found in splits) / len(splits) for name in splits[0]}


def best(work: Callable[[], Any]) -> float:
    """Least CPU milliseconds of several tries."""
    least = float("inf")
    for _ in range(TRIES):
        started = time.process_time()
        work()
        least = min(least, time.process_time() - started)
    return least * 1e3


def table(shipped: dict[str, Load], empty: dict[str, Load], stages: dict[str, dict[str, float]]) -> str:
    """Markdown: the load a case, and its CPU time split; what no stage explains is server, routing and telemetry."""
    names = list(next(iter(stages.values())))
    lines = [
        f"| load | requests/s | p50 ms | p99 ms | CPU ms | {' | '.join(names)} | server and routes | without engine |",
        "|---|" + "--:|" * (len(names) + 6),
    ]
    for name, load in shipped.items():
        parts = stages[name]
        rest = load.cpu - sum(parts.values())
        shares = " | ".join(f"{part:.2f}" for part in parts.values())
        lines.append(
            f"| {name} | {load.rate:.0f} | {load.p50:.1f} | {load.p99:.1f} | {load.cpu:.2f} | {shares} | {rest:.2f} "
            f"| {empty[name].cpu:.2f} ms, {empty[name].rate:.0f}/s |"
        )
    return "\n".join(lines)


def verdict(load: Load, own_ms: float) -> bool:
    """Whether the budget holds, printed line by line."""
    checks = [
        (f">= {BUDGET_RATE:g} requests/s", load.rate >= BUDGET_RATE, f"{load.rate:.0f}"),
        (f"p99 <= {BUDGET_P99_MS:g} ms", load.p99 <= BUDGET_P99_MS, f"{load.p99:.1f} ms"),
        (f"without engine <= {BUDGET_OWN_MS:g} ms of CPU a request", own_ms <= BUDGET_OWN_MS, f"{own_ms:.2f} ms"),
    ]
    print(f"\nBudget with {BUDGET_CASE}, {CLIENTS} clients:")
    for what, holds, measured in checks:
        print(f"  {'holds' if holds else 'FAILS'}: {what} (measured {measured})")
    return all(holds for _, holds, _ in checks)


if __name__ == "__main__":
    sys.exit(main())
