"""What the dialogue says itself; causes, findings and checks come in the knowledge base's own words."""

from __future__ import annotations

from collections.abc import Iterable

from engine.model.base import Lang, Text
from engine.model.sentences import Sentences

_SENTENCES = {
    # questions
    "yes": Text(en="yes", zh="是"),
    "no": Text(en="no", zh="否"),
    "unknown": Text(en="don't know", zh="不知道"),
    "none-of-these": Text(en="none of these", zh="都没有"),
    "not-done": Text(en="cannot do it, or cannot tell", zh="做不了，或无法判断"),
    "something-else": Text(en="something else", zh="其他情况"),
    "opening-title": Text(en="What is wrong?", zh="出了什么问题？"),
    "opening": Text(
        en="What is wrong? Choose one, or say in your own words what you see (which number, since when, what was "
        "tried); log lines, metrics and configurations can be pasted.",
        zh="出了什么问题？可选择一项，或用自己的话描述现象（哪个数字、从何时起、试过什么）；也可以粘贴日志、指标或配置。",
    ),
    "see-single": Text(en="{check}. Then: {ask}", zh="{check}。然后回答：{ask}"),
    "see-several": Text(
        en="{check}. Which of these do you see? Name all; what you leave out counts as not seen.",
        zh="{check}。看到以下哪些情况？请全部列出；未列出的视为没有。",
    ),
    "is-it-so": Text(en="is it so that “{title}”?", zh="是否“{title}”？"),
    "or-value": Text(en="or give the value: {label}", zh="或直接给出：{label}"),
    "find-out": Text(en="How to find out: {how}", zh="如何确认：{how}"),
    "takes": Text(en="Takes about {minutes} min; risk: {risk}.", zh="约需 {minutes} 分钟；风险：{risk}。"),
    # questions back
    "empty": Text(en="The message is empty. Say what you see, or “help”.", zh="消息为空。请描述现象，或输入“帮助”。"),
    "nothing-asked": Text(
        en="No question is open, so I cannot tell what that answers. Say what you see.",
        zh="目前没有待回答的问题，无法判断这是在回答什么。请描述现象。",
    ),
    "bad-value": Text(en="{label}: {why}. Please give the value again.", zh="{label}：{why}。请重新给出数值。"),
    "no-such-option": Text(en="There is no such option; there are {keys}.", zh="没有这个选项；可选：{keys}。"),
    "which-one": Text(
        en="These do not go together: {keys}. Which one is it?", zh="这些选项不能同时成立：{keys}。是哪一个？"
    ),
    "which-of-these": Text(en="Which of them? Give their numbers.", zh="是哪几个？请给出编号。"),
    "none-or-skip": Text(
        en="Do you mean that none of these is there (say “none”), or that you cannot do the check (say “skip”)?",
        zh="是指以上都没有（请说“都没有”），还是做不了这项检查（请说“跳过”）？",
    ),
    "yes-or-no": Text(en="That says both yes and no. Which is it?", zh="这同时说了是和否。请确认是哪一个。"),
    "seen-or-guess": Text(
        en="Have you seen it, or is it a guess? Answer yes or no only if it was seen; a guess is “don't know”.",
        zh="这是亲眼确认的，还是猜测？只有确认过才请答“是”或“否”；猜测请答“不知道”。",
    ),
    "double-no": Text(
        en="The question is a negative one. Do you mean: {yes}) {title}, or {no}) that is not so?",
        zh="这个问题本身是否定的。您是指：{yes}）{title}，还是 {no}）并非如此？",
    ),
    "stays-open": Text(en="Take your time: the question stays open.", zh="不急，问题会一直保留。"),
    "says-nothing": Text(
        en="I know nothing of “{words}”. Say what you see in a sentence.",
        zh="不明白“{words}”指什么。请用一句话描述现象。",
    ),
    "no-or-undo": Text(
        en="Is the answer no (say “no”), or shall I take back the last answer (say “undo”)?",
        zh="是指答案为“否”（请说“否”），还是要撤回上一个回答（请说“撤回”）？",
    ),
    "is-it-yes": Text(en="Is that an answer? Then say yes or no.", zh="这是回答吗？如果是，请说“是”或“否”。"),
    "what-seen": Text(en="What did the check show?", zh="检查结果是什么？"),
    "say-in-words": Text(en="Say in your own words what you see.", zh="请用自己的话描述现象。"),
    "which-cause": Text(
        en="“{words}” may be: {titles}. Say which one, by its title or id.",
        zh="“{words}”可能是：{titles}。请用标题或编号说明是哪一个。",
    ),
    "which-it-was": Text(
        en="“{words}” may be: {titles}. Say “it was …” with its title or id; if it is none of them, “fixed: {words}”.",
        zh="“{words}”可能是：{titles}。请说“原因是……”并写明其标题或编号；如果都不是，请说“已解决：{words}”。",
    ),
    "no-such-cause": Text(
        en="I know no cause named “{words}”. Use its title or id.", zh="没有名为“{words}”的原因。请用其标题或编号。"
    ),
    "which-number": Text(
        en="What is {words} the value of? Write it with its name, such as “loss scale 1”.",
        zh="{words} 是什么的数值？请连同名称一起写，例如“损失缩放 1”。",
    ),
    "only-tells": Text(
        en="I take no evidence from a question. If you see it, say so as a sentence; “help” lists what I can tell.",
        zh="提问不会作为证据。如果确实看到了，请用陈述句说明；输入“帮助”可查看我能回答的内容。",
    ),
    "after-undo": Text(
        en="“{words}” — say it again when the question comes.", zh="“{words}”——请在问题再次出现时回答。"
    ),
    "too-long": Text(
        en="Only the first {limit} characters were read; send the rest as a file.",
        zh="只读取了前 {limit} 个字符；其余请作为文件发送。",
    ),
    # what was understood
    "answered": Text(en="“{words}”: {title} — {state}.", zh="“{words}”：{title}——{state}。"),
    "stated": Text(en="“{words}”: {title} = {value}.", zh="“{words}”：{title} = {value}。"),
    "passed": Text(en="Not to be asked again: {title}", zh="不再询问：{title}"),
    "read": Text(en="Read: {because}", zh="已读取：{because}"),
    "read-value": Text(en="Read: {title} = {value}.", zh="已读取：{title} = {value}。"),
    "read-more": Text(en="… and {count} more.", zh="……另有 {count} 项。"),
    "read-nothing": Text(
        en="I found nothing new that I know in “{words}”. It is kept. Say which number, since when, what was tried.",
        zh="在“{words}”中没有找到新的已知现象，已保留原文。请说明哪个数字、从何时起、试过什么。",
    ),
    "contradiction": Text(
        en="An answer says otherwise than what was read, which counts: {title}. Say “undo” if it is wrong.",
        zh="有一个回答与测量或读取的结果不一致，以后者为准：{title}。如果回答有误，请说“撤回”。",
    ),
    "no-file": Text(
        en="If you meant to attach a file: none has arrived with this message.",
        zh="如果想附上文件：本条消息没有收到文件。",
    ),
    "not-understood": Text(en="Not understood: {what}", zh="未能理解：{what}"),
    "more-alike": Text(en="the words resemble what is written of it", zh="措辞与该原因的描述相近"),
    "not-so": Text(en="not so: {title}", zh="并非如此：{title}"),
    "present": Text(en="yes", zh="是"),
    "absent": Text(en="no", zh="否"),
    # the ranking
    "moved": Text(en="{title}: {before} → {after}", zh="{title}：{before} → {after}"),
    "moved-by": Text(en="{title}: {before} → {after}, because of: {by}", zh="{title}：{before} → {after}，依据：{by}"),
    "not-moved": Text(en="The ranking did not change.", zh="排名没有变化。"),
    "ranking": Text(
        en="So far: {causes}; none of the known causes: {unknown}.", zh="目前：{causes}；不在已知原因之内：{unknown}。"
    ),
    "ranked": Text(en="{place}. {title} ({percent})", zh="{place}. {title}（{percent}）"),
    "nothing-yet": Text(en="Nothing abnormal is known yet.", zh="目前还没有已知的异常。"),
    "for": Text(en="for it: {because} (+{bits} bit)", zh="支持：{because}（+{bits} 比特）"),
    "against": Text(en="against it: {because} ({bits} bit)", zh="反对：{because}（{bits} 比特）"),
    # commands
    "why": Text(en="{title} ({percent}).", zh="{title}（{percent}）。"),
    "likeness": Text(
        en="the words resemble what is written of it (+{bits} bit)", zh="措辞与该原因的描述相近（+{bits} 比特）"
    ),
    "missing": Text(en="would support it, but is unknown: {title}", zh="若成立会支持它，但目前未知：{title}"),
    "outweighed": Text(en="outweighed by {title} ({percent})", zh="被 {title}（{percent}）压过"),
    "not-in-ranking": Text(
        en="{title} is below 1 % here: nothing known speaks for it.", zh="{title} 在这里低于 1%：已知信息均不支持它。"
    ),
    "no-place": Text(en="There is no cause number {place} in the ranking.", zh="排名中没有第 {place} 个原因。"),
    "if-decided": Text(en="For {title} ({percent}):", zh="针对“{title}”（{percent}）："),
    "if-it-is": Text(
        en="It is not decided yet. If it is {title} ({percent}):", zh="目前尚未确定。如果是“{title}”（{percent}）："
    ),
    "undone": Text(en="Taken back.", zh="已撤回。"),
    "nothing-undone": Text(en="There is nothing to take back.", zh="没有可以撤回的内容。"),
    "more-causes": Text(en="Next in the ranking: {causes}", zh="排名靠后的原因：{causes}"),
    "more": Text(en="Other checks that would tell: {checks}", zh="其他可做的检查：{checks}"),
    "no-more": Text(
        en="There is no other cause and no other check that would tell.", zh="没有其他原因，也没有其他有用的检查。"
    ),
    "resolved": Text(en="Noted as the cause: {title}.", zh="已记录原因：{title}。"),
    "resolved-other": Text(en="Noted as the cause, in your words: {words}.", zh="已按您的描述记录原因：{words}。"),
    "resolve-which": Text(
        en="What was it? Say “it was …” with the title or id of the cause, or “the cause was …” in your words.",
        zh="原因是什么？请说“原因是……”，可用原因的标题、编号，或自己的话。",
    ),
    "language": Text(en="From now on in English.", zh="接下来使用中文。"),
    "restart": Text(en="Starting over.", zh="重新开始。"),
    "stop": Text(en="Goodbye.", zh="再见。"),
    "no-way": Text(
        en="The knowledge base names no check for this; answer from what you know, or “don't know”.",
        zh="知识库没有给出相应检查；请按所知回答，或答“不知道”。",
    ),
    "help": Text(
        en="Answer with yes, no, don't know, skip, the number of an option or a value; or say what you see, and paste "
        "logs or tables at any time. You can also say: why, why not …, how, how to fix it, undo, what else, show me "
        "the ranking, it was …, start over, 中文.",
        zh="可以回答：是、否、不知道、跳过、选项编号或数值；也可以随时描述现象、粘贴日志或表格。还可以说：为什么、为什么不是……、"
        "怎么查、怎么办、撤回、还有什么、排名、原因是……、重新开始、English。",
    ),
    # endings
    "end-cause": Text(en="The cause is most likely: {title} ({percent}).", zh="最可能的原因：{title}（{percent}）。"),
    "end-expected": Text(
        en="This is most likely expected behaviour: {title} ({percent}).",
        zh="这很可能是正常现象：{title}（{percent}）。",
    ),
    "still": Text(en="Still: {title} ({percent}).", zh="仍然是：{title}（{percent}）。"),
    "end-open": Text(
        en="No further question would separate what is left. {title} leads with {percent}.",
        zh="没有更多问题能区分剩下的原因。目前 {title} 以 {percent} 领先。",
    ),
    "end-unknown": Text(
        en="No known cause explains this well enough (unknown: {percent}).",
        zh="没有已知原因能充分解释（未知：{percent}）。",
    ),
    "end-passed": Text(
        en="{count} questions could not be answered, so this stays open: {title} leads with {percent}.",
        zh="有 {count} 个问题无法回答，因此尚不能判断：目前 {title} 以 {percent} 领先。",
    ),
    "because": Text(en="Evidence: {because}", zh="依据：{because}"),
    "confirm": Text(en="To confirm it: {title}. {how}", zh="如何确认：{title}。{how}"),
    "confirm-by": Text(en="To confirm it: {ask}", zh="为确认该原因：{ask}"),
    "remedy": Text(
        en="What to do: {do} (about {minutes} min, risk: {risk})",
        zh="处理办法：{do}（约 {minutes} 分钟，风险：{risk}）",
    ),
    "undo": Text(en="To undo it: {undo}", zh="如何撤销：{undo}"),
    "would-help": Text(en="What would help: {what}", zh="有助于判断：{what}"),
    "evidence-helps": Text(
        en="the log around the first error, the metrics over time, the configuration",
        zh="首个错误附近的日志、随时间变化的指标、配置文件",
    ),
    "go-on": Text(en="You can still answer: {ask}", zh="仍可以继续回答：{ask}"),
    "optional": Text(en="To be surer, you can still answer: {ask}", zh="如需更确定，可以继续回答：{ask}"),
}

RISK: dict[str, Text] = {
    "none": Text(en="none", zh="无"),
    "low": Text(en="low", zh="低"),
    "medium": Text(en="medium", zh="中"),
    "high": Text(en="high", zh="高"),
}


def joined(parts: Iterable[str], lang: Lang) -> str:
    """Several things in one sentence."""
    return ("; " if lang == "en" else "；").join(parts)


say = Sentences(_SENTENCES).say
