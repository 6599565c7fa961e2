"""Forms: what came out of a check, and what it was in the end. Pure: built from plain data, read from what was sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from api.cases.events import Answers, Outcome
from api.slack import kit
from api.slack.kit import Block
from api.slack.words import percent, say
from engine.dialogue.values import read_value

if TYPE_CHECKING:
    from engine.dialogue.model import Question
    from engine.knowledge.knowledge import Knowledge
    from engine.model.base import Lang

RAN, RESOLVE = "ran", "resolve"  # callback ids
CAUSE = "cause"
_FINDING, _VALUE, _TEXT = "finding ", "value ", "text "
_STATES = {"yes": "present", "no": "absent", "dont-know": "unknown"}
_OUTCOME = ("other", "confirmed_by", "remedy", "note")
_LABELS = {"other": "other", "confirmed_by": "confirmed-by", "remedy": "remedy-done", "note": "note"}
_MOST_FINDINGS = 40


class FormError(Exception):
    """What was filled in cannot be taken; ``errors`` says by block what is wrong."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__(errors)
        self.errors = errors


def ran_form(case_id: str, thread: Mapping[str, Any], question: Question, knowledge: Knowledge, lang: Lang) -> Block:
    """Asks for what a check settles, for the value that was measured, and for its output."""
    options = [kit.option(say(name, lang), name) for name in _STATES]
    blocks = [
        kit.field(f"{_FINDING}{id_}", _asked(id_, knowledge, lang), kit.radio("state", options))
        for id_ in question.asks[:_MOST_FINDINGS]
    ]
    if question.value:
        label = question.value_label or question.value
        blocks.append(kit.field(f"{_VALUE}{question.value}", label, kit.text_input("value")))
    hint = say("output-hint", lang)
    blocks.append(kit.field(f"{_TEXT}output", say("output", lang), kit.text_input("text", multiline=True), hint=hint))
    metadata = {"c": case_id, "q": question.id, "l": lang, **thread}
    return kit.modal(RAN, say("ran-title", lang), say("save", lang), say("cancel", lang), metadata, blocks)


def _asked(finding: str, knowledge: Knowledge, lang: Lang) -> str:
    """The question for a finding; if the knowledge base does not hold it any more, its id."""
    known = knowledge.findings.get(finding)
    return finding if known is None else (known.ask or known.title).get(lang)


def resolve_form(case_id: str, thread: Mapping[str, Any], lead: tuple[str, str] | None, lang: Lang) -> Block:
    """Asks for the confirmed cause, and how it was found and mended.

    Args:
        lead: id and title of the cause that is chosen from the start.
    """
    choice: Block = {
        "type": "external_select",
        "action_id": CAUSE,
        "min_query_length": 0,
        "placeholder": {"type": "plain_text", "text": say("search-cause", lang), "emoji": False},
    }
    if lead is not None:
        choice["initial_option"] = kit.option(lead[1], lead[0])
    blocks = [kit.field(CAUSE, say("confirmed-cause", lang), choice)]
    for name in _OUTCOME:
        element = kit.text_input("text", multiline=name == "note")
        blocks.append(kit.field(f"{_TEXT}{name}", say(_LABELS[name], lang), element))
    metadata = {"c": case_id, "l": lang, **thread}
    return kit.modal(RESOLVE, say("resolve-title", lang), say("save", lang), say("cancel", lang), metadata, blocks)


def ran_filled(view: Mapping[str, Any], knowledge: Knowledge) -> dict[str, Any]:
    """``answers`` and ``output`` of a delivery, from a form that was sent off.

    Raises:
        FormError: if a value is none of its fact.
    """
    place = kit.unpacked(view.get("private_metadata"))
    findings: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for block, element in _elements(view):
        if block.startswith(_FINDING) and (state := _STATES.get(_chosen(element))) is not None:
            findings[block.removeprefix(_FINDING)] = state
        elif block.startswith(_VALUE) and (written := _written(element)):
            fact = block.removeprefix(_VALUE)
            value = read_value(written, knowledge.facts[fact], "")[0] if fact in knowledge.facts else None
            if value is None:
                errors[block] = say("no-value", _lang(place))
            else:
                facts[fact] = value
    if errors:
        raise FormError(errors)
    output = _text(view, "output")
    if output and not (findings or facts):
        return {"output": output}
    answers = Answers(asked=str(place["q"]) if place.get("q") else None, findings=findings, facts=facts)
    return {"answers": answers.model_dump(), "output": output}


def resolve_filled(view: Mapping[str, Any]) -> dict[str, Any]:
    """``outcome`` of a delivery, from a form that was sent off.

    Raises:
        FormError: if it says neither a cause nor what else it was.
    """
    cause = next((_chosen(element) for block, element in _elements(view) if block == CAUSE), "")
    texts = {name: _text(view, name) for name in _OUTCOME}
    if not cause and not texts["other"]:
        lang = _lang(kit.unpacked(view.get("private_metadata")))
        raise FormError({f"{_TEXT}other": say("need-cause", lang)})
    return {"outcome": Outcome(cause=cause or None, **texts).model_dump()}


def causes_found(query: str, ranked: list[tuple[str, str, float]], knowledge: Knowledge, lang: Lang) -> list[Block]:
    """Groups of causes to choose from: those of the ranking, then all whose title or id has the words of ``query``.

    Args:
        ranked: id, title and probability.
    """
    words = query.lower().split()
    first = [kit.option(f"{percent(chance)} {title}", id_) for id_, title, chance in ranked if _has(words, title, id_)]
    shown = {id_ for id_, _, _ in ranked}
    rest = [
        kit.option(cause.title.get(lang), cause.id)
        for cause in knowledge.active_causes.values()
        if cause.id not in shown and _has(words, f"{cause.title.en} {cause.title.zh}", cause.id)
    ]
    groups = (("in-ranking", first), ("all-causes", rest[: kit.OPTIONS - len(first)]))
    return [
        {"label": {"type": "plain_text", "text": say(name, lang), "emoji": False}, "options": options}
        for name, options in groups
        if options
    ]


def _has(words: list[str], title: str, id_: str) -> bool:
    text = f"{title} {id_}".lower()
    return all(word in text for word in words)


def _lang(place: Mapping[str, Any]) -> Lang:
    return "zh" if place.get("l") == "zh" else "en"


def _elements(view: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Block id and filled-in element of each field."""
    values = view.get("state", {}).get("values", {}) if isinstance(view.get("state"), dict) else {}
    for block, fields in values.items() if isinstance(values, dict) else ():
        for element in fields.values() if isinstance(fields, dict) else ():
            if isinstance(element, dict):
                yield str(block), element


def _chosen(element: Mapping[str, Any]) -> str:
    option = element.get("selected_option")
    return str(option.get("value") or "") if isinstance(option, dict) else ""


def _written(element: Mapping[str, Any]) -> str:
    return str(element.get("value") or "").strip()


def _text(view: Mapping[str, Any], name: str) -> str:
    return next((_written(element) for block, element in _elements(view) if block == f"{_TEXT}{name}"), "")
