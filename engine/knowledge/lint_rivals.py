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

MIN_BITS = 0.8  # of the bit that tells two equally likely causes apart; one finding that is always there gives as much
_NAMED = 3


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
    absent) about which of the two it is: no more than that is to be had from all of them together.
    """
    had = _can_be_had(context)
    shown = _shown(context)
    for placed, rival in _sharing(context, shown):
        one, other = shown[placed.value.id], shown[rival.id]
        bits = {name: _information(one.get(name), other.get(name), had[name]) for name in {*one, *other} & had.keys()}
        if (total := sum(bits.values())) < MIN_BITS:
            best = sorted(bits, key=lambda finding: (-bits[finding], finding))[:_NAMED]
            message = (
                f"all that can be asked or checked tells it from '{rival.id}' by {total:.2f} bit of the one it takes"
            )
            hint = (
                f"Best are {', '.join(best) or 'none'}. Show a finding that only one of the two has, and give it "
                "an 'ask' or a check that settles it"
            )
            yield Remark(placed, ("shows",), message, hint)


def none_is_subsumed(context: Context) -> Iterator[Remark]:
    """KB411: no cause shows only what another shows at least as often: it could lead by nothing but absence."""
    shown = _shown(context)
    for placed, rival in _sharing(context, shown):
        for less, more in ((placed.value.id, rival.id), (rival.id, placed.value.id)):
            covered = all(shown[more].get(finding, 0.0) >= chance for finding, chance in shown[less].items())
            if covered and shown[less] != shown[more]:
                message = f"all that '{less}' shows, '{more}' shows at least as often"
                hint = f"Show in '{less}' what it has of its own, or make the two one"
                yield Remark(placed, ("shows",), message, hint)


def _shown(context: Context) -> dict[str, dict[str, float]]:
    """By cause, P(finding | the cause alone) of what it shows, leaks aside; without causes whose links are broken."""
    calibration = _calibration(context)
    if calibration is None:
        return {}
    return {
        placed.value.id: {link.finding: calibration.links[link.how] for link in placed.value.shows}
        for placed in context.causes()
        if all(link.finding in context.findings for link in placed.value.shows)
    }


def _sharing(context: Context, shown: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[Placed[Cause], Cause]]:
    """Pairs of the causes that show a finding in common."""
    whole = [placed for placed in context.causes() if placed.value.id in shown]
    for one, other in combinations(whole, 2):
        if not shown[one.value.id].keys().isdisjoint(shown[other.value.id]):
            yield one, other.value


def _can_be_had(context: Context) -> dict[str, float]:
    """The leaks of the findings that a check settles, or that can be seen and are asked for."""
    calibration = _calibration(context)
    settled = {name for placed in context.sources.of("checks").values() for name in placed.value.settles}
    return {
        id_: calibration.leaks[finding.leak]
        for id_, finding in context.findings.items()
        if calibration is not None and (id_ in settled or (finding.ask is not None and finding.visible))
    }


def _calibration(context: Context) -> Calibration | None:
    """The numbers behind the words; None where they are missing, which is told elsewhere."""
    placed = context.sources.singles.get("calibration.yaml")
    return placed.value if placed is not None else None


def _information(one: float | None, other: float | None, leak: float) -> float:
    """Expected bits about which of two equally likely causes it is, from learning one finding."""
    chances = [leak + (1.0 - leak) * (chance or 0.0) for chance in (one, other)]
    return _entropy(sum(chances) / 2) - sum(map(_entropy, chances)) / 2


def _entropy(chance: float) -> float:
    return -sum(p * log2(p) for p in (chance, 1.0 - chance) if p > 0)


RULES = (
    Rule("KB406", "error", causes_differ),
    Rule("KB410", "warning", rivals_can_be_told_apart),
    Rule("KB411", "warning", none_is_subsumed),
)
