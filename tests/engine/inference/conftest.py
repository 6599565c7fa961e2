"""Small rules, and a small network of causes, as keyword calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter

from engine.inference.rules import RuleBook, RuleEngine
from engine.model.calibration import Calibration
from engine.model.conditions import Condition
from engine.model.kb import Cause, Check, Finding, Link, Remedy

MakeEngine = Callable[..., RuleEngine]
_CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)
_TEXT = {"en": "text", "zh": "文字"}


def condition(data: dict[str, Any]) -> Condition:
    return _CONDITION.validate_python(data)


@pytest.fixture
def make_condition() -> Callable[[dict[str, Any]], Condition]:
    return condition


@pytest.fixture
def make_engine() -> Iterator[MakeEngine]:
    """Engines over rules given as the knowledge base writes them; all are closed at the end."""
    made: list[RuleEngine] = []

    def make(rules: Mapping[str, dict[str, Any]], check: bool = True) -> RuleEngine:
        book = RuleBook.compile({name: condition(data) for name, data in rules.items()})
        made.append(RuleEngine(book, check))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


@pytest.fixture
def make_finding() -> Callable[..., Finding]:
    def make(name: str, **keys: Any) -> Finding:
        return Finding.model_validate({"id": name, "title": _TEXT, **keys})

    return make


@pytest.fixture
def make_cause() -> Callable[..., Cause]:
    """A cause with its links as ``shows={"finding.id": "often"}``; one link may stand alone in a test."""

    def make(name: str, shows: Mapping[str, str], **keys: Any) -> Cause:
        plain = {
            "id": name, "family": "family", "title": _TEXT, "status": "stable", "station": "loss", "meaning": _TEXT,
            "impact": _TEXT, "prior": "usual", "presentation": {"en": ["it breaks"]}, "checks": ["look"],
            "remedies": [{"do": _TEXT}], "blind_spots": _TEXT,
            "shows": [{"finding": "pad.one", "how": "often"}, {"finding": "pad.two", "how": "often"}],
        }  # fmt: skip
        links = tuple(Link.model_validate({"finding": finding, "how": how}) for finding, how in shows.items())
        return Cause.model_validate(plain | keys).model_copy(update={"shows": links})

    return make


@pytest.fixture
def make_check() -> Callable[..., Check]:
    def make(name: str, settles: list[str], **keys: Any) -> Check:
        return Check.model_validate(
            {"id": name, "title": _TEXT, "how": _TEXT, "minutes": 5, "settles": settles, **keys}
        )

    return make


@pytest.fixture
def make_remedy() -> Callable[..., Remedy]:
    def make(name: str, **keys: Any) -> Remedy:
        return Remedy.model_validate({"do": {"en": name, "zh": name}, **keys})

    return make


@pytest.fixture
def calibration() -> Calibration:
    """Round numbers that can be worked out by hand. The product's own stand in kb/calibration.yaml."""
    certain = {"hit": 1 - 1e-12, "false": 1e-12}
    sources = dict.fromkeys(("measured", "signature", "stated", "derived", "answer", "observation"), certain)
    return Calibration.model_validate(
        {
            "links": {"always": 0.98, "usually": 0.8, "often": 0.5, "sometimes": 0.25, "rarely": 0.05},
            "leaks": {"frequent": 0.25, "occasional": 0.1, "rare": 0.02, "very_rare": 0.01},
            "context_leak": 0.4,
            "priors": {"common": 6, "usual": 3, "uncommon": 1.5, "rare": 0.6},
            "known_share": 0.8,
            "another_fault": 0.1,
            "other_paradigm": 0.25,
            "sources": {
                **sources,
                "prose": {"hit": 0.85, "false": 0.03},
                "mention": {"hit": 0.5, "false": 0.1},
            },
            "caps": {
                "context_bits": 0.5, "prose_bits": 6, "prose_beyond": 0, "rules_out_bits": 5,
            },
            "resemblance": {
                "bits": 0.35, "noise": 0.4, "per_term": 0.6, "cap": 12, "yields": 0,
                "by_cause": 1, "by_family": 0, "half_at": 1, "listed_from": 9, "listed_despite": 9,
            },
            "search": {"pairs_of": 30, "triples_from": 8, "member_bits": 2},
            "costs": {
                "fixed": 2, "question": 1, "accelerator": 4, "risk": {"none": 0, "low": 5, "medium": 30, "high": 120},
            },
            "temperature": 1.0,
            "damping": 1.0,
            "shown_from": 0.01,
            "abstain_above": 0.5,
        }
    )  # fmt: skip
