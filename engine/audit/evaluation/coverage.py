"""Whether the neighbouring tasks are there, with standard errors, and look at more than the target's own skill."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.audit.evaluation.files import NoEvidenceError
from engine.audit.evaluation.results import Results
from engine.audit.intent import Intent, Neighbour
from engine.audit.ledger import Place

# What common tasks measure; a task that is not here counts as a skill of its own.
_SKILLS = {
    "mathematics": r"gsm\w*|math|math_\w*|minerva\w*|aime\w*|mgsm\w*|asdiv|svamp|hendrycks_math\w*|cmath",
    "code": r"human_?eval\w*|mbpp\w*|apps|livecodebench\w*|multipl_e\w*|bigcodebench\w*",
    "exam knowledge": r"mmlu\w*|cmmlu\w*|c_?eval\w*|agieval\w*",
    "instructions": r"ifeval\w*|mt_?bench\w*|alpaca_?eval\w*|arena\w*",
    "language modelling": r"lambada\w*|wikitext\w*|c4|pile\w*",
}


def without_score(
    neighbours: Sequence[Neighbour], candidate: Results, baseline: Results | NoEvidenceError
) -> list[Place]:
    """Declared neighbours that a side has no score of, or none with a standard error though one is needed."""
    found: list[Place] = []
    for neighbour in neighbours:
        name = f"{neighbour.task} {neighbour.metric}"
        for results in (candidate, baseline):
            if isinstance(results, NoEvidenceError):
                continue
            measured = results.find(neighbour.task, neighbour.metric)
            if measured is None:
                found.append(Place(results.bundle.name, name, "no score", "a score of every neighbour", "intent"))
            elif measured.score.error is None and neighbour.max_drop is None:
                seen = "no standard error"
                found.append(Place(measured.result.label, measured.at, seen, "one, or a declared max_drop", "intent"))
    return found


def same_skill(intent: Intent) -> list[Place]:
    """The neighbours, if every one measures what the targets measure; there is then nothing to notice forgetting by."""
    targets = {_skill(target.task) for target in intent.targets}
    if not targets or any(_skill(one.task) not in targets for one in intent.neighbours):
        return []
    return [
        Place("intent", f"neighbours[{at}]", f"{one.task}: {_skill(one.task)}", "another skill or language", "intent")
        for at, one in enumerate(intent.neighbours)
    ]


def _skill(task: str) -> str:
    name = task.lower().replace("-", "_")
    return next((skill for skill, pattern in _SKILLS.items() if re.fullmatch(pattern, name)), name)
