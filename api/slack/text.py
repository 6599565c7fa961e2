"""Text on its way to Slack and from it. What goes out was often copied from a log: it must never act, only be read."""

from __future__ import annotations

import re

ELLIPSIS = "…"
# Unicode's categories Cc, Cf, Cs and Co but for the line feed and the two joiners, which are parts of words and emoji.
_HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e"
    "\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ud800-\uf8ff\ufeff\ufff9-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001-\U000e007f\U000f0000-\U0010ffff]"
)
_LINES = {ord("\r"): "\n", ord("\u2028"): "\n", ord("\u2029"): "\n", ord("\t"): " "}
_CALL = re.compile(r"@(?=(?:here|channel|everyone)\b)", re.IGNORECASE)
_LINK = re.compile(r"<([^<>\n]{0,3000})>")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))  # the ampersand last
_UNITS = "utf-16-le"


def clean(text: str) -> str:
    """``text`` without what cannot be seen: control and bidi characters, half characters, private ones."""
    return _CALL.sub("\uff20", _HIDDEN.sub("", text.replace("\r\n", "\n").translate(_LINES)))


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
