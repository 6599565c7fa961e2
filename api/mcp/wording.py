"""What the tools say when something cannot be done, and what to do then."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from api.messages import Words

if TYPE_CHECKING:
    from engine.model.base import Lang

_TEXTS = MappingProxyType(
    {
        "no-id": Words("There is no {what} with the id '{name}'. {near}", "没有 id 为 '{name}' 的{what}。{near}"),
        "near": Words("Did you mean {ids}?", "是否想用 {ids}？"),
        "no-match": Words(
            "Nothing has these words. Try others, or send the number to diagnose as an observation under its own name.",
            "没有含这些词的条目。请换词，或把数值以原名作为 observation 发给 diagnose。",
        ),
        "look-up": Words("Look it up with list_facts.", "请用 list_facts 查找。"),
        "no-fit": Words("{where}: {why}", "{where}：{why}"),
        "say-more": Words(
            "Nothing is answered. Put what was found into findings (present or absent) or facts; if it cannot be told, "
            "put the id into unknown.",
            "没有回答任何内容。请把结果写入 findings（present 或 absent）或 facts；若无法得知，请把 id 写入 unknown。",
        ),
        "no-outcome": Words(
            "Give the id of the confirmed cause, or say in other what it was.",
            "请给出已确认原因的 id，或在 other 中说明是什么。",
        ),
        "one-audit": Words(
            "Give either audit_id of an audit that was made, or path of a checkpoint on the disk of the service.",
            "请给出已有审计的 audit_id，或服务所在磁盘上检查点的 path，二者取一。",
        ),
        "bad-argument": Words("Argument {where}: {reason}. {send}", "参数 {where}：{reason}。{send}"),
        "no-argument": Words(
            "There is no argument '{name}'. {near}Arguments: {known}.", "没有参数 '{name}'。{near}可用参数：{known}。"
        ),
        "failed": Words(
            "The tool failed through no fault of the arguments. Try once more; if it fails again, tell those who run "
            "the service.",
            "工具出错，与参数无关。请再试一次；若仍失败，请告知服务的维护者。",
        ),
        "fact": Words("fact or finding", "事实或发现"),
        "finding": Words("finding", "发现"),
        "cause": Words("cause", "原因"),
        "gate": Words("gate", "审计项"),
        "check": Words("check or question", "检查或问题"),
        # What to do about problems of the service, by their kind.
        "empty-case": Words(
            "Send at least one of report, observations, log, series, files, facts, contrast.",
            "report、observations、log、series、files、facts、contrast 至少给一项。",
        ),
        "outside-roots": Words(
            "From here only paths can be audited; traintriage audit does it on the machine that holds the files.",
            "此处只能按路径审计；也可在存放文件的机器上运行 traintriage audit。",
        ),
        "unknown-case": Words(
            "Take case_id from the result of diagnose; without case_id diagnose opens a new case.",
            "case_id 取自 diagnose 的结果；不带 case_id 时 diagnose 会新建案例。",
        ),
        "case-resolved": Words(
            "Open a new case with diagnose if it is another incident.", "若是另一起事故，请用 diagnose 新建案例。"
        ),
        "unknown-audit": Words("Audit it again by its path.", "请按路径重新审计。"),
        "case-changed": Words("Call the tool again.", "请再次调用。"),
        "forbidden": Words(
            "Ask those who run the service for a key that has it.", "请向服务的维护者申请带此权限的密钥。"
        ),
        "busy": Words("Call the tool again in some seconds.", "请过几秒再调用。"),
    }
)


def say(key: str, lang: Lang, **values: object) -> str:
    """A text in one language, its places filled in."""
    return _TEXTS[key].get(lang).format(**values)


def remedy(slug: str, lang: Lang) -> str:
    """What to do about a kind of problem; empty if its own text says all."""
    return _TEXTS[slug].get(lang) if slug in _TEXTS else ""
