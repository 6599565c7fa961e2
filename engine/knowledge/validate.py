"""Plain data against the models, with pydantic's complaints turned into sentences at the right line."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from engine.knowledge.problems import DataPath, Place, Problem, place_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

T = TypeVar("T")

_WANTED = {
    "bool_type": "true or false",
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "a text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
}


def build(
    model: type[T], data: Any, file: str, positions: Mapping[DataPath, Place], at: DataPath = ()
) -> tuple[T | None, list[Problem]]:
    """The object that ``data`` (found at path ``at`` of the file) describes, or the problems that it has.

    Validation is strict: ``"5"`` is no number, ``1`` is no boolean.
    """
    try:
        # In JSON mode a list may stand for a tuple although nothing else is converted.
        return _adapter(cast("Any", model)).validate_json(json.dumps(data), strict=True), []
    except ValidationError as error:
        return None, _problems(error.errors(include_url=False), model, data, file, positions, at)


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _problems(
    errors: Sequence[ErrorDetails],
    model: Any,
    data: Any,
    file: str,
    positions: Mapping[DataPath, Place],
    at: DataPath,
) -> list[Problem]:
    """One problem a path: the members of a union complain one by one about the same value."""
    by_path: dict[DataPath, list[ErrorDetails]] = {}
    for error in errors:
        by_path.setdefault(resolve_path(data, error["loc"]), []).append(error)
    problems = []
    for path, same in by_path.items():
        below = any(other[: len(path)] == path and other != path for other in by_path)
        if below and all(error["type"] == "too_short" for error in same):
            continue  # the entries exist, but are wrong themselves
        place = place_of(positions, at + path)
        for reason, hint in _sentences(same, model, path):
            problems.append(Problem(file, place.line, place.column, reason, hint))
    return problems


def _sentences(errors: list[ErrorDetails], model: Any, path: DataPath) -> Iterator[tuple[str, str]]:
    name = ".".join(map(str, path)) or "this entry"
    wanted = list(dict.fromkeys(_WANTED[error["type"]] for error in errors if error["type"] in _WANTED))
    if wanted:
        given = _shown(errors[0]["input"])
        yield f"'{name}' is {given}", f"Write {' or '.join(wanted)}"
    for error in errors:
        if error["type"] not in _WANTED:
            yield _sentence(error, model, name, path)


def _sentence(error: ErrorDetails, model: Any, name: str, path: DataPath) -> tuple[str, str]:
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            missing = error["loc"][-1]
            return f"the key '{missing}' is missing", f"Add '{missing}:' to {name}"
        case "extra_forbidden":
            return f"the key '{path[-1]}' is not known here", _nearest(str(path[-1]), known_keys(model, path[:-1]))
        case "literal_error" | "enum":
            return f"'{name}' is {_shown(error['input'])}", f"Write one of {context['expected']}"
        case "string_pattern_mismatch":
            return f"'{name}' is {_shown(error['input'])}", f"It must match {context['pattern']}"
        case "string_too_short" | "too_short":
            return f"'{name}' has {_length(error['input'])}", f"Write at least {context['min_length']}"
        case "string_too_long" | "too_long":
            return f"'{name}' has {_length(error['input'])}", f"Write at most {context['max_length']}"
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            said = error["msg"].removeprefix("Input should be ")
            return f"'{name}' is {_shown(error['input'])}", f"Write a number {said}"
        case "value_error":
            return f"'{name}' is not consistent", _sentence_case(str(context["error"]))
        case "union_tag_not_found":
            return (
                f"'{name}' is no condition",
                "Write a mapping with 'fact', 'finding', 'all', 'any' or 'not'",
            )
        case _:
            return f"'{name}': {error['msg']}", "See kb/README.md for the form of this file"


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a mapping ({', '.join(map(str, value))})"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _length(value: Any) -> str:
    return f"{len(value)} {'characters' if isinstance(value, str) else 'entries'}"


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    listed = ", ".join(known)
    return f"Did you mean '{near[0]}'? Known keys: {listed}" if near else f"Known keys: {listed}"


def resolve_path(data: Any, location: Sequence[str | int]) -> DataPath:
    """The path in ``data`` that a pydantic location points to.

    A location also holds the names of union members (``('when', 'all', 'all', 0, 'fact', 'is')``); those are
    stepped over. The longest reading wins, and of equals the one that ends nearest the end of the location.
    """
    if not location:
        return ()
    skipped = resolve_path(data, location[1:])
    step = location[0]
    if isinstance(data, dict) and step in data:
        taken = (step, *resolve_path(data[step], location[1:]))
        return taken if len(taken) > len(skipped) else skipped
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return (step, *resolve_path(data[step], location[1:]))
    return skipped


def known_keys(model: Any, path: DataPath) -> list[str]:
    """The keys that the models standing at ``path`` below ``model`` know, in their order."""
    models = _models(model)
    for step in path:
        fields = [info for one in models for name, info in one.model_fields.items() if step in (name, info.alias)]
        if fields:
            models = [found for info in fields for found in _models(info.annotation)]
    return list(dict.fromkeys(info.alias or name for one in models for name, info in one.model_fields.items()))


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models(part)]
