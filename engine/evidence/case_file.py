"""Case files: YAML or JSON that says what is known. Read leniently, since people write them in a hurry."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import ValidationError

from engine.model.case import Case

CASE_KEYS = frozenset(Case.model_fields)
MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 500_000


class CaseError(ValueError):
    """A case that cannot be read. ``problems`` are (where, reason) pairs; where is a JSON pointer or a line."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{where or 'the case'}: {reason}" for where, reason in problems))


class _Lenient(yaml.CSafeLoader):
    """YAML with the numbers people write (1e-5) and without YAML 1.1's dates and sexagesimals."""

    yaml_implicit_resolvers = {
        first: [(tag, regex) for tag, regex in resolvers
                if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }  # fmt: skip


def _mapping(loader: _Lenient, node: yaml.MappingNode) -> dict[Any, Any]:
    """A mapping whose keys are all there: of two equal ones, one would be lost without a word."""
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value in seen:
            raise CaseError([(f"line {key.start_mark.line + 1}", f"the key {key.value!r} stands twice")])
        seen.add(key.value)
    return dict(loader.construct_mapping(node, deep=True))


_Lenient.add_constructor("tag:yaml.org,2002:map", _mapping)
_Lenient.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]{0,400})$"), list("-+0123456789")
)
_Lenient.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^(?:[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"),
    list("-+.0123456789"),
)


def parse_document(text: str) -> Any:
    """The data of a JSON or YAML text; NaN and infinity are kept as floats.

    Raises:
        CaseError: with the line, for text that is neither, is nested too deep, or refers to itself.
    """
    stripped = text.lstrip("\ufeff \t\r\n")
    try:
        if stripped.startswith(("{", "[")):
            try:
                return _bounded(json.loads(stripped, object_pairs_hook=_pairs))
            except json.JSONDecodeError:
                pass  # a YAML flow mapping may begin the same way
        _refuse_bombs(text)
        return _bounded(yaml.load(text, Loader=_Lenient))  # noqa: S506 - a safe loader with other number rules
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise CaseError([(f"line {line}", f"not valid YAML or JSON: {error.problem}")]) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise CaseError([(f"line {line}", f"not readable as text: {error.reason}")]) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, CaseError):
            raise
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)[:200]
        raise CaseError([("", f"not valid YAML or JSON: {why}")]) from None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys are all there."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise CaseError([("", f"the key {twice!r} stands twice in one object")])
    return result


def _refuse_bombs(text: str) -> None:
    """Anchors are refused before anything is built: a few lines of them can stand for gigabytes."""
    depth = 0
    for nodes, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise CaseError([(f"line {_line(event)}", "anchors and aliases are not read in a case")])
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            raise CaseError([(f"line {_line(event)}", "the document is nested too deep or too large")])


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 0


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
    return where, str(item["msg"])
