"""Tokenizers of a checkpoint, read from their files; nothing is encoded but what the files decide by themselves."""
