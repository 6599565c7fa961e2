"""What is said back: what was understood, how the ranking moved, what was wished for, the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.dialogue.endings import ending
from engine.dialogue.lead import DECIDED
from engine.dialogue.questions import opening
from engine.knowledge.knowledge import Knowledge
from tests.engine.dialogue.talker import Talker, answer_of, telling_start

Talking = Callable[..., Talker]
HOST = "throughput/optimizer-on-host"
SLOW = "training is slow and the GPU utilisation is low all the time"
DECIDES = "optimizer.runs-on-cpu = yes\noptimizer.step-slow = yes"
NAN = "loss went NaN at step 300"
LOG = "step 100 loss 2.1 grad_norm 0.9\nstep 200 loss nan grad_norm inf"


def test_the_first_words_tell_what_stands_and_ask(talker: Talking) -> None:
    first = talker(SLOW).last
    assert first is not None
    assert first.question is not None
    assert first.ranking[0].title in first.paragraphs[0]
    assert first.question.text in first.paragraphs[-1]


def test_an_answer_is_quoted_with_what_it_was_taken_for(talker: Talking, knowledge: Knowledge) -> None:
    talking = talker(NAN)
    assert talking.last is not None
    assert talking.last.question is not None
    title = knowledge.findings[talking.last.question.asks[0]].title.en
    (line,) = talking.say("nope").understood
    assert "“nope”" in line
    assert title in line
    assert line.endswith("no.")


def test_a_move_names_the_finding_that_made_it(talker: Talking) -> None:
    reply = talker(SLOW).say("optimizer.runs-on-cpu = yes")
    move = reply.moved[0]
    assert (move.cause, move.by) == (HOST, ("The parameter update runs on the CPU",))
    assert move.after > move.before
    assert any(move.title in paragraph and "→" in paragraph for paragraph in reply.paragraphs)


def test_evidence_against_is_told_of_the_cause_that_fell(talker: Talking) -> None:
    reply = talker(f"{SLOW}, the optimizer step takes longest").say("optimizer.runs-on-cpu = no")
    fell = next(move for move in reply.moved if move.cause == HOST)
    assert fell.after < fell.before
    assert fell.by == ("not so: The parameter update runs on the CPU",)


def test_what_was_read_of_a_pasted_log_is_told(talker: Talking) -> None:
    reply = talker("the run broke").say(LOG)
    assert any("not finite" in line for line in reply.understood)


def test_a_log_that_contradicts_an_answer_is_said_so(talker: Talking) -> None:
    talking = talker(SLOW)
    talking.say("loss.nan: no")
    reply = talking.say(LOG)
    assert any("An answer says otherwise" in line for line in reply.understood)
    assert "An answer says otherwise" not in talking.say("yes").text


def test_words_without_a_known_thing_are_kept_and_said_so(talker: Talking) -> None:
    reply = talker(SLOW).say("our office has a new coffee machine")
    assert len(reply.understood) == 1
    assert "coffee" in reply.understood[0]


def test_only_what_is_left_behind_an_answer_is_said_to_tell_nothing(talker: Talking) -> None:
    lines = talker(SLOW).say("no, our office has a new coffee machine").understood
    assert any("nothing new that I know in “our office" in line for line in lines)


def test_what_was_read_to_be_not_so_is_told(talker: Talking) -> None:
    lines = talker("the loss does not go down").say("I tried a smaller learning rate, no effect").understood
    assert any("learning rate" in line and line.startswith("Read: ") for line in lines)
    assert not any("I found nothing new" in line for line in lines)


def led(bits: float) -> dict[str, object]:
    """A diagnosis with a cause at 95 % for which so much evidence speaks, the rest being likeness of the words."""
    grounds = {"finding": "loss.diverges", "state": "present", "bits": bits, "because": "It does.", "sources": []}
    cause = {"id": HOST, "probability": 0.95, "expected": False, "evidence_for": [grounds], "evidence_against": [],
             "remedies": []}  # fmt: skip
    return {"findings": [{"id": "loss.diverges"}], "context": [], "causes": [cause], "unknown": {"probability": 0.05}}


@pytest.mark.parametrize(("bits", "passed", "ends"), [(5.0, 0, True), (4.9, 0, False), (4.9, 1, False), (4.9, 2, True)])
def test_a_lead_by_the_likeness_of_words_is_no_end_while_somebody_answers(
    knowledge: Knowledge, bits: float, passed: int, ends: bool
) -> None:
    asked = opening(knowledge, "en")
    assert (ending(led(bits), asked, passed, knowledge, "en") is not None) is ends
    assert ending(led(bits), None, 0, knowledge, "en") is not None


def test_the_check_that_confirms_is_told_once(talker: Talking) -> None:
    reply = talker(SLOW).say(DECIDES)
    assert reply.ending is not None
    assert reply.ending.confirm is not None
    assert reply.text.count(reply.ending.confirm.how) == 1


def test_a_file_that_did_not_come_is_missed(talker: Talking) -> None:
    assert "none has arrived" in talker(SLOW).say("see the attached log").text


def test_a_question_back_changes_nothing(talker: Talking) -> None:
    talking = talker(SLOW)
    before = talking.last
    reply = talking.say("I think so")
    assert before is not None
    assert (reply.question, reply.ranking, reply.moved) == (before.question, before.ranking, ())
    assert len(reply.wished) == 1


def test_the_end_has_evidence_check_and_remedy_with_undo(talker: Talking) -> None:
    reply = talker(SLOW).say(DECIDES)
    end = reply.ending
    assert end is not None
    assert (end.kind, end.cause) == ("cause", HOST)
    assert end.probability >= DECIDED
    assert end.evidence
    assert end.confirm is not None
    assert end.remedies[0].undo is not None
    for told in (end.title, end.confirm.title, end.remedies[0].do, end.remedies[0].undo):
        assert told in reply.text


def test_the_end_is_told_in_full_once(talker: Talking) -> None:
    talking = talker(SLOW)
    end = talking.say(DECIDES).ending
    assert end is not None
    again = talking.say("optimizer.step-slow = yes")
    assert end.remedies[0].do not in again.text
    assert end.title in again.text
    assert end.remedies[0].do in talking.say("show me the ranking").text


def test_undo_brings_back_what_stood_before(talker: Talking) -> None:
    talking = talker(SLOW)
    before = talking.last
    talking.say("yes")
    reply = talking.say("that was wrong")
    assert before is not None
    assert (reply.ranking, reply.question) == (before.ranking, before.question)


def test_undo_without_anything_told(talker: Talking) -> None:
    assert "nothing to take back" in talker(SLOW).say("undo").text


def test_why_gives_the_evidence_in_bits(talker: Talking) -> None:
    talking = talker(SLOW)
    assert talking.last is not None
    reply = talking.say("why?")
    assert talking.last.ranking[0].title in reply.wished[0]
    assert "bit)" in reply.wished[0]


def test_why_not_says_what_is_missing(talker: Talking, knowledge: Knowledge) -> None:
    text = talker(SLOW).say("why not numerics/fp16-activation-overflow").wished[0]
    assert knowledge.causes["numerics/fp16-activation-overflow"].title.en in text
    assert "unknown" in text


def test_how_tells_the_way_to_find_out(talker: Talking) -> None:
    talking = talker(NAN)
    assert talking.last is not None
    asked = talking.last.question
    assert asked is not None
    assert asked.how in talking.say("how do I check that?").wished[0]


def test_how_to_fix_it_says_whether_the_cause_is_decided(talker: Talking, knowledge: Knowledge) -> None:
    talking = talker(SLOW)
    assert "not decided" in talking.say("how do I fix it?").wished[0]
    talking.say(DECIDES)
    wished = talking.say("what should I do?").wished
    assert wished[0].startswith(f"For {knowledge.causes[HOST].title.en}")
    assert any(remedy.do.en in wished[1] for remedy in knowledge.causes[HOST].remedies)


def test_what_else_names_the_next_causes_and_checks(talker: Talking) -> None:
    talking = talker(SLOW)
    assert talking.last is not None
    second = talking.last.ranking[1].title
    assert second in talking.say("what else could it be?").wished[0]
    assert len(talking.say("还有别的可能吗").wished[0].splitlines()) == 2


def test_a_question_back_is_dropped_when_evidence_brings_another_question(talker: Talking) -> None:
    talking = talker("the model never stops generating")
    before = talking.last
    reply = talking.say("yes, and pad is eos, the output repeats itself")
    assert before is not None
    assert before.question is not None
    assert before.question.several
    assert reply.question is not None
    assert (reply.question.id == before.question.id) is bool(reply.wished)


@pytest.mark.parametrize(("text", "told"), [("it was throughput/optimizer-on-host", "host"), ("done", "What was it?"),
                                            ("the cause was a loose cable", "a loose cable")])  # fmt: skip
def test_a_resolution_is_confirmed_or_asked_for(talker: Talking, text: str, told: str) -> None:
    reply = talker(NAN).say(text)
    assert told in reply.wished[0]
    assert len(reply.paragraphs) == 1


def test_the_reply_is_in_the_language_of_the_message(talker: Talking) -> None:
    talking = talker(SLOW)
    reply = talking.say("不知道")
    assert reply.lang == "zh"
    assert reply.question is not None
    assert reply.question.options[-1].label in ("不知道", "做不了，或无法判断")
    assert talking.say("no, it does not").lang == "en"


def test_a_question_that_stays_is_not_explained_again(talker: Talking) -> None:
    talking = talker(NAN)
    assert talking.last is not None
    assert talking.last.question is not None
    how = talking.last.question.how
    assert how in talking.last.text
    assert how not in talking.say("why?").text


def test_every_field_is_plain_data(talker: Talking) -> None:
    reply = talker(SLOW).say("optimizer.runs-on-cpu = yes")
    assert type(reply).model_validate(reply.model_dump(mode="json")) == reply


def test_a_dialogue_in_chinese_ends_like_one_in_english(talker: Talking, knowledge: Knowledge) -> None:
    cause = knowledge.causes[HOST]
    start = telling_start(cause, knowledge, dict.fromkeys(knowledge.findings, 0))
    truth = frozenset(link.finding for link in cause.shows)
    ends = []
    for lang in ("en", "zh"):
        talking = talker(lang=lang, facts={start: True})
        while talking.last is not None and talking.last.ending is None and talking.last.question is not None:
            talking.say(answer_of(talking.last.question, truth))
        assert talking.last is not None
        ends.append(talking.last.ending and talking.last.ending.cause)
    assert ends == [HOST, HOST]
