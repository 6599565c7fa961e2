"""Simulated people: one who knows the truth, one who knows nothing, and one who says anything."""

from __future__ import annotations

import random
from collections import Counter
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.diagnose import Diagnoser
from engine.dialogue import Ending, Question
from engine.dialogue.endings import MAX_PASSED
from engine.dialogue.lead import DECIDED
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang
from engine.model.kb import Cause
from tests.effort import effort
from tests.engine.dialogue.talker import MAX_QUESTIONS, Talker, answer_of, telling_start

SAMPLE = 10
_SHOWN = ("always", "usually", "often")


def talk_truly(diagnoser: Diagnoser, cause: Cause, start: str) -> tuple[list[Question], Ending | None]:
    """Begin with one finding, answer by what the cause shows as a rule, and stop where the dialogue ends."""
    truth = frozenset({start, *(link.finding for link in cause.shows if link.how in _SHOWN)})
    talker = Talker(diagnoser, {"facts": {start: True}})
    reply, asked = talker.begin(), []
    while reply.ending is None and reply.question is not None and len(asked) < MAX_QUESTIONS:
        asked.append(reply.question)
        reply = talker.say(answer_of(reply.question, truth))
    return asked, reply.ending


def stable(knowledge: Knowledge) -> list[Cause]:
    return [cause for cause in knowledge.active_causes.values() if cause.status == "stable"]


def starts(knowledge: Knowledge) -> dict[str, int]:
    return Counter(link.finding for cause in knowledge.active_causes.values() for link in cause.shows)


def judge(diagnoser: Diagnoser, knowledge: Knowledge, causes: list[Cause]) -> tuple[list[int], list[str]]:
    """How many questions each dialogue took, and the causes it did not find, while every dialogue keeps the rules."""
    shown_by, numbers, missed = starts(knowledge), [], []
    for cause in causes:
        start = telling_start(cause, knowledge, shown_by)
        if start is None:  # none that a person could report: such causes are found in files
            continue
        asked, ending = talk_truly(diagnoser, cause, start)
        assert ending is not None, f"{cause.id}: no end after {len(asked)} questions"
        assert len({(question.id, question.asks) for question in asked}) == len(asked), f"{cause.id}: asked twice"
        settled = [start]
        for question in asked:
            assert not set(settled) & set(question.asks), f"{cause.id}: {question.id} asks what is known"
            settled += question.asks
        numbers.append(len(asked))
        found = knowledge.causes[ending.cause].family if ending.cause is not None else None
        if ending.kind != "cause" or found != cause.family:
            missed.append(cause.id)
    return numbers, missed


def test_true_answers_lead_to_the_cause_in_few_questions(diagnoser: Diagnoser, knowledge: Knowledge) -> None:
    causes = random.Random(1).sample(stable(knowledge), SAMPLE)
    numbers, missed = judge(diagnoser, knowledge, causes)
    assert median(numbers) <= 8  # ten differ widely; the long test holds the median of all
    assert len(missed) <= 1


@pytest.mark.long
def test_true_answers_lead_to_stable_causes(
    diagnoser: Diagnoser, knowledge: Knowledge, capsys: pytest.CaptureFixture[str]
) -> None:
    causes = stable(knowledge)[:: effort(3, 1)]
    numbers, missed = judge(diagnoser, knowledge, causes)
    with capsys.disabled():
        worst = sorted(numbers)[int(0.9 * len(numbers))]
        found = 1 - len(missed) / len(causes)
        print(f"\n{len(numbers)} causes: median {median(numbers)}, p90 {worst}, most {max(numbers)} questions; "
              f"family found {found:.1%}; missed: {', '.join(missed)}")  # fmt: skip
    assert median(numbers) <= 5
    assert len(missed) <= 0.04 * len(causes)


@pytest.mark.parametrize("report", ["the model never stops generating", "训练损失出现 NaN", "the job hangs", ""])
def test_whoever_knows_nothing_hears_an_honest_unknown_soon(diagnoser: Diagnoser, report: str) -> None:
    talker = Talker(diagnoser, {"report": report})
    reply, number = talker.begin(), 0
    while reply.ending is None and reply.question is not None:
        number += 1
        assert number <= MAX_PASSED
        reply = talker.say("don't know")
    assert reply.ending is not None
    assert reply.ending.kind in ("unknown", "open")
    assert reply.ending.kind == "unknown" or reply.ending.probability < DECIDED
    assert (reply.ending.remedies, reply.ending.confirm) == ((), None)


def test_after_the_end_one_may_go_on(diagnoser: Diagnoser) -> None:
    talker = Talker(diagnoser, {"report": "the model never stops generating"})
    reply = talker.begin()
    while reply.ending is None:
        reply = talker.say("不知道")
    assert reply.question is not None
    before = reply.question.id
    assert talker.say("yes").question != before


_ANYTHING = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["yes", "no", "不知道", "1", "1, 2", "undo", "why", "why not 2", "how", "it was x",
                     "the cause was y", "done", "loss is NaN", "step 1 loss nan lr 1", "排名", "0.3", "```\n{\n```"]),
)  # fmt: skip


@settings(max_examples=8)
@given(messages=st.lists(_ANYTHING, min_size=1, max_size=6), lang=st.sampled_from(["en", "zh"]))
def test_whatever_is_said_there_is_a_reply(diagnoser: Diagnoser, messages: list[str], lang: Lang) -> None:
    talker = Talker(diagnoser, {"report": "训练很慢"}, lang)
    talker.begin()
    for message in messages:
        assert talker.say(message).paragraphs


@pytest.mark.parametrize("seed", range(2))
def test_any_answers_come_to_an_end(diagnoser: Diagnoser, seed: int) -> None:
    draw = random.Random(seed)
    talker = Talker(diagnoser, {"report": "the loss spikes and the gradient norm explodes"})
    reply, asked = talker.begin(), set()
    for _ in range(MAX_QUESTIONS):
        if reply.ending is not None or reply.question is None:
            break
        assert reply.question.id not in asked
        asked.add(reply.question.id)
        reply = talker.say(draw.choice([option.label for option in reply.question.options]))
    assert reply.ending is not None
