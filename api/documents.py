"""JSON and YAML texts from callers to plain data, or a problem that names the place."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

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
        raise Problem("bad-json", f"Byte {error.start} is not UTF-8. Save the text as UTF-8.") from error
    except json.JSONDecodeError as error:
        raise Problem("bad-json", f"Line {error.lineno}, column {error.colno}: {error.msg}.") from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:  # a number with more digits than int() takes
        raise Problem("bad-json", "A whole number has more than 4,300 digits. Send it as text in quotes.") from error
    if _is_deeper(data, MAX_DEPTH):
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
        raise Problem(
            "bad-json", r"A \ud800 to \udfff escape stands alone: it is half a character. Delete it."
        ) from error


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Problem("bad-json", f"The key {_short(repeated)} stands twice in one object. Keep one of the two.")
    return entries


def _short(key: str) -> str:
    shown = json.dumps(key[:60], ensure_ascii=True)
    return shown if len(key) <= 60 else f'{shown[:-1]}…"'


def _too_deep() -> Problem:
    return Problem("too-deep", f"Objects and lists may be nested at most {MAX_DEPTH} levels deep.")


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
        raise Problem("bad-yaml", f"Byte {error.start} is not UTF-8. Save the text as UTF-8.") from error
    except CaseError as error:
        where, reason = error.problems[0]
        place = f"{where.capitalize()}: " if where else ""
        raise Problem("bad-yaml", f"{place}{reason[:MAX_REASON]}.") from error
