"""``python -m bench.engine``: the table of DESIGN's first budget. Needs bench/.venv with bench/requirements.lock."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.engine.synthetic import Bench, make
from bench.engine.worker import ENGINES

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "bench" / ".venv" / "bin" / "python"
CELLS = [(rules, facts) for rules in (200, 1000) for facts in (10, 50, 200)]
CASES = {"experta": 3}
ALL_CASES = 40
BASE = "traintriage"
BUDGET_CELL = (1000, 50)
BUDGET_MS = 1.5
BUDGET_RATIOS = {"clipspy": 2.0, "experta": 100.0}

Row = dict[str, float]


def main() -> int:
    """Measure all engines on all cells, one process each, one after another; print one table and the verdict."""
    if not PEERS.exists():
        print("bench: the peers are not installed; run 'make bench'", file=sys.stderr)
        return 2
    rows: dict[tuple[int, int], Row] = {}
    with tempfile.TemporaryDirectory() as folder:
        for rules, facts in CELLS:
            print(f"{rules} rules x {facts} facts …", file=sys.stderr)
            rows[rules, facts] = measure_cell(make(rules, facts, ALL_CASES), Path(folder) / "input.json")
    print(table(rows))
    return 0 if verdict(rows[BUDGET_CELL]) else 1


def measure_cell(bench: Bench, path: Path) -> Row:
    """Milliseconds of CPU a case, by engine.

    Raises:
        AssertionError: if two engines do not conclude the same findings in every case.
    """
    row: Row = {}
    expected: list[list[str]] = []
    for engine in ENGINES:
        cases = bench.cases[: CASES.get(engine, ALL_CASES)]
        path.write_text(json.dumps(asdict(Bench(bench.rules, cases))), encoding="utf-8")
        answer = run(engine, path)
        expected = expected or answer["found"]
        if answer["found"] != expected[: len(cases)]:
            raise AssertionError(f"{engine} concludes other findings than {BASE}")
        row[engine] = answer["ms"]
    row["findings"] = sum(map(len, expected)) / len(expected)
    return row


def run(engine: str, path: Path) -> dict[str, Any]:
    """The answer of one engine, in a process of its own and of its own environment."""
    python = PEERS if ENGINES[engine][0].endswith("_peer") else Path(sys.executable)
    command = [str(python), "-m", "bench.engine.worker", engine, str(path)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def table(rows: dict[tuple[int, int], Row]) -> str:
    """Markdown: ms of CPU a case, cases a second, and how many times as long as the product, by cell and engine."""
    lines = [
        "| rules x facts | findings | engine | ms a case | cases/s | x traintriage |",
        "|---|--:|---|--:|--:|--:|",
    ]
    for (rules, facts), row in rows.items():
        for engine in ENGINES:
            ms = row[engine]
            lines.append(
                f"| {rules} x {facts} | {row['findings']:.1f} | {engine} | {ms:.3f} | {1e3 / ms:,.0f} "
                f"| {ms / row[BASE]:.2f} |"
            )
    return "\n".join(lines)


def verdict(row: Row) -> bool:
    """Whether the budget holds, printed line by line."""
    rules, facts = BUDGET_CELL
    checks = [(f"{BASE} <= {BUDGET_MS} ms", row[BASE] <= BUDGET_MS, f"{row[BASE]:.2f} ms")]
    checks += [
        (f">= {least:g} x faster than {peer}", row[peer] / row[BASE] >= least, f"{row[peer] / row[BASE]:.1f} x")
        for peer, least in BUDGET_RATIOS.items()
    ]
    print(f"\nBudget at {rules} rules x {facts} facts:")
    for what, holds, measured in checks:
        print(f"  {'holds' if holds else 'FAILS'}: {what} (measured {measured})")
    share = row["traintriage, checked"] / row[BASE] - 1
    print(f"  the check by the reference evaluator adds {share:.0%}")
    return all(holds for _, holds, _ in checks)


if __name__ == "__main__":
    sys.exit(main())
