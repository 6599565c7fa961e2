"""Conversations that a chat template is tried with; contents are marked, so that they are found in the rendering."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]
# Characters that templates are known to escape, strip or stumble over; spaces only inside, since many templates trim.
_INSIDE = " <b>&amp; \"double\" 'single' é 漢字 🙂 {{ braces }}\n\n  two  spaces\ttab "
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up_weather",
            "description": "Current weather of a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


@dataclass(frozen=True)
class Conversation:
    """One conversation. ``must``: a template that refuses it does not do its work."""

    name: str
    messages: tuple[Message, ...]
    must: bool = True
    prompted: bool = False
    tools: bool = False

    def variables(self, in_parts: bool, special_tokens: dict[str, str]) -> dict[str, Any]:
        """What the template is rendered with; ``in_parts`` writes contents as lists of parts, as for several media."""
        messages = [
            {**m, "content": [{"type": "text", "text": m["content"]}] if in_parts else m["content"]}
            for m in self.messages
        ]
        more = {"tools": TOOLS if self.tools else None, "documents": None, "add_generation_prompt": self.prompted}
        return {**special_tokens, **more, "messages": messages}


@dataclass(frozen=True)
class Marks:
    """Contents of the conversations: they follow from the template, so that no template can know them."""

    system: str
    user: str
    assistant: str
    user_again: str
    assistant_again: str

    @staticmethod
    def of(template: str) -> Marks:
        digest = hashlib.sha256(template.encode("utf-8", "surrogatepass")).hexdigest()
        texts = [
            f"q{digest[place : place + 10]}{_INSIDE}z{digest[place + 10 : place + 20]}" for place in (0, 8, 16, 24, 32)
        ]
        return Marks(*texts)


def conversations(marks: Marks, tools: bool) -> dict[str, Conversation]:
    """All conversations by name; one with tools only if the model claims to use them."""
    system = {"role": "system", "content": marks.system}
    turns = [
        {"role": "user", "content": marks.user},
        {"role": "assistant", "content": marks.assistant},
        {"role": "user", "content": marks.user_again},
        {"role": "assistant", "content": marks.assistant_again},
    ]
    found = [
        Conversation("user", (turns[0],)),
        Conversation("user, prompted", (turns[0],), prompted=True),
        Conversation("one turn", tuple(turns[:2])),
        Conversation("two turns, open", tuple(turns[:3])),
        Conversation("two turns, prompted", tuple(turns[:3]), prompted=True),
        Conversation("two turns", tuple(turns)),
        # A template may refuse what its model was not trained for, and an empty message.
        Conversation("system", (system, turns[0]), must=False, prompted=True),
        Conversation("empty", ({"role": "user", "content": ""},), must=False, prompted=True),
    ]
    if tools:
        found.append(Conversation("tools", (turns[0],), prompted=True, tools=True))
    return {conversation.name: conversation for conversation in found}
