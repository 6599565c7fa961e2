"""What a person wants of the dialogue itself, in plain words: why, undo, the ranking, done, another language."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.dialogue.causes import cause_told, causes_named
from engine.dialogue.model import Command, CommandKind
from engine.dialogue.questions import cause_title
from engine.dialogue.wording import say
from engine.evidence.numbers import plain
from engine.knowledge.knowledge import Knowledge
from engine.model.base import Lang

MAX_COMMAND = 300
"""A longer text tells something and commands nothing."""

_CAUSE = r"(?P<cause>.+?)"
_PATTERNS: tuple[tuple[CommandKind, str], ...] = (
    ("language", r"(?:(?:please )?(?:answer|speak|reply|switch|change|continue)(?: to| in)? )?(?:in )?(?P<to>english|chinese)(?: please)?"),
    ("language", r"(?:请)?(?:用|说|改用|换成|切换到|切换为)?(?P<to_zh>中文|汉语|英文|英语)(?:回答|交流|说)?"),
    ("why-not", rf"(?:why|how come)(?: is| are| isn'?t| aren'?t)?(?: it| this| that)? not(?: (?:because of|due to))? {_CAUSE}"),
    ("why-not", rf"why (?:isn'?t|aren'?t) (?:it |this )?{_CAUSE}"),
    ("why-not", rf"(?:could|can|might|may) (?:it|this|that) (?:also )?be {_CAUSE}|what about {_CAUSE.replace('cause', 'about')}"),
    ("why-not", r"(?:为什么|为何|为啥|怎么)(?:会)?(?:不是|没有|不考虑)(?P<cause>.+?)|(?:会不会|有没有可能|是不是可能)(?:是|因为)?(?P<about>.+?)"),
    ("why", rf"why|how so|explain(?: (?:that|this|it|why))?|why (?:is it |do you think (?:so|that)|that(?: cause| one)?|this(?: cause| one)?|so)"
            rf"|what is (?:the|your) (?:evidence|reason|proof)|(?:why|explain) {_CAUSE}"),
    ("why", r"(?:这是)?(?:为什么|为何|为啥|依据(?:是什么)?|理由(?:是什么)?|解释(?:一下)?|凭什么)(?:(?:是|说是)?(?P<cause>.+?))?(?:呢|啊)?"),
    ("how", r"how|how (?:do|can|should|would|to|could)(?: (?:i|we|you))? (?:check|find|see|tell|test|know|do|measure|verify)(?: out)?(?: (?:that|this|it))?"
            r"|(?:怎么|如何|怎样)(?:查|看|检查|确认|判断|做|知道|测)(?:这个|它|呢)?"),
    ("undo", r"(?:please )?(?:undo|revert|retract|take (?:that|it) back|scratch that|forget that)(?: (?:that|it|the last(?: (?:one|answer))?|my last answer|last))?(?: please)?"
             r"|(?:sorry,? |oops,? |no,? |wait,? )*(?:that|it|my (?:last )?answer) (?:was|is) (?:wrong|a mistake|not right|incorrect|an error|false)"
             r"|(?:sorry,? |oops,? |wait,? )*(?:i was wrong|my mistake|my bad|i made a mistake|i misread(?: (?:that|it))?|i misspoke)|oops"),
    ("undo", r"(?:请)?(?:撤回|撤销|收回|取消)(?:上一个|上一条|刚才的|这个)?(?:回答|答案|那条)?|(?:抱歉|对不起|等等)?[,，]?(?:我)?(?:刚才|刚刚|上面|前面)?(?:的)?(?:回答|答案)?(?:说错|答错|弄错|搞错|看错|写错|有误)了?|(?:刚才|刚刚|上面|前面)(?:的|那个)?(?:回答|答案)?(?:不对|错了)"),
    ("more", r"(?:what|anything|something) else|(?:another|other|a different|more|next) questions?|what else (?:can|could|should) (?:i|we|you) (?:check|do|ask|try|look at)"
             r"|other (?:checks|options|causes)|more|go on|continue|keep going"),
    ("more", r"还有(?:什么|别的|其他)(?:吗|的|问题|检查|可能|原因)?|换(?:一)?个问题|别的问题|其他(?:检查|问题|可能|原因)|继续"),
    ("ranking", r"(?:(?:please )?(?:show|give|tell|print|list)(?: me)? )?(?:the |your |current )*(?:rankings?|status|causes|candidates|list|summary|diagnosis|hypotheses|overview)(?: so far)?"
                r"|where are we|what do you (?:think|know|have)(?: so far)?|what is it|what'?s (?:the )?(?:ranking|status|most likely)|so far"),
    ("ranking", r"(?:请)?(?:显示|看看|给我看|列出|看一下|给出)?(?:当前|目前|现在)?(?:的)?(?:排名|排序|状态|原因列表|候选(?:原因)?|结论|总结|概况|诊断)|(?:目前|现在)(?:怎么样|什么情况|最可能是什么)"),
    ("resolve", rf"(?:it'?s |it is |all |we'?re |now )?(?:done|resolved|solved|fixed|closed)(?: now)?(?:,? thanks?(?: you)?)?|close (?:it|the case|this)|case closed"
                rf"|(?:it|the problem|the issue|that) (?:was|turned out to be)(?: indeed| in fact| really)?(?: caused by| due to| because of)? {_CAUSE}"
                rf"|(?:resolved|solved|fixed|closed)[:,] ?(?:it was )?(?P<other>.+?)|the (?:root cause|cause|culprit) (?:was|is|turned out to be) (?P<other2>.+?)"),
    ("resolve", r"(?:已经?|问题)?(?:解决了?|搞定了?|修好了|好了|结案|关闭)(?:,?谢谢)?|(?:最终|最后|真正的?)?(?:原因|根因)(?:就|确实|果然|最后)?(?:是|在于)(?P<other>.+?)|(?:问题(?:就|果然)?(?:是|在于)|确认(?:原因)?(?:是|为))(?P<cause>.+?)"),
    ("restart", r"(?:please )?(?:start (?:over|again|from scratch)|restart|reset|new case|begin again)|重新开始|从头(?:来|开始)|重来|新(?:的)?(?:问题|案例)"),
    ("help", r"help(?: me)?|what can (?:i|you) (?:say|do)|usage|commands|how does this work|帮助|怎么用|使用说明|能做什么|你能做什么|有哪些命令"),
    ("stop", r"(?:quit|exit|bye|goodbye|stop|end|that'?s (?:all|it)|good ?bye)|再见|退出|结束|没了"),
)  # fmt: skip
_COMPILED = tuple((kind, re.compile(rf"(?:{pattern})", re.IGNORECASE)) for kind, pattern in _PATTERNS)
_POLITE = re.compile(
    r"^(?:/|(?:ok(?:ay)?|please|hey|hi|well|and|but|so|then|请问?|那|那么)[,，\s]+)+|[\s,，]*(?:please|thanks?|thank you|谢谢)?[\s.!?。！？…]*$",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"(?:the |number |no\.? ?|#|第)?(?P<n>\d{1,2}|first|second|third|top|leading|一|二|三)(?: ?(?:one|cause|个|名|位))?",
    re.IGNORECASE,
)
_PLACES = {"first": 1, "top": 1, "leading": 1, "second": 2, "third": 3, "一": 1, "二": 2, "三": 3}
_POINTS = frozenset(
    ["it", "that", "this", "the cause", "that one", "this one", "you", "它", "这个", "那个", "这", "那"]
)
_PREFIX = re.compile(
    r"(?P<undo>(?:sorry|oops|wait|undo(?: that)?|scratch that|take that back|i was wrong|my mistake|that (?:was|is) wrong"
    r"|(?:i )?misread(?: that)?|撤回|撤销|说错了|答错了|弄错了|看错了|刚才(?:说|答|弄|搞|看)错了)\s*[,.;:!，。；：！—-]\s*)(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_SURE_UNDO = re.compile(r"sorry|oops|wait", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A command, what of the message is left beside it, and a question back where its cause is not clear."""

    command: Command | None = None
    rest: str = ""
    unclear: str = ""
    to: Lang | None = None


def read_command(words: str, knowledge: Knowledge, lang: Lang) -> Wanted | None:
    """The command that the words are; None if they tell or answer something instead."""
    text = _POLITE.sub("", plain(words).strip()).strip()
    if not text or len(text) > MAX_COMMAND or "\n" in text:
        return None
    for kind, pattern in _COMPILED:
        match = pattern.fullmatch(text)
        if match is not None:
            found = match.groupdict()
            if kind == "language":
                to: Lang = "zh" if (found.get("to") or found.get("to_zh") or "").casefold() in _CHINESE else "en"
                return Wanted(Command(kind="language"), to=to)
            other = found.get("other") or found.get("other2")
            named = other or found.get("cause") or found.get("about")
            wanted = _about(kind, named, other is not None, knowledge, lang)
            if wanted is not None:
                return wanted
    taken_back = _PREFIX.match(text)
    if taken_back is not None and not _SURE_UNDO.match(taken_back["undo"]):
        return Wanted(Command(kind="undo"), rest=taken_back["rest"].strip())
    return None


_CHINESE = frozenset(["chinese", "中文", "汉语"])


def _about(kind: CommandKind, named: str | None, free: bool, knowledge: Knowledge, lang: Lang) -> Wanted | None:
    """The command about a cause; None where the words after it name none, and so were meant otherwise.

    ``free`` says that the sentence can only tell of a cause, if perhaps of none that is known.
    """
    if named is None or named.strip().casefold() in _POINTS:
        return Wanted(Command(kind=kind))
    named = named.strip()
    place = _PLACE.fullmatch(named)
    if place is not None:
        return Wanted(Command(kind=kind, place=_PLACES.get(place["n"].casefold()) or int(place["n"])))
    if kind != "why-not":
        cause = cause_told(named, knowledge)
        return Wanted(Command(kind=kind, cause=cause, words=named)) if cause or free else None
    causes = causes_named(named, knowledge)
    if len(causes) == 1:
        return Wanted(Command(kind=kind, cause=causes[0], words=named))
    if causes:
        titles = "; ".join(cause_title(cause, knowledge, lang) for cause in causes)
        return Wanted(unclear=say("which-cause", lang, words=named, titles=titles))
    return Wanted(unclear=say("no-such-cause", lang, words=named))
