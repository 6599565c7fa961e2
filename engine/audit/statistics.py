"""The statistics of evaluation evidence: standard errors, bounds, paired differences, and many tests at once.

Follows E. Miller, Adding Error Bars to Evals, arXiv 2411.00640, where it says how to compare two models: on the same
items the differences item by item are what varies, and the unpaired formula is conservative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Two-sided 95 %.
Z95 = 1.96
# A difference is detected at 5 % (two-sided, 1.96) in 80 % of the cases (0.84) from this many standard errors on.
DETECTABLE = 2.8
MOST_EXACT = 500


def wilson_lower(share: float, items: float, z: float = Z95) -> float:
    """Lower end of the score interval of a share of ``items`` (E. B. Wilson 1927); holds at 0 and 1, too."""
    spread = z * math.sqrt(share * (1 - share) / items + z * z / (4 * items * items))
    return (share + z * z / (2 * items) - spread) / (1 + z * z / items)


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference with its standard error.

    Args:
        items: how many pairs it rests on, 0 if it is not paired.
        flips: of items that score 0 or 1, how many differ by 1 and how many by -1; None for others.
    """

    mean: float
    error: float
    items: int = 0
    flips: tuple[int, int] | None = None

    @property
    def z(self) -> float:
        """The difference in standard errors; a difference that never varies is infinitely many."""
        if self.error > 0:
            return self.mean / self.error
        return math.copysign(math.inf, self.mean) if self.mean else 0.0

    @property
    def p(self) -> float:
        """The chance of so large a difference without a true one, one-sided.

        Exact where few items flipped (the sign test of Q. McNemar 1947): the normal law is no good there.
        """
        if self.flips is not None and sum(self.flips) <= MOST_EXACT:
            return at_least_heads(self.flips[0], sum(self.flips))
        return one_sided(self.z)

    @property
    def detectable(self) -> float:
        """The smallest true difference that such an evaluation finds in four of five cases."""
        return DETECTABLE * self.error


def paired(ours: Sequence[float], theirs: Sequence[float]) -> Difference:
    """The difference ``ours - theirs`` of scores of the same items in the same order, at least two of them."""
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    count = len(differences)
    mean = math.fsum(differences) / count
    variance = math.fsum((value - mean) ** 2 for value in differences) / (count - 1)
    up, down = (sum(1 for value in differences if value == step) for step in (1.0, -1.0))
    whole = up + down == sum(1 for value in differences if value)
    return Difference(mean, math.sqrt(variance / count), count, (up, down) if whole else None)


def unpaired(difference: float, ours: float, theirs: float) -> Difference:
    """A difference of two means with the standard errors of each."""
    return Difference(difference, math.hypot(ours, theirs))


def items_needed(difference: Difference, items: float, tolerance: float) -> int:
    """How many items the evaluation needs so that a change of ``tolerance`` is detectable; errors fall as 1/sqrt(n)."""
    return math.ceil(items * (difference.detectable / tolerance) ** 2)


def one_sided(z: float) -> float:
    """The chance of a standard normal value of at least ``z``."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def at_least_heads(heads: int, tosses: int) -> float:
    """The chance of at least so many heads in tosses of a fair coin."""
    return sum(math.comb(tosses, count) for count in range(heads, tosses + 1)) / (1 << tosses)


def holm(tests: Sequence[tuple[float, float]]) -> list[bool]:
    """Which of several (p, level) tests are rejected at once, so that one false alarm in all is as rare as in a single.

    S. Holm, A simple sequentially rejective multiple test procedure (1979): the smallest p is held against level/m, the
    next against level/(m - 1), until one holds. Tests of different levels are ordered by p/level.
    """
    order = sorted(range(len(tests)), key=lambda at: tests[at][0] / tests[at][1])
    rejected = [False] * len(tests)
    for place, at in enumerate(order):
        p, level = tests[at]
        if p > level / (len(tests) - place):
            break
        rejected[at] = True
    return rejected
