"""The failure set: what went wrong once and was mended must stay mended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.audit.evaluation.files import Bundle, NoEvidenceError, json_rows
from engine.audit.ledger import Place
from engine.model.base import Text

# A document counts as found among the first ten, the cut of nDCG@10; the first must stay among the first three.
FOUND, FIRST = 10, 3
_BLOCKING = frozenset({"blocker", "critical", "p0", "sev0", "sev1"})


@dataclass(frozen=True, slots=True)
class FailureSet:
    """Cases by what became of them; ``blocking`` are those new failures that the set marks as blockers."""

    cases: int
    passing: int
    new_failures: list[Place]
    blocking: int


@dataclass(slots=True)
class _Case:
    """One case with its repeats: passes of the baseline and of the candidate in so many runs."""

    file: str
    at: str
    seen: str
    runs: int = 0
    before: int = 0
    after: int = 0
    blocking: bool = False


def read_failure_set(bundle: Bundle) -> FailureSet:
    """Hold the candidate against the baseline case by case; of repeated cases the majority counts.

    Raises:
        NoEvidenceError: if there is no case with both outcomes, or the file is damaged.
    """
    cases: dict[str, _Case] = {}
    for path in bundle.paths:
        for number, row in json_rows(bundle, path):
            outcome = _outcome(row)
            if outcome is None:
                continue
            name = str(row.get("id", row.get("case", row.get("query", f"line {number}"))))[:80]
            case = cases.setdefault(name, _Case(bundle.label(path), f"line {number}, {name}", outcome[2]))
            case.runs += 1
            case.before += outcome[0]
            case.after += outcome[1]
            case.blocking |= _is_blocking(row)
    if not cases:
        raise NoEvidenceError(
            Text(
                en=f"{bundle.name} holds no case with an outcome of baseline and candidate.",
                zh=f"{bundle.name} 中没有同时含基线与候选结果的用例。",
            ),
            Text(
                en=f"Add `baseline_pass` and `candidate_pass` (true or false) to the rows of {bundle.name}, or "
                "`baseline_rank` and `candidate_rank`.",
                zh=f"在 {bundle.name} 的各行加入 `baseline_pass` 与 `candidate_pass`（true 或 false），"
                "或 `baseline_rank` 与 `candidate_rank`。",
            ),
        )
    broken = [c for c in cases.values() if 2 * c.before > c.runs and 2 * c.after < c.runs]
    return FailureSet(
        len(cases),
        sum(2 * c.after > c.runs for c in cases.values()),
        [Place(c.file, c.at, c.seen, "passes as with the baseline", "baseline") for c in broken],
        sum(c.blocking for c in broken),
    )


def _outcome(row: dict[str, Any]) -> tuple[bool, bool, str] | None:
    """Whether baseline and candidate pass, and what is seen; None if the row does not tell both."""
    before, after = row.get("baseline_pass"), row.get("candidate_pass")
    if isinstance(before, bool) and isinstance(after, bool):
        return before, after, "passed with the baseline, fails now" if before and not after else "passes"
    if "baseline_rank" not in row or "candidate_rank" not in row:
        return None
    was, is_ = _rank(row["baseline_rank"]), _rank(row["candidate_rank"])
    kept = is_ <= FOUND and not (was == 1 and is_ > FIRST)
    return was <= FOUND, kept, f"rank {row['candidate_rank']}, with the baseline {row['baseline_rank']}"


def _rank(value: object) -> float:
    """A rank from 1; what was not found at all is behind everything."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 1:
        return float("inf")
    return float(value)


def _is_blocking(row: dict[str, Any]) -> bool:
    tags = row.get("tags", row.get("tag", row.get("severity")))
    return any(str(tag).lower() in _BLOCKING for tag in (tags if isinstance(tags, list) else [tags]))
