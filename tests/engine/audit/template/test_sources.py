"""Where templates are found, and which of them is in effect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.audit.checkpoint import Checkpoint
from engine.audit.folder import Folder
from engine.audit.template.sources import MAX_TEMPLATE_BYTES, template_in_effect, template_sources


def checkpoint(folder: Path, files: dict[str, str]) -> Checkpoint:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return Checkpoint(Folder.of(folder))


def config(value: Any) -> str:
    return json.dumps({"chat_template": value})


@pytest.mark.parametrize(
    ("files", "found", "effect"),
    [
        ({}, [], None),
        ({"tokenizer_config.json": config("a")}, [("default", "a")], "a"),
        ({"tokenizer_config.json": config([{"name": "default", "template": "a"}, {"name": "rag", "template": "b"}])},
         [("default", "a"), ("rag", "b")], "a"),
        ({"tokenizer_config.json": config({"one": "a", "two": "b"})}, [("one", "a"), ("two", "b")], None),
        ({"tokenizer_config.json": config("a"), "chat_template.jinja": "b"}, [("default", "b"), ("default", "a")], "b"),
        ({"chat_template.json": config("c"), "additional_chat_templates/rag.jinja": "r"},
         [("rag", "r"), ("default", "c")], "c"),
        ({"tokenizer_config.json": config([1, {"name": 2, "template": "x"}, {"name": "only", "template": "y"}])},
         [("only", "y")], "y"),
        ({"tokenizer_config.json": config(7)}, [], None),
        ({"tokenizer_config.json": "[]"}, [], None),
    ],
)  # fmt: skip
def test_sources(tmp_path: Path, files: dict[str, str], found: list[tuple[str, str]], effect: str | None) -> None:
    sources = checkpoint(tmp_path, files)
    assert [(source.name, source.text) for source in template_sources(sources)] == found
    chosen = template_in_effect(sources)
    assert (chosen.text if chosen else None) == effect


def test_a_template_that_is_too_long_or_no_text_says_so(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_bytes(b"a" * (MAX_TEMPLATE_BYTES + 1))
    assert "longer" in str(template_sources(Checkpoint(Folder.of(tmp_path)))[0].problem)
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
    assert template_sources(Checkpoint(Folder.of(tmp_path)))[0].problem == "not UTF-8"
