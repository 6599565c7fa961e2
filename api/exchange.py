"""What the routes share: the language parameter, the state of the app, and answers as strict JSON."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from api import language
from api.expert import Expert
from engine.model.base import Frozen, Lang

VARY = {"Vary": "Accept-Language"}


class LangParameters(Frozen):
    """Query parameters that every operation with texts has."""

    lang: Lang | None = Field(None, description="Language of the texts; wins over Accept-Language.")

    def chosen(self, request: Request) -> Lang:
        """The language to answer in."""
        return self.lang or language.choose(request.headers.get("accept-language"))


def expert_of(request: Request) -> Expert:
    """The expert system of the app that serves ``request``."""
    expert: Expert = request.app.state.expert
    return expert


def answer_data(data: BaseModel | dict[str, Any], lang: Lang) -> Response:
    """A model, or plain data of the same form, as strict JSON: a number that is not finite becomes null."""
    return _json(to_json(data, by_alias=True, inf_nan_mode="null"), lang, {})


def answer_texts(value: Any, lang: Lang, headers: Mapping[str, str] | None = None) -> Response:
    """Knowledge objects or plain data as strict JSON, texts in ``lang``."""
    rendered = language.render(value, lang)
    text = json.dumps(rendered, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _json(text.encode(), lang, headers or {})


def _json(text: bytes, lang: Lang, headers: Mapping[str, str]) -> Response:
    return Response(text, media_type="application/json", headers={"Content-Language": lang, **VARY, **headers})
