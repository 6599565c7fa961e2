"""Ways to split the work of training over accelerators, offered when the known numbers speak for them."""

from __future__ import annotations

from engine.model.base import Kept, Text
from engine.model.conditions import Condition
from engine.model.kb import Reference, Slug


class Advice(Kept):
    """One way: the numbers that speak for it (``when``) or ``against`` it, and what there is to say."""

    id: Slug
    title: Text
    when: Condition
    against: Condition | None = None
    splits: Text
    use_when: Text
    avoid_when: Text
    memory: Text
    communication: Text
    convergence: Text
    costs: Text
    verdict: Text
    reference: Reference | None = None
