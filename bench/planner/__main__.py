"""``python -m bench.planner [TROUBLES]``: the planner against other orders of checks, in simulated troubleshooting."""

from __future__ import annotations

import sys

from engine.evaluate.troubleshoot import MAX_CHECKS, Judged, Workshop, judged
from engine.inference.network import Network
from engine.knowledge.load import load_knowledge

TITLES = {
    "planner": "planner: expected gain per cost",
    "likeliest": "what would confirm the likeliest cause",
    "cheapest": "cheapest first",
    "random": "random order",
}
TROUBLES = 1000
SEED = 1
COST_RATIO = 0.7
MEDIAN_CHECKS = 3


def main() -> int:
    """Draw troubles, solve each by every strategy, print one table and the verdict of the targets."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else TROUBLES
    knowledge = load_knowledge()
    network = Network.build(list(knowledge.active_causes.values()), knowledge.findings, knowledge.calibration)
    workshop = Workshop(network, knowledge.checks, knowledge.findings)
    troubles = workshop.open_at_start(count, SEED)
    results = {name: judged(workshop.courses(name, troubles)) for name in TITLES}
    print(f"knowledge {knowledge.digest[:12]}: {count} troubles, {count - len(troubles)} settled by the symptoms alone")
    print(table(results))
    planner, random = results["planner"], results["random"]
    met = planner.mean_cost <= COST_RATIO * random.mean_cost and planner.median_checks <= MEDIAN_CHECKS
    verdict = "met" if met else "missed"
    print(f"targets: median <= {MEDIAN_CHECKS} checks, cost <= {COST_RATIO:.0%} of random order: {verdict}")
    return 0 if met else 1


def table(results: dict[str, Judged]) -> str:
    """Markdown, a row for each strategy; the cost also as a share of that of random order."""
    base = results["random"].mean_cost
    lines = [
        f"| next check | found within {MAX_CHECKS} | median checks | mean cost, minutes | of random order |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, title in TITLES.items():
        row = results[name]
        lines.append(
            f"| {title} | {row.found:.0%} | {row.median_checks:g} | {row.mean_cost:.0f} | {row.mean_cost / base:.0%} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
