"""Words of the reports in both languages, and texts from a checkpoint made harmless to show."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from api.hidden import HIDDEN
from api.messages import Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.model.base import Lang

_WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "audit": Words("Release audit", "发布审计"),
        "verdict": Words("Verdict", "结论"),
        "pass": Words("pass", "通过"),
        "fail": Words("fail", "不通过"),
        "incomplete": Words("incomplete", "证据不足"),
        "not_enough_evidence": Words("not enough evidence", "证据不足"),
        "not_applicable": Words("not applicable", "不适用"),
        "waived": Words("waived", "已豁免"),
        "blocker": Words("blocker", "阻断"),
        "major": Words("major", "严重"),
        "minor": Words("minor", "次要"),
        "info": Words("info", "提示"),
        "failed": Words("Failed", "未通过"),
        "lacking": Words("Required, but not enough evidence", "必需但证据不足"),
        "waivers": Words("Waived", "已豁免"),
        "open": Words("Not enough evidence, not required", "证据不足（非必需）"),
        "passed": Words("Passed", "已通过"),
        "outside": Words("Not applicable", "不适用"),
        "gate": Words("Gate", "关卡"),
        "where": Words("Where", "位置"),
        "observed": Words("observed", "实际"),
        "expected": Words("expected", "应为"),
        "from": Words("from", "依据"),
        "more": Words("{count} more places", "另有 {count} 处"),
        "do": Words("What to do", "处理办法"),
        "check": Words("Next check", "下一步检查"),
        "leads": Words("May show in training or serving as", "可能在训练或服务中表现为"),
        "consequences": Words("Explains", "由此导致"),
        "follows": Words("follows from {gate}", "源于 {gate}"),
        "policy": Words("policy", "策略"),
        "kind": Words("kind", "类型"),
        "paradigm": Words("paradigm", "范式"),
        "knowledge": Words("knowledge base", "知识库"),
        "files": Words("Files", "文件"),
        "size": Words("Bytes", "字节"),
        "unread": Words("not read", "未读取"),
        "unused": Words("Waivers that are expired or name no failing gate", "已过期或未对应失败关卡的豁免"),
        "unknown_keys": Words("Keys of the intent that nothing reads", "意图文件中无人读取的键"),
        "repeated": Words(
            "Keys that stand twice in one object; the last one counts", "同一对象中重复出现的键（以最后一个为准）"
        ),
        "counts": Words("{count} gates", "{count} 项关卡"),
    }
)


def word(key: str, lang: Lang, **values: object) -> str:
    """The word of that key in ``lang``."""
    return _WORDS[key].get(lang).format(**values)


def visible(text: str) -> str:
    """The text on one line, with whatever could act on a terminal, a parser or a reader's eye written out."""
    return HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
