"""Block Kit's pieces as plain data, each within Slack's limits whatever is put in.

Limits: docs.slack.dev, "Block Kit reference"; the SDK's models check the same in the tests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from api.slack.text import clip, fitting, plain

HEADER, SECTION, LABEL, PLACEHOLDER, TITLE = 150, 3000, 2000, 150, 24
BUTTON, VALUE, ID, ELEMENTS, CONTEXT, OPTIONS, OVERFLOW = 75, 2000, 255, 25, 10, 100, 5
BLOCKS, MODAL_BLOCKS, METADATA, INPUT = 50, 100, 3000, 3000

Block = dict[str, Any]


def _plain(text: str, limit: int) -> Block:
    return {"type": "plain_text", "text": plain(text, limit), "emoji": False}


def mrkdwn(text: str, limit: int = SECTION) -> Block:
    """A text that is escaped already. ``verbatim``: Slack looks for no links and names in it by itself."""
    return {"type": "mrkdwn", "text": clip(text, limit) or " ", "verbatim": True}


def header(text: str) -> Block:
    """A heading."""
    return {"type": "header", "text": _plain(text, HEADER)}


def section(lines: Sequence[str], more: str, limit: int = SECTION, accessory: Block | None = None) -> Block:
    """Lines of mrkdwn; those that do not fit are counted by ``more``."""
    block: Block = {"type": "section", "text": mrkdwn(fitting(list(lines), limit, more))}
    return block if accessory is None else {**block, "accessory": accessory}


def context(*texts: str) -> Block:
    """Small print."""
    return {"type": "context", "elements": [mrkdwn(text, 1000) for text in texts[:CONTEXT]]}


def divider() -> Block:
    """A line."""
    return {"type": "divider"}


def actions(block_id: str, elements: Sequence[Block]) -> list[Block]:
    """A row of buttons; no row without buttons."""
    shown = list(elements[:ELEMENTS])
    return [{"type": "actions", "block_id": clip(block_id, ID), "elements": shown}] if shown else []


def button(text: str, action: str, value: Mapping[str, Any], style: str | None = None) -> list[Block]:
    """A button, or none if its value would not fit: half a value would do something else."""
    written = packed(value)
    if len(written) > VALUE:
        return []
    element: Block = {"type": "button", "text": _plain(text, BUTTON), "action_id": action, "value": written}
    return [element if style is None else {**element, "style": style}]


def option(text: str, value: str) -> Block:
    """One entry of a list; ``value`` is an id, at most 150 characters."""
    return {"text": _plain(text, BUTTON), "value": value}


def overflow(action: str, options: Sequence[Block]) -> Block:
    """The menu behind three dots."""
    return {"type": "overflow", "action_id": action, "options": list(options[:OVERFLOW])}


def radio(action: str, options: Sequence[Block]) -> Block:
    """A choice, all of it to be seen."""
    return {"type": "radio_buttons", "action_id": action, "options": list(options)}


def text_input(action: str, *, multiline: bool = False, placeholder: str = "") -> Block:
    """A field for text."""
    element: Block = {
        "type": "plain_text_input",
        "action_id": action,
        "multiline": multiline,
        "max_length": INPUT if multiline else 500,
    }
    return {**element, "placeholder": _plain(placeholder, PLACEHOLDER)} if placeholder else element


def field(block_id: str, label: str, element: Block, *, optional: bool = True, hint: str = "") -> Block:
    """An input of a modal with its label."""
    block: Block = {
        "type": "input",
        "block_id": clip(block_id, ID),
        "label": _plain(label, LABEL),
        "element": element,
        "optional": optional,
    }
    return {**block, "hint": _plain(hint, LABEL)} if hint else block


def modal(
    callback: str, title: str, submit: str, close: str, metadata: Mapping[str, Any], blocks: list[Block]
) -> Block:
    """A modal; ``metadata`` comes back with what was filled in."""
    return {
        "type": "modal",
        "callback_id": callback,
        "title": _plain(title, TITLE),
        "submit": _plain(submit, TITLE),
        "close": _plain(close, TITLE),
        "private_metadata": packed(metadata),
        "blocks": blocks[:MODAL_BLOCKS],
    }


def packed(value: Mapping[str, Any]) -> str:
    """A value that a button or a modal carries."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def unpacked(text: Any) -> dict[str, Any]:
    """What :func:`packed` wrote; empty if it is something else."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
