"""JSON and YAML texts from callers to plain data, or a problem that names the place."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from api.messages import say
from api.problem import Problem
from api.validation import MAX_REASON
from engine.evidence.case_file import CaseError, parse_document

Format = Literal["json", "yaml"]
MAX_DEPTH = 64


def sniff(text: bytes) -> Format:
    """The format of a text without a media type: JSON if it starts with a brace or bracket, else YAML."""
    return "json" if text.lstrip()[:1] in (b"{", b"[") else "yaml"


def load(text: bytes, form: Format) -> Any:
    """Plain data of a JSON or YAML text.

    Raises:
        Problem: 400 ``bad-json`` or ``bad-yaml`` with the place, 422 ``too-deep``.
    """
    return load_json(text) if form == "json" else load_yaml(text)


def load_json(text: bytes) -> Any:
    """RFC 8259, and the numbers ``NaN``, ``Infinity`` and ``-Infinity``; a repeated key is an error.

    Raises:
        Problem: 400 ``bad-json`` or 422 ``too-deep``.
    """
    try:
        data = json.loads(text.decode("utf-8-sig"), object_pairs_hook=_without_repeats)
    except UnicodeDecodeError as error:
        raise Problem("bad-json", say("not-utf8", at=error.start)) from error
    except json.JSONDecodeError as error:
        raise Problem("bad-json", say("json-place", line=error.lineno, column=error.colno, reason=error.msg)) from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:  # a number with more digits than int() takes
        raise Problem("bad-json", say("json-digits")) from error
    # Nothing is nested deeper than it has brackets; counting those takes a hundredth of walking through the data.
    if text.count(b"{") + text.count(b"[") > MAX_DEPTH and _is_deeper(data, MAX_DEPTH):
        raise _too_deep()
    if _SURROGATE.search(text):
        _refuse_lone_surrogates(data)
    return data


# Only an escape can bring half a surrogate pair into a text that was decoded from UTF-8.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def _refuse_lone_surrogates(data: Any) -> None:
    try:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Problem("bad-json", say("json-surrogate")) from error


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Problem("bad-json", say("json-repeat", key=_short(repeated)))
    return entries


def _short(key: str) -> str:
    shown = json.dumps(key[:60], ensure_ascii=True)
    return shown if len(key) <= 60 else f'{shown[:-1]}…"'


def _too_deep() -> Problem:
    return Problem("too-deep", say("too-deep", levels=MAX_DEPTH))


def _is_deeper(data: Any, limit: int) -> bool:
    layer = [data] if isinstance(data, dict | list) else []
    for _ in range(limit):
        layer = [
            child
            for node in layer
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not layer:
            return False
    return bool(layer)


def load_yaml(text: bytes) -> Any:
    """YAML exactly as the engine reads it from a case file, so that a case means the same on REST and command line.

    Raises:
        Problem: 400 ``bad-yaml`` with the line.
    """
    try:
        return parse_document(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Problem("bad-yaml", say("not-utf8", at=error.start)) from error
    except CaseError as error:
        where, reason = error.problems[0]
        line = where.removeprefix("line ")
        key = "yaml-line" if line.isdigit() else "yaml"
        raise Problem("bad-yaml", say(key, line=line, reason=reason[:MAX_REASON])) from error
