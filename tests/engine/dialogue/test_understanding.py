"""What messages mean: answers, values, options, evidence, wishes, and what is asked back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.diagnose import Diagnoser
from engine.dialogue import Question, question, understand
from engine.dialogue.pasted import Parts, split
from engine.dialogue.questions import opening
from engine.knowledge.knowledge import Knowledge
from engine.model.case import Case
from tests.engine.dialogue.conftest import DIVERGES, Ask, Read

LABELS = ("labels.eos-ignored", "labels.eos-not-appended", "labels.eos-cut-off")
LOG = "2026-05-01 10:00:00 INFO start\nContinue? [y/n]\nno\n2026-05-01 10:00:09 ERROR RuntimeError: boom"


@pytest.fixture
def weight(ask: Ask) -> Question:
    """A question whose finding rests on one number."""
    return ask("rl.kl-weakly-held")


@pytest.fixture
def check(ask: Ask) -> Question:
    return ask("print-token-labels", *LABELS)


@pytest.mark.parametrize(
    "text",
    ["yes", "Yes.", "y", "yep", "it does", "that's right", "correct", "1", "option 1", "the first one",
     "是", "是的", "有", "对", "会", "没错", "第一个"],
)  # fmt: skip
def test_yes_is_present(read: Read, simple: Question, text: str) -> None:
    turn = read(text, simple)
    assert turn.findings == {DIVERGES: "present"}
    assert (turn.asked, turn.unclear, turn.evidence) == (DIVERGES, "", {})


@pytest.mark.parametrize(
    "text",
    ["no", "No!", "nope", "n", "it doesn't", "it doesn’t", "not really", "no it does not", "2", "never", "没开",
     "不", "不是", "没有", "不会", "否", "没看到", "no, I looked"],
)  # fmt: skip
def test_no_is_absent(read: Read, simple: Question, text: str) -> None:
    turn = read(text, simple)
    assert turn.findings == {DIVERGES: "absent"}
    assert turn.evidence == {}


@pytest.mark.parametrize(
    "text",
    ["I don't know", "not sure", "no idea", "maybe", "skip", "next question", "I can't check that now", "3",
     "not sure whether it does", "haven't checked yet", "not that I know of", "beats me",
     "不知道", "不确定", "跳过吧", "查不了",
     "不清楚诶", "没查过", "还没试"],
)  # fmt: skip
def test_not_knowing_passes_the_question(read: Read, simple: Question, text: str) -> None:
    turn = read(text, simple)
    assert turn.findings == {DIVERGES: "unknown"}
    assert turn.passed == (DIVERGES,)
    assert turn.evidence == {}


@pytest.mark.parametrize(
    "text",
    ["no NaN so far", "no problem with the loss", "right after the restart it failed", "it was slow yesterday",
     "unknown error in NCCL", "I think the loss is NaN", "haven't tried bf16 yet",
     "没试过调小学习率", "没有报错", "不收敛", "是 fp16", "OOM? no."],
)  # fmt: skip
def test_a_sentence_that_begins_like_an_answer_is_none(read: Read, simple: Question, text: str) -> None:
    turn = read(text, simple)
    assert (turn.findings, turn.asked) == ({}, None)
    assert turn.evidence == {"report": text}


@pytest.mark.parametrize(
    "text",
    ["yes, no", "yes and no", "probably", "I think so", "sometimes", "wrong", "ok", "4", "1 and 2", "42",
     "可能是", "不对", "好的", "大概吧"],
)  # fmt: skip
def test_what_may_mean_two_things_is_asked_back(read: Read, simple: Question, text: str) -> None:
    turn = read(text, simple)
    assert turn.unclear
    assert not turn.tells_anything


@pytest.mark.parametrize(
    ("text", "state", "report"),
    [
        ("yes, and the grad norm is inf", "present", "the grad norm is inf"),
        ("no it does not, but the loss is NaN", "absent", "the loss is NaN"),
        ("don't know, but the grad norm is inf", "unknown", "the grad norm is inf"),
        ("not sure whether it does, but loss is NaN", "unknown", "loss is NaN"),
        ("I printed the norms of all ranks. No.", "absent", "I printed the norms of all ranks."),
        ("是的，而且梯度范数是 inf", "present", "梯度范数是 inf"),
        ("没有，loss 正常", "absent", "loss 正常"),
    ],
)
def test_an_answer_may_come_with_more(read: Read, simple: Question, text: str, state: str, report: str) -> None:
    turn = read(text, simple)
    assert turn.findings == {DIVERGES: state}
    assert turn.evidence == {"report": report}


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.05", 0.05), ("3.1e-4", 0.00031), ("it is about 0.02", 0.02), ("2^-4", 0.0625), ("2**16", 65536.0),
     ("65536", 65536.0), ("1,024", 1024.0), ("3.1×10⁻⁴", 0.00031), ("5 %", 0.05), ("1", 1.0), ("KL_COEF = 0.04", 0.04),
     ("大约 0.02", 0.02), ("是 0.05", 0.05)],
)  # fmt: skip
def test_a_number_is_the_value_the_question_reads(read: Read, weight: Question, text: str, value: float) -> None:
    turn = read(text, weight)
    assert turn.facts == {"rl.kl_coefficient": pytest.approx(value)}
    assert (turn.findings, turn.evidence) == ({}, {})


def test_a_unit_is_converted(read: Read, ask: Ask) -> None:
    assert read("12 %", ask("data.truncated-often")).facts == {"data.truncated_share": pytest.approx(0.12)}


@pytest.mark.parametrize("text", ["nan", "-3", "0.01 to 0.05", "8 GB"])
def test_a_value_that_does_not_fit_is_asked_for_again(read: Read, weight: Question, text: str) -> None:
    turn = read(text, weight)
    assert turn.unclear
    assert not turn.tells_anything


def test_a_question_for_a_number_has_letters_for_options(read: Read, weight: Question) -> None:
    assert [option.key for option in weight.options] == ["a", "b", "c"]
    assert read("b", weight).findings == {"rl.kl-weakly-held": "absent"}
    assert read("option a", weight).findings == {"rl.kl-weakly-held": "present"}


def test_a_value_of_another_thing_is_evidence(read: Read, weight: Question) -> None:
    turn = read("lr = 3e-4", weight)
    assert (turn.facts, turn.evidence) == ({}, {"report": "lr = 3e-4"})


@pytest.mark.parametrize(("text", "seen"), [("1", {0}), ("1, 3", {0, 2}), ("a and c", {0, 2}), ("第二个", {1}),
                                            ("none of these", set()), ("都没有", set()),
                                            ("all of them", {0, 1, 2})])  # fmt: skip
def test_of_a_check_what_is_left_out_was_not_seen(read: Read, check: Question, text: str, seen: set[int]) -> None:
    expected = {finding: "present" if n in seen else "absent" for n, finding in enumerate(LABELS)}
    assert read(text, check).findings == expected


@pytest.mark.parametrize("text", ["yes", "no", "1 and 4", "7", "done", "I ran it"])
def test_of_a_check_a_bare_answer_is_asked_back(read: Read, check: Question, text: str) -> None:
    turn = read(text, check)
    assert turn.unclear
    assert not turn.tells_anything


@pytest.mark.parametrize("text", ["not yet", "ok", "还没有"])
def test_a_check_takes_its_time(read: Read, check: Question, text: str) -> None:
    turn = read(text, check)
    assert turn.unclear
    assert not turn.tells_anything


def test_no_to_a_negative_question_is_asked_back(read: Read, ask: Ask) -> None:
    for lang, bare, plain_no in (("en", "no", "it does"), ("zh", "没有", "不是")):
        asked = (
            ask("contrastive.scale-constant", lang=lang) if lang == "en" else ask("accumulation.no-speedup", lang=lang)
        )
        assert read(bare, asked, lang).unclear
        assert not read(bare, asked, lang).tells_anything
        assert not read(plain_no, asked, lang).unclear
        assert asked.options[0].label not in ("yes", "是")
        assert read(asked.options[1].label, asked, lang).findings == {asked.id: "absent"}


@pytest.mark.parametrize("text", ["hm", "haha", "哈哈", "lol :)"])
def test_small_talk_is_no_evidence(read: Read, simple: Question, text: str) -> None:
    turn = read(text, simple)
    assert turn.unclear
    assert not turn.tells_anything


@pytest.mark.parametrize("text", ["OOM", "NaN", "fp16", "hang", "卡住了", "loss NaN", "AdamW"])
def test_a_single_term_is_evidence(read: Read, simple: Question, text: str) -> None:
    assert read(text, simple).evidence == {"report": text}


def test_a_check_that_cannot_be_done_is_passed_and_its_findings_stay_open(read: Read, check: Question) -> None:
    turn = read("can't run that here", check)
    assert (turn.passed, turn.findings) == (("print-token-labels",), {})


@pytest.mark.parametrize("text", [LOG, f"```\n{LOG}\n```", "step=1 loss=3 lr=1\nno\nstep=2 loss=nan lr=1"])
def test_what_was_pasted_answers_nothing(read: Read, simple: Question, text: str) -> None:
    turn = read(text, simple)
    assert turn.findings == {}
    assert "no" in turn.evidence["files"]["pasted"].splitlines()


@pytest.mark.parametrize("text", [f"no\n{LOG}", f"no\n\n```\n{LOG}\n```", f"{LOG}\n\nno", f"Here it is:\n{LOG}\n\nno"])
def test_an_answer_may_stand_before_or_apart_after_a_log(read: Read, simple: Question, text: str) -> None:
    turn = read(text, simple)
    assert turn.findings == {DIVERGES: "absent"}
    assert turn.evidence["files"]["pasted"] == LOG


@pytest.mark.parametrize(
    "text",
    ["step,loss\n1,3.2\n2,nan", "| step | loss |\n|---|---|\n| 1 | 3.2 |\n| 2 | nan |",
     '{"learning_rate": 0.1, "fp16": true}',
     "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB"],
)  # fmt: skip
def test_tables_documents_and_errors_are_read_as_files(
    diagnoser: Diagnoser, read: Read, simple: Question, text: str
) -> None:
    turn = read(text, simple)
    assert "report" not in turn.evidence
    observed = diagnoser.collect(Case.model_validate(turn.evidence))
    assert observed.facts or observed.findings


def test_ids_may_be_written_out(read: Read, simple: Question) -> None:
    turn = read("run.precision = fp16\namp.steps-skipped: no\nthe loss is NaN", simple)
    assert turn.facts == {"run.precision": "fp16"}
    assert turn.findings == {"amp.steps-skipped": "absent"}
    assert turn.evidence == {"report": "the loss is NaN"}


@pytest.mark.parametrize("text", ["yes\x00", "\x1b[Ayes", "y\x08es"])
def test_control_characters_hide_no_answer(read: Read, simple: Question, text: str) -> None:
    turn = read(text, simple)
    assert set(turn.findings.values()) == {"present"}
    assert turn.text == "yes"


@pytest.mark.parametrize("text", ["it was slow", "after the restart it hangs"])
def test_a_report_is_no_wish(read: Read, simple: Question, text: str) -> None:
    turn = read(text, simple)
    assert turn.command is None
    assert turn.evidence == {"report": text}


@pytest.mark.parametrize("text", ["why is the loss NaN?", "is it the data?", "what is a spike", "是数据的问题吗"])
def test_a_question_to_us_is_no_evidence_once_the_talk_is_on(
    read: Read, simple: Question, knowledge: Knowledge, text: str
) -> None:
    turn = read(text, simple)
    assert turn.unclear
    assert not turn.tells_anything
    assert read(text, opening(knowledge, "en")).evidence == {"report": text}


@pytest.mark.parametrize("text", ["thanks, the loss is NaN", "The loss is NaN. Thanks."])
def test_politeness_is_no_answer(read: Read, simple: Question, text: str) -> None:
    turn = read(text, simple)
    assert (turn.findings, turn.unclear) == ({}, "")
    assert "the loss is nan" in turn.evidence["report"].lower()


def test_an_unclear_cause_is_asked_back(read: Read, simple: Question) -> None:
    assert "learning rate" in read("could it be the learning rate", simple).unclear


def test_taking_back_may_come_with_what_is_right(read: Read, simple: Question) -> None:
    turn = read("that was wrong: the loss is fine", simple)
    assert turn.command.kind == "undo"
    assert turn.evidence == {"report": "the loss is fine"}


def test_an_answer_with_an_undo_is_not_taken_for_the_open_question(read: Read, simple: Question) -> None:
    turn = read("undo, yes", simple)
    assert turn.command.kind == "undo"
    assert turn.findings == {}
    assert turn.not_understood


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [("是", "en", "zh"), ("no, it does not", "zh", "en"), ("yes", "zh", "zh"), ("0.05", "zh", "zh"),
     ("fp16", "zh", "zh"),
     ("中文", "en", "zh"), ("in English please", "zh", "en"), ("loss 是 NaN", "en", "zh"), (LOG, "zh", "zh")],
)  # fmt: skip
def test_the_language_follows_the_writer(read: Read, simple: Question, text: str, before: str, after: str) -> None:
    assert read(text, simple, before).lang == after


def test_a_mention_of_a_file_says_nothing_else(read: Read, simple: Question) -> None:
    turn = read("see the attached log", simple)
    assert turn.expects_file
    assert turn.evidence == {}


def test_without_a_question_an_answer_is_asked_back(read: Read) -> None:
    assert read("yes").unclear
    assert read("the loss is NaN").evidence == {"report": "the loss is NaN"}


def test_the_label_of_an_option_goes_before_its_other_meanings(read: Read, knowledge: Knowledge) -> None:
    asked = opening(knowledge, "en")
    assert read("something else", asked).command is None
    assert read(asked.options[0].label, asked).findings == asked.options[0].answers


def test_the_opening_takes_several_symptoms_and_denies_none(read: Read, knowledge: Knowledge) -> None:
    asked = opening(knowledge, "en")
    assert read("1 and 2", asked).findings == asked.options[0].answers | asked.options[1].answers
    assert read("no", asked).findings == {}


_WORDS = st.sampled_from(
    ["yes", "no", "不", "是", "why", "not", "undo", "1", "2^9999", "nan", "```", "\n", "loss", "it was", "option", ",",
     "=",
     "run.precision", "|", "{", "}", "\x00", "\u202e", "the cause was", "9" * 400, " ", "\t", "1e999", "%", "第", "个"]
)  # fmt: skip
_MESSAGES = st.one_of(st.text(max_size=200), st.lists(_WORDS, max_size=20).map(" ".join), st.lists(_WORDS).map("".join))


@settings(max_examples=80)
@given(text=_MESSAGES, which=st.integers(0, 3), lang=st.sampled_from(["en", "zh"]))
def test_no_message_raises(knowledge: Knowledge, text: str, which: int, lang: str) -> None:
    kinds = [
        {"id": DIVERGES, "kind": "question", "asks": [DIVERGES]},
        {"id": "rl.kl-weakly-held", "kind": "question", "asks": ["rl.kl-weakly-held"]},
        {"id": "print-token-labels", "kind": "check", "asks": list(LABELS)},
    ]
    asked = None
    if which < len(kinds):
        proposal = {**kinds[which], "if": []}
        asked = question({"next_checks": [proposal], "findings": ["x"], "causes": []}, knowledge, lang)
    turn = understand(text, asked, knowledge, lang)
    assert set(turn.findings) <= set(knowledge.findings)
    assert set(turn.facts) <= set(knowledge.facts)
    Case.model_validate(turn.evidence)


@pytest.mark.parametrize(
    "text",
    [" " * 200_000, "yes" + " " * 200_000 + "x", "," * 200_000, "a, " * 70_000, "\t" * 100_000 + "x", "no " * 60_000,
     "why not " + "x " * 140, "a\n" * 90_000, "run.precision=" + " " * 190_000 + ",", "1 2 " * 14,
     "\n".join(", " * 900 + "x" for _ in range(100)), "9" * 100_000, "```" * 1000],
    ids=range(13),
)  # fmt: skip
def test_hostile_messages_end_and_answer_nothing(read: Read, weight: Question, text: str) -> None:
    """A regular expression that tries all ways to split a text would not end within hours for these."""
    assert not read(text, weight).findings


@pytest.mark.parametrize("text", ["1, 2, 3", "1, 2, 3, 4, 6", "42", "0.5"])
def test_one_line_of_numbers_is_an_answer_and_no_table(text: str) -> None:
    assert split(text) == Parts(text)
