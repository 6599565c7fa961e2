"""What is audited: kind, paradigm and which parts are there. Gates say by these facts whether they apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.audit.checkpoint import GENERATING
from engine.audit.template.sources import GGUF_KEY

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what the checkpoint is and what was given beside it."""
    intent, kind = checkpoint.intent, checkpoint.kind
    ledger.fact("audit.kind", kind)
    tunes = kind in ("adapter", "gguf") and intent.paradigm != "embedding" and not _encodes(checkpoint)
    ledger.fact("audit.generates", kind in GENERATING or tunes)
    ledger.fact("audit.has_weights", bool(checkpoint.tensors))
    ledger.fact("audit.base_given", checkpoint.base is not None)
    ledger.fact("audit.base_weights", checkpoint.base is not None and bool(checkpoint.base.tensors))
    if intent.release_kind is not None:
        ledger.fact("audit.release_kind", intent.release_kind)
    else:
        ledger.unknown(
            "audit.release_kind", "The intent does not say what the release is for.", "意图文件没有说明发布用途。"
        )


def _encodes(checkpoint: Checkpoint) -> bool:
    """Whether it is a GGUF file of an encoder, or of none but parts of a model."""
    if checkpoint.kind != "gguf":
        return False
    header = checkpoint.gguf_model
    return header is None or header.architecture.endswith(("bert", "bert-v2", "encoder", "encoder-only"))


def is_chat(checkpoint: Checkpoint) -> bool:
    """Declared as chat, tuned by a chat paradigm, or shipping a template."""
    intent = checkpoint.intent
    config, header = checkpoint.tokenizer_config, checkpoint.gguf_model
    ships = "chat_template.jinja" in checkpoint.folder or bool(config and config.mapping.get("chat_template"))
    ships = ships or (header is not None and GGUF_KEY in header.fields)
    # Encoder-decoders are tuned to a task more often than to chat.
    tuned = intent.paradigm in ("sft", "dpo", "rlhf") and checkpoint.kind in ("causal_lm", "gguf", "adapter")
    return intent.chat is not None or ships or tuned
