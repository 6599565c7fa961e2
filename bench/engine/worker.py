"""One engine in a process of its own: ``python -m bench.engine.worker ENGINE INPUT``; the answer is JSON on stdout.

Peers run in bench's own environment and must not import the product, so each engine is imported only when asked for.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.engine.synthetic import Bench, Rule, Test, Value

SECONDS = 3.0
MIN_PASSES = 2
Decide = Callable[[dict[str, Value]], set[str]]

ENGINES = {
    "traintriage": ("bench.engine.ours", "unchecked"),
    "traintriage, checked": ("bench.engine.ours", "checked"),
    "plain Python": ("bench.engine.ours", "plain"),
    "clipspy": ("bench.engine.clips_peer", "prepare"),
    "experta": ("bench.engine.experta_peer", "prepare"),
}


def measure(bench: Bench, prepare: Callable[[tuple[Rule, ...]], Decide]) -> dict[str, Any]:
    """Mean over the cases of the best CPU time each took, which other work disturbs least; and what was concluded."""
    started = time.process_time()
    decide = prepare(bench.rules)
    build = time.process_time() - started
    found = [sorted(decide(case)) for case in bench.cases]
    best = [float("inf")] * len(bench.cases)
    spent, passes = 0.0, 0
    while passes < MIN_PASSES or spent < SECONDS:
        for number, case in enumerate(bench.cases):
            started = time.process_time()
            decide(case)
            took = time.process_time() - started
            best[number] = min(best[number], took)
            spent += took
        passes += 1
    return {"build_s": build, "ms": sum(best) / len(best) * 1e3, "found": found}


def read(path: Path) -> Bench:
    """The rules and cases that the parent process wrote."""
    data = json.loads(path.read_text(encoding="utf-8"))
    rules = tuple(
        Rule(rule["name"], rule["level"], tuple(Test(**test) for test in rule["tests"]), tuple(rule["findings"]))
        for rule in data["rules"]
    )
    return Bench(rules, tuple(data["cases"]))


if __name__ == "__main__":
    module, prepare = ENGINES[sys.argv[1]]
    json.dump(measure(read(Path(sys.argv[2])), getattr(import_module(module), prepare)), sys.stdout)
