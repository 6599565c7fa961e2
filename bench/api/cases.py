"""The request bodies: 50 facts of the bundled knowledge base, and the demo's case."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import api
from engine.knowledge.knowledge import Knowledge
from engine.model.kb import Fact

FACTS = 50
SEED = 7


def bodies(knowledge: Knowledge) -> dict[str, bytes]:
    """JSON bodies by name; the same each time."""
    draw = random.Random(SEED)
    asked = sorted((fact for fact in knowledge.facts.values() if fact.derive is None), key=lambda fact: fact.id)
    facts = {fact.id: _value(fact, draw) for fact in draw.sample(asked, FACTS)}
    demo = Path(api.__file__).parent / "static" / "demo" / "case.json"
    return {f"{FACTS} facts": json.dumps({"facts": facts}).encode(), "demo case": demo.read_bytes()}


def _value(fact: Fact, draw: random.Random) -> Any:
    """A value that the fact takes."""
    if fact.type == "bool":
        return draw.random() < 0.5
    if fact.type == "choice":
        return draw.choice(sorted(fact.values or {}))
    if fact.type == "text":
        return "some text"
    low = fact.at_least if fact.at_least is not None else 0.0
    high = fact.at_most if fact.at_most is not None else low + 1000.0
    return round(draw.uniform(low, high), 3)
