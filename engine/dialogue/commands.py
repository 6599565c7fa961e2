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

_PHRASES: dict[CommandKind, tuple[str, ...]] = {
    "language": (
        r"(?:(?:answer|speak|reply|switch|change|continue)(?: to| in)? )?(?:in )?(?P<to>english|chinese)",
        r"(?:用|说|改用|换成|切换到|切换为)?(?P<to>中文|汉语|英文|英语)(?:回答|交流|说)?",
    ),
    "why-not": (
        r"(?:why|how come)(?: is| are)?(?: it| this| that)? not(?: because of| due to)? (?P<cause>.+?)",
        r"why (?:isn'?t|aren'?t) (?:it |this )?(?P<cause>.+?)",
        r"(?:could|can|might|may) (?:it|this|that) (?:also )?be (?P<cause>.+?)",
        r"what about (?P<cause>.+?)",
        r"(?:为什么|为何|为啥|怎么)会?(?:不是|没有|不考虑)(?P<cause>.+?)",
        r"(?:会不会|有没有可能|是不是可能)(?:是|因为)?(?P<cause>.+?)",
    ),
    "why": (
        r"why|how so|explain(?: (?:that|this|it|why))?|why (?:is it|do you think (?:so|that|it is that)|that|this|so)",
        r"(?:what|how) (?:makes you (?:say|think) (?:so|that|this|it)|do you know)|based on what|says who",
        r"what is (?:the|your) (?:evidence|reason|proof)",
        r"(?:why|explain) (?P<cause>.+?)",
        r"(?:这是)?(?:为什么|为何|为啥|凭什么)(?:这么|这样)?(?:说|认为|判断|想)?呢?|(?:依据|理由)(?:是什么)?|解释(?:一下)?",
        r"(?:为什么|为何|为啥|凭什么)(?:说?是)(?P<cause>.+?)",
        r"解释(?:一下)?(?P<cause>.+?)",
    ),
    "how": (
        (
            r"how(?: exactly)?(?: (?:do|can|should|would|to|could)(?: (?:i|we|you|one))?"
            r" (?:check|find|see|tell|test|know|do|verify|measure|look)(?: (?:out|for|at))?"
            r"(?: (?:that|this|it|those))?)?"
        ),
        (
            r"where (?:do|can|should|would|to)(?: (?:i|we))? (?:look|find|see|check|get)(?: (?:for|at))?"
            r"(?: (?:that|this|it))?"
        ),
        r"(?:what|which) commands?(?: (?:do|should|can) (?:i|we) (?:run|use))?",
        r"(?:这个|那)?(?:要|该|应该)?(?:怎么|如何|怎样|咋)(?:查|看|检查|确认|判断|做|知道|测|验证)(?:这个|它|呢|啊)?",
        r"(?:在|去|从)?(?:哪里|哪儿|哪)(?:可以|能)?(?:看|查|找)(?:到|呢|啊)?|(?:用|跑)?(?:什么|哪个)命令(?:查|看)?(?:呢|啊)?",
    ),
    "remedy": (
        r"how (?:do|can|should|to|would)(?: (?:i|we|you))? (?:fix|repair|solve|cure|resolve)(?: (?:that|this|it))?",
        (
            r"what (?:should|can|do|must|would) (?:i|we|you) (?:do|change|try|suggest)"
            r"(?: now| next| about (?:it|that|this))?"
        ),
        r"(?:what is (?:the|a|your)|any|a) (?:fix|remedy|solution|workaround)|what now|fix it",
        (
            r"(?:那|现在)?(?:我)?(?:怎么办|咋办|(?:要|该|应该)?(?:怎么|如何|怎样|咋)(?:修|改|解决|处理|修复)(?:它|这个|呢|啊)?"
            r"|(?:该|要)怎么做|有什么(?:办法|解决办法|建议))"
        ),
    ),
    "undo": (
        r"(?:undo|revert|retract)(?: (?:that|it|the last(?: (?:one|answer))?|my last answer|last))?",
        r"take (?:that|it|the last answer) back|scratch that|forget that|oops",
        (
            r"(?:(?:sorry|oops|no|wait),? )*(?:that|it|my (?:last )?answer) (?:was|is)"
            r" (?:wrong|a mistake|not right|incorrect|an error|false)"
        ),
        r"(?:(?:sorry|oops|no|wait),? )*(?:i was wrong|my mistake|my bad|i made a mistake|i misread(?: that| it)?)",
        r"(?:撤回|撤销|收回|取消)(?:上一个|上一条|刚才的|这个)?(?:回答|答案|那条)?",
        r"(?:(?:抱歉|对不起|等等),? ?)?我?(?:刚才|刚刚|上面|前面)?的?(?:回答|答案)?(?:说|答|弄|搞|看|写)错了?",
        r"(?:刚才|刚刚|上面|前面)(?:的|那个)?(?:回答|答案)?(?:不对|错了|有误)",
    ),
    "more": (
        r"(?:what|anything|something) else|(?:another|other|a different|more) questions?|more|go on|continue",
        r"what else (?:can|could|should) (?:i|we|you) (?:check|do|ask|try|look at)|other (?:checks|options|causes)",
        r"(?:what|who) else (?:could|can|might|may) (?:it|this|that) be|any other (?:causes?|ideas?)",
        r"(?:其他|除此之外)?(?:还有|还会有|有没有)(?:什么|别的|其他|其它|哪些)(?:的?(?:问题|检查|可能|原因))?(?:吗|呢)?",
        r"(?:还)?(?:可能|会)是(?:什么|别的)(?:原因)?(?:吗|呢)?|换一?个问题|(?:别的|其他|其它)(?:检查|问题|可能|原因)|继续",
    ),
    "ranking": (
        (
            r"(?:(?:show|give|tell|print|list)(?: me)? )?(?:(?:the|your|current) )*"
            r"(?:rankings?|status|causes|candidates|list|summary|diagnosis|hypotheses|overview)(?: so far)?"
        ),
        r"where are we|what do you (?:think|know|have)(?: so far)?|what is it|what is most likely|so far",
        r"what is the (?:root |likely )?cause|(?:根本)?(?:原因|根因)是(?:什么|啥)",
        (
            r"(?:显示|看看|给我看|列出|看一下|给出)?(?:当前|目前|现在)?的?"
            r"(?:排名|排序|状态|原因列表|候选(?:原因)?|结论|总结|概况|诊断)"
        ),
        r"(?:目前|现在)(?:怎么样|什么情况|最可能是什么)",
    ),
    "resolve": (
        r"(?:(?:it'?s|it is|all|we'?re|now) )?(?:done|resolved|solved|fixed|closed)(?: now)?",
        r"close (?:it|the case|this)|case closed",
        (
            r"(?:it|that|the problem|the issue) (?:was|turned out to be)(?: indeed| in fact| really)?"
            r"(?: caused by| due to| because of)? (?P<cause>.+?)"
        ),
        r"(?:resolved|solved|fixed|closed)[:,] ?(?:it was )?(?P<own>.+?)",
        r"(?:已经?)?(?:解决|修复|修好)了?[:,：，] ?(?P<own>.+?)",
        r"the (?:root cause|cause|culprit) (?:was|is|turned out to be) (?P<other>.+?)",
        r"(?:已经?|问题)?(?:解决了?|搞定了?|修好了|好了|结案|关闭)",
        r"(?:最终|最后|真正的?)?(?:原因|根因)(?:就|确实|果然|最后)?(?:是|在于)(?P<other>.+?)",
        (
            r"(?:问题(?:就|果然)?(?:是|在于)|确认(?:原因)?(?:是|为)"
            r"|(?:果然|确实|原来|其实|就)+是(?:因为|由于)?|是(?:因为|由于))(?P<cause>.+?)"
        ),
    ),
    "restart": (
        r"start (?:over|again|from scratch)|restart|reset|new case|begin again",
        r"重新开始|从头(?:来|开始)|重来|新的?(?:问题|案例)",
    ),
    "help": (
        r"help(?: me)?|hi|hello|hey|what can (?:i|you) (?:say|do)|usage|commands|how does this work",
        r"你好|您好|帮助|怎么用|使用说明|你?能做什么|有哪些命令",
    ),
    "stop": (r"quit|exit|bye|good ?bye|stop|end|that'?s (?:all|it)", r"再见|退出|结束|没了"),
}  # fmt: skip
_PATTERNS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE)) for kind, patterns in _PHRASES.items() for pattern in patterns
)
_CHINESE = frozenset(["chinese", "中文", "汉语"])
_POLITE_START = re.compile(
    r"(?:/|(?:ok(?:ay)?|please|hey|hi|well|and|but|so|then|hm+|um+|uh+|er+|sorry|thanks|great)(?:, ?|\.+ ?| )"
    r"|(?:请问?|那么?|呃+|嗯+|额)[,，]?)+",
    re.IGNORECASE,
)
_POLITE_END = re.compile(r"[ ,，]*(?:please|thanks?|thank you|谢谢)?[ .!?。！？…]*$", re.IGNORECASE)
_PLACE = re.compile(
    r"(?:the |number |no\.? ?|#|第)?(?P<n>\d{1,2}|first|second|third|top|一|二|三)(?: ?(?:one|cause|个|名|位))?",
    re.IGNORECASE,
)
_PLACES = {"first": 1, "top": 1, "second": 2, "third": 3, "一": 1, "二": 2, "三": 3}
_A_THING = re.compile(r"(?:the|our|my|an?) \w", re.IGNORECASE)
"""What "it was" is followed by where it tells of a cause: "the cable", but not "slow"."""
_ONLY_A_THING = re.compile(
    r"(?:the|our|my|an?) (?!(?:same|only|first|second|last|other|best|worst|usual|default|normal|previous|next|case|end"
    r"|start|clean|fresh|new|right)\b)(?!.*\b(?:that|which|who|when|until|before|after|with|without|on|in|for|as|at)\b)"
    r"(?:[a-z][a-z/_.-]+ ?){1,4}",
    re.IGNORECASE,
)
"""A few words that name a thing and tell nothing of it: "the nfs mount", but not "the same on the other node"."""
_NO_CAUSE = re.compile(
    r"(?:still |as yet )?(?:not\b|un(?:known|clear)|what\b|nothing\b|no idea|a mystery|probably|perhaps|maybe|possibly)"
    r"|(?:还|尚|仍)?(?:什么|啥|哪|未知|不明|不清楚|不知|待|可能|也许|大概|或许)",
    re.IGNORECASE,
)
"""What "the cause is" is followed by where nobody knows it: a guess resolves nothing."""
_SHORT_IS = re.compile(r"\b(what|how|where|who|why)'s\b", re.IGNORECASE)
_QUESTION_END = re.compile(r"[?？吗么呢][ .!。！]*$")
"""A question resolves nothing: "it was the cable?"."""
_POINTS = frozenset(
    ["it", "that", "this", "the cause", "that one", "this one", "you", "它", "这个", "那个", "这", "那"]
)
_TAKEN_BACK = re.compile(
    r"(?:(?:sorry|oops),? )?(?:undo(?: that)?|scratch that|take that back|i was wrong|my mistake|that (?:was|is) wrong"
    r"|(?:i )?misread(?: that)?|撤回|撤销|(?:刚才)?(?:说|答|弄|搞|看)错了) ?[,.;:!，。；：！—-] ?(?P<rest>.+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A command, what of the message is left beside it, and a question back where its cause is not clear.

    ``certain`` is whether the words can hardly mean anything else, not even behind an answer: "yes, the cause was ...".
    """

    command: Command | None = None
    rest: str = ""
    unclear: str = ""
    to: Lang | None = None
    certain: bool = False


def read_command(words: str, knowledge: Knowledge, lang: Lang) -> Wanted | None:
    """The command that the words are; None if they tell or answer something instead."""
    if len(words) > MAX_COMMAND or "\n" in words.strip():
        return None
    text = _SHORT_IS.sub(r"\1 is", " ".join(plain(words).split()))
    asks = _QUESTION_END.search(text) is not None
    start = _POLITE_START.match(text)
    text = _POLITE_END.sub("", text[start.end() :] if start else text)
    for kind, pattern in _PATTERNS:
        match = pattern.fullmatch(text)
        if match is None or (asks and kind == "resolve"):
            continue
        found = match.groupdict()
        if kind == "language":
            return Wanted(Command(kind=kind), to="zh" if found["to"].casefold() in _CHINESE else "en")
        wanted = _about(kind, match, knowledge, lang)
        if wanted is not None:
            return wanted
    taken_back = _TAKEN_BACK.fullmatch(text)
    return Wanted(Command(kind="undo"), rest=taken_back["rest"].strip()) if taken_back is not None else None


def _about(kind: CommandKind, match: re.Match[str], knowledge: Knowledge, lang: Lang) -> Wanted | None:
    """The command about a cause; None where the words after it name none, and so were meant otherwise."""
    naming, named = next(((name, words) for name, words in match.groupdict().items() if words), ("", ""))
    named = named.strip()
    if not named or named.casefold() in _POINTS:
        return Wanted(Command(kind=kind))
    place = _PLACE.fullmatch(named)
    if place is not None:
        return Wanted(Command(kind=kind, place=_PLACES.get(place["n"].casefold()) or int(place["n"])))
    if kind == "resolve":
        return _resolved(naming, named, knowledge, lang)
    if kind == "why":
        cause = cause_told(named, knowledge)
        return Wanted(Command(kind=kind, cause=cause, words=named)) if cause is not None else None
    causes = causes_named(named, knowledge)
    if len(causes) == 1:
        return Wanted(Command(kind=kind, cause=causes[0], words=named))
    if causes:
        return Wanted(unclear=say("which-cause", lang, words=named, titles=_titles(causes, knowledge, lang)))
    return Wanted(unclear=say("no-such-cause", lang, words=named))


def _resolved(naming: str, named: str, knowledge: Knowledge, lang: Lang) -> Wanted | None:
    """The resolution by the cause that is named: one of the knowledge base if it is clear, else in these words.

    Args:
        naming: what the sentence can only tell of: ``other`` a cause, if perhaps of none that is known; ``own`` the
            same, where the words were chosen already; ``cause`` also something else.
    """
    cause = cause_told(named, knowledge)
    if cause is None and (_NO_CAUSE.match(named) or (naming == "cause" and not _A_THING.match(named))):
        return None
    near = causes_named(named, knowledge) if cause is None and naming != "own" else []
    if near:
        which = say("which-it-was", lang, words=named, titles=_titles(near, knowledge, lang))
        return Wanted(unclear=which, certain=naming != "cause")
    if cause is None and naming == "cause" and _ONLY_A_THING.fullmatch(named) is None:
        return None
    resolve = Command(kind="resolve", cause=cause, words=named)
    return Wanted(resolve, certain=cause is not None or naming != "cause")


def _titles(causes: list[str], knowledge: Knowledge, lang: Lang) -> str:
    return "; ".join(cause_title(cause, knowledge, lang) for cause in causes)
