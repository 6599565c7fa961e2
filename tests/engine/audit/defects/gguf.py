"""Defects of GGUF files: what the header says of tokenizer, template and blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.engine.audit.build.gguf import FILE, Fields, Matrices, chat_gguf, fields, matrices, write
from tests.engine.audit.build.tokenizer import CHAT_TEMPLATE, END, PAD, SPECIALS
from tests.engine.audit.given import Defect, Given

TOKENS, TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"


class Parts(NamedTuple):
    """What a file is written from."""

    header: Fields
    tensors: Matrices


def field(name: str, key: str, value: object) -> Callable[[Given], None]:
    """Another value of one field; None leaves it out."""

    def spoil(given: Given) -> None:
        write(given.root / FILE, fields() | {key: value}, matrices())

    spoil.__name__ = name
    return spoil


def changed(change: Callable[[Parts], None]) -> Callable[[Given], None]:
    """Another header, or other tensors."""

    def spoil(given: Given) -> None:
        file = Parts(fields(), matrices())
        change(file)
        write(given.root / FILE, file.header, file.tensors)

    spoil.__name__ = change.__name__
    return spoil


def tokens_added(file: Parts) -> None:
    file.header[TOKENS].append("<|tool|>")
    file.header[TYPES].append(3)


def types_too_few(file: Parts) -> None:
    del file.header[TYPES][-2:]


def no_tokenizer(file: Parts) -> None:
    for key in [key for key in file.header if key.startswith("tokenizer.ggml")]:
        del file.header[key]


def block_lost(file: Parts) -> None:
    for name in [name for name in file.tensors if name.startswith("blk.1.")]:
        del file.tensors[name]


def no_vectors(file: Parts) -> None:
    del file.tensors["token_embd.weight"]


def not_a_number(file: Parts) -> None:
    file.tensors["blk.0.ffn_up.weight"][3, 5] = np.nan


def begins_twice(given: Given) -> None:
    given.intent["chat"]["serving_path"] = "template_text_then_tokenizer"
    begin = {"tokenizer.ggml.bos_token_id": SPECIALS[PAD], "tokenizer.ggml.add_bos_token": True}
    template = "{{ bos_token }}" + CHAT_TEMPLATE
    write(given.root / FILE, fields() | begin | {"tokenizer.chat_template": template}, matrices())


TEMPLATE, EOS = "tokenizer.chat_template", "tokenizer.ggml.eos_token_id"
NO_END = CHAT_TEMPLATE.replace(END, "")
LATER = frozenset({"template/tmpl-eot-in-eos"})
DEFECTS = (
    Defect("tokenizer/gguf-pretokenizer", chat_gguf, field("no_splits", "tokenizer.ggml.pre", None)),
    Defect("tokenizer/tok-present-loads", chat_gguf, changed(types_too_few)),
    Defect("tokenizer/tok-present-loads", chat_gguf, field("no_merges", "tokenizer.ggml.merges", None)),
    Defect("tokenizer/tok-present-loads", chat_gguf, changed(no_tokenizer)),
    Defect("names/embed-rows", chat_gguf, changed(tokens_added)),
    Defect("names/layer-gap", chat_gguf, changed(block_lost)),
    Defect("names/params-present", chat_gguf, changed(no_vectors)),
    Defect("weights/nonfinite", chat_gguf, changed(not_a_number)),
    Defect("config/special-ids", chat_gguf, field("id_of_no_token", EOS, 99_999), LATER),
    Defect("template/tmpl-present", chat_gguf, field("no_template", TEMPLATE, None)),
    Defect("template/tmpl-end-of-turn", chat_gguf, field("no_end", TEMPLATE, NO_END)),
    Defect("template/tmpl-eot-in-eos", chat_gguf, field("of_the_base", EOS, SPECIALS[PAD])),
    Defect("template/tmpl-renders", chat_gguf, field("broken", TEMPLATE, "{% for m in messages %}")),
    Defect("template/double-bos", chat_gguf, begins_twice),
)
