"""A JSON document of bounded size, whole or as far as it goes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import IO

from engine.evidence.readers.lines import Limits, Notes, text_within


def text_of(stream: IO[bytes], limits: Limits, notes: Notes) -> str:
    """The text of the stream, at most ``limits.json_bytes`` of it."""
    note = f"document larger than {limits.json_bytes} bytes: only its beginning was read"
    return text_within(stream, limits, notes, limits.json_bytes, note)


def object_of(text: str, notes: Notes, salvage: tuple[str, ...] = ()) -> Mapping[str, object]:
    """The JSON object (NaN and Infinity allowed); of a damaged one, the objects under the keys of ``salvage``."""
    try:
        document = json.loads(text)
    except RecursionError:
        notes.add("JSON is nested too deeply")
        return {}
    except ValueError as error:
        notes.add(f"JSON is damaged or cut short ({error}); what stands whole in it was read")
        return {key: found for key in salvage if (found := _under(key, text)) is not None}
    return document if isinstance(document, dict) else {}


def _under(key: str, text: str) -> Mapping[str, object] | None:
    start = re.search(rf'"{re.escape(key)}"\s*:\s*(?=\{{)', text)
    if start is None:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start.end())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def mapping(value: object) -> Mapping[str, object]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def number_of(value: object) -> float | None:
    """A JSON number, or one written as text; None for anything else ("N/A", booleans)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")
    except ValueError:
        return None
