"""What a chat template reaches for, read from its syntax tree. Nothing is rendered.

Source of the ways out of a template: the advisories on server-side template injection in model servers (CVE-2024-34359,
CVE-2026-5760), and what jinja2's sandbox guards against.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.audit.documents import written

_GLOBALS = frozenset({"cycler", "joiner", "lipsum", "self"})
_BY_ATTRIBUTE = frozenset(
    {"map", "selectattr", "rejectattr", "sort", "groupby", "unique", "min", "max", "sum", "dictsort"}
)
# Names by which Python objects lead to everything else; in a text they are parts put together at rendering.
_INNER = re.compile(
    r"__(class|mro|bases?|subclasses|globals|builtins|import|init|getattribute|dict|code|func|self|module|reduce|"
    r"reduce_ex|loader|spec|call|new|closure|wrapped)__"
)
# A trigger is made of words; tags such as </think> and the names of the roles are how templates work.
_WORDS = re.compile(r"[^\W\d_][\w\s'.,!?-]{2,}")
_ROLES = frozenset({"system", "user", "assistant", "tool", "developer", "function", "ipython", "model", "observation"})
_INSTRUCTION_WORDS = 4


class TemplateError(Exception):
    """A template that has no syntax tree; the message says why, for people."""


@dataclass(frozen=True, slots=True)
class Reach:
    """One thing in a template: ``kind`` unsafe reaches out of it, trigger adds text only for some words."""

    kind: str
    line: int
    what: str


def reaches(text: str) -> list[Reach]:
    """Everything in a template that reaches for more than the conversation.

    Raises:
        TemplateError: if it cannot be parsed.
    """
    from jinja2 import TemplateSyntaxError

    from engine.audit.template.child import environment

    try:
        tree = environment().parse(text)
    except TemplateSyntaxError as error:
        raise TemplateError(f"line {error.lineno}: {error.message}"[:200]) from None
    except RecursionError:
        raise TemplateError("nested too deeply") from None
    found = list(_walk(tree))
    own = {node.name for node in found if _is(node, "Name") and node.ctx != "load"}
    return [reach for node in found for reach in _looked_at(node, own)]


# The kinds of jinja2's nodes have attributes of their own, which its types do not tell apart: hence Any.


def _walk(tree: Any) -> Iterator[Any]:
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(list(node.iter_child_nodes())))


def _is(node: Any, *kinds: str) -> bool:
    return type(node).__name__ in kinds


def _looked_at(node: Any, own: set[str]) -> Iterator[Reach]:
    what = _unsafe(node, own)
    if what:
        yield Reach("unsafe", node.lineno, what[:120])
    if _is(node, "If", "CondExpr"):
        word = next(_trigger_words(node.test), None)
        body = node.body if _is(node, "If") else [node.expr1]
        if word is not None and sum(len(_written(part)) for part in body) >= _INSTRUCTION_WORDS:
            yield Reach("trigger", node.lineno, f"text only where the content has {word[:40]!r}")


def _unsafe(node: Any, own: set[str]) -> str:
    name = type(node).__name__
    if name in ("Import", "FromImport", "Include", "Extends"):
        return f"{name.lower()} of another template"
    if name == "Getattr" and (node.attr.startswith("__") or node.attr == "format_map"):
        return f"attribute {node.attr}"
    if name == "Getitem" and any("__" in text for text in _texts(node.arg)):
        return "item by a name with two underscores"
    if name in ("Filter", "Test"):
        return _filter(node)
    if name == "Name" and node.ctx == "load" and node.name in _GLOBALS - own:
        return f"the global {node.name}"
    if name == "Const" and isinstance(node.value, str) and _INNER.search(node.value):
        return f"the text {node.value!r}"
    return ""


def _filter(node: Any) -> str:
    name: str = node.name
    if name == "attr":
        return "the filter attr"
    if name not in _BY_ATTRIBUTE:
        return ""
    given = [*node.args, *(pair.value for pair in node.kwargs)]
    texts = [text for argument in given for text in _texts(argument)]
    return f"the filter {name} with {written(texts)}" if any("__" in text or text == "attr" for text in texts) else ""


def _texts(node: Any) -> list[str]:
    """The constant texts in an expression."""
    return [n.value for n in _walk(node) if _is(n, "Const") and isinstance(n.value, str)]


def _trigger_words(test: Any) -> Iterator[str]:
    """Words that a condition looks for in the content of a message."""
    for node in _walk(test):
        if _is(node, "Compare"):
            sides = [node.expr, *(operand.expr for operand in node.ops)]
        elif _is(node, "Call") and _is(node.node, "Getattr"):
            sides = [node.node.node, *node.args]
        else:
            continue
        if any(_is_content(side) for side in sides):
            yield from (t for side in sides for t in _texts(side) if _WORDS.fullmatch(t) and t.lower() not in _ROLES)


def _is_content(node: Any) -> bool:
    for part in _walk(node):
        if _is(part, "Getattr") and part.attr == "content":
            return True
        if _is(part, "Getitem") and "content" in _texts(part.arg):
            return True
        if _is(part, "Name") and part.name in ("content", "text", "prompt", "query"):
            return True
    return False


def _written(node: Any) -> list[str]:
    """The words that a part of a template writes."""
    texts = [n.data for n in _walk(node) if _is(n, "TemplateData")]
    outputs = [n for n in _walk(node) if _is(n, "Output")]
    texts += [text for output in outputs for text in _texts(output)] if outputs else _texts(node)
    return re.findall(r"[^\W\d_]{2,}", " ".join(texts))
