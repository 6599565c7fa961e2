"""Many conjunctions of literals evaluated at once, as arrays.

durable-rules concludes what is so; it pays for every rule that fires, and few do. What is not so is the rest, as far
as the known values decide it: of 1,000 rules over 50 facts some 700, and to fire them one by one took ten times as long
as the rules that hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.inference.normal_form import Alternative, Comparison
from engine.inference.properties import PropertyTable

Array = NDArray[np.float64]
_COMPARE: dict[Comparison, np.ufunc] = {
    "==": np.equal, "!=": np.not_equal, ">=": np.greater_equal, "<=": np.less_equal, ">": np.greater, "<": np.less,
}  # fmt: skip


class Conjunctions:
    """Groups of conjunctions, none of them empty, over the properties of ``table``."""

    def __init__(self, groups: Sequence[Sequence[Alternative]], table: PropertyTable) -> None:
        ways = [way for group in groups for way in group]
        self._groups = np.array([number for number, group in enumerate(groups) for _ in group], dtype=np.intp)
        order = {comparison: rank for rank, comparison in enumerate(_COMPARE)}
        literals = sorted(
            {literal for way in ways for literal in way},
            key=lambda literal: (order[literal.comparison], table.index[literal.kind, literal.subject]),
        )
        position = {literal: number for number, literal in enumerate(literals)}
        comparisons = [literal.comparison for literal in literals]
        self._spans = [
            (compare, comparisons.index(comparison), comparisons.index(comparison) + comparisons.count(comparison))
            for comparison, compare in _COMPARE.items()
            if comparison in comparisons
        ]
        self._subjects = np.array([table.index[i.kind, i.subject] for i in literals], dtype=np.intp)
        self._operands = np.array([table.number(literal.value) for literal in literals], dtype=np.float64)
        self._members = np.array([position[literal] for way in ways for literal in way], dtype=np.intp)
        self._starts = np.cumsum([0, *(len(way) for way in ways)], dtype=np.intp)[:-1]

    def first_true(self, numbers: Array) -> NDArray[np.intp]:
        """Numbers, over all groups, of the first conjunction of each that holds.

        ``numbers`` are the properties of a case; a literal on one that is unknown (NaN) does not hold.
        """
        if not len(self._starts):
            return self._starts
        left = numbers[self._subjects]
        holds = np.empty(len(left), dtype=bool)
        for compare, start, stop in self._spans:
            compare(left[start:stop], self._operands[start:stop], out=holds[start:stop])
            if compare is np.not_equal:  # the one comparison that is true of NaN
                holds[start:stop] &= ~np.isnan(left[start:stop])
        true = np.flatnonzero(np.logical_and.reduceat(holds[self._members], self._starts))
        groups = self._groups[true]
        first = np.ones(len(true), dtype=bool)
        first[1:] = groups[1:] != groups[:-1]
        numbers_of_first: NDArray[np.intp] = true[first]
        return numbers_of_first
