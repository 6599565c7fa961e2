"""Rules about rules: what is wrong with a knowledge base, beyond what its files must be to load at all.

The codes are stable: KB001 cannot be read, KB1xx names and references, KB2xx conditions, KB3xx texts and
patterns, KB4xx causes, KB5xx examples, KB6xx unused, KB7xx ids. One rule is one function, in the module of its hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.knowledge import (
    lint_cases,
    lint_causes,
    lint_conditions,
    lint_ids,
    lint_references,
    lint_rivals,
    lint_texts,
)
from engine.knowledge.files import CAUSE_CASES, HEALTHY_CASES, REPORTS, KbFile
from engine.knowledge.ids import read_lock
from engine.knowledge.lint_context import Context, Remark, Rule, Severity
from engine.knowledge.load import existing
from engine.knowledge.sources import read_objects, read_sources, read_trees, require_calibration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from engine.knowledge.sources import Placed, Sources

RULES: tuple[Rule, ...] = (
    *lint_references.RULES,
    *lint_conditions.RULES,
    *lint_texts.RULES,
    *lint_causes.RULES,
    *lint_rivals.RULES,
    *lint_cases.RULES,
    *lint_cases.UNUSED_RULES,
    *lint_ids.RULES,
)


@dataclass(frozen=True, order=True)
class Issue:
    """One remark on the knowledge base; ``hint`` says what to write."""

    file: str
    line: int
    code: str
    severity: Severity
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.code} {self.severity}: {self.message}. {self.hint}"


def lint(root: Path | None = None, overlay: Path | None = None, rules: Sequence[Rule] = RULES) -> list[Issue]:
    """Every issue of the knowledge base, by file and line. A file that cannot be read is an issue too.

    Raises:
        KbError: if a folder does not exist.
        OSError: if a file cannot be read from the disk.
    """
    base = existing(root)
    trees = read_trees(base, overlay and existing(overlay))
    sources = read_sources(trees)
    context = _context(sources, trees, base)
    require_calibration(sources, base)
    issues = [
        Issue(problem.file, problem.line, "KB001", "error", problem.reason, problem.hint)
        for problem in sources.problems
    ]
    # What nothing uses is known only when everything could be read.
    for rule in rules:
        if sources.problems and rule in lint_cases.UNUSED_RULES:
            continue
        issues += [issue_of(rule.code, rule.severity, remark) for remark in rule.check(context)]
    return sorted(set(issues))


def issue_of(code: str, severity: Severity, remark: Remark) -> Issue:
    """A rule's remark with its place."""
    file, line = str(remark.placed.file.path), remark.placed.place(*remark.path).line
    return Issue(file, line, code, severity, remark.message, remark.hint)


def _context(sources: Sources, trees: list[list[KbFile]], base: Path) -> Context:
    cases: dict[str, list[Placed[Any]]] = {}
    healthy: list[Placed[Any]] = []
    reports: list[Placed[Any]] = []
    for file in (file for tree in trees for file in tree):
        if file.is_of(CAUSE_CASES):
            owner = file.relative.removeprefix("causes/").removesuffix(".cases.yaml")
            cases.setdefault(owner, []).extend(read_objects(file, CAUSE_CASES, sources.problems))
        elif file.is_of(HEALTHY_CASES):
            healthy.extend(read_objects(file, HEALTHY_CASES, sources.problems))
        elif file.is_of(REPORTS):
            reports.extend(read_objects(file, REPORTS, sources.problems))
    return Context(sources, cases, healthy, reports, read_lock(base))
