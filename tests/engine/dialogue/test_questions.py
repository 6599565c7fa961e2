"""What is asked next, and what each answer would do."""

from __future__ import annotations

from collections.abc import Callable

from engine.diagnose import Diagnoser
from engine.dialogue import question
from engine.dialogue.questions import OPENING, opening, value_of
from engine.knowledge.knowledge import Knowledge
from engine.model.case import Case
from tests.engine.dialogue.conftest import Ask
from tests.engine.dialogue.talker import Talker

RATE, OTHER = "optimization/lr-too-high", "host.ram-grows"
SPIKE = "grad norm spikes and training in fp16"


def test_the_first_proposal_of_the_plan_is_asked(diagnoser: Diagnoser, knowledge: Knowledge) -> None:
    answer = diagnoser.answer(diagnoser.collect(Case(report=SPIKE)))
    asked = question(answer, knowledge, "en")
    assert asked is not None
    assert asked.id == answer["next_checks"][0]["id"]
    assert list(asked.asks) == answer["next_checks"][0]["asks"]


def test_each_answer_says_what_it_would_do(diagnoser: Diagnoser, knowledge: Knowledge) -> None:
    asked = question(diagnoser.answer(diagnoser.collect(Case(report=SPIKE))), knowledge, "en")
    assert asked is not None
    yes, no, unknown = asked.options
    assert yes.then[0].title == knowledge.causes[yes.then[0].cause].title.en
    assert 0 < no.then[0].probability < 1
    assert unknown.then == ()
    assert unknown.passes


def test_what_an_answer_would_do_is_what_it_does(talker: Callable[..., Talker]) -> None:
    talking = talker(SPIKE)
    assert talking.last is not None
    assert talking.last.question is not None
    promised = talking.last.question.options[0].then[0]
    reply = talking.say("yes")
    assert reply.ranking[0].cause == promised.cause
    assert abs(reply.ranking[0].probability - promised.probability) < 0.15  # an answer is believed nearly, not wholly


def test_both_languages(diagnoser: Diagnoser, knowledge: Knowledge) -> None:
    answer = diagnoser.answer(diagnoser.collect(Case(report=SPIKE)))
    english, chinese = question(answer, knowledge, "en"), question(answer, knowledge, "zh")
    assert english is not None
    assert chinese is not None
    assert english.id == chinese.id
    assert [option.label for option in chinese.options] == ["是", "否", "不知道"]


def test_nothing_is_asked_when_nothing_teaches(diagnoser: Diagnoser, knowledge: Knowledge) -> None:
    answer = diagnoser.answer(diagnoser.collect(Case(report=SPIKE)))
    assert question(answer | {"next_checks": []}, knowledge, "en") is None


def test_where_nothing_is_known_it_asks_what_is_wrong(diagnoser: Diagnoser, knowledge: Knowledge) -> None:
    asked = question(diagnoser.answer(diagnoser.collect(Case())), knowledge, "en")
    assert asked is not None
    assert asked.kind == OPENING
    for option in asked.options[:-1]:
        (finding,) = option.answers
        assert knowledge.findings[finding].role == "symptom"
        assert knowledge.findings[finding].visible


def test_the_opening_offers_what_people_come_with(knowledge: Knowledge) -> None:
    assert {"loss.nan", "loss.spike", "hang.no-progress"} <= set(opening(knowledge, "en").asks)


def test_every_symptom_of_the_opening_leads_to_a_question(diagnoser: Diagnoser, knowledge: Knowledge) -> None:
    for number in range(1, len(opening(knowledge, "en").options)):
        talking = Talker(diagnoser)
        talking.begin()
        reply = talking.say(str(number))
        assert reply.question is not None
        assert reply.question.kind != OPENING


def test_a_check_of_several_findings_has_an_option_for_each(ask: Ask) -> None:
    asked = ask("print-token-labels", "labels.eos-ignored", "labels.eos-cut-off")
    assert asked.several
    assert [set(option.answers.values()) for option in asked.options] == [{"present"}, {"present"}, {"absent"}, set()]
    assert asked.commands


def test_a_check_of_one_finding_is_yes_or_no(ask: Ask) -> None:
    asked = ask("print-token-labels", "labels.eos-ignored")
    assert not asked.several
    assert [option.answers.get("labels.eos-ignored") for option in asked.options] == ["present", "absent", None]


def test_a_rule_over_one_number_takes_the_number(knowledge: Knowledge) -> None:
    fact = value_of(knowledge.findings["rl.kl-weakly-held"], knowledge)
    assert fact is not None
    assert fact.id == "rl.kl_coefficient"


def test_a_rule_over_several_facts_takes_no_number(knowledge: Knowledge) -> None:
    assert value_of(knowledge.findings["dpo.both-rewards-fall"], knowledge) is None
    assert value_of(knowledge.findings["dpo.rate-high"], knowledge) is None


def test_the_way_to_find_out_is_a_check_of_a_cause_in_question(diagnoser: Diagnoser, knowledge: Knowledge) -> None:
    answer = diagnoser.answer(diagnoser.collect(Case(report="GPU utilisation drops to zero every few minutes")))
    ranked = {check for cause in answer["causes"] for check in knowledge.causes[cause["id"]].checks}
    ways = {knowledge.checks[check].how.en for check in ranked}
    asked = question(answer, knowledge, "en")
    assert asked is not None
    assert asked.how in ways


def led(probability: float, bits: float, *proposals: tuple[str, str, str, float]) -> dict[str, object]:
    """A diagnosis that the learning rate leads; proposals by id, with the lead after yes and after no alike."""
    return {
        "findings": ["loss.diverges"],
        "causes": [{"id": RATE, "probability": probability, "evidence_for": [{"bits": bits}]}],
        "next_checks": [
            {"id": id_, "kind": kind, "asks": [asks], "if": [
                {"state": state, "then": [{"cause": cause, "probability": after}]} for state in ("present", "absent")
            ]}
            for id_, kind, cause, after in proposals for asks in [id_ if kind == "question" else "lr.trouble-at-peak"]
        ],
    }  # fmt: skip


def test_of_a_decided_cause_only_what_confirms_it_or_may_turn_it_is_asked(knowledge: Knowledge) -> None:
    idle, turns = (OTHER, "question", RATE, 0.99), (OTHER, "question", "numerics/init-too-wide", 0.6)
    check = (knowledge.causes[RATE].checks[0], "check", RATE, 0.99)
    assert question(led(0.95, 9.0, idle), knowledge, "en") is None
    for proposals, expected in (((idle, check), check[0]), ((turns,), turns[0]), ((turns, check), check[0])):
        asked = question(led(0.95, 9.0, *proposals), knowledge, "en")
        assert asked is not None
        assert asked.id == expected


def test_a_lead_by_likeness_is_asked_for_what_it_shows(knowledge: Knowledge) -> None:
    shown = knowledge.causes[RATE].shows[0].finding
    turns = (OTHER, "question", "numerics/init-too-wide", 0.6)
    asked = question(led(0.95, 2.0, turns, (shown, "question", RATE, 0.99)), knowledge, "en")
    assert asked is not None
    assert asked.id == shown


def test_nothing_abnormal_and_no_cause_in_sight_asks_what_is_wrong(knowledge: Knowledge) -> None:
    vague = led(0.1, 0.0, (knowledge.causes[RATE].shows[0].finding, "question", RATE, 0.2)) | {"findings": []}
    asked = question(vague, knowledge, "en")
    assert asked is not None
    assert asked.id == OPENING


def test_a_proposal_that_the_knowledge_no_longer_holds_is_passed_over(knowledge: Knowledge) -> None:
    gone = {"id": "no-such-check", "kind": "check", "asks": ["no.such"], "if": []}
    assert question({"next_checks": [gone], "findings": ["x"], "causes": []}, knowledge, "en") is None
