"""JSON documents of a checkpoint, read with limits; what is wrong with them is kept beside the value."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from engine.audit.folder import Folder, UnreadableError

MAX_CONFIG_BYTES = 16 << 20
MAX_TOKENIZER_BYTES = 256 << 20
_MAX_REPEATED = 5


@dataclass(frozen=True)
class Document:
    """One JSON document. ``value`` is None if it could not be read, and ``problem`` then says why.

    Of a key that stands twice in one object the last value counts, as for every common reader; ``repeated`` names the
    first such keys.
    """

    path: str
    value: Any = None
    problem: str | None = None
    repeated: tuple[str, ...] = ()

    @property
    def mapping(self) -> dict[str, Any]:
        """The value if it is an object, else an empty one."""
        return self.value if isinstance(self.value, dict) else {}


def read_json(folder: Folder, path: str, limit: int = MAX_CONFIG_BYTES) -> Document:
    """A JSON file of the folder. Bare NaN and Infinity are read as Python's json does; BOMs are accepted."""
    try:
        content = folder.read(path, limit)
    except UnreadableError as error:
        return Document(path, problem=str(error))
    return parse_json(path, content)


def parse_json(path: str, content: bytes) -> Document:
    """A JSON document from its bytes."""
    repeated: list[str] = []

    def noting(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs) and len(repeated) < _MAX_REPEATED:
            names = Counter(name for name, _ in pairs)
            repeated.extend(name for name, count in names.items() if count > 1)
        return found

    try:
        value = json.loads(content.decode("utf-8-sig"), object_pairs_hook=noting)
    except UnicodeDecodeError as error:
        return Document(path, problem=f"not UTF-8 at byte {error.start}")
    except RecursionError:
        return Document(path, problem="nested too deeply")
    except ValueError as error:
        return Document(path, problem=f"not JSON: {error}"[:300])
    return Document(path, value, repeated=tuple(dict.fromkeys(repeated))[:_MAX_REPEATED])


def shown(value: object, limit: int = 120) -> str:
    """What stands in the checkpoint, as a message may show it: one line, no control characters, cut to ``limit``."""
    if isinstance(value, list | tuple):
        text = "[" + ", ".join(shown(item, 40) if _is_scalar(item) else "…" for item in value[:16])
        text += ", …]" if len(value) > 16 else "]"
    elif isinstance(value, bool | None):
        text = json.dumps(value)
    else:
        text = value if isinstance(value, str) else repr(value) if _is_scalar(value) else "an object"
    return _printable(text, limit)


def written(value: object, limit: int = 120) -> str:
    """A value of a document as the document writes it, on one line and cut to ``limit``; for what tells in quotes only.

    Values that JSON does not know are written as their text.
    """
    return _printable(json.dumps(value, ensure_ascii=False, default=str), limit)


def _printable(text: str, limit: int) -> str:
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return cut if cut.isprintable() else repr(cut)[1:-1]


def _is_scalar(value: object) -> bool:
    # A whole number of a document may have thousands of digits; more than these do not print in linear time.
    return value is None or isinstance(value, str | float) or (isinstance(value, int) and value.bit_length() < 4096)
