"""Parts of a tokenizer: one spelling, what frames a text, what is lost."""

from __future__ import annotations

from typing import Any

import pytest

from engine.audit.tokenizers.parts import byte_characters, canonical, is_lossy_by_design, losses, single_frame
from engine.audit.tokenizers.view import Tokenizer, parse_tokenizer
from tests.engine.audit.build.chat import BOS, begin_processor
from tests.engine.audit.build.tokenizer import tokenizer_json

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
REMOVED = {"type": "Split", "behavior": "Removed"}
MARK, UNMARK = ({"type": "Replace", "pattern": {"String": a}, "content": b} for a, b in ((" ", "▁"), ("▁", " ")))


def tokenizer(**parts: Any) -> Tokenizer:
    return parse_tokenizer("tokenizer.json", tokenizer_json() | parts)


def marking(**parts: Any) -> Tokenizer:
    """A tokenizer that marks spaces and falls back on bytes."""
    model = {"type": "BPE", "byte_fallback": True, "merges": [], "vocab": {f"<0x{b:02X}>": b for b in range(256)}}
    steps = {"normalizer": MARK, "pre_tokenizer": None, "post_processor": None}
    decoder = {"type": "Sequence", "decoders": [UNMARK, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    return parse_tokenizer("tokenizer.json", {"model": model, **steps, "decoder": decoder} | parts)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("decoder", BYTE_LEVEL, {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}),
        ("pre_tokenizer", BYTE_LEVEL, {"type": "Sequence", "pretokenizers": [BYTE_LEVEL]}),
        ("normalizer", None, {"type": "Sequence", "normalizers": []}),
        ("post_processor", None, BYTE_LEVEL),
        (
            "pre_tokenizer",
            {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        ),
    ],
)
def test_two_spellings_of_one_behaviour_are_equal(name: str, one: object, other: object) -> None:
    assert canonical(name, one) == canonical(name, other)


@pytest.mark.parametrize("key", ["add_prefix_space", "use_regex"])
def test_what_changes_ids_makes_a_difference(key: str) -> None:
    assert canonical("pre_tokenizer", BYTE_LEVEL) != canonical("pre_tokenizer", BYTE_LEVEL | {key: not BYTE_LEVEL[key]})


@pytest.mark.parametrize(
    ("processor", "frame"),
    [
        (None, ([], [])),
        (BYTE_LEVEL, ([], [])),
        (begin_processor(), ([BOS], [])),
        ({"type": "Sequence", "processors": [BYTE_LEVEL, begin_processor()]}, ([BOS], [])),
        ({"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, (["[CLS]"], ["[SEP]"])),
        ({"type": "Unheard"}, None),
        ({"type": ["Unheard"]}, None),
        ({"type": "TemplateProcessing", "single": [3]}, None),
    ],
)
def test_what_plain_encoding_puts_around_a_text(processor: object, frame: object) -> None:
    assert single_frame(tokenizer(post_processor=processor)) == frame


def test_a_byte_level_tokenizer_loses_nothing() -> None:
    assert losses(tokenizer()) == []
    assert len(set(byte_characters())) == 256


@pytest.mark.parametrize(
    ("parts", "at"),
    [
        ({"decoder": None}, "$.decoder"),
        ({"decoder": {"type": "Metaspace"}}, "$.decoder"),
        (
            {
                "pre_tokenizer": {
                    "type": "Sequence",
                    "pretokenizers": [{"type": "Split", "behavior": "Removed"}, BYTE_LEVEL],
                }
            },
            "$.pre_tokenizer",
        ),
    ],
)
def test_what_a_byte_level_tokenizer_can_lose(parts: dict[str, Any], at: str) -> None:
    assert [loss[0] for loss in losses(tokenizer(**parts)) or []] == [at]


def test_a_marking_tokenizer_loses_nothing() -> None:
    assert losses(marking()) == []


@pytest.mark.parametrize("decoders", [[UNMARK], [{"type": "ByteFallback"}]])
def test_what_a_marking_tokenizer_can_lose(decoders: list[object]) -> None:
    found = losses(marking(decoder={"type": "Sequence", "decoders": decoders}))
    assert [loss[0] for loss in found or []] == ["$.decoder"]


def test_of_another_kind_nothing_is_said() -> None:
    assert losses(tokenizer(pre_tokenizer={"type": "Digits"}, decoder=None)) is None
    assert is_lossy_by_design(tokenizer(normalizer={"type": "NFKC"}))
    assert not is_lossy_by_design(tokenizer(normalizer={"type": "NFC"}))
    assert not is_lossy_by_design(marking())
