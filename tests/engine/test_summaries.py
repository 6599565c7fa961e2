"""The sentence at the top of a diagnosis, where little speaks for any cause."""

from __future__ import annotations

from typing import Any

import pytest

from engine.diagnose import Diagnoser
from engine.model.base import Lang
from engine.model.case import Case

ELEPHANTS = "the purple elephants of the office sing loudly"


def diagnosis(diagnoser: Diagnoser, lang: Lang = "en", **given: Any) -> dict[str, Any]:
    return diagnoser.answer(diagnoser.collect(Case(**given), ()), lang=lang)


@pytest.mark.parametrize(
    ("lang", "alone", "beside"),
    [
        ("en", "The report could not be interpreted", "Nothing abnormal was found in the files or numbers"),
        ("zh", "未能解读报告", "所给文件或数字中没有发现异常"),
    ],
)
def test_a_report_that_says_nothing_known_is_told_from_numbers_that_are_fine(
    diagnoser: Diagnoser, lang: Lang, alone: str, beside: str
) -> None:
    assert alone in diagnosis(diagnoser, lang, report=ELEPHANTS)["summary"]
    told = diagnosis(diagnoser, lang, report=ELEPHANTS, facts={"loss.nan": False, "gpu.count": 8})["summary"]
    assert beside in told
    assert alone not in told


@pytest.mark.parametrize(("lang", "faint"), [("en", "Nothing stands out"), ("zh", "没有特别突出")])
def test_harmless_behaviour_of_small_probability_is_not_named(diagnoser: Diagnoser, lang: Lang, faint: str) -> None:
    """A small chance of it calms nobody rightly."""
    causes = diagnoser.knowledge.active_causes.values()
    signs = (link.finding for cause in causes if cause.expected for link in cause.shows)
    answers = (diagnosis(diagnoser, lang, facts={sign: True}) for sign in signs)
    found = next(a for a in answers if a["findings"] and a["causes"] and small_and_expected(a))
    assert faint in found["summary"]
    assert found["causes"][0]["title"] not in found["summary"]


def small_and_expected(answer: dict[str, Any]) -> bool:
    lead = answer["causes"][0]
    return bool(lead["expected"]) and lead["probability"] < 0.3 < 0.5 < answer["unknown"]["probability"]
