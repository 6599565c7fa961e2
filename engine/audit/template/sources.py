"""Every chat template of a checkpoint, with the place it was found at. Order: as transformers 5 looks for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.audit.folder import UnreadableError
from engine.audit.tokenizers.files import once, tokenizer_files

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint

DEFAULT = "default"
MAX_TEMPLATE_BYTES = 1 << 20
MAX_TEMPLATES = 50
GGUF_KEY = "tokenizer.chat_template"
_EXTRA = "additional_chat_templates/"


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """One template. ``problem`` says why its text could not be read; ``text`` is then empty."""

    file: str
    at: str
    name: str
    text: str
    problem: str | None = None


def template_sources(checkpoint: Checkpoint) -> tuple[TemplateSource, ...]:
    """All templates, at most ``MAX_TEMPLATES``; of one name the first is the one in effect."""
    return once(checkpoint, "_template_sources", lambda: tuple(_sources(checkpoint))[:MAX_TEMPLATES])


def template_in_effect(checkpoint: Checkpoint) -> TemplateSource | None:
    """The template that renders a plain chat: the default one, else the only one there is."""
    sources = template_sources(checkpoint)
    default = next((source for source in sources if source.name == DEFAULT), None)
    return default or (sources[0] if len(sources) == 1 else None)


def _sources(checkpoint: Checkpoint) -> Iterator[TemplateSource]:
    if checkpoint.kind == "gguf":
        yield from _of_headers(checkpoint)
        return
    prefix = tokenizer_files(checkpoint).prefix
    for path in dict.fromkeys((prefix + "chat_template.jinja", "chat_template.jinja")):
        if path in checkpoint.folder:
            yield _file(checkpoint, path, DEFAULT)
    for entry in checkpoint.folder.files(".jinja"):
        if entry.path.startswith(_EXTRA):
            yield _file(checkpoint, entry.path, entry.name.removesuffix(".jinja"))
    settings = tokenizer_files(checkpoint).config
    if settings is not None:
        yield from _values(settings.path, settings.mapping.get("chat_template"))
    for path in ("chat_template.json", "processor_config.json"):
        document = checkpoint.json(path)
        if document is not None:
            yield from _values(path, document.mapping.get("chat_template"))


def _of_headers(checkpoint: Checkpoint) -> Iterator[TemplateSource]:
    """The templates of GGUF files: the default one, and others by name."""
    for header in checkpoint.gguf.values():
        for key, text in header.fields.items():
            if header.is_model and isinstance(text, str) and (key == GGUF_KEY or key.startswith(GGUF_KEY + ".")):
                yield TemplateSource(header.path, key, key.removeprefix(GGUF_KEY).removeprefix(".") or DEFAULT, text)


def _file(checkpoint: Checkpoint, path: str, name: str) -> TemplateSource:
    try:
        return TemplateSource(path, "", name, checkpoint.folder.read(path, MAX_TEMPLATE_BYTES).decode("utf-8"))
    except UnreadableError as error:
        return TemplateSource(path, "", name, "", str(error))
    except UnicodeDecodeError as error:
        return TemplateSource(path, f"byte {error.start}", name, "", "not UTF-8")


def _values(file: str, value: object) -> Iterator[TemplateSource]:
    """Templates in JSON: one text, a list of names with texts, or texts by name."""
    if isinstance(value, str):
        yield TemplateSource(file, "$.chat_template", DEFAULT, value)
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            name, text = (entry.get("name"), entry.get("template")) if isinstance(entry, dict) else (None, None)
            if isinstance(name, str) and isinstance(text, str):
                yield TemplateSource(file, f"$.chat_template[{place}]", name, text)
    elif isinstance(value, dict):
        for name, text in value.items():
            if isinstance(text, str):
                yield TemplateSource(file, f"$.chat_template.{name}", name, text)
