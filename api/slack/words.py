"""What the bot says in Slack itself; causes, findings and checks come in the knowledge base's own words."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from api.messages import Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.model.base import Lang

_SENTENCES: Mapping[str, Words] = MappingProxyType(
    {
        "more": Words("_… {count} more_", "_… 另有 {count} 项_"),
        "no-cause": Words("No known cause fits", "没有已知原因吻合"),
        "undecided": Words("The cause is not clear yet", "原因尚不明确"),
        "perhaps": Words("Perhaps: {title}", "可能：{title}"),
        "alike": Words(
            "_no finding yet: the words resemble what is written of it_", "_尚无发现支持：措辞与该原因的描述相近_"
        ),
        "nobody": Words("none of the known causes  {percent}", "不在已知原因之内  {percent}"),
        "unknown": Words("*{percent} unknown:* {why}", "*未知 {percent}：* {why}"),
        "would-help": Words("What would help: {what}", "有帮助的信息：{what}"),
        "trial": Words("on trial", "试用中"),
        "expected": Words("harmless, to be expected", "无害，属预期行为"),
        "against": Words("against: {what}", "反对：{what}"),
        "if": Words("{answer} → {cause} {percent}", "{answer} → {cause} {percent}"),
        "next": Words("*Next:* {text}", "*下一步：* {text}"),
        "or-value": Words("or give the value: {label}", "或直接给出数值：{label}"),
        "price": Words("about {minutes:g} min · risk: {risk}", "约 {minutes:g} 分钟 · 风险：{risk}"),
        "footer": Words(
            "Case `{case}` · reply in this thread with words, log lines or files",
            "案例 `{case}` · 可在此话题中回复文字、日志或文件",
        ),
        "ran": Words("I ran it…", "我查过了…"),
        "cannot": Words("Can't tell", "无法判断"),
        "why": Words("Why?", "为什么？"),
        "resolve": Words("Resolve…", "结案…"),
        "wrong": Words("Wrong cause", "原因不对"),
        "this-why": Words("Why this one?", "为什么是它？"),
        "this-resolve": Words("It was this…", "就是它…"),
        "this-wrong": Words("Not this one", "不是它"),
        "moved": Words("{sign} {title}  {before} → {after}", "{sign} {title}  {before} → {after}"),
        "moved-by": Words(" ({by})", "（{by}）"),
        "new-evidence": Words("Evidence added", "已补充证据"),
        "answered": Words("Answered", "已回答"),
        "answered-by": Words("{answer} ({who})", "{answer}（{who}）"),
        "retracted": Words("Taken back", "已撤回"),
        "ranking-same": Words("The ranking did not move.", "排名没有变化。"),
        "confirm": Words("*To confirm:* {what}", "*确认方法：* {what}"),
        "remedy": Words("*Remedy:* {what}", "*处理办法：* {what}"),
        "undo": Words("undo: {what}", "撤销：{what}"),
        "why-title": Words("Why {title}", "为什么是 {title}"),
        "place": Words("Place {rank}, {percent}", "第 {rank} 位，{percent}"),
        "no-place": Words("Not in the ranking, {percent}", "不在排名中，{percent}"),
        "supports": Words("*Speaks for it*", "*支持*"),
        "opposes": Words("*Speaks against it*", "*反对*"),
        "missing": Words("*Not known yet*", "*尚不知道*"),
        "outweighed": Words("*Outweighed by*", "*被以下原因压过*"),
        "resolved": Words("Resolved: {what}", "已结案： {what}"),
        "resolved-by": Words("Confirmed by: {what}", "确认依据：{what}"),
        "resolved-remedy": Words("Remedy: {what}", "处理：{what}"),
        "resolved-next": Words(
            "Mention me in this thread to open a new case.", "如需另立新案，请在此话题中提及我。"
        ),
        "reopened": Words("Opened again", "已重新打开"),
        "doubted-wrong": Words(
            "{who} holds {what} for wrong. The ranking stays; reviews read it.",
            "{who} 认为不是 {what} ；排名不变，复核时会参考。",
        ),
        "doubted-right": Words(
            "{who} holds {what} for right. The ranking stays; reviews read it.",
            "{who} 认为是 {what} ；排名不变，复核时会参考。",
        ),
        "ran-title": Words("What came out?", "结果如何？"),
        "save": Words("Save", "保存"),
        "cancel": Words("Cancel", "取消"),
        "yes": Words("Yes", "是"),
        "no": Words("No", "否"),
        "dont-know": Words("Don't know", "不知道"),
        "output": Words("Output, log lines or a note", "输出、日志行或说明"),
        "output-hint": Words("It becomes evidence of the case.", "将作为案例的证据。"),
        "resolve-title": Words("Resolve the case", "结案"),
        "confirmed-cause": Words("Confirmed cause", "确认的原因"),
        "search-cause": Words("Type to search all causes", "输入以搜索全部原因"),
        "other": Words("Or what it was, if it is not in the list", "列表中没有时，说明是什么"),
        "confirmed-by": Words("What confirmed it?", "如何确认的？"),
        "remedy-done": Words("What was done about it?", "如何处理的？"),
        "note": Words("Note", "备注"),
        "in-ranking": Words("In this ranking", "当前排名"),
        "all-causes": Words("All causes", "全部原因"),
        "need-cause": Words("Choose a cause, or say what it was.", "请选择原因，或说明是什么。"),
        "no-value": Words("This cannot be read as a value here.", "此处无法读作一个值。"),
        "looking": Words("Looking at it…", "正在查看…"),
        "usage": Words(
            "Say what you see: `/triage loss became NaN at step 4120, fp16`. Or mention me in a thread, or use the "
            "message shortcut “Diagnose this”. Files go into the thread.",
            "请描述现象：`/triage 第 4120 步 loss 变为 NaN，fp16`。也可以在话题中提及我，或用消息快捷方式“诊断此消息”。"
            "文件请发到话题里。",
        ),
        "nothing": Words(
            "There is nothing to go by yet. What do you see, since which step, what was tried? Log lines and files "
            "help.",
            "目前还没有可依据的内容。看到了什么现象、从哪一步开始、试过什么？日志行和文件都有帮助。",
        ),
        "forbidden": Words(
            "You may not do this here; TRAINTRIAGE_SLACK_SCOPES says what may be done from Slack.",
            "此处不允许这样做；TRAINTRIAGE_SLACK_SCOPES 规定可从 Slack 做什么。",
        ),
        "file-failed": Words("The file {name} was not read: {why}", "文件 {name} 未读取：{why}"),
        "file-large": Words("it is larger than {limit:,} bytes", "超过 {limit:,} 字节"),
        "file-elsewhere": Words("it does not lie at Slack", "不在 Slack 上"),
        "file-denied": Words(
            "Slack does not hand it out; the bot needs files:read", "Slack 未提供；机器人需要 files:read"
        ),
        "file-many": Words("only {limit} files are read at a time", "一次最多读取 {limit} 个文件"),
        "gone": Words("The case is not there any more.", "案例已不存在。"),
    }
)  # fmt: skip


def say(key: str, lang: Lang, **values: object) -> str:
    """The sentence ``key`` with ``values``, which have to be escaped by the caller."""
    text = _SENTENCES[key].get(lang)
    return text.format(**values) if values else text


def words(key: str, /, **values: object) -> Words:
    """The same in both languages."""
    return Words(say(key, "en", **values), say(key, "zh", **values))


def percent(probability: float) -> str:
    """A probability for people: never 0 or 100, which would say more than is known."""
    if probability < 0.01:
        return "<1 %"
    return ">99 %" if probability > 0.99 else f"{100 * probability:.0f} %"
