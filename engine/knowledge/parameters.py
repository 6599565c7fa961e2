"""Parametrised findings: ``contrast`` over its dimensions becomes ``contrast(version)`` and so on."""

from __future__ import annotations

from engine.model.base import Text
from engine.model.kb import Finding, ParameterValue, Phrases

_SLOT = "{value}"


def expand(finding: Finding) -> list[Finding]:
    """The finding itself, or one finding for every value of its parameter, in the order of the file.

    ``{value}`` in the texts becomes the value's title; the value's own phrases follow the common ones.
    """
    if finding.parameter is None:
        return [finding]
    return [_instance(finding, name, value) for name, value in finding.parameter.values.items()]


def _instance(finding: Finding, name: str, value: ParameterValue) -> Finding:
    title = value.title
    return finding.model_copy(
        update={
            "id": f"{finding.id}({name})",
            "title": _text(finding.title, title),
            "because": finding.because and _text(finding.because, title),
            "ask": finding.ask and _text(finding.ask, title),
            "phrases": _joined(_phrases(finding.phrases, title), value.phrases),
            "denied_by": _joined(_phrases(finding.denied_by, title), value.denied_by),
            "parameter": None,
        }
    )


def _text(text: Text, value: Text) -> Text:
    return Text(en=text.en.replace(_SLOT, value.en), zh=text.zh.replace(_SLOT, value.zh))


def _phrases(phrases: Phrases, value: Text) -> Phrases:
    return Phrases(
        any=phrases.any,
        en=tuple(phrase.replace(_SLOT, value.en) for phrase in phrases.en),
        zh=tuple(phrase.replace(_SLOT, value.zh) for phrase in phrases.zh),
    )


def _joined(first: Phrases, second: Phrases) -> Phrases:
    return Phrases(any=first.any + second.any, en=first.en + second.en, zh=first.zh + second.zh)
