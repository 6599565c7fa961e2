"""KB41x: pairs of causes that no evidence, or none that can be had, tells apart."""

from __future__ import annotations

from itertools import combinations
from math import log2
from typing import TYPE_CHECKING

from engine.knowledge.lint_context import Context, Remark, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engine.knowledge.sources import Placed
    from engine.model.calibration import Calibration
    from engine.model.kb import Cause

MIN_BITS = 1.0  # telling two equally likely causes apart takes one bit
_NAMED = 3

Shown = dict[str, dict[str, float]]
"""By cause, P(finding | the cause alone) of the findings it shows, the leak aside."""


def causes_differ(context: Context) -> Iterator[Remark]:
    """KB406: two causes do not show the very same findings equally often."""
    first: dict[frozenset[tuple[str, str]], Cause] = {}
    for placed in context.causes():
        shows = frozenset((link.finding, link.how) for link in placed.value.shows)
        other = first.setdefault(shows, placed.value)
        if other is not placed.value:
            hint = "Add the finding that separates them, or make them one: no evidence could tell them apart"
            yield Remark(placed, ("shows",), f"it shows exactly what '{other.id}' shows", hint)


def rivals_can_be_told_apart(context: Context) -> Iterator[Remark]:
    """KB410: what can be asked or checked tells any two causes that share a finding apart.

    The measure is the sum over the findings of the expected information (Jensen-Shannon divergence of present and
    absent) about which of the two it is; the findings being independent given the cause, it bounds what all together give.
    """
    calibration: Calibration = context.single("calibration.yaml")
    had = _can_be_had(context)
    shown = _shown(context, calibration)
    leaks = {id_: calibration.leaks[finding.leak] for id_, finding in context.findings.items()}
    for placed, rival in _sharing(context):
        one, other = shown[placed.value.id], shown[rival.id]
        bits = {
            finding: _information(one.get(finding, 0.0), other.get(finding, 0.0), leaks[finding])
            for finding in one.keys() | other.keys()
            if finding in had
        }
        if (total := sum(bits.values())) < MIN_BITS:
            best = sorted(bits, key=lambda finding: (-bits[finding], finding))[:_NAMED]
            message = f"all that can be asked or checked tells it from '{rival.id}' by {total:.2f} bit; one is needed"
            hint = (
                f"Best are {', '.join(best) or 'none'}. Show a finding that only one of the two has, and give it "
                "an 'ask' or a check that settles it"
            )
            yield Remark(placed, ("shows",), message, hint)


def none_is_subsumed(context: Context) -> Iterator[Remark]:
    """KB411: no cause shows only what another shows at least as often: it could lead by nothing but absence."""
    shown = _shown(context, context.single("calibration.yaml"))
    for placed, rival in _sharing(context):
        for less, more in ((placed.value.id, rival.id), (rival.id, placed.value.id)):
            if shown[less] != shown[more] and all(shown[more].get(f, 0.0) >= q for f, q in shown[less].items()):
                message = f"all that '{less}' shows, '{more}' shows at least as often"
                hint = f"Show in '{less}' what it has of its own, or make the two one"
                yield Remark(placed, ("shows",), message, hint)


def _sharing(context: Context) -> Iterator[tuple[Placed[Cause], Cause]]:
    """Pairs of causes that show a finding in common, all of whose findings exist."""
    whole = [p for p in context.causes() if all(link.finding in context.findings for link in p.value.shows)]
    names = {placed.value.id: {link.finding for link in placed.value.shows} for placed in whole}
    for one, other in combinations(whole, 2):
        if not names[one.value.id].isdisjoint(names[other.value.id]):
            yield one, other.value


def _shown(context: Context, calibration: Calibration) -> Shown:
    return {
        placed.value.id: {link.finding: calibration.links[link.how] for link in placed.value.shows}
        for placed in context.causes()
    }


def _can_be_had(context: Context) -> set[str]:
    """Findings that a check settles, or that can be seen and are asked for."""
    settled = {name for placed in context.sources.of("checks").values() for name in placed.value.settles}
    return settled | {id_ for id_, finding in context.findings.items() if finding.ask is not None and finding.visible}


def _information(one: float, other: float, leak: float) -> float:
    """Expected bits about which of two equally likely causes it is, from learning one finding."""
    chances = [leak + (1.0 - leak) * chance for chance in (one, other)]
    return _entropy(sum(chances) / 2) - sum(map(_entropy, chances)) / 2


def _entropy(chance: float) -> float:
    return -sum(p * log2(p) for p in (chance, 1.0 - chance) if p > 0)


RULES = (
    Rule("KB406", "error", causes_differ),
    Rule("KB410", "warning", rivals_can_be_told_apart),
    Rule("KB411", "warning", none_is_subsumed),
)
