"""What alerts say to people inside a case, in both languages."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from api.messages import Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.model.base import Lang

_WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "ended": Words("Alert resolved{at}: {title}{since}.", "告警已解除{at}：{title}{since}。"),
        "at": Words(" at {time}", "（{time}）"),
        "since": Words(" (fired since {time})", "（自 {time} 起触发）"),
        "full": Words(
            "This case holds {count} alert messages, as many as are taken. Further alerts of the group are not added.",
            "此案例已有 {count} 条告警消息，达到上限。该组的后续告警不再加入。",
        ),
        "no-series": Words(
            "The series around alert message {seq} could not be fetched from Prometheus: {reason}.",
            "无法从 Prometheus 获取第 {seq} 条告警消息前后的时间序列：{reason}。",
        ),
    }
)
REFUSALS: Mapping[str, Words] = MappingProxyType(
    {
        "none": Words(
            "No HMAC-SHA256 signature of the expected form was sent.", "没有发送所需形式的 HMAC-SHA256 签名。"
        ),
        "wrong": Words(
            "No signature fits the body and a secret of this service.", "没有签名与请求体和本服务的密钥相符。"
        ),
        "time": Words(
            "The time of the signature is no number of seconds, or more than 300 seconds away from the clock here.",
            "签名的时间不是秒数，或与本机时钟相差超过 300 秒。",
        ),
        "not-set": Words(
            "Webhooks of PagerDuty are not set up here: TRAINTRIAGE_PAGERDUTY_SECRETS holds no secret.",
            "此处未配置 PagerDuty webhook：TRAINTRIAGE_PAGERDUTY_SECRETS 中没有密钥。",
        ),
    }
)


def tell(name: str, lang: Lang, **values: object) -> str:
    """A text in one language, its gaps filled."""
    return _WORDS[name].get(lang).format(**values)
