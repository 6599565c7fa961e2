"""generation_config.json: stop tokens that agree with the other files, and sampling fields that can be saved again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.audit.documents import shown
from engine.audit.ledger import Ledger, Place
from engine.audit.tokenizers.files import tokenizer_files
from engine.audit.tokenizers.gguf import PREFIX, STOPS

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint

FILE = "generation_config.json"
# Fields that only sampling reads, with the value that means "off" (transformers, GenerationConfig.validate).
SAMPLING: Mapping[str, tuple[float, ...]] = {
    "temperature": (1.0,), "top_p": (1.0,), "top_k": (50,), "min_p": (), "typical_p": (1.0,),
    "epsilon_cutoff": (0.0,), "eta_cutoff": (0.0,),
}  # fmt: skip


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what generation_config.json says."""
    document = checkpoint.generation_config
    chat = checkpoint.intent.chat
    ledger.fact("audit.generation.present", document is not None, [Place(FILE, "", _there(document is not None))])
    ledger.fact("audit.generation.stops_declared", bool(chat and chat.stop_tokens))
    if document is None or document.problem is not None or not isinstance(document.value, dict):
        why = document.problem if document and document.problem else "absent, or no object"
        for name in ("invalid", "stop_disagreements"):
            ledger.unknown(f"audit.generation.{name}", f"{FILE} cannot be read: {why}.", f"{FILE} 无法读取：{why}。")
        return
    ledger.count("audit.generation.invalid", _invalid(document.mapping))
    ledger.count("audit.generation.stop_disagreements", _disagreements(checkpoint, document.mapping))


def _there(there: bool) -> str:
    return "there" if there else "absent"


def token_ids(value: object) -> list[int]:
    """Ids of a field that holds one id, a list of ids, or nothing."""
    values = value if isinstance(value, list) else [value]
    return [id_ for id_ in values if type(id_) is int]


def stop_ids(checkpoint: Checkpoint) -> set[int] | None:
    """Ids that end a generation: of generation_config.json, else of config.json, as transformers takes them; of a GGUF
    file those that its header names.

    Servers that stop at the tokenizer's end token, too, are taken at their word when the intent names one. None: no
    file says anything.
    """
    if checkpoint.kind == "gguf":
        header = checkpoint.gguf_model
        fields = [header.fields.get(PREFIX + key) for key in STOPS] if header else []
        return {id_ for id_ in fields if type(id_) is int} or None
    document = checkpoint.generation_config or checkpoint.config
    if document is None or document.problem is not None:
        return None
    found = set(token_ids(document.mapping.get("eos_token_id")))
    if checkpoint.generation_config is None:
        inner = document.mapping.get("text_config")
        found |= set(token_ids(inner.get("eos_token_id"))) if isinstance(inner, dict) else set()
    files = tokenizer_files(checkpoint)
    texts = list(checkpoint.intent.chat.stop_tokens) if checkpoint.intent.chat else []
    served = " ".join(str(value) for value in checkpoint.intent.serving.values()).lower()
    if any(name in served for name in ("vllm", "sglang", "text-generation-inference", "tgi")):
        texts += [files.named["eos_token"]] if "eos_token" in files.named else []
    return found | {id_ for text in texts if (id_ := files.id_of(text)) is not None}


def _disagreements(checkpoint: Checkpoint, generation: Mapping[str, Any]) -> Iterator[Place]:
    """End tokens of the other files that generation_config.json does not know."""
    ours = set(token_ids(generation.get("eos_token_id")))
    observed = f"{sorted(ours)!s:.60}"
    files = tokenizer_files(checkpoint)
    text = files.named.get("eos_token")
    id_ = files.id_of(text) if text else None
    if id_ is not None and id_ not in ours:
        yield Place(FILE, "$.eos_token_id", observed, f"{id_} ({text!r:.60}) as well", "tokenizer")
    config = checkpoint.config.mapping if checkpoint.config else {}
    for other in token_ids(config.get("eos_token_id")):
        if other not in ours and other != id_:
            yield Place(FILE, "$.eos_token_id", observed, f"{other} as well", "config")


def _invalid(generation: Mapping[str, Any]) -> Iterator[Place]:
    if generation.get("do_sample") is not True:
        # Beam search and contrastive search read temperature and top_k in ways of their own; they are rare in releases.
        for name, off in SAMPLING.items():
            value = generation.get(name)
            if value is not None and value not in off and not _other_search(generation):
                yield Place(
                    FILE,
                    f"$.{name}",
                    f"{shown(value, 20)} without do_sample",
                    "do_sample: true, or no such field",
                    "format",
                )
        return
    temperature, top_p, top_k = (generation.get(name) for name in ("temperature", "top_p", "top_k"))
    if temperature is not None and not (_number(temperature) and temperature > 0):
        yield Place(FILE, "$.temperature", f"{shown(temperature, 20)} with do_sample", "more than 0", "format")
    if top_p is not None and not (_number(top_p) and 0 < top_p <= 1):
        yield Place(FILE, "$.top_p", shown(top_p, 20), "more than 0, at most 1", "format")
    if top_k is not None and not (type(top_k) is int and top_k >= 0):
        yield Place(FILE, "$.top_k", shown(top_k, 20), "a whole number of at least 0", "format")


def _other_search(generation: Mapping[str, Any]) -> bool:
    return generation.get("penalty_alpha") not in (None, 0)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
