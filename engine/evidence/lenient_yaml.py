"""YAML as people write it in a hurry: a safe loader with the numbers of YAML 1.2, and bounds on what is built."""

from __future__ import annotations

import re
from typing import Any

import yaml

from engine.evidence.unreadable import UnreadableTextError, note_repeated


class _Lenient(yaml.CSafeLoader):
    """YAML with the numbers people write (1e-5) and without YAML 1.1's dates and sexagesimals."""

    repeated: list[str] | None = None
    yaml_implicit_resolvers = {
        first: [(tag, regex) for tag, regex in resolvers
                if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }  # fmt: skip


def _mapping(loader: _Lenient, node: yaml.MappingNode) -> dict[Any, Any]:
    """A mapping whose keys are all there, or whose repeated keys are noted."""
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value in seen:
            note_repeated([key.value], loader.repeated, _line(key))
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


def load(text: str, depth: int, nodes: int, repeated: list[str] | None = None) -> Any:
    """The data of a YAML document without anchors, at most ``depth`` levels deep and of at most ``nodes`` nodes.

    With a list, keys that stand twice in one mapping are noted there and the last of them counts.

    Raises:
        RepeatedKeyError: without a list, for a key that stands twice.
        UnreadableTextError: with the line, for anything else.
    """
    try:
        _refuse_bombs(text, depth, nodes)
        loader = _Lenient(text)
        loader.repeated = repeated
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise UnreadableTextError(f"line {line}", f"not valid YAML or JSON: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UnreadableTextError(f"line {line}", f"not readable as text: {error.reason}") from None
    except yaml.YAMLError as error:
        raise UnreadableTextError("", f"not valid YAML or JSON: {str(error)[:200]}") from None


def _refuse_bombs(text: str, most_depth: int, most_nodes: int) -> None:
    """Anchors are refused before anything is built: a few lines of them can stand for gigabytes."""
    depth = 0
    for nodes, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise UnreadableTextError(_line(event), "anchors and aliases are not read here")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > most_depth or nodes > most_nodes:
            raise UnreadableTextError(_line(event), "the document is nested too deep or too large")


def _line(place: yaml.Event | yaml.Node) -> str:
    return f"line {place.start_mark.line + 1}" if place.start_mark is not None else ""
