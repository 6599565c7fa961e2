"""Messages: whatever is in a diagnosis, Slack takes them and nothing in them acts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from api.cases.events import Outcome
from api.slack import modals
from api.slack.blocks import Message, answered_blocks, diagnosis_message, mention, why_message
from api.slack.replies import reply_message, resolved_message
from engine.diagnose import Diagnoser
from engine.dialogue import Turn, reply
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang
from engine.model.case import Case
from engine.model.diagnosis import Diagnosis
from tests.api.slack import checker

CASE = "0123456789abcdef" * 2
THREAD = {"workspace": "T0TEST", "channel": "C0TRAIN", "ts": "1700000000.000001"}
SCRAPS = (
    "<!channel>", "<!here>", "@here", "@channel", "@everyone", "<@U0BOSS>", "<#C0ALL>", "<http://evil.example|click>",
    "&", "<", ">", "&lt;", "&amp;amp;", "```", "`", "*", "_", "~", "**", "\n", "\n\n", "\t", "\r\n", "\x00",
    "\x1b[31m", "\x7f", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\U000e0041", "\ud83d", "\ue000", "😀",
    "👩‍👩‍👧", "损失为 NaN", "a" * 700, "字" * 900, "😀" * 400, "loss is NaN",
    "step 10 | loss nan", "$(rm -rf /)", "{}", "{0}", "{case}", "%s", "", " ",
    "\\", '"',
)  # fmt: skip


class Made:
    """Diagnoses of any content within their types, some far larger than the engine makes them."""

    def __init__(self, seed: int, knowledge: Knowledge) -> None:
        self.random = random.Random(seed)
        self.knowledge = knowledge
        self.causes = list(knowledge.causes)
        self.checks = list(knowledge.checks)
        self.findings = list(knowledge.findings)

    def text(self) -> str:
        return "".join(self.random.choices(SCRAPS, k=self.random.choice((1, 1, 2, 5, 30))))

    def probability(self) -> float:
        return self.random.choice((0.0, 1.0, 0.004, 0.999, self.random.random()))

    def many(self, most: int, make: Any) -> list[Any]:
        return [make() for _ in range(self.random.choice((0, 1, 2, most)))]

    def source(self) -> dict[str, Any]:
        return {"kind": "measured", "where": self.text(), "quote": self.text(), "step": None, "rank": None}

    def evidence(self) -> dict[str, Any]:
        bits = self.random.choice((0.0, -3.2, 1e6, self.random.gauss(0, 5)))
        return {
            "finding": self.random.choice(self.findings), "title": self.text(), "state": "present", "bits": bits,
            "because": self.text(), "facts": [], "sources": self.many(4, self.source),
        }  # fmt: skip

    def cause(self) -> dict[str, Any]:
        remedy = {"do": self.text(), "chance": 0.5, "minutes": 1e6, "risk": "high", "undo": self.text()}
        return {
            "id": self.random.choice(self.causes), "family": "x", "title": self.text(), "meaning": self.text(),
            "station": "x", "probability": self.probability(), "marginal": 0.5,
            "status": self.random.choice(("stable", "trial")),
            "expected": self.random.random() < 0.2, "evidence_for": self.many(30, self.evidence),
            "evidence_against": self.many(9, self.evidence), "remedies": [remedy] * self.random.randint(0, 5),
        }  # fmt: skip

    def check(self) -> dict[str, Any]:
        check = self.knowledge.checks[self.random.choice(self.checks)]
        asks = list(check.settles) or [self.random.choice(self.findings)]
        then = [{"cause": self.random.choice(self.causes), "probability": self.probability()}]
        outcomes = [
            {"outcome": self.text(), "finding": asks[0], "state": state, "probability": 0.5, "then": then}
            for state in ("present", "absent")
        ]
        kind, id_ = ("check", check.id) if self.random.random() < 0.5 else ("question", asks[0])
        return {
            "id": id_, "kind": kind, "title": self.text(), "minutes": 5.0, "asks": asks, "gain_bits": 1.0,
            "if": outcomes,
        }  # fmt: skip

    def outcome(self) -> Outcome:
        """What a person typed: half characters do not get that far."""
        texts = [self.text().encode("utf-8", "replace").decode() for _ in range(3)]
        return Outcome(other=texts[0], note=texts[1], remedy=texts[2])

    def diagnosis(self) -> dict[str, Any]:
        finding = {"id": "loss.nan", "title": self.text(), "because": self.text(), "concluded_by": "rule"}
        made = {
            "kb_version": "1", "kb_digest": "1", "engine_version": "1", "input_digest": "1", "answered_by": "reference",
            "summary": self.text(), "causes": self.many(10, self.cause), "next_checks": self.many(5, self.check),
            "unknown": {"probability": self.probability(), "why": self.text(), "would_help": self.many(9, self.text)},
            "findings": [finding] if self.random.random() < 0.95 else [],
        }  # fmt: skip
        return Diagnosis.model_validate(made).model_dump(by_alias=True)


def messages_of(made: Made, before: dict[str, Any], lang: Lang) -> Iterator[Message]:
    """What else is posted about a case."""
    after, knowledge = made.diagnosis(), made.knowledge
    later = reply(before, after, Turn(text=made.text()[:300], lang=lang), knowledge, lang)
    yield reply_message(CASE, later, made.many(30, made.text), mention("key:ci", made.text()), lang)
    told = {
        "cause": "x", "title": made.text(), "rank": made.random.choice((None, 1, 300)), "probability": 0.2,
        "supporting": made.many(9, made.evidence), "opposing": made.many(9, made.evidence),
        "missing": [{"finding": "x", "title": made.text(), "bits_if_present": 1.0}] * 9,
        "outweighed_by": [{"cause": cause, "probability": 0.1} for cause in made.causes[:3]],
    }  # fmt: skip
    yield why_message(told, {made.causes[0]: made.text()}, lang)
    yield resolved_message(made.outcome(), {}, "", lang)


@pytest.mark.parametrize("seeds", [range(250), pytest.param(range(250, 1000), marks=pytest.mark.long)])
def test_a_thousand_diagnoses_are_messages_that_slack_takes(knowledge: Knowledge, seeds: range) -> None:
    complaints: set[str] = set()
    most = 0
    langs: tuple[Lang, Lang] = ("en", "zh")
    for seed in seeds:
        made, lang = Made(seed, knowledge), langs[seed % 2]
        diagnosis = made.diagnosis()
        first = reply(None, diagnosis, Turn(text="", lang=lang), knowledge, lang)
        messages = [diagnosis_message(CASE, diagnosis, first, lang)]
        if seed % 8 < 2:
            messages += messages_of(made, diagnosis, lang)
            lead = (made.random.choice(made.causes), made.text())
            complaints.update(checker.of_view(modals.resolve_form(CASE, THREAD, lead, lang)))
            if first.question is not None:
                form = modals.ran_form(CASE, THREAD, first.question, knowledge, lang)
                complaints.update(checker.of_view(form))
        for message in messages:
            most = max(most, len(message.blocks))
            complaints.update(checker.of_message({"text": message.text, "blocks": message.blocks}))
    assert complaints == set()
    assert most <= 25


@pytest.fixture(scope="module")
def diagnosis(diagnoser: Diagnoser) -> dict[Lang, dict[str, Any]]:
    case = Case(
        report="The loss became NaN at step 4120, after the loss scale fell to 1. We train in fp16.",
        log=["step 4110 | loss 2.31 | grad norm 41.7", "step 4120 | loss nan | grad norm inf"],
    )
    observed = diagnoser.collect(case, ())
    return {"en": diagnoser.answer(observed, lang="en"), "zh": diagnoser.answer(observed, lang="zh")}


def message_of(diagnosis: dict[str, Any], knowledge: Knowledge, lang: Lang) -> str:
    first = reply(None, diagnosis, Turn(text="", lang=lang), knowledge, lang)
    return json.dumps(diagnosis_message(CASE, diagnosis, first, lang).blocks, ensure_ascii=False)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_message_names_causes_evidence_the_next_check_and_the_unknown(
    diagnosis: dict[Lang, dict[str, Any]], knowledge: Knowledge, lang: Lang
) -> None:
    told = diagnosis[lang]
    shown = message_of(told, knowledge, lang)
    assert all(cause["title"] in shown for cause in told["causes"][:3])
    assert "grad_norm inf at step 4120" in shown  # a quote from the log
    assert told["causes"][0]["evidence_for"][0]["because"] in shown
    assert told["unknown"]["why"] in shown
    assert '"action_id": "answer:' in shown


def test_a_leading_cause_comes_with_its_remedy_and_the_way_back(
    diagnosis: dict[Lang, dict[str, Any]], knowledge: Knowledge
) -> None:
    remedy = {"do": "Lower the rate.", "chance": 0.5, "minutes": 10, "risk": "low", "undo": "Put it back."}
    lead = {**diagnosis["en"]["causes"][0], "probability": 0.95, "remedies": [remedy]}
    shown = message_of({**diagnosis["en"], "causes": [lead, *diagnosis["en"]["causes"][1:]]}, knowledge, "en")
    assert "Lower the rate." in shown
    assert "undo: Put it back." in shown


def test_an_unknown_is_said_to_be_one(diagnoser: Diagnoser, knowledge: Knowledge) -> None:
    told = diagnoser.answer(diagnoser.collect(Case(report="zzz qqq"), ()), lang="en")
    shown = message_of({**told, "causes": []}, knowledge, "en")
    assert "No known cause fits" in shown
    assert "unknown" in shown


def test_after_an_answer_only_the_buttons_of_the_question_go() -> None:
    row = {"type": "actions", "block_id": "question", "elements": []}
    kept = [{"type": "divider"}, row, {"type": "actions", "block_id": "lead", "elements": []}]
    assert [block["type"] for block in answered_blocks(kept, "yes")] == ["divider", "context", "actions"]
    assert len(answered_blocks(kept * 30, "yes")) == 50


@pytest.mark.parametrize(
    ("actor", "name", "shown"),
    [
        ("slack:T0/U0ANNA", "anna", "<@U0ANNA>"),
        ("slack:T0/!channel", "<!channel>", "&lt;!channel&gt;"),
        ("key:ci", "ci & co", "ci &amp; co"),
        ("alert:grafana", "", "alert:grafana"),
    ],
)
def test_only_people_of_slack_are_mentioned(actor: str, name: str, shown: str) -> None:
    assert mention(actor, name) == shown


def test_the_checker_finds_what_slack_refuses() -> None:
    text = {"type": "mrkdwn", "text": "x", "verbatim": True}
    section = {"type": "section", "text": text}
    assert checker.of_message({"text": "x", "blocks": [section]}) == []
    for bad in (
        {"text": "<!here>"},
        {"text": "a & b"},
        {"text": "@here"},
        {"text": "x" * 3001},
        {"text": ""},
        {"text": "\u202e"},
    ):
        assert checker.of_message({"text": "x", "blocks": [{**section, "text": {**text, **bad}}]})
    assert checker.of_message({"text": "x", "blocks": [section] * 51})
    assert checker.of_message({"text": "", "blocks": [section]})
    button = {"type": "button", "text": {"type": "plain_text", "text": "x" * 76}, "action_id": "a", "value": "v"}
    assert checker.of_message({"text": "x", "blocks": [{"type": "actions", "elements": [button]}]})


@pytest.mark.parametrize(
    ("probability", "unknown", "headline"),
    [(0.9, 0.05, "A"), (0.5, 0.3, "Perhaps: A"), (0.1, 0.8, "The cause is not clear yet")],
)
def test_the_headline_is_as_sure_as_the_diagnosis(
    knowledge: Knowledge, probability: float, unknown: float, headline: str
) -> None:
    made = Made(1, knowledge)
    cause = made.cause() | {"title": "A", "probability": probability, "resembles": 0.0}
    diagnosis = made.diagnosis() | {"causes": [cause], "unknown": {"probability": unknown, "why": "so"}}
    message = diagnosis_message(CASE, diagnosis, reply(None, diagnosis, None, knowledge, "en"), "en")
    assert message.blocks[0]["text"]["text"] == headline
