"""What Slack refuses in messages and forms, by its documentation; a list of complaints, empty if there are none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block as SdkBlock
from slack_sdk.models.views import View

ELEMENTS = {"button", "overflow", "radio_buttons", "plain_text_input", "external_select"}
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt);)")
_MENTION = re.compile(r"<@[UW][A-Z0-9]{1,31}>")
_HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ue000-\uf8ff]"
)
_CALL = re.compile(r"@(?:here|channel|everyone)\b", re.IGNORECASE)


def of_message(message: dict[str, Any], people: frozenset[str] = frozenset()) -> list[str]:
    """Complaints about ``text`` and ``blocks``; ``people`` are the only ones that may be mentioned."""
    blocks = message.get("blocks", [])
    found = [] if len(blocks) <= 50 else [f"{len(blocks)} blocks"]
    if not 1 <= _length(message.get("text", "")) <= 4000:
        found.append("text for notifications")
    if sum(_length(text["text"]) for text in _texts(blocks)) > 12_000:
        found.append("the message as a whole is too long")
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    if len(ids) != len(set(ids)):
        found.append("block_id twice")
    for block in blocks:
        found += _block(block, modal=False)
    for text in _texts(blocks):
        found += [f"{complaint}: {text['text'][:80]!r}" for complaint in _text(text, people)]
    return found + _of_sdk(blocks)


def of_view(view: dict[str, Any]) -> list[str]:
    """Complaints about a form."""
    found = [] if len(view["blocks"]) <= 100 else ["blocks"]
    for name in ("title", "submit", "close"):
        found += _bounded(name, view[name]["text"], 24)
    found += _bounded("private_metadata", view["private_metadata"], 3000)
    found += _bounded("callback_id", view["callback_id"], 255)
    ids = [block.get("block_id") for block in view["blocks"]]
    if len(ids) != len(set(ids)):
        found.append("block_id twice")
    for block in view["blocks"]:
        found += _block(block, modal=True)
    for text in _texts(view["blocks"]):
        found += _text(text, frozenset())
    try:
        View(**view).validate_json()
    except SlackObjectFormationError as error:
        found.append(f"SDK: {error}")
    return found + _of_sdk(view["blocks"])


def _of_sdk(blocks: list[dict[str, Any]]) -> list[str]:
    found = []
    for block in SdkBlock.parse_all(blocks):
        try:
            block.validate_json()
            for element in getattr(block, "elements", None) or ():
                element.validate_json()
            for name in ("accessory", "element"):
                if getattr(block, name, None) is not None:
                    getattr(block, name).validate_json()
        except SlackObjectFormationError as error:
            found.append(f"SDK: {error}")
    return found


def _block(block: dict[str, Any], *, modal: bool) -> list[str]:
    kind = block["type"]
    found = _bounded("block_id", block.get("block_id", "x"), 255)
    if kind == "header":
        found += _plain(block["text"], 150)
    elif kind == "section":
        found += _bounded("section", block["text"]["text"], 3000)
        found += _element(block["accessory"]) if "accessory" in block else []
    elif kind == "context":
        if not 1 <= len(block["elements"]) <= 10:
            found.append("elements of a context")
        found += [c for item in block["elements"] for c in _bounded("context", item["text"], 3000)]
    elif kind == "actions":
        if not 1 <= len(block["elements"]) <= 25:
            found.append("elements of actions")
        names = [element["action_id"] for element in block["elements"]]
        if len(names) != len(set(names)):
            found.append("action_id twice")
        found += [c for element in block["elements"] for c in _element(element)]
    elif kind == "input" and modal:
        found += _plain(block["label"], 2000) + (_plain(block["hint"], 2000) if "hint" in block else [])
        found += _element(block["element"])
    elif kind != "divider":
        found.append(f"a block {kind}")
    return found


def _element(element: dict[str, Any]) -> list[str]:
    kind = element["type"]
    found = [] if kind in ELEMENTS else [f"an element {kind}"]
    found += _bounded("action_id", element["action_id"], 255)
    if kind == "button":
        found += _plain(element["text"], 75) + _bounded("value", element["value"], 2000)
        if element.get("style", "primary") not in ("primary", "danger"):
            found.append("style")
    most = {"overflow": 5, "radio_buttons": 10}.get(kind)
    if most is not None and not 1 <= len(element["options"]) <= most:
        found.append(f"options of {kind}")
    options = [*element.get("options", ()), *filter(None, [element.get("initial_option")])]
    for option in options:
        found += _plain(option["text"], 75) + _bounded("option", option["value"], 150)
    if "placeholder" in element:
        found += _plain(element["placeholder"], 150)
    if kind == "plain_text_input" and not 1 <= element["max_length"] <= 3000:
        found.append("max_length")
    return found


def _plain(text: dict[str, Any], limit: int) -> list[str]:
    return ([] if text["type"] == "plain_text" else ["no plain_text"]) + _bounded("plain_text", text["text"], limit)


def _bounded(name: str, text: str, limit: int) -> list[str]:
    return [] if 1 <= _length(text) <= limit else [f"{name}: {_length(text)} characters of {limit}"]


def _length(text: str) -> int:
    return max(len(text), len(text.encode("utf-16-le", "surrogatepass")) // 2)


def _texts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("type") in ("mrkdwn", "plain_text"):
            yield value
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _text(text: dict[str, Any], people: frozenset[str]) -> list[str]:
    written = text["text"]
    found = []
    if _HIDDEN.search(written):
        found.append("a hidden character")
    if _CALL.search(written):
        found.append("a call to everybody")
    if text["type"] == "mrkdwn":
        if not text.get("verbatim"):
            found.append("Slack would look for links by itself")
        for mention in _MENTION.findall(written):
            written = written.replace(mention, "") if mention[2:-1] in people else written
        if "<" in written or ">" in written or _ENTITY.search(written):
            found.append("a mark of Slack's own")
    elif text.get("emoji"):
        found.append("emoji in data")
    return found
