"""Tokenizers of a checkpoint, read from their files; nothing is encoded but what the files decide by themselves."""

from __future__ import annotations

from engine.audit.tokenizers.files import TokenizerFiles, tokenizer_files
from engine.audit.tokenizers.view import AddedToken, Tokenizer

__all__ = ["AddedToken", "Tokenizer", "TokenizerFiles", "tokenizer_files"]
