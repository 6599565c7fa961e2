"""Case files: YAML or JSON that says what is known. Read leniently, since people write them in a hurry."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import ValidationError

from engine.evidence.unreadable import RepeatedKeyError, UnreadableTextError, note_repeated
from engine.model.case import Case
from engine.model.kb import PARADIGM_NAMES

CASE_KEYS = frozenset(Case.model_fields)
MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 500_000


class CaseError(ValueError):
    """A case that cannot be read. ``problems`` are (where, reason) pairs; where is a JSON pointer or a line.

    ``repeats``: it could be read, but for a key that stands twice.
    """

    def __init__(self, problems: list[tuple[str, str]], *, repeats: bool = False) -> None:
        self.problems = problems
        self.repeats = repeats
        super().__init__("; ".join(f"{where or 'the case'}: {reason}" for where, reason in problems))


def parse_document(text: str, repeated: list[str] | None = None) -> Any:
    """The data of a JSON or YAML text; NaN and infinity are kept as floats.

    With a list, keys that stand twice in one object are noted there and the last of them counts.

    Raises:
        CaseError: with the line, for text that is neither, is nested too deep, or refers to itself; without a list
            also for a key that stands twice.
    """
    stripped = text.lstrip("\ufeff \t\r\n")
    try:
        if stripped.startswith(("{", "[")):
            try:
                return _bounded(json.loads(stripped, object_pairs_hook=partial(noting, repeated)))
            except json.JSONDecodeError:
                pass  # a YAML flow mapping may begin the same way
        from engine.evidence import lenient_yaml  # most cases are JSON or a sentence, and the parser takes time to load

        return _bounded(lenient_yaml.load(text, MAX_DEPTH, MAX_NODES, repeated))
    except UnreadableTextError as error:
        raise CaseError([(error.where, str(error))], repeats=isinstance(error, RepeatedKeyError)) from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, CaseError):
            raise
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)[:200]
        raise CaseError([("", f"not valid YAML or JSON: {why}")]) from None


def noting(repeated: list[str] | None, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys are all there, or whose repeated keys are noted."""
    result = dict(pairs)
    if len(result) < len(pairs):
        note_repeated((name for name, count in Counter(name for name, _ in pairs).items() if count > 1), repeated)
    return result


def _bounded(data: Any) -> Any:
    level = [data]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += [v for v in item.values() if isinstance(v, dict | list)]
            elif isinstance(item, list):
                below += [v for v in item if isinstance(v, dict | list)]
        if not below:
            return data
        level = below
    raise CaseError([("", f"the document is nested more than {MAX_DEPTH} levels deep")])


def is_case(data: Any) -> bool:
    """Whether a document is a case: only case keys at the top, or a ``case`` key."""
    if not isinstance(data, Mapping) or not data:
        return False
    return isinstance(data.get("case"), Mapping) or set(data) <= CASE_KEYS


def case_from(data: Any) -> Case:
    """The case in a parsed document; a ``truth`` beside it is never looked at.

    Raises:
        CaseError: naming each key that is wrong and what to send instead.
    """
    if not isinstance(data, Mapping):
        raise CaseError([("", "a case is a mapping with keys such as report, observations, log, series, facts")])
    body = data["case"] if isinstance(data.get("case"), Mapping) else data
    try:
        return Case.model_validate({str(key): value for key, value in body.items()})
    except ValidationError as error:
        raise CaseError([_problem(dict(item)) for item in error.errors(include_url=False)]) from None


def _problem(item: dict[str, Any]) -> tuple[str, str]:
    where = "".join(f"/{part}" for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return where, f"unknown key; known keys: {', '.join(sorted(CASE_KEYS))}"
    if where == "/paradigm":
        return where, f"it is none of {', '.join(PARADIGM_NAMES)}"
    return where, str(item["msg"])
