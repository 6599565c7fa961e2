"""A post-mortem as far as the case can write it: the rest is marked for people to fill in."""

from __future__ import annotations

import re
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING

from api.cases import history
from api.cases.out import moment
from api.cases.state import closing
from api.cases.wording import outcome_told
from api.messages import Words
from engine.inference.wording import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.access import Caller
    from api.cases.events import Outcome
    from api.cases.service import Cases
    from api.cases.view import CaseView
    from engine.knowledge.knowledge import Knowledge
    from engine.model.base import Lang

_WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "draft": Words("Draft, written from the events of the case.", "草稿，由案例的事件生成。"),
        "case": Words("Case", "案例"),
        "status": Words("Status", "状态"),
        "open": Words("open", "未结案"),
        "resolved": Words("resolved", "已结案"),
        "opened": Words("Opened", "立案"),
        "last": Words("Last change", "最后变更"),
        "resolved_at": Words("Resolved", "结案"),
        "knowledge": Words("Knowledge base", "知识库"),
        "summary": Words("Summary", "摘要"),
        "impact": Words("Impact", "影响"),
        "not_stated": Words("Not stated by the knowledge base.", "知识库未说明。"),
        "fill": Words("TO FILL IN", "待填写"),
        "fill_impact": Words(
            "what it cost: accelerator-hours, tokens, which checkpoints are suspect",
            "代价：加速卡小时、token 数、哪些检查点可疑",
        ),
        "fill_prevent": Words("what will find or prevent it next time", "下次如何发现或预防"),
        "cause": Words("Cause", "原因"),
        "confirmed_by": Words("Confirmed by", "确认依据"),
        "remedy": Words("What was done", "已采取措施"),
        "note": Words("Note", "备注"),
        "not_resolved": Words("Not confirmed yet.", "尚未确认。"),
        "confirmed": Words("confirmed", "已确认"),
        "ranking": Words("What the evidence spoke for", "证据支持什么"),
        "was_first": Words("Confirmed: {title}. It led the ranking with {told}.", "已确认：{title}。以 {told} 居首。"),
        "was_ranked": Words(
            "Confirmed: {title}. The ranking had it at place {place} with {told}.",
            "已确认：{title}。排序中位列第 {place}（{told}）。",
        ),
        "was_not_ranked": Words(
            "Confirmed: {title}. The ranking did not list it: see what it lacked.",
            "已确认：{title}。排序中没有它：请看缺了什么。",
        ),
        "doubted": Words("held for wrong", "被认为不是"),
        "for": Words("for", "支持"),
        "against": Words("against", "反对"),
        "not_seen": Words("not seen", "未见"),
        "unknown": Words("None of the known causes", "不是已知原因"),
        "timeline": Words("Timeline", "时间线"),
        "when": Words("When (UTC)", "时间（UTC）"),
        "who": Words("Who", "谁"),
        "what": Words("What", "事件"),
        "lead": Words("In the lead after it", "其后居首"),
        "nothing": Words("nothing", "无"),
        "next": Words("Next", "后续"),
    }
)
_SPACE = re.compile(r"\s+")
_MARKUP = re.compile(r"([\\`*_\[\]<>|~#])")


async def post_mortem(cases: Cases, caller: Caller, case_id: str, knowledge: Knowledge, lang: Lang) -> str:
    """The draft in Markdown.

    Raises:
        Problem: 404 ``unknown-case``.
    """
    from jinja2 import Environment, StrictUndefined

    view = await cases.get(caller, case_id)
    told = await history.timeline(cases, caller, case_id, knowledge, lang)
    environment = Environment(  # noqa: S701 - Markdown: what comes from outside is escaped by `finalize` and by filters
        trim_blocks=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    environment.filters |= {"code": _code, "cell": _plain}
    diagnosis = view.ranked.data(lang)
    outcome, end = view.state.outcome, closing(view.events)
    text = (files("api.cases") / "templates" / "post_mortem.md").read_text("utf-8")
    return environment.from_string(text).render(
        w={key: words.get(lang) for key, words in _WORDS.items()},
        title=_plain(view.state.title),
        case=view.head,
        opened=moment(view.head.created),
        opened_by=_plain(view.events[0].by.name),
        updated=moment(view.head.updated),
        resolved=moment(end.at) if end is not None else None,
        outcome=None if outcome is None else _written(outcome),
        outcome_title="" if outcome is None else _plain(outcome_told(outcome, knowledge, lang)),
        doubted=view.state.doubted,
        diagnosis=diagnosis,
        moments=told.moments,
        summary=_summary(view, knowledge, lang),
        impact=_impact(view, knowledge, lang),
        next=_next(view, lang),
    )


def _summary(view: CaseView, knowledge: Knowledge, lang: Lang) -> str:
    """What it was and where the ranking had it; of an open case what the diagnosis says."""
    diagnosis, outcome = view.ranked.data(lang), view.state.outcome
    if outcome is None:
        return str(diagnosis["summary"])
    title = _plain(outcome_told(outcome, knowledge, lang))
    ids = [cause["id"] for cause in diagnosis["causes"]]
    if outcome.cause not in ids:
        return _WORDS["was_not_ranked"].get(lang).format(title=title)
    place = ids.index(outcome.cause)
    key = "was_ranked" if place else "was_first"
    told = percent(diagnosis["causes"][place]["probability"])
    return _WORDS[key].get(lang).format(title=title, place=place + 1, told=told)


def _impact(view: CaseView, knowledge: Knowledge, lang: Lang) -> list[str]:
    outcome = view.state.outcome
    if outcome is None:
        return list(view.ranked.data(lang)["impact"])
    confirmed = knowledge.causes.get(outcome.cause) if outcome.cause else None
    return [confirmed.impact.get(lang)] if confirmed is not None else []


def _next(view: CaseView, lang: Lang) -> list[str]:
    """What is still to do: of an open case the checks, of a resolved one the remedies if none is written down."""
    diagnosis, outcome = view.ranked.data(lang), view.state.outcome
    if outcome is None:
        return [check["title"] for check in diagnosis["next_checks"]]
    if outcome.remedy:
        return []
    confirmed = (cause for cause in diagnosis["causes"] if cause["id"] == outcome.cause)
    return [remedy["do"] for cause in confirmed for remedy in cause["remedies"][:3]]


def _written(outcome: Outcome) -> dict[str, str | None]:
    words = {name: _plain(text) for name, text in outcome.model_dump(exclude={"cause"}).items()}
    return {**words, "cause": outcome.cause}


def _plain(text: str) -> str:
    """One line whose signs are no markup."""
    return _MARKUP.sub(r"\\\1", _SPACE.sub(" ", text).strip())


def _code(text: str) -> str:
    """A quotation as a code span, longer backticks around those inside (CommonMark 6.1)."""
    line = _SPACE.sub(" ", text).strip()
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {line} {fence}" if longest else f"`{line}`"
