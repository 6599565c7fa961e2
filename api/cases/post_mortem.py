"""A post-mortem as far as the case can write it: the rest is marked for people to fill in."""

from __future__ import annotations

import re
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING

from api.cases import history
from api.cases.events import Resolved, Said
from api.cases.out import moment
from api.cases.wording import outcome_told
from api.messages import Words

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
        "not_resolved": Words("Not confirmed yet. The ranking so far:", "尚未确认。目前的排序："),
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
        "no_check": Words("No check would tell more.", "没有更能说明问题的检查。"),
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
    outcome = view.state.outcome
    confirmed = [cause for cause in diagnosis["causes"] if outcome is not None and cause["id"] == outcome.cause]
    text = (files("api.cases") / "templates" / "post_mortem.md").read_text("utf-8")
    return environment.from_string(text).render(
        w={key: words.get(lang) for key, words in _WORDS.items()},
        title=_plain(view.state.title),
        case=view.head,
        opened=moment(view.head.created),
        opened_by=_plain(view.events[0].by.name),
        updated=moment(view.head.updated),
        resolved=_resolved(view),
        outcome=None if outcome is None else _written(outcome),
        outcome_title="" if outcome is None else _plain(outcome_told(outcome, knowledge, lang)),
        doubted=view.state.doubted,
        diagnosis=diagnosis,
        moments=told.moments,
        remedies=(confirmed or diagnosis["causes"])[0]["remedies"][:3] if diagnosis["causes"] else [],
    )


def _written(outcome: Outcome) -> dict[str, str | None]:
    words = {name: _plain(text) for name, text in outcome.model_dump(exclude={"cause"}).items()}
    return {**words, "cause": outcome.cause}


def _resolved(view: CaseView) -> str | None:
    if view.state.outcome is None:
        return None
    closing = (
        event.at
        for event in reversed(view.events)
        if isinstance(event.body, Resolved) or (isinstance(event.body, Said) and event.body.outcome is not None)
    )
    return moment(next(closing))


def _plain(text: str) -> str:
    """One line whose signs are no markup."""
    return _MARKUP.sub(r"\\\1", _SPACE.sub(" ", text).strip())


def _code(text: str) -> str:
    """A quotation as a code span, longer backticks around those inside (CommonMark 6.1)."""
    line = _SPACE.sub(" ", text).strip()
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {line} {fence}" if longest else f"`{line}`"
