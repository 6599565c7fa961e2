"""The size of results over the examples of the knowledge base: docs/mcp.md publishes the figures."""

from types import SimpleNamespace
from typing import Any, get_args

import pytest
from pydantic_core import to_json

from api.cases.ranking import Ranked
from api.mcp.digest import Digest
from api.mcp.results import DETAIL_LIMIT, LIMIT, fitted
from engine.diagnose import Diagnoser
from engine.knowledge.load import load_cases
from engine.model.base import Lang
from engine.model.case import Case
from tests.effort import effort


def results(diagnoser: Diagnoser, step: int) -> list[tuple[dict[str, Any], int]]:
    """Every ``step``-th example diagnosed and its last cause explained, in both languages, short and long; limits."""
    knowledge = diagnoser.knowledge
    made: list[tuple[dict[str, Any], int]] = []
    for example in load_cases()[::step]:
        observed = diagnoser.collect(Case.model_validate(example.case.case))
        for lang in get_args(Lang):
            ranked = Ranked(
                knowledge.digest, {lang: to_json(diagnoser.answer(observed, lang=lang), inf_nan_mode="null")}
            )
            view: Any = SimpleNamespace(id="0" * 32, ranked=ranked, state=SimpleNamespace(is_resolved=False))
            causes = ranked.data(lang)["causes"]
            for limit in (LIMIT, DETAIL_LIMIT):
                digest = Digest(knowledge, lang, detail=limit == DETAIL_LIMIT)
                made.append((fitted(digest.case(view), limit), limit))
                if causes:
                    why = diagnoser.explain(observed, causes[-1]["id"], lang=lang).model_dump(mode="json")
                    made.append((fitted(digest.explanation(view.id, why), limit), limit))
    return made


def require_fitting(made: list[tuple[dict[str, Any], int]]) -> None:
    assert made
    for data, limit in made:
        assert len(to_json(data)) <= limit
        if data.get("left_off", {}).get("causes"):
            assert data["causes"], "the first cause stays"


def test_results_of_examples_fit(diagnoser: Diagnoser) -> None:
    require_fitting(results(diagnoser, 80))


@pytest.mark.long
def test_results_of_many_examples_fit(diagnoser: Diagnoser) -> None:
    require_fitting(results(diagnoser, effort(16, 1)))
