"""A tiny byte-level BPE tokenizer with the files that a trainer writes beside it."""

from __future__ import annotations

from typing import Any

PAD, TURN, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
MERGES = (
    "Ġ t", "h e", "i n", "Ġ a", "o n", "r e", "e r", "Ġt he", "a t", "e n", "o r", "Ġ s", "e s", "n d", "i s", "Ġ w",
    "a n", "o u", "in g", "Ġa nd", "Ġ o", "Ġ b", "i t", "Ġ c", "u s", "a s", "Ġ f", "a r", "l l",
)  # fmt: skip
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def vocabulary() -> dict[str, int]:
    """Ids of the 256 byte characters (GPT-2's alphabet: bytes without a picture move up from 256) and the merges."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    pictures = [chr(byte) for byte in shown] + [chr(256 + place) for place in range(len(hidden))]
    return {text: id_ for id_, text in enumerate([*pictures, *(merge.replace(" ", "") for merge in MERGES)])}


SPECIALS = {text: len(vocabulary()) + place for place, text in enumerate((PAD, TURN, END))}
VOCAB_SIZE = len(vocabulary()) + len(SPECIALS)


def tokenizer_json() -> dict[str, Any]:
    """tokenizer.json."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": id_, **_added(text)} for text, id_ in SPECIALS.items()],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocabulary(),
            "merges": [merge.split(" ") for merge in MERGES],
        },
    }


def tokenizer_config(template: str | None = CHAT_TEMPLATE, positions: int = 128) -> dict[str, Any]:
    """tokenizer_config.json; ``template`` None makes one of a base model."""
    config: dict[str, Any] = {
        "add_prefix_space": False,
        "added_tokens_decoder": {str(id_): _added(text) for text, id_ in SPECIALS.items()},
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": END if template else PAD,
        "model_max_length": positions,
        "pad_token": PAD,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": None,
    }
    return config | ({"chat_template": template} if template else {})


def special_tokens_map(chat: bool = True) -> dict[str, Any]:
    """special_tokens_map.json."""
    token = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    return {"eos_token": {"content": END if chat else PAD, **token}, "pad_token": {"content": PAD, **token}}


def _added(text: str) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"content": text, **flags}
