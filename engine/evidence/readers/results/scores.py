"""What an evaluation says: scores by task and metric, whose they are, and how they were taken."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

# The score of a guess, 1/choices, of tasks that do not say their choices: lm-evaluation-harness task configurations.
_CHOICES = MappingProxyType({
    "hellaswag": 4, "arc_easy": 4, "arc_challenge": 4, "openbookqa": 4, "sciq": 4, "race": 4, "logiqa": 4,
    "mmlu": 4, "cmmlu": 4, "ceval": 4, "medmcqa": 4, "gpqa": 4, "mmlu_pro": 10,
    "commonsense_qa": 5, "piqa": 2, "winogrande": 2, "copa": 2, "boolq": 2, "rte": 2, "wsc": 2, "storycloze": 2,
})  # fmt: skip
_FAMILIES = frozenset({"mmlu", "cmmlu", "ceval", "gpqa"})  # with one task for each subject
_SUITES = frozenset({"leaderboard", "lighteval", "helm", "original", "harness", "extended", "custom", "community"})
_CHANCE_METRICS = frozenset({"acc", "acc_norm", "accuracy"})
_ACCURACY = re.compile(r"acc|exact_match|(?:^|_)em$|pass@|mc1|mc2|f1|correct", re.IGNORECASE)
_LOWER_IS_BETTER = re.compile(
    r"perplexity|ppl|bits_per_byte|(?:^|_)(?:loss|wer|cer|ece|brier\w*|error|time)(?:$|_)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one task.

    ``metric`` carries its filter after a comma ("exact_match,strict-match"). ``stderr`` is in the unit of ``value``;
    ``chance`` is the value of a random guess (None if not known), ``items`` the count of evaluated items.
    """

    task: str
    metric: str
    value: float
    stderr: float | None = None
    higher_is_better: bool = True
    chance: float | None = None
    items: float | None = None

    @property
    def is_share(self) -> bool:
        """Whether it is a share of right answers, between 0 and 1."""
        return _ACCURACY.search(self.metric) is not None and 0 <= self.value <= 1

    @property
    def is_perplexity(self) -> bool:
        """Whether it is a perplexity: a ratio says more than a difference."""
        return "perplexity" in self.metric or self.metric.lower().startswith("ppl")

    @property
    def error(self) -> float | None:
        """The standard error: the stated one, else that of a share of n items.

        The latter is binomial, sqrt(p (1 - p) / n), with one item added on either side (Agresti and Coull 1998): no
        right answer among n is no proof of exactly zero.
        """
        if self.stderr is not None and math.isfinite(self.stderr) and self.stderr > 0:
            return self.stderr
        if self.is_share and self.items:
            share = (self.value * self.items + 1) / (self.items + 2)
            return math.sqrt(share * (1 - share) / (self.items + 2))
        return None

    def __str__(self) -> str:
        """Task, metric and value, as quoted in answers."""
        plus_minus = f" ± {self.stderr:.4g}" if self.stderr is not None and math.isfinite(self.stderr) else ""
        return f"{self.task} {self.metric} {self.value:.4g}{plus_minus}"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The scores of one result file.

    ``model`` names the weights as far as the file tells, ``adapter`` what is put on them. ``when`` is in seconds of
    the epoch, ``parameters`` the count of parameters. ``protocol`` holds what must be equal for two evaluations to be
    comparable, by setting ("n-shot gsm8k").
    """

    origin: str
    tool: str
    scores: tuple[Score, ...] = ()
    model: str = ""
    adapter: str = ""
    when: float | None = None
    parameters: float | None = None
    limited: bool = False
    protocol: Mapping[str, str] = field(default_factory=dict)


def chance_of(task: str, metric: str, choices: int | None = None) -> float | None:
    """The accuracy of a guess: 1/choices, or that of a known task; None where no guess is defined."""
    if metric.split(",")[0] not in _CHANCE_METRICS:
        return None
    if choices is not None:
        return 1 / choices if choices > 1 else None
    words = [word for word in re.split(r"[|:]", task.lower().replace("hendryckstest-", "mmlu_")) if not word.isdigit()]
    name = "_".join(word for word in words if word not in _SUITES).replace("-", "_")
    for known, count in _CHOICES.items():
        if name == known or (known in _FAMILIES and name.startswith(f"{known}_") and not name.startswith("mmlu_pro")):
            return 1 / count
    return None


def rises(metric: str) -> bool:
    """Whether more is better, judged by the metric's name."""
    return _LOWER_IS_BETTER.search(metric) is None
