"""The model card: the YAML at the head of README.md, and the text below it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from engine.audit.folder import UnreadableError
from engine.evidence.unreadable import UnreadableTextError

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint

CARD = "README.md"
_MAX_BYTES = 4 << 20
_MAX_DEPTH, _MAX_NODES = 32, 100_000
_HEAD = re.compile(r"\A\ufeff?---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def card_text(checkpoint: Checkpoint) -> str | None:
    """The card as text; None if there is none that can be read."""
    try:
        return checkpoint.folder.read(CARD, _MAX_BYTES).decode("utf-8", "replace")
    except UnreadableError:
        return None


def front_matter(checkpoint: Checkpoint) -> dict[str, Any]:
    """The mapping at the card's head; empty if there is none, or if it is no YAML."""
    match = _HEAD.match(card_text(checkpoint) or "")
    if match is None:
        return {}
    from engine.evidence.lenient_yaml import load

    try:
        value = load(match[1], _MAX_DEPTH, _MAX_NODES)
    except (UnreadableTextError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
