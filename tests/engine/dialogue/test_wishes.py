"""What messages wish for: commands in plain words, and causes named in them."""

from __future__ import annotations

import pytest

from engine.dialogue import Question
from tests.engine.dialogue.conftest import DIVERGES, Read


@pytest.mark.parametrize(
    ("text", "kind"),
    [("why?", "why"), ("explain that", "why"), ("为什么", "why"), ("how do I check that?", "how"), ("怎么查", "how"),
     ("hm how would I see that?", "how"), ("no idea, how can I tell?", "how"), ("which command?", "how"),
     ("在哪看", "how"), ("不清楚，怎么看", "how"), ("what makes you say that?", "why"), ("为啥这么说", "why"),
     ("how do I fix it?", "remedy"), ("what's the fix?", "remedy"), ("so what now", "remedy"), ("怎么办", "remedy"),
     ("咋改", "remedy"), ("that's all", "stop"),
     ("undo", "undo"), ("sorry, that was wrong", "undo"), ("刚才说错了", "undo"), ("撤回", "undo"),
     ("what else", "more"), ("还有什么", "more"),
     ("what else could it be?", "more"), ("其他还有什么", "more"), ("还有别的可能吗", "more"),
     ("还有其他原因吗？", "more"),
     ("show me the ranking please", "ranking"), ("排名", "ranking"),
     ("help", "help"), ("帮助", "help"), ("start over", "restart"), ("重新开始", "restart"), ("bye", "stop"),
     ("done", "resolve"), ("解决了", "resolve")],
)  # fmt: skip
def test_wishes_in_plain_words(read: Read, simple: Question, text: str, kind: str) -> None:
    turn = read(text, simple)
    assert turn.command is not None
    assert turn.command.kind == kind
    assert not turn.tells_anything


@pytest.mark.parametrize(
    ("text", "kind", "cause"),
    [("why not bad data pocket", "why-not", "data/bad-data-pocket"),
     ("why data/bad-data-pocket", "why", "data/bad-data-pocket"),
     ("why not optimization/lr-too-high?", "why-not", "optimization/lr-too-high"),
     ("为什么不是峰值学习率过高", "why-not", "optimization/lr-too-high"),
     ("it was optimization/lr-too-high", "resolve", "optimization/lr-too-high")],
)  # fmt: skip
def test_a_cause_by_its_name(read: Read, simple: Question, text: str, kind: str, cause: str) -> None:
    command = read(text, simple).command
    assert command is not None
    assert (command.kind, command.cause) == (kind, cause)


def test_a_cause_by_its_place(read: Read, simple: Question) -> None:
    assert read("why the second", simple).command.place == 2


def test_a_cause_in_words_of_ones_own(read: Read, simple: Question) -> None:
    command = read("the cause was a loose cable", simple).command
    assert (command.kind, command.cause, command.words) == ("resolve", None, "a loose cable")


@pytest.mark.parametrize(
    ("text", "words"),
    [("it was the nfs mount", "the nfs mount"), ("fixed: a bad data shard", "a bad data shard"),
     ("原因是网线松了", "网线松了"), ("已解决：学习率太高", "学习率太高")],
)  # fmt: skip
def test_a_thing_that_is_no_known_cause_resolves_in_the_persons_words(
    read: Read, simple: Question, text: str, words: str
) -> None:
    turn = read(text, simple)
    assert (turn.command.kind, turn.command.cause, turn.command.words) == ("resolve", None, words)
    assert not turn.evidence


@pytest.mark.parametrize(
    ("text", "title"),
    [("the cause was a bad data shard", "A data shard is damaged"), ("原因是学习率太高", "峰值学习率过高")],
)
def test_words_like_several_causes_are_asked_back(read: Read, simple: Question, text: str, title: str) -> None:
    turn = read(text, simple)
    assert title in turn.unclear
    assert (turn.command, turn.evidence) == (None, {})


@pytest.mark.parametrize("text", ["the cause is not known yet", "the cause is probably the nfs mount", "原因是未知的",
                                  "it was the same on the other node"])  # fmt: skip
def test_what_names_no_cause_resolves_nothing(read: Read, simple: Question, text: str) -> None:
    assert read(text, simple).command is None


@pytest.mark.parametrize(
    ("text", "state", "cause", "words"),
    [("yes, it was the learning rate too high", "present", "optimization/lr-too-high", "the learning rate too high"),
     ("No - it turned out to be optimization/lr-too-high.", "absent", "optimization/lr-too-high",
      "optimization/lr-too-high"),
     ("yes, the root cause was a loose cable in rack 7", "present", None, "a loose cable in rack 7"),
     ("是的，就是峰值学习率过高", "present", "optimization/lr-too-high", "峰值学习率过高"),
     ("对，是因为峰值学习率过高。", "present", "optimization/lr-too-high", "峰值学习率过高"),
     ("没有，原因是网线松了", "absent", None, "网线松了")],
)  # fmt: skip
def test_an_answer_may_name_the_cause_at_once(
    read: Read, simple: Question, text: str, state: str, cause: str | None, words: str
) -> None:
    turn = read(text, simple)
    assert turn.findings == {DIVERGES: state}
    assert (turn.command.kind, turn.command.cause, turn.command.words) == ("resolve", cause, words)
    assert (turn.evidence, turn.unclear) == ({}, "")


@pytest.mark.parametrize(
    ("text", "note"),
    [("yes, it was slow before", "it was slow before"), ("yes - it was NaN from step 100", "it was NaN from step 100"),
     ("yes, it was the nfs mount", "it was the nfs mount"), ("是的，是第 100 步开始的", "是第 100 步开始的"),
     ("对，是 fp16", "是 fp16")],
)  # fmt: skip
def test_an_answer_with_words_that_name_no_cause_keeps_them_as_a_note(
    read: Read, simple: Question, text: str, note: str
) -> None:
    turn = read(text, simple)
    assert turn.findings == {DIVERGES: "present"}
    assert (turn.command, turn.evidence) == (None, {"report": note})


@pytest.mark.parametrize("text", ["it was the learning rate too high?", "yes, was it optimization/lr-too-high?",
                                  "是峰值学习率过高吗", "问题是峰值学习率过高吗？", "fixed?", "解决了吗"])  # fmt: skip
def test_a_question_resolves_nothing(read: Read, simple: Question, text: str) -> None:
    assert read(text, simple).command is None
