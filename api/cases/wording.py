"""Events in words."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from api.cases.events import Added, Answered, Doubted, Opened, Reopened, Resolved, Retracted, Said
from api.messages import Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.cases.events import Answers, Body, Evidence, Outcome
    from engine.knowledge.knowledge import Knowledge
    from engine.model.base import Lang

_QUOTED = 200
_KINDS: Mapping[str, Words] = MappingProxyType(
    {
        "report": Words("a report", "描述"),
        "observations": Words("{count} observations", "{count} 条观测"),
        "log": Words("{count} log lines", "{count} 行日志"),
        "series": Words("{count} series", "{count} 条曲线"),
        "files": Words("{count} file fragments", "{count} 个文件片段"),
        "facts": Words("{count} facts", "{count} 个事实"),
        "contrast": Words("{count} comparisons", "{count} 个对照"),
        "paradigm": Words("the paradigm", "训练范式"),
    }
)
_STATES = {
    "present": Words("yes", "是"),
    "absent": Words("no", "否"),
    "unknown": Words("could not be told", "无法判断"),
}
_SENTENCES: Mapping[str, Words] = MappingProxyType(
    {
        "opened": Words("opened with {what}", "立案，附 {what}"),
        "evidence": Words("evidence added: {what}", "补充证据：{what}"),
        "answer": Words("answered: {what}", "回答：{what}"),
        "retraction": Words("took back event {seq}", "撤回事件 {seq}"),
        "message": Words("wrote “{what}”", "留言“{what}”"),
        "resolution": Words("resolved: {what}", "结案：{what}"),
        "reopening": Words("opened again", "重新打开"),
        "wrong": Words("holds {what} for wrong", "认为不是 {what}"),
        "right": Words("holds {what} for right", "认为是 {what}"),
        "nothing": Words("nothing", "无内容"),
        "passed": Words("{what} could not be answered", "{what} 无法回答"),
    }
)


def told(body: Body, knowledge: Knowledge, lang: Lang) -> str:
    """What an event did, in a few words."""
    if isinstance(body, Opened | Added):
        return _say(body.kind, lang, what=_evidence(body.evidence, lang))
    if isinstance(body, Answered):
        return _say("answer", lang, what=answers_told(body.answers, knowledge, lang))
    if isinstance(body, Retracted):
        return _say("retraction", lang, seq=body.seq)
    if isinstance(body, Said):
        return _say("message", lang, what=" ".join(body.text.split())[:_QUOTED])
    if isinstance(body, Resolved):
        return _say("resolution", lang, what=outcome_told(body.outcome, knowledge, lang))
    if isinstance(body, Reopened):
        return _say("reopening", lang)
    assert isinstance(body, Doubted)
    return _say(body.verdict, lang, what=cause_title(body.cause, knowledge, lang))


def answers_told(answers: Answers, knowledge: Knowledge, lang: Lang) -> str:
    """Each answered finding with its state, each fact with its value."""
    parts = [
        f"{finding_title(name, knowledge, lang)}: {_STATES[state].get(lang)}"
        for name, state in answers.findings.items()
    ]
    parts += [f"{fact_title(name, knowledge, lang)}: {value}" for name, value in answers.facts.items()]
    open_ = [*answers.passed, *([answers.asked] if answers.asked and not parts else [])]
    parts += [_say("passed", lang, what=_asked_title(name, knowledge, lang)) for name in open_]
    return "; ".join(parts) or answers.note or _say("nothing", lang)


def outcome_told(outcome: Outcome, knowledge: Knowledge, lang: Lang) -> str:
    """The confirmed cause, by its title or in the words it was given."""
    return cause_title(outcome.cause, knowledge, lang) if outcome.cause else outcome.other


def cause_title(cause: str, knowledge: Knowledge, lang: Lang) -> str:
    """The title of a cause, or its id if the knowledge in use has it no more."""
    return knowledge.causes[cause].title.get(lang) if cause in knowledge.causes else cause


def finding_title(name: str, knowledge: Knowledge, lang: Lang) -> str:
    """The title of a finding, or its id."""
    return knowledge.findings[name].title.get(lang) if name in knowledge.findings else name


def fact_title(name: str, knowledge: Knowledge, lang: Lang) -> str:
    """The title of a fact or a finding, or its id."""
    return knowledge.facts[name].title.get(lang) if name in knowledge.facts else finding_title(name, knowledge, lang)


def _asked_title(name: str, knowledge: Knowledge, lang: Lang) -> str:
    return knowledge.checks[name].title.get(lang) if name in knowledge.checks else finding_title(name, knowledge, lang)


def _evidence(evidence: Evidence, lang: Lang) -> str:
    parts = [file.name for file in evidence.files[:5]] + (["…"] if len(evidence.files) > 5 else [])
    for key, value in evidence.document.items():
        if key in _KINDS:
            count = len(value) if isinstance(value, list | dict) else 1
            parts.append(_KINDS[key].get(lang).format(count=count))
    return ", ".join(parts) or _say("nothing", lang)


def _say(key: str, lang: Lang, **values: object) -> str:
    return _SENTENCES[key].get(lang).format(**values)
