"""Pydantic's errors in words for callers: where (a JSON pointer), why, and what to send instead."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import BaseModel

from api.messages import Words, as_is, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engine.model.base import Lang

MAX_ERRORS = 20
MAX_TOKEN = 80
MAX_REASON = 500
_PLACES = frozenset({"body", "query", "path", "header", "cookie"})
_LANGUAGE = ("lang", "language", "locale")
# Messages by the first word of pydantic's error types.
_WANTED = {
    "string": "send-text",
    "int": "send-whole",
    "float": "send-number",
    "number": "send-number",
    "bool": "send-bool",
    "list": "send-list",
    "tuple": "send-list",
    "dict": "send-object",
    "model": "send-object",
    "mapping": "send-object",
}
# By error type: the name of the limit in pydantic's context, and the message that shows it.
_LIMITS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at-least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at-most"),
    "string_too_long": ("max_length", "shorter"),
    "string_too_short": ("min_length", "longer"),
    "too_long": ("max_length", "fewer"),
    "too_short": ("min_length", "more-entries"),
    "literal_error": ("expected", "one-of"),
    "string_pattern_mismatch": ("pattern", "pattern"),
}


@dataclass(frozen=True)
class FieldError:
    """One thing wrong with a request: ``pointer`` (RFC 6901) leads to it in ``part`` (body, query, header, path)."""

    part: str
    pointer: str
    reason: Words
    send: Words

    @property
    def where(self) -> str:
        """The place in words."""
        return f"{self.part} {self.pointer}" if self.pointer else self.part

    def told(self, lang: Lang) -> dict[str, str]:
        """The entry of ``errors`` in a problem document."""
        return {
            "part": self.part,
            "pointer": self.pointer,
            "reason": self.reason.get(lang),
            "send": self.send.get(lang),
        }


def explain(errors: Iterable[Mapping[str, Any]], model: type[BaseModel] | None = None) -> tuple[FieldError, ...]:
    """Explain at most ``MAX_ERRORS`` errors.

    Args:
        errors: from pydantic or FastAPI; their ``input`` is never used, since it may be secret or huge.
        model: what was validated, if its fields shall be named; ``loc`` then starts inside the body.
    """
    explained: list[FieldError] = []
    for error in errors:
        if len(explained) == MAX_ERRORS:
            break
        part, *path = error["loc"] if model is None else ("body", *error["loc"])
        if part not in _PLACES:
            part, path = "body", [part, *path]
        explained.append(FieldError(part, pointer(path), _reason(error), _send(error, path, model)))
    return tuple(explained)


def pointer(path: Sequence[Any]) -> str:
    """RFC 6901: ``~`` is written ``~0`` and ``/`` is written ``~1``; long keys of the caller are cut."""
    return "".join("/" + _cut(str(token)).replace("~", "~0").replace("/", "~1") for token in path)


def _cut(token: str) -> str:
    return token if len(token) <= MAX_TOKEN else token[: MAX_TOKEN - 1] + "…"


def _reason(error: Mapping[str, Any]) -> Words:
    if error["type"] == "missing":
        return say("missing")
    if error["type"] == "extra_forbidden":
        return say("unknown-key")
    message: str = error["msg"].removeprefix("Value error, ").rstrip(".")[:MAX_REASON]
    return as_is(message[:1].lower() + message[1:] if message[1:2].islower() else message)


def _send(error: Mapping[str, Any], path: list[Any], model: type[BaseModel] | None) -> Words:
    kind: str = error["type"]
    if kind == "missing":
        return say("add")
    if kind == "extra_forbidden":
        return _known_keys(path, model)
    if kind in _LIMITS:
        name, message = _LIMITS[kind]
        return say(message, limit=error.get("ctx", {}).get(name, "what is allowed"))
    if kind in {"value_error", "number"}:  # written by us: the reason already says it
        return say("as-said")
    return say(_WANTED.get(kind.split("_")[0], "see-docs"))


def _known_keys(path: list[Any], model: type[BaseModel] | None) -> Words:
    owner = model and _model_at(model, path[:-1])
    if owner is None:
        return say("leave-out-parameter")
    if path[-1] in _LANGUAGE:
        return say("lang-elsewhere")
    known = [field.alias or name for name, field in owner.model_fields.items()]
    close = difflib.get_close_matches(_cut(str(path[-1])), known, n=1)
    if close:
        return say("meant", close=close[0], known=", ".join(known))
    return say("leave-out", known=", ".join(known))


def _model_at(annotation: Any, path: Sequence[Any]) -> type[BaseModel] | None:
    """The model that stands at ``path``, going through lists, objects and optional values."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not path:
            return annotation
        field = annotation.model_fields.get(str(path[0]))
        return field and _model_at(field.annotation, path[1:])
    inside = path[1:] if get_origin(annotation) in (list, tuple, dict) else path
    candidates = (_model_at(argument, inside) for argument in get_args(annotation))
    return next((model for model in candidates if model), None)
