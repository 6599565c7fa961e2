"""What the renderings of a template show: its markers, how it ends a turn, how it opens an answer."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.audit.template.conversations import Conversation, Marks, conversations
from engine.audit.template.render import Renderer, Rendering, UnrenderedError, render
from engine.audit.template.sources import template_in_effect
from engine.audit.tokenizers.files import once, tokenizer_files

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint


# Texts are searched for every token of the tokenizer, of which there can be many.
MAX_TAIL, MAX_WRITTEN = 4096, 16_384
_RENDERER = "_renderer"  # of a checkpoint: the process that was started and not used yet


@dataclass(frozen=True)
class Reading:
    """One template, rendered for all conversations.

    Args:
        marks: the contents of the conversations.
        tried: the conversations by name.
        found: what came of each, by the same names.
        eos: text of the end token that the template was given, if any.
        in_parts: the template wants contents as lists of parts.
    """

    marks: Marks
    tried: Mapping[str, Conversation]
    found: Mapping[str, Rendering]
    eos: str | None = None
    in_parts: bool = False

    def text(self, name: str) -> str | None:
        """The rendered text of a conversation."""
        return self.found[name].text if name in self.found else None

    def after_answer(self) -> tuple[str, str] | None:
        """What follows the last answer of a conversation, and what follows an answer before the next turn."""
        last, two = self.text("one turn"), self.text("two turns")
        if last is None or self.marks.assistant not in last:
            return None
        end = last.rpartition(self.marks.assistant)[2][:MAX_TAIL]
        between = ""
        if two is not None and self.marks.assistant in two:
            between = two.partition(self.marks.assistant)[2].partition(self.marks.user_again)[0]
        return end, between[:MAX_TAIL]

    def written(self) -> str:
        """Everything the template itself writes: its renderings without the contents, cut if they are long."""
        texts = [answer.text for answer in self.found.values() if answer.text is not None]
        joined = "\n".join(text[:MAX_WRITTEN] for text in texts)
        for mark in (self.marks.system, self.marks.user, self.marks.assistant, self.marks.user_again):
            joined = joined.replace(mark, "\n")
        return joined.replace(self.marks.assistant_again, "\n")

    def opening(self) -> str | None:
        """What asking for an answer adds; None if it is no addition at the end."""
        plain, prompted = self.text("user"), self.text("user, prompted")
        if plain is None or prompted is None or not prompted.startswith(plain):
            return None
        return prompted[len(plain) :]


def begin(checkpoint: Checkpoint) -> None:
    """Start the process that will render the template, if there is one, so that it is ready when it is needed."""
    if template_in_effect(checkpoint) is not None:
        with contextlib.suppress(UnrenderedError):  # the reading itself will say so
            once(checkpoint, _RENDERER, Renderer)


def read_template(checkpoint: Checkpoint) -> Reading | str | None:
    """The template in effect, rendered once; None if there is none, a sentence if it cannot be rendered here."""
    return once(checkpoint, "_template_reading", lambda: _read(checkpoint))


def _read(checkpoint: Checkpoint) -> Reading | str | None:
    source = template_in_effect(checkpoint)
    if source is None:
        return None
    if source.problem is not None:
        return f"{source.file}: {source.problem}"
    marks = Marks.of(source.text)
    chat = checkpoint.intent.chat
    tried = conversations(marks, bool(chat and chat.tools))
    special = tokenizer_files(checkpoint).named
    both = [c.variables(in_parts, special) for in_parts in (False, True) for c in tried.values()]
    try:
        answers = render(source.text, both, checkpoint.__dict__.pop(_RENDERER, None))
    except UnrenderedError as error:
        return str(error)
    plain = dict(zip(tried, answers[: len(tried)], strict=True))
    parts = dict(zip(tried, answers[len(tried) :], strict=True))
    # Templates of models for several media loop over parts: a plain text is then lost or an error.
    in_parts = not _shows(plain["user"], marks) and _shows(parts["user"], marks)
    return Reading(marks, tried, parts if in_parts else plain, special.get("eos_token"), in_parts)


def _shows(answer: Rendering, marks: Marks) -> bool:
    return answer.text is not None and marks.user in answer.text


@dataclass(frozen=True)
class EndOfTurn:
    """The token that ends an answer: declared, or the first token of the tokenizer after it.

    Args:
        seen: the template writes it.
        declared: the intent names it.
        next_turn: it is the marker of the next turn, and nothing is written after the last answer.
    """

    text: str
    seen: bool
    declared: bool
    next_turn: bool = False


def end_of_turn(checkpoint: Checkpoint) -> EndOfTurn | None:
    """How the template ends an answer; None if that is not known."""
    declared = checkpoint.intent.chat.end_of_turn_token if checkpoint.intent.chat else None
    reading = read_template(checkpoint)
    after = reading.after_answer() if isinstance(reading, Reading) else None
    if after is None:
        return EndOfTurn(declared, False, True) if declared else None
    if declared:
        return EndOfTurn(declared, any(declared in text for text in after), True)
    files = tokenizer_files(checkpoint)
    known = [token.content for token in files.view.added] if files.view else []
    known += [token.content for token in files.decoder.values()] + list(files.named.values())
    # Formats that close an answer by the marker of the next role write nothing after the last one.
    for place, text in enumerate(after):
        first = min(((text.find(token), -len(token), token) for token in set(known) if token in text), default=None)
        if first is not None:
            return EndOfTurn(first[2], True, False, next_turn=place > 0)
    return None
