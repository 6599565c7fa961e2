"""Group tied: do head and embedding agree with the flag that makes them one matrix?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engine.audit.architectures import Expectation
from engine.audit.compare import same_bytes
from engine.audit.documents import shown
from engine.audit.ledger import Place
from engine.audit.probes.expectation import EMBEDDINGS, OUTPUTS, expectation, incomplete, text_config, tied, vocabulary
from engine.audit.tensors import TensorInfo
from engine.model.base import Text

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger

_SPEAKS = re.compile(r"(ForCausalLM|LMHeadModel|ForConditionalGeneration)$")
_EMBEDDING_PARADIGMS = ("contrastive", "embedding")


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what flag, head and embedding show."""
    embeds = checkpoint.intent.paradigm in _EMBEDDING_PARADIGMS or checkpoint.kind == "sentence_transformers"
    ledger.fact("audit.tied.head_is_used", not embeds)
    _nested(checkpoint, ledger)
    expected = expectation(checkpoint)
    if isinstance(expected, Text):
        _stranger(checkpoint, expected, ledger)
        return
    ledger.fact("audit.tied.has_head", expected.output is not None)
    if expected.output is None:
        return
    flag = tied(checkpoint, expected)
    if flag is not None:
        ledger.fact("audit.tied.flag", flag)
    reason = incomplete(checkpoint)
    if not checkpoint.named or flag is None or reason:
        _unknown(ledger, *(reason or ("Weights or the tie flag are not known.", "权重或绑定开关未知。")))
        return
    stored = {expected.bare(name): tensor for name, tensor in checkpoint.named.items()}
    head, embedding = _stored(stored, expected.output), _embedding(stored, expected)
    _head(checkpoint, expected, flag, head or (embedding if flag else None), ledger)
    _copies(checkpoint, flag, head, embedding, ledger)


def _stranger(checkpoint: Checkpoint, reason: Text, ledger: Ledger) -> None:
    """Judge a class that is in no table by what every language model has: matrices with one row a token."""
    flag, words = text_config(checkpoint).get("tie_word_embeddings"), vocabulary(checkpoint)
    speaks = _SPEAKS.search(checkpoint.architecture or "") is not None
    matrices = {} if isinstance(words, Text) else _token_matrices(checkpoint, words[0])
    embedding = next((tensor for name, tensor in matrices.items() if name.endswith(EMBEDDINGS)), None)
    if not speaks or not isinstance(flag, bool) or embedding is None or incomplete(checkpoint):
        _unknown(
            ledger, f"Whether there must be a head is not known: {reason.en}.", f"不知道是否应有输出头（{reason.zh}）。"
        )
        return
    ledger.fact("audit.tied.has_head", True)
    ledger.fact("audit.tied.flag", flag)
    head = next((tensor for name, tensor in matrices.items() if name.endswith(OUTPUTS)), None)
    place = Place("config.json", "tie_word_embeddings", "false, and no other matrix of tokens", "a head", "header")
    missing = not flag and len(matrices) == 1
    ledger.fact("audit.tied.head_missing", missing, [place] if missing else ())
    _copies(checkpoint, flag, head, embedding, ledger)


def _token_matrices(checkpoint: Checkpoint, rows: int) -> dict[str, TensorInfo]:
    return {name: t for name, t in checkpoint.named.items() if len(t.shape) == 2 and t.shape[0] == rows}


def _unknown(ledger: Ledger, en: str, zh: str) -> None:
    for fact in ("has_head", "flag", "head_missing", "copies_differ"):
        ledger.unknown(f"audit.tied.{fact}", en, zh)


def _stored(stored: dict[str, TensorInfo], name: str) -> TensorInfo | None:
    """The matrix, also if it is packed."""
    stem = name.removesuffix("weight")
    return next((stored[form] for form in (name, f"{stem}qweight", f"{stem}weight_packed") if form in stored), None)


def _embedding(stored: dict[str, TensorInfo], expected: Expectation) -> TensorInfo | None:
    names = (expected.embedding, *expected.copies)
    return next((stored[name] for name in names if name in stored), None)


def _head(checkpoint: Checkpoint, expected: Expectation, flag: bool, matrix: TensorInfo | None, ledger: Ledger) -> None:
    assert expected.output is not None
    observed = "no head, no embedding" if flag else f"{_flag(checkpoint)}, and no {expected.output}"
    wanted = "one of the two" if flag else f"{expected.output}, or tie_word_embeddings true"
    place = Place("config.json", "tie_word_embeddings", observed, wanted, "architecture")
    ledger.fact("audit.tied.head_missing", matrix is None, [place] if matrix is None else ())


def _flag(checkpoint: Checkpoint) -> str:
    value = text_config(checkpoint).get("tie_word_embeddings")
    return f"{shown(value)}".lower() if isinstance(value, bool) else "not set (the library's default is false)"


def _copies(
    checkpoint: Checkpoint, flag: bool, head: TensorInfo | None, embedding: TensorInfo | None, ledger: Ledger
) -> None:
    fact = "audit.tied.copies_differ"
    if not flag or head is None or embedding is None or (head.storage and head.storage == embedding.storage):
        ledger.fact(fact, False)
        return
    same = same_bytes(checkpoint.folder, head, checkpoint.folder, embedding)
    if same is None:
        ledger.unknown(fact, "The bytes of head and embedding cannot be read.", "无法读取输出头与词嵌入的字节。")
        return
    place = Place(head.file, shown(head.name), "other numbers", f"those of {shown(embedding.name)}", "config")
    ledger.fact(fact, not same, () if same else [place])


def _nested(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """The flag stands twice in configs of models with a language model inside."""
    config = checkpoint.config.mapping if checkpoint.config else {}
    nested = config.get("text_config")
    ledger.fact("audit.tied.nested", isinstance(nested, dict))
    if not isinstance(nested, dict):
        return
    outer, inner = config.get("tie_word_embeddings"), nested.get("tie_word_embeddings")
    if isinstance(outer, bool) and isinstance(inner, bool):
        observed, wanted = f"{outer}; text_config: {inner}".lower(), "one value in both"
        place = Place("config.json", "tie_word_embeddings", observed, wanted, "config")
        ledger.fact("audit.tied.flags_differ", outer != inner, [place] if outer != inner else ())
    else:
        ledger.unknown(
            "audit.tied.flags_differ",
            "One of the two flags is not set, and what that means differs between versions of the library.",
            "两个开关有一个未设置，其默认值因库版本而异。",
        )
