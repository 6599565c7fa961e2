"""The dialogue on the terminal: from a pipe, with files, as one JSON document."""

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from api.cli import FOUND, INCOMPLETE, Problem, ask
from engine.diagnose import Diagnoser
from engine.model.case import Case

SLOW = "training is slow and the GPU utilisation is low all the time"
HOST = "throughput/optimizer-on-host"
LOG = "step 100 loss 2.1 grad_norm 0.9\nstep 200 loss nan grad_norm inf"


@pytest.fixture
def run(diagnoser: Diagnoser, monkeypatch: pytest.MonkeyPatch):
    """Run the command on one engine that all tests share."""
    monkeypatch.setattr(ask, "load_knowledge", lambda **_: diagnoser.knowledge)
    monkeypatch.setattr(ask, "Diagnoser", lambda *_, **__: diagnoser)
    monkeypatch.setattr(diagnoser, "close", lambda: None)

    def invoke(*arguments: str, said: str = "") -> Result:
        return CliRunner().invoke(ask.command, arguments, input=said, standalone_mode=False)

    return invoke


def test_a_pipe_of_answers_leads_to_the_cause(run, diagnoser: Diagnoser) -> None:
    result = run("-r", SLOW, said="optimizer.runs-on-cpu = yes\nwhy\nbye\n")
    assert result.return_value == FOUND
    assert "> why" in result.output
    assert diagnoser.knowledge.causes[HOST].title.en in result.output
    assert result.output.rstrip().endswith("Goodbye.")


def test_the_end_of_the_input_ends_politely(run) -> None:
    result = run("-r", SLOW)
    assert result.exception is None
    assert result.return_value == FOUND


def test_nothing_said_is_incomplete(run) -> None:
    assert run().return_value == INCOMPLETE


def test_json_is_one_document_with_transcript_and_diagnosis(run) -> None:
    result = run("-r", SLOW, "--json", said="不知道\noptimizer.runs-on-cpu = yes\n")
    document = json.loads(result.stdout)
    assert [item["said"] for item in document["transcript"]] == ["不知道", "optimizer.runs-on-cpu = yes"]
    assert document["transcript"][0]["reply"]["lang"] == "zh"
    assert document["diagnosis"]["causes"][0]["id"] == HOST
    assert "> 不知道" in result.stderr


def test_it_begins_with_files(run, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(LOG)
    document = json.loads(run(str(tmp_path / "train.log"), "--json").stdout)
    assert "loss.nan" in {fact["id"] for fact in document["diagnosis"]["facts"]}


def test_standard_input_cannot_be_a_file_as_well(run) -> None:
    assert isinstance(run("-").exception, Problem)


def test_what_could_act_on_a_terminal_is_written_out(run) -> None:
    assert "\x1b" not in run("-r", SLOW, said="the \x1b[31mloss is NaN\n").output


def test_a_resolution_ends_the_dialogue(run) -> None:
    document = json.loads(run("-r", SLOW, "--json", said=f"it was {HOST}\nyes\n").stdout)
    assert len(document["transcript"]) == 1


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("yes\n\nno\n", ["yes", "no"]),
        (f"yes\n{LOG}\nno\n", ["yes", LOG, "no"]),
        ("Traceback (most recent call last):\n  File \"a.py\", line 3\nno\n",
         ["Traceback (most recent call last):\n  File \"a.py\", line 3", "no"]),
        ("```\nno\n\nyes\n```\nno", ["```\nno\n\nyes\n```", "no"]),
        ("```\nnever closed", ["```\nnever closed"]),
    ],
)  # fmt: skip
def test_lines_of_a_pipe_are_messages_and_blocks_stay_together(text: str, messages: list[str]) -> None:
    assert list(ask._piped(io.StringIO(text))) == messages


def test_taking_back_and_starting_over(diagnoser: Diagnoser) -> None:
    talk = ask.Talk(diagnoser, Case(report=SLOW), (), "en")
    first = talk.begin()
    talk.say("optimizer.runs-on-cpu = yes")
    assert talk.say("undo")[1].ranking == first.ranking
    talk.say("optimizer.runs-on-cpu = yes")
    talk.say(LOG)
    assert talk.say("start over")[1].ranking == first.ranking


def test_an_answer_taken_back_by_not_knowing_counts_no_longer(diagnoser: Diagnoser) -> None:
    talk = ask.Talk(diagnoser, Case(report=SLOW), (), "en")
    first = talk.begin()
    talk.say("optimizer.runs-on-cpu = yes")
    assert talk.say("optimizer.runs-on-cpu = don't know")[1].ranking == first.ranking


def test_more_than_a_case_may_hold_is_left_out_and_said_so(diagnoser: Diagnoser) -> None:
    talk = ask.Talk(diagnoser, Case(report=SLOW), (), "en")
    first = talk.begin()
    long = "the office is nice. " * 9_999
    talk.say(long)
    turn, reply = talk.say(long)
    assert turn.unclear in reply.wished
    assert reply.ranking[0].cause == first.ranking[0].cause


def test_pasted_files_of_several_messages_stand_beside_each_other(diagnoser: Diagnoser) -> None:
    talk = ask.Talk(diagnoser, Case(report=SLOW), (), "en")
    talk.begin()
    talk.say(LOG)
    talk.say('{"learning_rate": 0.1}')
    assert len(talk.diagnosis["coverage"]["read"]) == 2
