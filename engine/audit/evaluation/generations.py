"""Generated texts: do they end by themselves, say something, not loop, and hold no parts of the template?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.audit.evaluation.files import Bundle, NoEvidenceError, json_rows
from engine.audit.ledger import Place
from engine.model.base import Text

# What ends a turn in the common templates; one at the very end was left by the decoder and is no leak.
_ENDS = ("<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<end_of_turn>", "</s>", "<|end|>", "<eos>", "<|end_of_text|>")
# Openers of a turn, also the plain-text ones at the start of a line.
_MARKERS = re.compile(
    r"<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|\[/?INST\]|<<SYS>>|<\|(?:user|assistant|system)\|>"
    r"|^(?:###\s*(?:Instruction|Response|Human|Assistant)\s*:|(?:User|Human|Assistant|用户|助手)\s*[:：])",
    re.MULTILINE,
)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")
_FEWEST_GRAMS = 20
_MOST_REPEATED = 0.5  # share of the 4-grams of a text that occurred before in it
_MOST_WORDS = 20_000


@dataclass(frozen=True, slots=True)
class Generations:
    """Counts of a file of generated texts with the places of what is odd; ``cut`` is None if no row tells."""

    rows: int
    cut: list[Place] | None
    empty: list[Place]
    repeated: list[Place]
    broken: list[Place]
    leaked: list[Place]


def read_generations(bundle: Bundle, is_chat: bool, stops: Sequence[str]) -> Generations:
    """Look at every row.

    Args:
        is_chat: whether parts of a template are looked for; a base model may well write a dialogue.
        stops: further texts that end a turn.

    Raises:
        NoEvidenceError: if there is no row with an output, or the file is damaged.
    """
    found = Generations(0, None, [], [], [], [])
    rows = told = 0
    cut: list[Place] = []
    for path in bundle.paths:
        for number, row in json_rows(bundle, path):
            output = row.get("output", row.get("response", row.get("generated_text")))
            if not isinstance(output, str):
                continue
            rows += 1
            at = f"line {number}" + (f", id {str(row['id'])[:60]}" if "id" in row else "")
            place = _Row(bundle.label(path), at, row, output)
            if (ended := place.was_cut()) is not None:
                told += 1
                if ended:
                    cut.append(place.place("cut at the limit", "ends by itself"))
            _look(place, found, is_chat, (*_ENDS, *stops))
    if rows == 0:
        raise NoEvidenceError(
            Text(en=f"{bundle.name} holds no row with an output.", zh=f"{bundle.name} 中没有带 output 的行。"),
            Text(
                en=f"Add `output` (the generated text) and `finish_reason` to the rows of {bundle.name}.",
                zh=f"在 {bundle.name} 的各行加入 `output`（生成的文本）与 `finish_reason`。",
            ),
        )
    return Generations(rows, cut if told == rows else None, found.empty, found.repeated, found.broken, found.leaked)


def _look(row: _Row, found: Generations, is_chat: bool, ends: Sequence[str]) -> None:
    text = row.output.strip()
    for end in ends:
        text = text.removesuffix(end).rstrip()
    if not text:
        found.empty.append(row.place("empty", "a text"))
        return
    if _repeated(text) > _MOST_REPEATED:
        found.repeated.append(row.place(f"repeats itself: {text[-60:]!r}", "few repeated 4-grams"))
    # The last character of a text that was cut may be half a character.
    if "\ufffd" in text[:-1] or (text[-1] == "\ufffd" and not row.was_cut()):
        found.broken.append(row.place("replacement character U+FFFD", "whole characters"))
    if is_chat and (leak := _leak(text, str(row.values.get("prompt", "")), ends)) is not None:
        found.leaked.append(row.place(f"holds {leak!r}", "no part of the template"))


def _leak(text: str, prompt: str, ends: Sequence[str]) -> str | None:
    """A part of a template inside the text that the prompt did not talk about."""
    for marker in (*(match[0] for match in _MARKERS.finditer(text)), *(end for end in ends if end in text)):
        if marker not in prompt:
            return marker
    return None


def _repeated(text: str) -> float:
    words = _WORD.findall(text)[:_MOST_WORDS]
    grams = [tuple(words[at : at + 4]) for at in range(len(words) - 3)]
    return 1 - len(set(grams)) / len(grams) if len(grams) >= _FEWEST_GRAMS else 0.0


@dataclass(frozen=True, slots=True)
class _Row:
    file: str
    at: str
    values: dict[str, Any]
    output: str

    def was_cut(self) -> bool | None:
        """Whether the limit ended it; None if the row does not tell."""
        reason = self.values.get("finish_reason")
        if isinstance(reason, str):
            return reason.lower() in {"length", "max_tokens", "max_new_tokens", "max_length"}
        new, most = self.values.get("new_tokens"), self.values.get("max_new_tokens")
        if isinstance(new, int | float) and isinstance(most, int | float):
            return new >= most
        return None

    def place(self, observed: str, expected: str) -> Place:
        return Place(self.file, self.at, observed[:120], expected, "policy")
