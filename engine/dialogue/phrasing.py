"""How people say yes, no and don't know, in English and Chinese: whole patterns, nothing learnt."""

from __future__ import annotations

import re
from typing import Literal

from engine.model.base import Lang

Word = Literal["yes", "no", "unknown", "skip", "guess", "wrong", "heard"]
"""``guess`` is "I think so", ``wrong`` may deny or take back, ``heard`` is "ok" and "thanks"."""

_SUBJECT = r"(?:it|that|they|this|we|i|there)"
_VERB = r"(?:is|are|was|were|am|do|does|did|has|have|had|can|will|would)"
_BARE_VERB = r"(?:is|are|was|were|do|does|did|has|have|had|ca|wo|would)"
_I = r"(?:(?:i|we) )?(?:really |honestly |just |simply )?"
_CANNOT = r"(?:cannot|can ?not|can'?t|could ?n[o']?t|won'?t|will not|am unable to|are unable to)"

# An answer that stands by itself, whatever follows: "yes the loss is NaN", "not sure, but ...".
_OPEN: tuple[tuple[Word, str], ...] = (
    (
        "unknown",
        (
            rf"{_I}(?:do ?n[o']?t|do not|cannot|can ?not|can'?t|could ?n[o']?t) (?:really )?"
            r"(?:know|tell|say|remember|recall|be sure)(?: (?:that|this|it|yet|for sure|for certain|offhand)\b)?"
            r"|(?:i'?m |i am |we'?re |we are )?(?:not (?:really |quite |at all |entirely )?(?:sure|certain)|unsure)"
            r"(?: yet| about (?:that|this|it))?|(?:i have |i'?ve |we have )?no (?:idea|clue)|idk|dunno"
        ),
    ),
    (
        "skip",
        (
            rf"{_I}{_CANNOT} (?:check|run|do|test|try|measure|find (?:that |this |it )?out|access|answer|look at)"
            r"(?: (?:that|this|it|now|right now|today|here|at the moment|yet)\b)*"
        ),
    ),
    ("yes", r"yes+|yep|yeah|yup"),
    ("no", r"no+|nope|nah"),
)

# An answer only as a clause of its own: "right", but not "right after the restart it failed".
_CLAUSE: tuple[tuple[Word, str], ...] = (
    ("unknown", (
        r"unknown|unclear|maybe|perhaps|possibly|hard to (?:say|tell)|who knows|uncertain|\?+|beats me"
        r"|not that (?:i|we) (?:know(?: of)?|am aware(?: of)?)"
        rf"|{_I}(?:have ?n[o']?t|have not|did ?n[o']?t|did not|never) (?:(?:checked|looked|tried|tested|measured)"
        r"|(?:check|look|try|test|measure))(?: (?:that|this|it|yet|into|at|for|so far))*"
    )),
    ("skip", (
        r"skip(?: (?:it|this|that))?(?: (?:one|question))?|skip the question|pass|next(?: question| one)?|not now|later"
        r"|no time(?: for (?:that|this|it))?|n/?a"
    )),
    ("guess", (
        r"(?:i|we) (?:think|guess|believe|suppose|assume)(?: so| not| yes| no)?|(?:probably|likely|presumably)"
        r"(?: yes| no| not| so)?|unlikely|maybe (?:yes|no)|(?:kind|sort) of|kinda|sorta|sometimes|partly|partially"
        r"|yes and no|both|(?:it )?depends|almost"
    )),
    ("wrong", r"wrong|incorrect|that'?s wrong|not right"),
    ("heard", r"not yet|ok|okay|fine|i see|got it|thanks?|thank you|great|good|cool"),
    ("no", (
        rf"n|false|negative|never|neither|none|nothing|not (?:really|at all|the case)"
        r"|(?:absolutely|definitely|certainly) not"
        rf"|{_SUBJECT} (?:{_VERB} not|{_BARE_VERB}n'?t)"
    )),
    ("yes", (
        r"y|ya|aye|correct|true|right|indeed|affirmative|sure|definitely|exactly|absolutely|certainly|of course"
        rf"|(?:{_SUBJECT} is|that'?s) (?:so|right|correct|true)|{_SUBJECT} {_VERB}"
    )),
)  # fmt: skip

_HAN_ANSWERS: tuple[tuple[Word, str], ...] = (
    ("unknown", (
        r"(?:我|我们)?(?:真的|完全|也|还|暂时|没|都)*(?:不知道|不清楚|不确定|不晓得|不了解|不太清楚|不太确定|说不清|说不准|不好说"
        r"|没法确定|没法判断|无法确定|无法判断|没注意|没看|没查|没测|没试|没确认|记不清|不记得|不懂|不太懂|看不出来?)过?"
        r"|未知|也许|或许"
    )),
    ("skip", (
        r"跳过(?:这个|这题)?|下一个|下一题|略过|先不(?:看|查|做|管)|以后再(?:说|看)"
        r"|(?:我|我们)?(?:现在|暂时)?(?:查不了|没法查|做不了|没法做|测不了|没法测|无法检查|没时间)"
    )),
    (
        "guess",
        r"(?:可能|大概|应该|好像|似乎)(?:是|不是|有|没有|会|不会)?的?吧?|有时候?(?:会)?|部分|看情况",
    ),
    ("wrong", r"不对|错了?"),
    ("heard", r"还没有?|好的?|行|谢谢|明白了?|知道了|收到"),
    (
        "no",
        (
            r"否|不|(?:不是|没有|不会)的?|没|无|不能|不存在|并没有|并不(?:是|会)?|从来没有|从没有?|完全没有|肯定(?:不是|没有)"
            r"|没有?(?:看到|见到|见过|发现|观察到)|没(?:有?出现|有?发生|有?变|有?做|有?用|有?开|有?启用|有?改)过?"
        ),
    ),
    (
        "yes",
        (
            r"是的?呀?|是啊|(?:对|有|会)的?|嗯+|没错|(?:确实|的确)(?:是|如此|有)?|正确|存在|属实|能|可以|肯定是?|当然"
            r"|(?:出现|发生|变|做|用|开|启用|改)(?:了|过)"
        ),
    ),
)  # fmt: skip

_JOINS = r"(?:and|but|because|since|so|though|although|however)\b"
_JOINS_HAN = "(?:但是?|而且|因为|不过|并且|所以|可是|同时|另外|只是|然后)"
_END = rf"(?=\s*(?:$|[,.;:!?)…，。；：！？]|[-–—]\s|{_JOINS}))"
_PARTICLE = "[吧啊呀呢哦哈啦嘛的了诶欸耶咯哟噢喔]"
_END_HAN = rf"(?={_PARTICLE}{{0,2}}\s*(?:$|[,.;:!?…，。；：！、？—-]|{_JOINS_HAN}|它|我|那|这|后来|其实|谢谢))"
_WORD_END = r"(?![\w'])"

_HEADS = tuple(
    (word, re.compile(rf"(?:{pattern}){end}", re.IGNORECASE))
    for end, answers in ((_WORD_END, _OPEN), (_END, _CLAUSE), (_END_HAN, _HAN_ANSWERS))
    for word, pattern in answers
)
_NO = re.compile(r"no+|nope|nah", re.IGNORECASE)
_GOES_ON = re.compile(
    rf"\s*(?:$|[,.;:!?)…，。；：！？]|[-–—]\s|{_JOINS}"
    r"|(?:it|they|that|this|there|we|i|the|not|also|only|just|at least|in|on|after|before|from|with|when|while|see)\b"
    r"|[^\x00-\x7f])",
    re.IGNORECASE,
)
"""What may follow "no" for it to be an answer: "no it does not", but never "no NaN so far"."""

_PARTICLES = re.compile(rf"{_PARTICLE}{{1,2}}(?![\u4e00-\u9fff])")
_SEPARATOR = re.compile(r"[\s,.;:!?，。；：！？、–—-]+")
_FILLER = re.compile(
    rf"(?:(?:{_SUBJECT} (?:{_VERB}(?: not)?|{_BARE_VERB}n'?t)|thanks?|thank you|please|sorry|谢谢|抱歉)"
    r"\s*(?:$|[,.;:!，。；：！]\s*))+",
    re.IGNORECASE,
)
"""Words that only repeat the answer ("no, it does not"), as a clause of their own."""

_JOIN = re.compile(rf"(?:(?:and|but|so|however|also)\b|{_JOINS_HAN})[\s,，]*", re.IGNORECASE)
_WHETHER = re.compile(
    r"(?:if|whether|what|how|why|where|which|about)\b|是否|怎么|如何|为什么|是不是|有没有", re.IGNORECASE
)
_NEXT_CLAUSE = re.compile(r"[,.;，。；]|\bbut\b|但", re.IGNORECASE)

_BARE_NO = re.compile(rf"(?:no+|nope|nah|n|not really){_END}|(?:没有?|无|并没有){_END_HAN}", re.IGNORECASE)
_NEGATIVE_ASK = re.compile(
    r"^(?!(?:are|is) there (?:\w+ ){1,2}(?:that|which|who)\b)"
    r"(?:is|are|was|were|do|does|did|has|have|can)\b(?:\W+\w+){0,4}?\W+(?:no|not|neither|never|nothing)\b"
    r"|是否(?!有|存在)(?:[^，？]{0,8}?)(?:没有|没|未|无|不(?!同|一致))",
    re.IGNORECASE,
)

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_ENGLISH = re.compile(
    r"\b(?:the|is|are|it|yes|no|not|don'?t|doesn'?t|i|we|what|why|how|that|this|and|but|of|with|after|before|was|when"
    r"|show|me|please|does|do|in|to|a)\b",
    re.IGNORECASE,
)


def head(text: str) -> tuple[Word, str] | None:
    """The answer a sentence begins with, and what is left of the sentence after it; None if it begins with none."""
    text = text.strip()
    for word, pattern in _HEADS:
        match = pattern.match(text)
        if match is None or (_NO.fullmatch(match.group()) and not _GOES_ON.match(text, match.end())):
            continue
        return word, _left(word, text[match.end() :])
    return None


def is_negative(ask: str) -> bool:
    """Whether a question is a negative one, to which "no" and 没有 may agree or disagree."""
    return _NEGATIVE_ASK.search(ask) is not None


def is_bare_no(words: str) -> bool:
    """Whether the words are "no" or 没有 rather than "it is not" or 不是, which only disagree."""
    return _BARE_NO.match(words.strip()) is not None


def _left(word: Word, rest: str) -> str:
    """The rest of a sentence without separators, conjunctions and words that only repeat the answer."""
    rest = _cut(_PARTICLES, rest)
    ends = rest.lstrip()[:1] in ",.;:!?，。；：！？"
    rest = _cut(_SEPARATOR, rest)
    if (
        word in ("unknown", "skip") and not ends and _WHETHER.match(rest)
    ):  # "not sure whether ...": that is what is not known
        clause = _NEXT_CLAUSE.search(rest)
        rest = _cut(_SEPARATOR, rest[clause.end() :]) if clause else ""
    rest = _cut(_JOIN, _cut(_FILLER, _cut(_JOIN, rest)))
    return rest.strip()


def _cut(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.match(text)
    return text[match.end() :] if match else text


def language_of(words: str, lang: Lang) -> Lang:
    """The language a message is written in; one word, or only numbers and terms, does not change the language."""
    if _HAN.search(words):
        return "zh"
    return "en" if len(words.split()) >= 2 and _ENGLISH.search(words) else lang
