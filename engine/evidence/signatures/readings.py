"""What hits say, with roots before their consequences.

A cascade (a peer's timeout) or teardown (the launcher's SIGTERM) that belongs to an incident with a root is what the
root did to the others: it is passed on as a bare mention, which supports its own cause little, and its source names the
root. So is a hit that another signature ``explains``, such as running out of memory on a card with ECC errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from engine.evidence.signatures.scan import Hit
from engine.model.evidence import FactReading, FindingReading, Reading, Source, Value

CONSEQUENCES = frozenset({"cascade", "teardown"})
SAME_INCIDENT = 2
"""Metric records that may stand between: the ranks that wait print a step after the culprit has written its error."""
SHOWN = 3


def readings(hits: Iterable[Hit], parse: Callable[[str, str], Value | None]) -> list[Reading]:
    """What the hits say. ``parse(fact, text)`` gives the typed value of a field, or None if it has none."""
    every = list(hits)
    shown: Counter[str] = Counter()
    result: list[Reading] = []
    for hit in every:
        shown[hit.signature.id] += 1
        if shown[hit.signature.id] <= SHOWN:
            cause = cause_of(hit, every)
            finding = hit.signature.finding
            if cause is not None and hit.signature.explained_as is not None:
                finding = hit.signature.explained_as
            result += _of(hit, finding, _source(hit, cause), parse)
    return result


def cause_of(hit: Hit, hits: Sequence[Hit]) -> Hit | None:
    """The first hit of which this one is a consequence, if there is one."""
    found = (other for other in hits if other is not hit and _explains(other, hit))
    return min(found, key=lambda other: (other.time is None, other.time or 0.0, other.line), default=None)


def _explains(root: Hit, hit: Hit) -> bool:
    if root.signature.role != "root" or abs(root.after - hit.after) > SAME_INCIDENT:
        return False
    if hit.signature.finding is not None and hit.signature.finding in root.signature.explains:
        return _before(root, hit) and _same_device(root, hit)
    return hit.signature.role in CONSEQUENCES and _before(root, hit)


def _before(root: Hit, hit: Hit) -> bool:
    """By the clock if both lines have one, by line within a file; else both are of one incident and the root leads."""
    if root.time is not None and hit.time is not None and root.time != hit.time:
        return root.time < hit.time
    same_file = root.where.rpartition(":")[0] == hit.where.rpartition(":")[0]
    other_rank = root.rank is not None and hit.rank is not None and root.rank != hit.rank
    return root.line <= hit.line if same_file and not other_rank else True


def _same_device(root: Hit, hit: Hit) -> bool:
    """True unless both name a device, in the same way, and another one."""
    if root.device is None or hit.device is None or root.device[:3] != hit.device[:3]:
        return root.rank is None or hit.rank is None or root.rank == hit.rank
    return root.device == hit.device


def _source(hit: Hit, root: Hit | None) -> Source:
    where = hit.where
    if hit.count > 1:
        where += f" (×{hit.count:,}, to line {hit.last:,})" if hit.last else f" (×{hit.count:,})"
    if root is None:
        return Source("signature", where, hit.quote, rank=hit.rank)
    return Source("mention", f"{where} <- {root.where}", hit.quote, rank=hit.rank)


def _of(hit: Hit, finding: str | None, source: Source, parse: Callable[[str, str], Value | None]) -> list[Reading]:
    result: list[Reading] = []
    signature = hit.signature
    if finding is not None:
        result.append(FindingReading(finding, "present", source))
    if signature.fact is not None:
        result.append(FactReading(signature.fact, True, source))
    for name, fact in signature.fields.items():
        value = parse(fact, hit.fields[name]) if name in hit.fields else None
        if value is not None:
            result.append(FactReading(fact, value, source))
    return result
