"""A tiny GGUF file, written by hand."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.engine.audit.build.tokenizer import CHAT_TEMPLATE, END, MERGES, PAD, SPECIALS, vocabulary
from tests.engine.audit.given import Given

ALIGNMENT = 32
FILE = "tiny.gguf"
HIDDEN, INNER, BLOCKS = 32, 64, 2
Fields = dict[str, Any]
Matrices = dict[str, NDArray[np.floating]]


def gguf(folder: Path) -> Given:
    """One GGUF file with two tensors: plain F32, and Q8_0 (blocks of 32 elements in 34 bytes)."""
    root = folder / "model"
    root.mkdir()
    (root / FILE).write_bytes(gguf_bytes({"token_embd.weight": (0, (32, 2)), "output.weight": (8, (32, 2))}))
    return Given(root, {"paradigm": "pretrain"})


def gguf_bytes(tensors: Mapping[str, tuple[int, tuple[int, ...]]], *, version: int = 3) -> bytes:
    """A file of these tensors: type number and sizes, fastest first."""
    values = [_text("general.architecture") + struct.pack("<I", 8) + _text("llama")]
    values.append(_text("llama.block_count") + struct.pack("<II", 4, 1))
    values.append(_text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + _text("a") + _text("b"))
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values)) + b"".join(values)
    data = b""
    for name, (kind, sizes) in tensors.items():
        head += _text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, len(data))
        random = np.random.default_rng(len(data))
        count = sizes[0] * sizes[1]
        plain = random.normal(0.0, 0.02, count).astype("<f4").tobytes()
        data += _padded(plain if kind == 0 else random.bytes(count // 32 * 34))
    return _padded(head) + data


def chat_gguf(folder: Path) -> Given:
    """A chat model in one file, with tokenizer and template in its header."""
    root = folder / "model"
    root.mkdir()
    write(root / FILE, fields(), matrices())
    return Given(root, {"paradigm": "sft", "chat": {"end_of_turn_token": END, "serving_path": "template_ids"}})


def fields() -> Fields:
    """The header of the tiny chat model."""
    tokens = [*sorted(vocabulary(), key=vocabulary().__getitem__), *SPECIALS]
    return {
        "general.architecture": "llama",
        "llama.block_count": BLOCKS,
        "llama.context_length": 128,
        "llama.embedding_length": HIDDEN,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * (len(tokens) - len(SPECIALS)) + [3] * len(SPECIALS),
        "tokenizer.ggml.merges": list(MERGES),
        "tokenizer.ggml.eos_token_id": SPECIALS[END],
        "tokenizer.ggml.padding_token_id": SPECIALS[PAD],
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }


def matrices() -> Matrices:
    """Its tensors."""
    random = np.random.default_rng(40)
    rows = len(vocabulary()) + len(SPECIALS)
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (rows, HIDDEN), "output.weight": (rows, HIDDEN)}
    for number in range(BLOCKS):
        block = {"attn_q": (HIDDEN, HIDDEN), "attn_k": (HIDDEN, HIDDEN), "ffn_up": (INNER, HIDDEN)}
        shapes |= {f"blk.{number}.{name}.weight": shape for name, shape in block.items()}
    return {name: random.normal(0.0, 0.02, shape) for name, shape in shapes.items()}


def write(path: Path, fields: Fields, matrices: Matrices) -> None:
    """A file of these fields and F32 tensors; fields that are None are left out."""
    kept = {key: value for key, value in fields.items() if value is not None}
    head = b"GGUF" + struct.pack("<IQQ", 3, len(matrices), len(kept))
    head += b"".join(_text(key) + _value(value) for key, value in kept.items())
    data = b""
    for name, matrix in matrices.items():
        sizes = matrix.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, len(data))
        data += _padded(matrix.astype("<f4").tobytes())
    path.write_bytes(_padded(head) + data)


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    texts = isinstance(value[0], str)
    inner = b"".join(map(_text, value)) if texts else struct.pack(f"<{len(value)}i", *value)
    return struct.pack("<IIQ", 9, 8 if texts else 5, len(value)) + inner


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)
