"""A tiny GGUF file, written by hand."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tests.engine.audit.given import Given

ALIGNMENT = 32


def gguf(folder: Path) -> Given:
    """One GGUF file with two tensors: plain F32, and Q8_0 (blocks of 32 elements in 34 bytes)."""
    root = folder / "model"
    root.mkdir()
    (root / "tiny.gguf").write_bytes(gguf_bytes({"token_embd.weight": (0, (32, 4)), "output.weight": (8, (32, 2))}))
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


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)
