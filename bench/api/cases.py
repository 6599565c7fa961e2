"""The request bodies: cases of 50 facts of the bundled knowledge base, no two alike, and the demo's case."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import api
from engine.knowledge.knowledge import Knowledge
from engine.model.kb import Fact

FACTS = 50
DISTINCT = 200
SEED = 7


def bodies(knowledge: Knowledge) -> dict[str, list[bytes]]:
    """JSON bodies by the name of the load; the same each time."""
    draw = random.Random(SEED)
    asked = sorted((fact for fact in knowledge.facts.values() if fact.derive is None), key=lambda fact: fact.id)
    cases = [{fact.id: _value(fact, draw) for fact in draw.sample(asked, FACTS)} for _ in range(DISTINCT)]
    demo = Path(api.__file__).parent / "static" / "demo" / "case.json"
    return {
        f"{FACTS} facts": [json.dumps({"facts": facts}).encode() for facts in cases],
        "demo case": [demo.read_bytes()],
    }


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
