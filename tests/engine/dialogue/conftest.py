"""The bundled knowledge, questions of each kind, and what is made of a message."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.diagnose import Diagnoser
from engine.dialogue import Question, Turn, question, understand
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang
from tests.engine.dialogue.talker import Talker

DIVERGES = "loss.diverges"
Ask = Callable[..., Question]
Read = Callable[..., Turn]


@pytest.fixture
def talker(diagnoser: Diagnoser) -> Callable[..., Talker]:
    def make(report: str = "", lang: Lang = "en", **case: object) -> Talker:
        talking = Talker(diagnoser, {"report": report, **case}, lang)
        talking.begin()
        return talking

    return make


@pytest.fixture
def ask(knowledge: Knowledge) -> Ask:
    """The question about a finding, or the check about several, as if the planner had proposed it."""

    def make(id_: str, *asks: str, lang: Lang = "en") -> Question:
        kind = "check" if asks else "question"
        proposal = {"id": id_, "kind": kind, "asks": list(asks) or [id_], "if": []}
        asked = question({"next_checks": [proposal], "findings": ["x"], "causes": []}, knowledge, lang)
        assert asked is not None
        return asked

    return make


@pytest.fixture
def simple(ask: Ask) -> Question:
    return ask(DIVERGES)


@pytest.fixture
def read(knowledge: Knowledge) -> Read:
    def make(text: str, pending: Question | None = None, lang: Lang = "en") -> Turn:
        return understand(text, pending, knowledge, lang)

    return make
