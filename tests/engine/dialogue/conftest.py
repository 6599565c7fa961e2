"""The bundled knowledge, one engine over it, and questions of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from engine.diagnose import Diagnoser
from engine.dialogue import Question, question
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.load import load_knowledge
from engine.model.base import Lang
from tests.engine.dialogue.talker import Talker

Ask = Callable[..., Question]


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    return load_knowledge()


@pytest.fixture(scope="session")
def diagnoser(knowledge: Knowledge) -> Iterator[Diagnoser]:
    made = Diagnoser(knowledge, check=False)
    yield made
    made.close()


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
        asked = question({"next_checks": [proposal], "findings": [], "causes": []}, knowledge, lang)
        assert asked is not None
        return asked

    return make
