"""The few sentences the audit says itself; everything else is worded in the knowledge base."""

from __future__ import annotations

from engine.model.base import Text
from engine.model.sentences import Sentences

say = Sentences(
    {
        "pass": Text(
            en="Pass: no gate that blocks fails, and the evidence the policy asks for is there.",
            zh="通过：没有阻断性关卡失败，且策略所要求的证据齐全。",
        ),
        "no_weights": Text(
            en="Incomplete: there are no weights that could be judged, or no gate could be decided.",
            zh="证据不足：没有可供判断的权重，或没有任何关卡能够判定。",
        ),
        "fail": Text(
            en="Fail: {count} root failure(s) block the release: {titles}.",
            zh="不通过：{count} 项根本失败阻止发布：{titles}。",
        ),
        "incomplete": Text(
            en="Incomplete: {count} required gate(s) lack evidence: {titles}.",
            zh="证据不足：{count} 项必需关卡缺少证据：{titles}。",
        ),
        "needs": Text(en="Not enough evidence. Needed: {what}", zh="证据不足。需要：{what}"),
    }
).say
