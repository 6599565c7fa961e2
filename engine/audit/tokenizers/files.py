"""The files that make up a tokenizer, and what they say of its special tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from engine.audit.documents import MAX_TOKENIZER_BYTES, Document
from engine.audit.tokenizers.view import AddedToken, Tokenizer, parse_tokenizer

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint

# Vocabularies in the forms of tokenizer libraries: any one of them makes a tokenizer.
VOCABULARIES = (
    "tokenizer.json", "tokenizer.model", "tokenizer.model.v3", "tekken.json", "spiece.model", "vocab.json", "vocab.txt",
    "sentencepiece.bpe.model", "source.spm", "tiktoken.model", "qwen.tiktoken", "spm.model",
)  # fmt: skip
ROLES = ("bos_token", "eos_token", "pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
_T = TypeVar("_T")


def once(checkpoint: Checkpoint, name: str, make: Callable[[], _T]) -> _T:
    """What ``make`` returns, made once for this checkpoint; the views of several probes are kept this way."""
    known = checkpoint.__dict__
    if name not in known:
        known[name] = make()
    result: _T = known[name]
    return result


@dataclass(frozen=True)
class TokenizerFiles:
    """The tokenizer of a checkpoint. Documents are None where the file is absent.

    Args:
        prefix: folder of the files, with a slash, or empty: older sentence-transformers keep them in a sub-folder.
        vocabularies: names of the files that hold a vocabulary.
        parsed: the tokenizer of a GGUF file, whose own fields stand for those of tokenizer_config.json.
    """

    prefix: str
    vocabularies: tuple[str, ...]
    json: Document | None
    config: Document | None
    special_tokens_map: Document | None
    added_tokens: Document | None
    parsed: Tokenizer | None = None

    @cached_property
    def view(self) -> Tokenizer | None:
        """The parsed tokenizer.json; None if there is none, or it is no JSON."""
        if self.parsed is not None:
            return self.parsed
        if self.json is None or self.json.problem is not None:
            return None
        return parse_tokenizer(self.json.path, self.json.value)

    @cached_property
    def usable(self) -> Tokenizer | None:
        """The view if the library could load it."""
        return self.view if self.view is not None and not self.view.faults else None

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """tokenizer_config.json, empty if it is absent or broken."""
        return self.config.mapping if self.config else {}

    @cached_property
    def named(self) -> dict[str, str]:
        """Text of each special token by its role, as tokenizer_config.json names it, else special_tokens_map.json."""
        fallback = self.special_tokens_map.mapping if self.special_tokens_map else {}
        found = {role: content(self.settings.get(role)) or content(fallback.get(role)) for role in ROLES}
        return {role: text for role, text in found.items() if text}

    @cached_property
    def extra(self) -> tuple[str, ...]:
        """Further special tokens that tokenizer_config.json names: a list in version 4 of the library, or by role."""
        found: dict[str, None] = {}
        for key in ("additional_special_tokens", "extra_special_tokens"):
            value = self.settings.get(key)
            listed = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
            found |= dict.fromkeys(text for token in listed if (text := content(token)))
        return tuple(found)

    @cached_property
    def decoder(self) -> dict[int, AddedToken]:
        """``added_tokens_decoder`` of tokenizer_config.json by id."""
        entries = self.settings.get("added_tokens_decoder")
        found: dict[int, AddedToken] = {}
        for key, entry in entries.items() if isinstance(entries, dict) else ():
            if key.isdecimal() and len(key) < 10 and isinstance(entry, dict) and (text := content(entry)):
                found[int(key)] = AddedToken(int(key), text, entry.get("special") is True)
        return found

    def id_of(self, text: str) -> int | None:
        """Id of a token: by tokenizer.json, else by tokenizer_config.json and added_tokens.json."""
        if self.view is not None and (id_ := self.view.id_of(text)) is not None:
            return id_
        for token in self.decoder.values():
            if token.content == text:
                return token.id
        id_ = self.added_tokens.mapping.get(text) if self.added_tokens else None
        return id_ if type(id_) is int else None

    def text_of(self, id_: int) -> str | None:
        """Text of a token."""
        if self.view is not None and id_ in self.view.texts:
            return self.view.texts[id_]
        return self.decoder[id_].content if id_ in self.decoder else None


def tokenizer_files(checkpoint: Checkpoint) -> TokenizerFiles:
    """The tokenizer of a checkpoint, read once."""
    return once(checkpoint, "_tokenizer_files", lambda: _read(checkpoint))


def _read(checkpoint: Checkpoint) -> TokenizerFiles:
    if (header := checkpoint.gguf_model) is not None:
        from engine.audit.tokenizers.gguf import files_of

        return files_of(header)
    prefix = _prefix(checkpoint)

    def document(name: str) -> Document | None:
        return checkpoint.json(prefix + name, MAX_TOKENIZER_BYTES)

    return TokenizerFiles(
        prefix,
        tuple(name for name in VOCABULARIES if prefix + name in checkpoint.folder),
        document("tokenizer.json"),
        document("tokenizer_config.json"),
        document("special_tokens_map.json"),
        document("added_tokens.json"),
    )


def _prefix(checkpoint: Checkpoint) -> str:
    modules = checkpoint.json("modules.json")
    first = modules.value[0] if modules and isinstance(modules.value, list) and modules.value else None
    path = first.get("path") if isinstance(first, dict) else None
    return f"{path}/" if isinstance(path, str) and path and ".." not in path else ""


def content(token: object) -> str | None:
    """Text of a token that is written as a text, or as an object with ``content``."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) and text else None
