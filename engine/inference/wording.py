"""The few sentences the engine says itself; everything else is worded in the knowledge base."""

from __future__ import annotations

from engine.model.base import Text
from engine.model.sentences import Sentences

_SENTENCES: dict[str, Text] = {
    "nothing": Text(
        en="Nothing abnormal was found in what was given. That is not a clean bill of health: see what was not judged.",
        zh="所给材料中没有发现异常。这不等于一切正常：请看哪些内容尚未判断。",
    ),
    "leads": Text(en="Most likely: {title} ({percent}).", zh="最可能的原因：{title}（{percent}）。"),
    "reads_like": Text(
        en="By its words the report is closest to: {title} ({percent}); no finding confirms it yet.",
        zh="从措辞看，报告最接近：{title}（{percent}）；尚无发现予以证实。",
    ),
    "expected": Text(
        en="This looks like expected behaviour: {title} ({percent}).", zh="这看起来是正常现象：{title}（{percent}）。"
    ),
    "then": Text(en="Then: {title} ({percent}).", zh="其次：{title}（{percent}）。"),
    "decides": Text(en="To decide: {title}", zh="下一步：{title}"),
    "abstain": Text(
        en="No known cause explains this well enough (unknown {percent}).",
        zh="没有已知原因能充分解释（未知 {percent}）。",
    ),
    "faint": Text(en="Nothing stands out among the known causes.", zh="已知原因中没有特别突出的。"),
    "unexplained": Text(
        en="{count} finding(s) are there, but no known cause explains them better than chance would.",
        zh="有 {count} 项发现，但没有已知原因能比偶然更好地解释它们。",
    ),
    "few": Text(
        en="The evidence is thin: the causes listed rest on {count} finding(s).",
        zh="证据较少：所列原因只依据 {count} 项发现。",
    ),
    "residual": Text(
        en="What remains for a cause that this knowledge base does not hold.", zh="留给本知识库未收录原因的概率。"
    ),
    "nothing_to_explain": Text(en="There is no abnormal finding to explain.", zh="没有需要解释的异常发现。"),
    "words_only": Text(
        en="No finding was made; the causes listed rest on the words of the report alone.",
        zh="没有得出任何发现；所列原因仅依据报告的措辞。",
    ),
    "reported": Text(en="{title} — reported: “{quote}”", zh="{title}——报告称：“{quote}”"),
    "denied": Text(en="Not the case: {title} — reported: “{quote}”", zh="不成立：{title}——报告称：“{quote}”"),
    "not_read": Text(
        en="The report could not be interpreted: no known observation was found in it. Say what is seen (which number, "
        "since when, what was tried), or add a log or metrics.",
        zh="未能解读报告：其中没有找到已知的现象。请说明看到了什么（哪个数字、从何时起、试过什么），或附上日志或指标。",
    ),
    "only_report_unread": Text(
        en="Nothing abnormal was found in the files or numbers given; no known observation was found in the report's "
        "words. That is not a clean bill of health: see what was not judged.",
        zh="所给文件或数字中没有发现异常；报告文字中没有找到已知的现象。这不等于一切正常：请看哪些内容尚未判断。",
    ),
    "nothing_judged": Text(
        en="Nothing that was given could be judged: see what was not understood. Nothing follows from it for the run.",
        zh="所给材料中没有可以判断的内容：请看未能理解的部分。由此不能得出任何关于训练的结论。",
    ),
    "not_so": Text(en="Not the case: {title}", zh="不成立：{title}"),
    "seen": Text(en="yes: {title}", zh="是：{title}"),
    "not_seen": Text(en="no: {title}", zh="否：{title}"),
}


say = Sentences(_SENTENCES).say


def percent(share: float) -> str:
    """A probability for people; never 0 % or 100 %, which nothing here is."""
    return f"{share:.0%}" if 0.005 <= share <= 0.995 else ("<1%" if share < 0.5 else ">99%")
