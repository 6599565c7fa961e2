"""The steps of a tokenizer, brought to one spelling, and what can be concluded from them without encoding anything.

The spellings are those that releases 0.10 to 0.23 of the tokenizers library wrote for the same behaviour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.audit.tokenizers.view import Tokenizer

# Options that the library writes with their default in one release and leaves out in another.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "ByteLevel": {"use_regex": True, "add_prefix_space": True},
    "BertNormalizer": {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    "Split": {"invert": False},
}
_NO_IDS = frozenset({"trim_offsets", "str_rep", "vocab_size"})  # change offsets or nothing, never ids
LOSSY_NORMALIZERS = frozenset(
    {"BertNormalizer", "Lowercase", "NFKC", "NFKD", "NFD", "StripAccents", "Strip", "Precompiled", "Nmt", "Replace"}
)


def steps(part: object) -> list[dict[str, Any]]:
    """The steps of a part in order, sequences unfolded."""
    if not isinstance(part, dict):
        return []
    names = {"normalizers", "pretokenizers", "processors", "decoders"}
    if part.get("type") == "Sequence":
        inner = next((value for key, value in part.items() if key in names and isinstance(value, list)), [])
        return [step for item in inner for step in steps(item)]
    return [{**part, "type": str(part.get("type"))}]


def canonical(name: str, part: object) -> object:
    """A part in one spelling: parts that are equal here give the same ids."""
    found = [_step(step) for step in steps(part)]
    if name == "post_processor":
        # The byte-level processor changes offsets only.
        found = [step for step in found if step.get("type") != "ByteLevel"]
    return found


def options(tokenizer: Tokenizer) -> dict[str, Any]:
    """Options of the model that change ids, without those that are off."""
    return {k: v for k, v in tokenizer.parts.get("options", {}).items() if v not in (None, False, "") and k != "type"}


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    kind = step["type"]
    found = _DEFAULTS.get(kind, {}) | {key: value for key, value in step.items() if key not in _NO_IDS}
    if kind == "Metaspace":
        added = found.pop("add_prefix_space", True)
        found.setdefault("prepend_scheme", "always" if added else "never")
        found.setdefault("split", True)
    return found


def single_frame(tokenizer: Tokenizer) -> tuple[list[str], list[str]] | None:
    """The texts of the tokens that plain encoding puts before and after one text; None if that cannot be told."""
    before: list[str] = []
    after: list[str] = []
    for step in steps(tokenizer.parts.get("post_processor")):
        kind = step.get("type")
        if kind == "ByteLevel":
            continue
        if kind in ("BertProcessing", "RobertaProcessing"):
            first, last = (
                side[0] if isinstance(side, list) and side else None for side in (step.get("cls"), step.get("sep"))
            )
        elif kind == "TemplateProcessing" and isinstance(step.get("single"), list):
            return _template_frame(step["single"])
        else:
            return None
        if not isinstance(first, str) or not isinstance(last, str):
            return None
        before, after = [first, *before], [*after, last]
    return before, after


def _template_frame(single: list[Any]) -> tuple[list[str], list[str]] | None:
    before: list[str] = []
    after: list[str] = []
    side = before
    for item in single:
        token = item.get("SpecialToken") if isinstance(item, dict) else None
        if isinstance(token, dict) and isinstance(token.get("id"), str):
            side.append(token["id"])
        elif isinstance(item, dict) and "Sequence" in item:
            side = after
        else:
            return None
    return before, after


def is_lossy_by_design(tokenizer: Tokenizer) -> bool:
    """Whether decoding is not meant to give the text back: word pieces, or a normaliser that folds characters."""
    if tokenizer.model in ("WordPiece", "WordLevel"):
        return True
    normal = [step for step in steps(tokenizer.parts.get("normalizer")) if not _is_space_mark(step)]
    return any(step.get("type") in LOSSY_NORMALIZERS for step in normal)


def losses(tokenizer: Tokenizer) -> list[tuple[str, str, str]] | None:
    """Steps that lose text between encoding and decoding: (JSON path, what is there, what must be there).

    A byte-level tokenizer gives back every text exactly if its decoder undoes the byte characters, all 256 of them are
    pieces, and no split throws its separators away. One that marks spaces gives it back if its decoder turns the mark
    into spaces again and unknown characters have bytes to fall back on. None: neither of the two, so it cannot be told.
    """
    before = [*steps(tokenizer.parts.get("normalizer")), *steps(tokenizer.parts.get("pre_tokenizer"))]
    kinds = {step.get("type") for step in before}
    if "ByteLevel" in kinds:
        return [*_dropped(tokenizer), *_byte_losses(tokenizer)]
    if "Metaspace" in kinds or any(map(_is_space_mark, before)):
        return [*_dropped(tokenizer), *_mark_losses(tokenizer)]
    return None


def _dropped(tokenizer: Tokenizer) -> Iterator[tuple[str, str, str]]:
    for step in steps(tokenizer.parts.get("pre_tokenizer")):
        if step.get("type") in ("Split", "Punctuation") and step.get("behavior") == "Removed":
            yield "$.pre_tokenizer", "a split that removes what it matches", "Isolated or merged"
        elif step.get("type") in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "CharDelimiterSplit"):
            yield "$.pre_tokenizer", f"{step['type']} drops spaces", "a splitter that keeps them"


def _byte_losses(tokenizer: Tokenizer) -> Iterator[tuple[str, str, str]]:
    decoders = {step.get("type") for step in steps(tokenizer.parts.get("decoder"))}
    if "ByteLevel" not in decoders:
        yield "$.decoder", ", ".join(map(str, sorted(decoders, key=str))) or "null", "ByteLevel, as it is encoded"
    lost = [char for char in byte_characters() if tokenizer.id_of(char) is None]
    if lost:
        shown = "".join(lost[:10])
        yield "$.model.vocab", f"{len(lost)} of 256 byte characters are no pieces: {shown!r}", "all 256"


def _mark_losses(tokenizer: Tokenizer) -> Iterator[tuple[str, str, str]]:
    found = steps(tokenizer.parts.get("decoder"))
    undone = any(step.get("type") == "Metaspace" or _is_space_mark(step, back=True) for step in found)
    if not undone:
        kinds = ", ".join(str(step.get("type")) for step in found) or "null"
        yield "$.decoder", kinds, "a step that turns the space mark into a space"
    if tokenizer.parts.get("options", {}).get("byte_fallback") is True:
        missing = [byte for byte in range(256) if tokenizer.id_of(f"<0x{byte:02X}>") is None]
        if missing:
            yield "$.model.vocab", f"{len(missing)} of 256 byte pieces are absent", "<0x00> to <0xFF>"
        if not any(step.get("type") == "ByteFallback" for step in found):
            yield "$.decoder", "no ByteFallback", "ByteFallback, as the model falls back on bytes"


def _is_space_mark(step: Mapping[str, Any], back: bool = False) -> bool:
    """Whether a step writes spaces as U+2581, or turns them back; also the prefix that goes before the first word."""
    pattern = step.get("pattern")
    text = pattern.get("String") if isinstance(pattern, dict) else None
    if step.get("type") == "Replace":
        return (text, step.get("content")) == (("▁", " ") if back else (" ", "▁"))
    return step.get("type") == "Prepend" and step.get("prepend") == "▁" and not back


def byte_characters() -> list[str]:
    """The 256 characters that stand for bytes in byte-level tokenizers (the alphabet of GPT-2's encoder)."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = (byte for byte in range(256) if byte not in shown)
    return [chr(byte) for byte in sorted(shown)] + [chr(256 + place) for place, _ in enumerate(hidden)]
