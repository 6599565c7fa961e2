"""The language of an answer, and knowledge objects rendered in it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic import BaseModel

from engine.model.base import Lang, Text

if TYPE_CHECKING:
    from starlette.requests import Request

BOTH = Literal["en", "zh"]


def choose(accept_language: str | None) -> Lang:
    """English or Chinese, whichever an ``Accept-Language`` header prefers (RFC 9110, 12.5.4); English if in doubt."""
    weights: dict[Lang, float] = {"en": 0.0, "zh": 0.0}
    anything = 0.0
    for part in (accept_language or "").split(",")[:32]:
        tag, _, parameters = part.strip().partition(";")
        language = tag.strip().lower().split("-")[0]
        for known in weights:
            if language == known:
                weights[known] = max(weights[known], _quality(parameters))
        if language == "*":
            anything = _quality(parameters)
    english = weights["en"] or anything
    return "zh" if weights["zh"] > english else "en"


def asked(request: Request) -> Lang:
    """The language a request wants to be answered in, before its parameters are checked: ``?lang=`` wins."""
    named = request.query_params.get("lang")
    if named in ("en", "zh"):
        return "zh" if named == "zh" else "en"
    return choose(request.headers.get("accept-language"))


def _quality(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return min(max(float(value), 0.0), 1.0)
    except ValueError:
        return 0.0


def render(value: Any, lang: Lang) -> Any:
    """Plain data of a knowledge object, with every text in two languages replaced by the one in ``lang``."""
    if isinstance(value, Text):
        return value.get(lang)
    if isinstance(value, BaseModel):
        bilingual = _bilingual_fields(type(value))
        return {
            field.alias or name: _pick(getattr(value, name), lang)
            if name in bilingual
            else render(getattr(value, name), lang)
            for name, field in type(value).model_fields.items()
        }
    if isinstance(value, dict):
        return {key: render(item, lang) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [render(item, lang) for item in value]
    return value


@cache
def _bilingual_fields(model: type[BaseModel]) -> frozenset[str]:
    """Fields whose keys are languages, such as ``presentation`` of a cause."""
    return frozenset(
        name
        for name, field in model.model_fields.items()
        if get_origin(field.annotation) is dict and get_args(field.annotation)[0] == BOTH
    )


def _pick(texts: dict[str, Any], lang: Lang) -> Any:
    return render(texts.get(lang, ()), lang)
