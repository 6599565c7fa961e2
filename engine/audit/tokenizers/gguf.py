"""The tokenizer that a GGUF file carries, in the view that the files of the tokenizers library are read into.

Source of keys, token types and defaults: the GGUF specification, and the vocabulary reader of llama.cpp.
"""

from __future__ import annotations

from typing import Any

from engine.audit.documents import Document
from engine.audit.gguf import TOKENS, GgufHeader
from engine.audit.tokenizers.files import TokenizerFiles
from engine.audit.tokenizers.view import AddedToken, Tokenizer

PREFIX = "tokenizer.ggml."
IDS = {
    "bos_token": "bos_token_id", "eos_token": "eos_token_id", "pad_token": "padding_token_id",
    "unk_token": "unknown_token_id", "sep_token": "seperator_token_id", "cls_token": "cls_token_id",
    "mask_token": "mask_token_id",
}  # fmt: skip
STOPS = ("eos_token_id", "eot_token_id", "eom_token_id")
_CONTROL, _USER_DEFINED = 3, 4
_MODELS = {"gpt2": "BPE", "llama": "BPE", "bert": "WordPiece", "t5": "Unigram"}
_BEGINS_BY_DEFAULT = ("llama", "bert")  # where add_bos_token is not set


def files_of(header: GgufHeader) -> TokenizerFiles:
    """The tokenizer of a file; without one there is no vocabulary in it."""
    there = TOKENS in header.lengths
    settings: dict[str, Any] = {
        role: header.tokens[id_]
        for role, key in IDS.items()
        if type(id_ := header.fields.get(PREFIX + key)) is int and 0 <= id_ < len(header.tokens)
    }
    return TokenizerFiles(
        prefix="",
        vocabularies=(header.path,) if there else (),
        json=None,
        config=Document(header.path, settings),
        special_tokens_map=None,
        added_tokens=None,
        parsed=_view(header, settings.get("bos_token")) if header.tokens else None,
    )


def _view(header: GgufHeader, begin: str | None) -> Tokenizer:
    added = tuple(
        AddedToken(id_, header.tokens[id_], special=kind == _CONTROL)
        for id_, kind in enumerate(header.token_types[: len(header.tokens)])
        if kind in (_CONTROL, _USER_DEFINED)
    )
    own = {token.id for token in added}
    vocab = {text: id_ for id_, text in enumerate(header.tokens) if id_ not in own}
    model = _MODELS.get(str(header.fields.get(PREFIX + "model")), "")
    return Tokenizer(header.path, model, vocab, (), added, {"post_processor": _frame(header, begin)})


def _frame(header: GgufHeader, begin: str | None) -> dict[str, Any]:
    """What plain encoding puts around a text; of no known kind where only the reader's tables say it."""
    adds = header.fields.get(PREFIX + "add_bos_token")
    if not isinstance(adds, bool):
        if header.fields.get(PREFIX + "model") not in _BEGINS_BY_DEFAULT:
            return {"type": "chosen by the reader"}
        adds = True
    before = [{"SpecialToken": {"id": begin}}] if adds and begin else []
    return {"type": "TemplateProcessing", "single": [*before, {"Sequence": {"id": "A"}}]}
