"""Derived facts: a small arithmetic over other facts. Unknown in, unknown out."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from engine.calculators.state import Mode, OptimizerName, data_parallel, static_bytes_per_card
from engine.inference.reference import same
from engine.model.evidence import Value

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: same, ast.NotEq: lambda left, right: not same(left, right),
}  # fmt: skip


def near(a: float, b: float, rel: float) -> bool:
    """Whether ``a`` is within the share ``rel`` of ``b``."""
    return abs(a - b) <= rel * abs(b)


def near_ln(x: float, n: float, rel: float) -> bool:
    """Whether ``x`` is the natural logarithm of ``n``: the loss of a uniform guess among ``n``."""
    return n > 1 and near(x, math.log(n), rel)


def static_gb(parameters: float, gpus: float, mode: str, optimizer: str, tp: float = 1, pp: float = 1) -> float:
    """Weights, gradients, master weights and optimizer state of a card, GB of 10^9 bytes; "none" shards nothing."""
    held = static_bytes_per_card(
        parameters, int(gpus), cast("Mode", "dp" if mode == "none" else mode), cast("OptimizerName", optimizer),
        tensor_parallel=int(tp), pipeline_parallel=int(pp),
    )  # fmt: skip
    return held / 1e9


def replicas(world: float, tp: float = 1, pp: float = 1, cp: float = 1) -> int | None:
    """Ranks that read different samples; None if the world size does not divide."""
    return data_parallel(int(world), int(tp), int(pp), int(cp))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ln": math.log, "log2": math.log2, "sqrt": math.sqrt, "min": min, "max": max, "abs": abs,
    "ceil": math.ceil, "floor": math.floor, "near": near, "near_ln": near_ln,
    "static_gb": static_gb, "data_parallel": replicas,
}  # fmt: skip

# Keeps the syntax tree shallow: the parser and the two walks below recurse.
MAX_LENGTH = 500
_FACT_CALL = "__fact__"
_FACT = re.compile(r"\b[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+\b")
_STRING = re.compile(r"'[^']*'|\"[^\"]*\"")


class DeriveError(ValueError):
    """The expression is not in the language of derived facts."""


@dataclass(frozen=True)
class Derivation:
    """A parsed expression and the facts it reads, in order of appearance."""

    text: str
    facts: tuple[str, ...]
    tree: ast.expr

    @cached_property
    def needs(self) -> frozenset[str]:
        """The facts without which there is no value."""
        return frozenset(self.facts)

    def value(self, facts: Mapping[str, Value]) -> Value | None:
        """The value, or None where an input is unknown or the arithmetic has no finite answer."""
        if any(fact not in facts for fact in self.facts):
            return None
        try:
            result = _evaluate(self.tree, facts)
            if result is None or isinstance(result, bool | str):
                return result
            number = float(result)
        except (ArithmeticError, ValueError, TypeError, LookupError):
            return None
        return number if math.isfinite(number) else None


def parse(text: str) -> Derivation:
    """Parse ``text``, e.g. ``"batch.global / (batch.micro * parallel.dp)"``.

    Raises:
        DeriveError: if it uses anything but facts, literals, arithmetic, comparisons and the listed functions, or is
            longer than 500 characters.
    """
    if len(text) > MAX_LENGTH or _FACT_CALL in text:
        raise DeriveError(f"write at most {MAX_LENGTH} characters, and name facts by their id: {text[:60]!r}")
    quoted = _STRING.findall(text)
    bare = _STRING.sub("''", text)
    facts = tuple(dict.fromkeys(_FACT.findall(bare)))
    strings = iter(quoted)
    source = re.sub("''", lambda _: next(strings), _FACT.sub(lambda m: f"{_FACT_CALL}({m.group(0)!r})", bare))
    try:
        tree = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise DeriveError(f"not an expression: {text!r} ({error})") from None
    _check(tree)
    return Derivation(text, facts, tree)


def _check(node: ast.expr) -> None:
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        _check(node.left)
        _check(node.right)
    elif isinstance(node, ast.BoolOp):
        for part in node.values:
            _check(part)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        _check(node.operand)
    elif isinstance(node, ast.Compare) and all(type(op) in _COMPARE for op in node.ops):
        for part in (node.left, *node.comparators):
            _check(part)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id != _FACT_CALL and node.func.id not in FUNCTIONS:
            raise DeriveError(f"unknown function {node.func.id!r}; known: {', '.join(sorted(FUNCTIONS))}")
        for part in node.args:
            _check(part)
    elif not (isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str)):
        raise DeriveError(f"{ast.unparse(node)!r} is not allowed here; use facts, numbers, + - * / and the functions")


def _evaluate(node: ast.expr, facts: Mapping[str, Value]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        values = [_evaluate(part, facts) for part in node.args]
        return facts[values[0]] if node.func.id == _FACT_CALL else FUNCTIONS[node.func.id](*values)
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)](_number(_evaluate(node.left, facts)), _number(_evaluate(node.right, facts)))
    if isinstance(node, ast.UnaryOp):
        value = _evaluate(node.operand, facts)
        return (not value) if isinstance(node.op, ast.Not) else -value
    if isinstance(node, ast.BoolOp):
        values = [bool(_evaluate(part, facts)) for part in node.values]
        return all(values) if isinstance(node.op, ast.And) else any(values)
    assert isinstance(node, ast.Compare)
    left = _evaluate(node.left, facts)
    for op, part in zip(node.ops, node.comparators, strict=True):
        right = _evaluate(part, facts)
        if not _COMPARE[type(op)](left, right):
            return False
        left = right
    return True


def _number(value: Any) -> Any:
    """``value``, unless it is text: Python would repeat or format that, to gigabytes."""
    if isinstance(value, str):
        raise TypeError("text in arithmetic")
    return value
