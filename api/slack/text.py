"""Text on its way to Slack and from it. What goes out was often copied from a log: it must never act, only be read."""

from __future__ import annotations

import re

from api.hidden import HIDDEN_IN_LINES

ELLIPSIS = "…"
_LINES = {ord("\r"): "\n", ord("\u2028"): "\n", ord("\u2029"): "\n", ord("\t"): " "}
_CALL = re.compile(r"@(?=(?:here|channel|everyone)\b)", re.IGNORECASE)
_LINK = re.compile(r"<([^<>\n]{0,3000})>")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))  # the ampersand last
_UNITS = "utf-16-le"


def clean(text: str) -> str:
    """``text`` without what cannot be seen: control and bidi characters, half characters, private ones."""
    return _CALL.sub("\uff20", HIDDEN_IN_LINES.sub("", text.replace("\r\n", "\n").translate(_LINES)))


def length(text: str) -> int:
    """Characters as Slack's editors count them: UTF-16 code units, never fewer than code points."""
    return len(text.encode(_UNITS, "surrogatepass")) // 2


def clip(text: str, limit: int) -> str:
    """``text``, cut to ``limit`` with an ellipsis if it is longer."""
    units = text.encode(_UNITS, "surrogatepass")
    if len(units) <= 2 * limit:
        return text
    return units[: 2 * (limit - len(ELLIPSIS))].decode(_UNITS, "ignore").rstrip() + ELLIPSIS


def plain(text: str, limit: int) -> str:
    """For a plain_text object, on one line."""
    return clip(" ".join(clean(text).split()), limit) or ELLIPSIS


def escape(text: str) -> str:
    """For a mrkdwn object: Slack reads ``& < >`` as its own marks, and links, mentions and dates begin with ``<``."""
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def said(text: str, limit: int = 500) -> str:
    """Data for a mrkdwn object, at most ``limit`` characters of it, on one line."""
    return escape(clip(" ".join(clean(text).split()), limit))


def bold(text: str, limit: int = 200) -> str:
    """Data in bold; an asterisk in it would end the bold."""
    inner = said(text, limit).replace("*", "∗")
    return f"*{inner}*" if inner else ""


def quoted(text: str, limit: int = 300) -> str:
    """Data as code on one line, in which no mark means anything."""
    inner = said(text, limit).replace("`", "'")
    return f"`{inner}`" if inner else ""


def listing(text: str, limit: int = 1000) -> str:
    """Lines as a block of code."""
    inner = escape(clip(clean(text).strip("\n"), limit)).replace("```", "'''")
    return f"```\n{inner}\n```"


def fitting(lines: list[str], limit: int, more: str) -> str:
    """As many lines as fit into ``limit`` characters; ``more`` says with ``{count}`` how many were left out."""
    text = "\n".join(lines)
    if length(text) <= limit:
        return text
    kept = list(lines)
    while kept:
        kept.pop()
        text = "\n".join([*kept, more.format(count=len(lines) - len(kept))])
        if length(text) <= limit:
            return text
    return clip(more.format(count=len(lines)), limit)


def received(text: str) -> str:
    """A message of Slack as its writer saw it: links as their label, mentions left out, entities resolved."""
    text = _LINK.sub(_shown, text)
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text.strip()


def _shown(match: re.Match[str]) -> str:
    target, _, label = match.group(1).partition("|")
    if target[:1] in ("@", "!"):
        return label if target.startswith("!date") else ""
    if target[:1] == "#":
        return f"#{label or target[1:]}"
    return label or target.removeprefix("mailto:")
