"""Incidents without a kind of input, and without the causes of their true family."""

from __future__ import annotations

import pytest

from engine.diagnose import Diagnoser
from engine.evaluate.harder import INPUTS, leave_family_out, without
from engine.evaluate.score import Incident
from engine.model.case import Case

FULL = Case.model_validate(
    {
        "paradigm": "pretrain",
        "report": "the loss became nan",
        "observations": [{"name": "precision", "value": "fp16"}],
        "log": ["loss scale reduced to 1"],
        "series": [{"name": "loss", "values": [2.0, 1.9]}],
        "files": {"config.json": {"dtype": "float16"}},
        "facts": {"loss.nan": True},
        "contrast": [{"dimension": "precision", "good": "bf16", "bad": "fp16"}],
    }
)


@pytest.mark.parametrize("name", INPUTS)
def test_one_kind_of_input_is_taken_away_and_nothing_else(name: str) -> None:
    case = without(FULL, [name])
    assert not getattr(case, name)
    assert without(FULL, []) == FULL
    others = {key for key in Case.model_fields if key != name}
    assert case.model_dump(include=others) == FULL.model_dump(include=others)


def test_without_everything_there_is_nothing() -> None:
    assert without(FULL, INPUTS).is_empty


def test_the_true_family_cannot_lead_when_it_is_left_out(diagnoser: Diagnoser) -> None:
    facts = {"run.precision": "fp16", "amp.loss_scale": 1, "loss.nan": True}
    incidents = [Incident("a", Case(facts=facts), family, "easy") for family in ("fp16_range", "lr_too_high")]
    left_out = leave_family_out(incidents, diagnoser)
    assert [one.incident for one in left_out] == incidents
    assert all(one.first != one.incident.family for one in left_out)
    assert left_out[1].first == "fp16_range"
    assert not left_out[1].abstained


def test_a_finding_that_only_the_missing_family_shows_ends_in_unknown(diagnoser: Diagnoser) -> None:
    causes = diagnoser.knowledge.active_causes.values()
    families: dict[str, set[str]] = {}
    for cause in causes:
        for link in cause.shows:
            families.setdefault(link.finding, set()).add(cause.family)
    own = [
        (name, next(iter(of)))
        for name, of in sorted(families.items())
        if len(of) == 1 and diagnoser.knowledge.findings[name].role == "mechanism"
    ][::20]
    assert len(own) > 10
    incidents = [Incident(name, Case(facts={name: True}), family, "easy") for name, family in own]
    assert all(one.abstained for one in leave_family_out(incidents, diagnoser))
