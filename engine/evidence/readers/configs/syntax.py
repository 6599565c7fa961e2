"""A configuration file as nested options: JSON, YAML, TOML, Python assignments or a batch script."""

from __future__ import annotations

import ast
import json
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from functools import partial

from engine.evidence.case_file import noting, parse_document
from engine.evidence.readers.configs.scripts import is_script, script_options

_TABLE = re.compile(r"^\[{1,2}[\w.\-\" ]+\]{1,2}\s*(?:#.*)?$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)[ \t]*(?::[ \t]*\w+[ \t]*)?=[ \t]*(\S.*)$", re.MULTILINE)
_KEY = re.compile(r"^[ \t]*(?:- )?[\"']?([A-Za-z_][\w.\-/]*)[\"']?[ \t]*:(?:\s|$)", re.MULTILINE)
_ENTRY = re.compile(r"^(?:- )?[\"']?[A-Za-z_][\w.\-/]*[\"']?[ \t]*:(?:\s|$)", re.MULTILINE)
_ARITHMETIC: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}  # fmt: skip
_MOST_CHARS = 4 << 20
_LARGEST = 1e30


class ConfigSyntaxError(ValueError):
    """The text is no configuration; the message says why, for people."""


def syntax_of(text: str) -> str | None:
    """``json``, ``toml``, ``python``, ``yaml`` or ``script`` by how most lines look; None for anything else."""
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith("{"):
        return "json"
    if is_script(start):
        return "script"
    lines = [line for line in start.splitlines() if line.strip() and not line.lstrip().startswith("#")][:400]
    if not lines:
        return None
    body = "\n".join(lines)
    assigned = len(_ASSIGNMENT.findall(body))
    if assigned and _TABLE.search(body):
        return "toml"
    if assigned * 2 > len(lines):
        return "python"
    indented = sum(line[0] in " \t-" for line in lines)
    entries = len(_ENTRY.findall(body))
    return "yaml" if entries >= 2 and (entries + indented) * 10 >= len(lines) * 9 else None


def names_in(text: str, syntax: str) -> set[str]:
    """The names of the options that a beginning of a file shows, without its being parsed as a whole."""
    if syntax == "yaml":
        return set(_KEY.findall(text))
    try:
        return set(paths_of(options_of(text, syntax)))
    except ConfigSyntaxError:
        return set()


def paths_of(options: Mapping[str, object]) -> list[str]:
    """Dotted paths of nested options, four levels deep: enough to tell whose they are."""
    paths: list[str] = []
    level: list[tuple[str, object]] = [(str(key), value) for key, value in options.items()]
    for _ in range(4):
        paths += [path for path, _ in level]
        level = [
            (f"{path}.{key}", inner) for path, value in level if isinstance(value, dict) for key, inner in value.items()
        ][:5_000]
    return paths


def options_of(text: str, syntax: str, repeated: list[str] | None = None) -> Mapping[str, object]:
    """The options of a whole file; of a key that stands twice the last counts, and ``repeated`` gets its name.

    Raises:
        ConfigSyntaxError: for a text that is not of this syntax, or too large for a configuration.
    """
    if len(text) > _MOST_CHARS:
        raise ConfigSyntaxError(f"is larger than any configuration ({len(text)} characters)")
    known = [] if repeated is None else repeated
    try:
        if syntax == "json":
            found = json.loads(text, object_pairs_hook=partial(noting, known))
        elif syntax == "yaml":
            found = parse_document(text, known)
        else:
            found = _PARSERS[syntax](text)
    except RecursionError:
        raise ConfigSyntaxError("is nested too deeply") from None
    except ValueError as error:  # of JSON, TOML and YAML alike
        raise ConfigSyntaxError(f"is damaged or cut short: {str(error)[:200]}") from None
    if not isinstance(found, dict):
        raise ConfigSyntaxError("holds no options")
    return found


def _toml(text: str) -> object:
    import tomllib

    return tomllib.loads(text)


def _python(text: str) -> object:
    """The assignments whose values are constants or arithmetic of them; nothing is run."""
    try:
        with warnings.catch_warnings():  # "1or 2" is no news to whoever reads a diagnosis
            warnings.simplefilter("ignore")
            body = ast.parse(text).body
    except (SyntaxError, MemoryError) as error:
        raise ValueError(str(error)) from None
    options: dict[str, object] = {}
    for statement in body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and value is not None and isinstance(targets[0], ast.Name):
            constant = _constant(value, options)
            if constant is not None:
                options[targets[0].id] = constant
    return options


def _constant(node: ast.expr, known: Mapping[str, object]) -> object:
    """A constant, a name assigned before, or + - * / of them; None for what would have to be run."""
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = _constant(node.left, known), _constant(node.right, known)
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            return None
        if max(abs(left), abs(right)) > _LARGEST:  # squares of squares would fill the memory
            return None
        try:
            return _ARITHMETIC[type(node.op)](left, right)
        except ArithmeticError:
            return None
    if isinstance(node, ast.Name):
        return known.get(node.id)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return list(value) if isinstance(value, tuple | set) else value


_PARSERS: dict[str, Callable[[str], object]] = {
    "toml": _toml, "python": _python, "script": script_options,
}  # fmt: skip
