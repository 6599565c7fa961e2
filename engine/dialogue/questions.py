"""What to ask next: the planner's best proposal in plain words, with what each answer would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.dialogue.lead import decided, leads
from engine.dialogue.model import Expected, Option, Question
from engine.dialogue.phrasing import is_negative
from engine.dialogue.wording import say
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang
from engine.model.conditions import AllOf, AnyOf, Condition, FactOperand, FactTest, FindingTest, NotOf
from engine.model.kb import Check, Fact, Finding

Proposal = Mapping[str, Any]

OPENING = "opening"
OPENING_OPTIONS = 10
FIRST_SYMPTOMS = ("loss.nan", "loss.spike", "loss.stuck", "hang.no-progress")
"""What people come with most often stands first, however few causes show it under this plain name."""
TOO_VAGUE = 0.15
"""Where nothing abnormal is known and no cause comes to this, what is wrong is asked: what else would seem random."""
SHOWN_THEN = 1
"""The leading cause after an answer says enough beside an option; the diagnosis holds the others."""


def question(diagnosis: Mapping[str, Any], knowledge: Knowledge, lang: Lang) -> Question | None:
    """The most informative question of a diagnosis (as ``Diagnoser.answer`` gives it, in any language).

    None if nothing that is left to ask teaches anything. Where nothing abnormal is known yet, it asks what is wrong;
    where one cause leads by far, only for what confirms it or may still turn it.
    """
    if not diagnosis["findings"] and all(cause["probability"] < TOO_VAGUE for cause in diagnosis["causes"]):
        return opening(knowledge, lang)
    known = [proposal for proposal in diagnosis["next_checks"] if _is_known(proposal, knowledge)]
    lead = leads(diagnosis)
    if lead is not None:
        telling = _confirming(known, lead, knowledge) if decided(diagnosis) else _about(known, lead, knowledge)
        known = telling or [proposal for proposal in known if _may_turn(proposal, lead)]
    if known:
        return _proposed(known[0], diagnosis, knowledge, lang)
    return None if diagnosis["findings"] else opening(knowledge, lang)


def question_of(id_: str, diagnosis: Mapping[str, Any], knowledge: Knowledge, lang: Lang) -> Question | None:
    """The question that one of the proposed checks is, by its id; None if a diagnosis does not propose it."""
    proposals = (item for item in diagnosis["next_checks"] if item["id"] == id_ and _is_known(item, knowledge))
    found = next(proposals, None)
    return None if found is None else _proposed(found, diagnosis, knowledge, lang)


def _is_known(proposal: Proposal, knowledge: Knowledge) -> bool:
    """The knowledge base may have changed since the diagnosis was made."""
    return proposal["id"] in (knowledge.findings if proposal["kind"] == "question" else knowledge.checks)


def _confirming(proposals: Sequence[Proposal], lead: Mapping[str, Any], knowledge: Knowledge) -> list[Proposal]:
    """The checks that the cause itself names."""
    cause = knowledge.causes.get(lead["id"])
    return [item for item in proposals if item["kind"] == "check" and cause is not None and item["id"] in cause.checks]


def _about(proposals: Sequence[Proposal], lead: Mapping[str, Any], knowledge: Knowledge) -> list[Proposal]:
    """What asks first for something that the cause shows."""
    cause = knowledge.causes.get(lead["id"])
    shown = {link.finding for link in cause.shows} if cause is not None else set()
    return [item for item in proposals if item["asks"] and item["asks"][0] in shown]


def _may_turn(proposal: Proposal, lead: Mapping[str, Any]) -> bool:
    """Whether an answer would put another cause in front, or none."""
    return any(not item["then"] or item["then"][0]["cause"] != lead["id"] for item in proposal["if"])


def opening(knowledge: Knowledge, lang: Lang) -> Question:
    """What is wrong at all: the symptoms that most causes show, so that one click leads into the ranking."""
    shown = [knowledge.findings[id_] for id_ in _telling_symptoms(knowledge)]
    options = [
        Option(key=str(n), label=finding.title.get(lang), answers={finding.id: "present"})
        for n, finding in enumerate(shown, 1)
    ]
    options.append(Option(key=str(len(options) + 1), label=say("something-else", lang)))
    asks = tuple(finding.id for finding in shown)
    return Question(
        id=OPENING,
        kind="opening",
        text=say("opening", lang),
        title=say("opening-title", lang),
        asks=asks,
        options=tuple(options),
        several=True,
    )


def _telling_symptoms(knowledge: Knowledge) -> list[str]:
    """Symptoms a person can see, none about a trial: the usual ones, then by how much no earlier one covers."""
    calibration = knowledge.calibration
    plain = {
        finding.id
        for finding in knowledge.findings.values()
        if finding.role == "symptom" and finding.visible and finding.ask and not finding.id.endswith(")")
    }
    weights = {
        cause.id: {
            link.finding: calibration.priors[cause.prior] * calibration.links[link.how]
            for link in cause.shows
            if link.finding in plain
        }
        for cause in knowledge.active_causes.values()
    }
    chosen = [id_ for id_ in FIRST_SYMPTOMS if id_ in plain]
    weights = {cause: of_cause for cause, of_cause in weights.items() if not of_cause.keys() & set(chosen)}
    while len(chosen) < OPENING_OPTIONS:
        total: dict[str, float] = {}
        for of_cause in weights.values():
            for name, weight in of_cause.items():
                total[name] = total.get(name, 0.0) + weight
        if not total:
            break
        best = min(total, key=lambda name: (-round(total[name], 9), name))
        chosen.append(best)
        weights = {cause: of_cause for cause, of_cause in weights.items() if best not in of_cause}
    return chosen


def _proposed(proposal: Proposal, diagnosis: Mapping[str, Any], knowledge: Knowledge, lang: Lang) -> Question:
    asks = tuple(finding for finding in proposal["asks"] if finding in knowledge.findings)
    after = {outcome["state"]: _expected(outcome["then"], knowledge, lang) for outcome in proposal["if"]}
    if proposal["kind"] == "check":
        return _check(knowledge.checks[proposal["id"]], asks, after, knowledge, lang)
    finding = knowledge.findings[proposal["id"]]
    ask = (finding.ask or finding.title).get(lang)
    fact = value_of(finding, knowledge)
    way = _way_to_tell(finding.id, diagnosis, knowledge)
    return Question(
        id=finding.id,
        kind="question",
        text=ask,
        title=ask,
        how=way.how.get(lang) if way else "",
        commands=dict(way.commands) if way else {},
        minutes=way.minutes if way else 0.0,
        risk=way.risk if way else "none",
        asks=asks,
        options=_yes_or_no(finding, ask, after, lang, "unknown", "abc" if fact and fact.type == "number" else "123"),
        value=fact.id if fact else None,
        value_label=_value_label(fact, lang) if fact else "",
    )


def _check(
    check: Check, asks: tuple[str, ...], after: Mapping[str, tuple[Expected, ...]], knowledge: Knowledge, lang: Lang
) -> Question:
    title = check.title.get(lang)
    if len(asks) == 1:
        finding = knowledge.findings[asks[0]]
        ask = finding.ask.get(lang) if finding.ask else say("is-it-so", lang, title=finding.title.get(lang))
        text, options = say("see-single", lang, check=title, ask=ask), _yes_or_no(finding, ask, after, lang, "not-done")
    else:
        text, options = say("see-several", lang, check=title), _which(asks, after, knowledge, lang)
    return Question(
        id=check.id,
        kind="check",
        text=text,
        title=title,
        how=check.how.get(lang),
        commands=dict(check.commands),
        minutes=check.minutes,
        risk=check.risk,
        asks=asks,
        options=options,
        several=len(asks) > 1,
    )


def _yes_or_no(
    finding: Finding,
    ask: str,
    after: Mapping[str, tuple[Expected, ...]],
    lang: Lang,
    pass_label: str,
    keys: str = "123",
) -> tuple[Option, ...]:
    """Yes, no and don't know; of a negative question each says what it means."""
    title = finding.title.get(lang)
    yes, no = (title, say("not-so", lang, title=title)) if is_negative(ask) else (say("yes", lang), say("no", lang))
    return (
        Option(key=keys[0], label=yes, answers={finding.id: "present"}, then=after.get("present", ())),
        Option(key=keys[1], label=no, answers={finding.id: "absent"}, then=after.get("absent", ())),
        Option(key=keys[2], label=say(pass_label, lang), passes=True),
    )


def _which(
    asks: tuple[str, ...], after: Mapping[str, tuple[Expected, ...]], knowledge: Knowledge, lang: Lang
) -> tuple[Option, ...]:
    """An option for each finding, one for none of them, one for not knowing; the planner looks ahead at the first."""
    options = [
        Option(
            key=str(n),
            label=knowledge.findings[id_].title.get(lang),
            answers={id_: "present"},
            then=after.get("present", ()) if n == 1 else (),
        )
        for n, id_ in enumerate(asks, 1)
    ]
    none = Option(key=str(len(asks) + 1), label=say("none-of-these", lang), answers=dict.fromkeys(asks, "absent"))
    return (*options, none, Option(key=str(len(asks) + 2), label=say("not-done", lang), passes=True))


def _expected(then: list[Mapping[str, Any]], knowledge: Knowledge, lang: Lang) -> tuple[Expected, ...]:
    return tuple(
        Expected(
            cause=item["cause"], title=cause_title(item["cause"], knowledge, lang), probability=item["probability"]
        )
        for item in then[:SHOWN_THEN]
    )


def cause_title(cause: str, knowledge: Knowledge, lang: Lang) -> str:
    """The title of a cause; its id if the knowledge base does not hold it any more."""
    return knowledge.causes[cause].title.get(lang) if cause in knowledge.causes else cause


def _way_to_tell(finding: str, diagnosis: Mapping[str, Any], knowledge: Knowledge) -> Check | None:
    """How to find out: the cheapest check of the first cause in the ranking that shows the finding and names one.

    A finding may turn up in many fields ("another template cures it"); the cause says which of them is meant.
    """
    for ranked in diagnosis["causes"]:
        cause = knowledge.causes.get(ranked["id"])
        if cause is None or all(link.finding != finding for link in cause.shows):
            continue
        named = [knowledge.checks[id_] for id_ in cause.checks if id_ in knowledge.checks]
        ways = [check for check in named if finding in check.settles]
        if ways:
            return min(ways, key=effort)
    return None


def effort(check: Check) -> tuple[float, str]:
    """What orders checks by how cheap they are: minutes, an accelerator counting as ten of them."""
    return check.minutes + 10 * check.accelerators, check.id


def value_of(finding: Finding, knowledge: Knowledge) -> Fact | None:
    """The one fact whose value decides the finding, if its rule reads nothing else; not where that is yes or no."""
    if finding.when is None:
        return None
    tests = list(_tests(finding.when))
    names = {test.fact for test in tests if isinstance(test, FactTest)}
    compared = any(isinstance(test, FactTest) and isinstance(test.operand, FactOperand) for test in tests)
    if len(names) != 1 or compared or any(isinstance(test, FindingTest) for test in tests):
        return None
    fact = knowledge.facts[names.pop()]
    return fact if fact.type in ("number", "choice") else None


def _tests(condition: Condition) -> Iterator[FactTest | FindingTest]:
    if isinstance(condition, FactTest | FindingTest):
        yield condition
    elif isinstance(condition, NotOf):
        yield from _tests(condition.not_)
    else:
        assert isinstance(condition, AllOf | AnyOf)
        for part in condition.all if isinstance(condition, AllOf) else condition.any:
            yield from _tests(part)


def _value_label(fact: Fact, lang: Lang) -> str:
    title = fact.title.get(lang)
    if fact.values is not None:
        return f"{title} ({', '.join(fact.values)})"
    return f"{title} ({fact.unit})" if fact.unit else title
