"""Security: what runs when the checkpoint is loaded, what is fetched, and what it gives away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.audit.documents import shown
from engine.audit.folder import Entry, UnreadableError
from engine.audit.ledger import MAX_PLACES, Place
from engine.audit.pickles.allowed import classify
from engine.audit.security import code, texts

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.documents import Document
    from engine.audit.ledger import Ledger
    from engine.audit.pickles.survey import Survey

MAX_JSON_BYTES, MAX_DOCUMENTS = 1 << 20, 200
MAX_TEXT_BYTES, MAX_TEXTS_BYTES = 16 << 20, 32 << 20
MAX_TEMPLATE_CHARS = 2 << 20
# Vocabularies are long lists of words, logs and indexes long lists of numbers and names.
_LISTS = re.compile(r"(^|/)(tokenizer|vocab|merges|added_tokens|trainer_state|.*\.index)\.(json|txt)$")
_VOCABULARIES = re.compile(r"(^|/)(tokenizer\.json|vocab\.(json|txt)|merges\.txt)$")
_PICKLED_FORMATS = frozenset({"bin", "pickle", "pt", "pth", "pytorch", "torch"})
_WEIGHTS = re.compile(r"(^|/)(pytorch_model|model|consolidated|adapter_model)[^/]*\.(bin|pt|pth|ckpt)$")
_LOADED_CODE = re.compile(r"(^|/)(custom_generate/.*|handler|modeling_\w+|configuration_\w+|tokenization_\w+)\.py$")

_EXPECTED_CODE = "no code, or custom_code declared"


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what would run or be fetched, and what is given away. Nothing of it is run or fetched here."""
    _pickles(ledger, checkpoint.pickles)
    _needless(checkpoint, ledger)
    documents = _documents(checkpoint)
    _code(checkpoint, ledger, documents)
    _fields(checkpoint, ledger, documents)
    _templates(checkpoint, ledger)
    _leaks(checkpoint, ledger)


# Pickles


def _pickles(ledger: Ledger, survey: Survey) -> None:
    found: dict[str, list[Place]] = {"calls": [], "imports": [], "settings": [], "malformed": []}
    for pickled in survey.pickles:
        for use in pickled.uses:
            kind = classify(use, pickled.scripted)
            if kind != "plain":
                at = f"{pickled.at} byte {use.at:,}".strip()
                what = f"{'calls' if use.called else 'imports'} {shown(use.name.path)}"
                place = Place(pickled.path, at, what, "names of tensors and plain data", "format")
                found["settings" if kind == "training" else "calls" if use.called else "imports"].append(place)
    hostile = {place.file for place in found["calls"]}
    whole = "a stream that can be followed to its end"
    found["malformed"] = [
        Place(fault.path, fault.at, fault.what[:200], whole, "format")
        for fault in survey.faults
        if fault.path not in hostile
    ]
    for fact, places in found.items():
        if survey.unread and not places:
            first = survey.unread[0]
            where = f"{first.path}: {first.what}"[:200]
            ledger.unknown(
                f"audit.security.pickle_{fact}",
                f"Not every file could be read: {where}.",
                f"并非所有文件都能读取：{where}。",
            )
        else:
            ledger.count(f"audit.security.pickle_{fact}", places)


def _needless(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Pickles beside safetensors weights: nobody who uses the model needs them."""
    declared = _PICKLED_FORMATS & {name.lower().lstrip(".") for name in checkpoint.intent.formats}
    places = {
        pickled.path: Place(pickled.path, "", _kinds(pickled.path), "safetensors only", "format")
        for pickled in (checkpoint.pickles.pickles if any(h.tensors for h in checkpoint.headers.values()) else ())
        if not (declared and _WEIGHTS.search(pickled.path))
    }
    ledger.count("audit.security.needless_pickles", places.values())


def _kinds(path: str) -> str:
    return "weights as a pickle" if _WEIGHTS.search(path) else "a pickle that the model does not need"


# Code and settings


def _documents(checkpoint: Checkpoint) -> list[Document]:
    """The JSON files that are settings, those that loaders look for first: the ones nearest to the top."""
    entries = [e for e in checkpoint.folder.files(".json") if e.size <= MAX_JSON_BYTES and not _LISTS.search(e.path)]
    entries.sort(key=lambda entry: (entry.path.count("/"), entry.path))
    documents = (checkpoint.json(entry.path) for entry in entries[:MAX_DOCUMENTS])
    return [document for document in documents if document is not None and document.problem is None]


def _code(checkpoint: Checkpoint, ledger: Ledger, documents: list[Document]) -> None:
    declared = checkpoint.intent.custom_code is True
    named: list[Place] = []
    loose: list[Place] = []
    for document in documents:
        for path, text in code.named_code(document.value):
            if "--" in text:
                # Code of another repository stays open to change, whatever was declared of this one's.
                named.append(Place(document.path, path, shown(text), "code in this folder", "policy"))
            elif not declared:
                named.append(Place(document.path, path, shown(text), _EXPECTED_CODE, "intent"))
        if document.path.rpartition("/")[2] == "modules.json" and not declared:
            for path, text in code.module_types(document.value):
                # A module of this folder is its code; one of another package is only imported if that is installed.
                beside = f"{text.partition('.')[0]}.py" in checkpoint.folder
                (named if beside else loose).append(Place(document.path, path, shown(text), _EXPECTED_CODE, "intent"))
    for number, entry in enumerate(checkpoint.folder.files(".py") if not declared else ()):
        what = _described(checkpoint, entry) if number < MAX_PLACES else "code"
        place = Place(entry.path, "", what, _EXPECTED_CODE, "intent")
        (named if _LOADED_CODE.search(entry.path) else loose).append(place)
    ledger.count("audit.security.named_code", named)
    ledger.count("audit.security.loose_code", loose)


def _described(checkpoint: Checkpoint, entry: Entry) -> str:
    try:
        return code.described(checkpoint.folder.read(entry.path, code.MAX_SOURCE_BYTES))
    except UnreadableError as error:
        return str(error)[:120]


def _fields(checkpoint: Checkpoint, ledger: Ledger, documents: list[Document]) -> None:
    kernels = checkpoint.intent.serving.get("kernels")
    declared = {kernels} if isinstance(kernels, str) else set(map(str, kernels)) if isinstance(kernels, list) else set()
    fields, addresses = [], []
    for document in documents:
        for path, text in code.running_fields(document.value):
            if text not in declared:
                fields.append(Place(document.path, path, shown(text), "nothing that is fetched or run", "policy"))
        if "config" in document.path.rpartition("/")[2]:
            addresses += [
                Place(document.path, path, shown(text), "nothing on the network", "policy")
                for path, text in code.addresses(document.value)
            ]
    ledger.count("audit.security.running_fields", fields)
    ledger.count("audit.security.config_addresses", addresses)


# Templates


def _templates(checkpoint: Checkpoint, ledger: Ledger) -> None:
    from engine.audit.security.templates import TemplateError, reaches

    unsafe: list[Place] = []
    triggers: list[Place] = []
    unread: list[str] = []
    left = MAX_TEMPLATE_CHARS
    sources = list(_template_texts(checkpoint))
    for file, at, text in sources:
        left -= len(text)
        try:
            found = reaches(text) if left >= 0 else None
        except TemplateError as error:
            unread.append(f"{file}: {error}")
            continue
        if found is None:
            unread.append(f"{file}: the templates are longer than {MAX_TEMPLATE_CHARS:,} characters")
            break
        for reach in found:
            place = Place(file, f"{at} line {reach.line}".strip(), reach.what, "the conversation only", "policy")
            (unsafe if reach.kind == "unsafe" else triggers).append(place)
    ledger.fact("audit.security.has_templates", bool(sources))
    for fact, places in (("unsafe", unsafe), ("triggers", triggers)):
        if unread and not places:
            ledger.unknown(f"audit.security.template_{fact}", f"A template cannot be read: {unread[0][:200]}.",
                           f"模板无法读取：{unread[0][:200]}。")  # fmt: skip
        else:
            ledger.count(f"audit.security.template_{fact}", places)


def _template_texts(checkpoint: Checkpoint) -> Iterator[tuple[str, str, str]]:
    from engine.audit.template.sources import template_sources

    known = set()
    for source in template_sources(checkpoint):
        known.add(source.file)
        if source.text:
            yield source.file, source.at, source.text
    for entry in checkpoint.folder.files(".jinja", ".jinja2", ".j2"):
        if entry.path not in known and entry.size <= MAX_TEMPLATE_CHARS:
            yield entry.path, "", checkpoint.folder.head(entry.path, entry.size).decode("utf-8", "replace")
    for header in checkpoint.gguf.values():
        for key, value in header.fields.items():
            if key.startswith("tokenizer.chat_template") and isinstance(value, str):
                yield header.path, shown(key), value


# Keys and paths


def _leaks(checkpoint: Checkpoint, ledger: Ledger) -> None:
    keys: list[Place] = []
    paths: list[Place] = []
    unread = ""
    left = MAX_TEXTS_BYTES
    for file, text in _texts(checkpoint):
        left -= len(text)
        if left < 0:
            unread = f"the text files are longer than {MAX_TEXTS_BYTES:,} bytes"
            break
        for leak in texts.leaks(text):
            at = f"line {text.count(chr(10), 0, leak.at) + 1}"
            place = Place(file, at, f"{leak.what}: {leak.shown}", "nothing that belongs to its makers", "policy")
            (keys if leak.kind == "key" else paths).append(place)
    for fact, places in (("keys", keys), ("paths", paths)):
        if unread and not places:
            ledger.unknown(f"audit.security.leaked_{fact}", f"Not all was read: {unread}.", f"未全部读取：{unread}。")
        else:
            ledger.count(f"audit.security.leaked_{fact}", places)


def _texts(checkpoint: Checkpoint) -> Iterator[tuple[str, str]]:
    """The text files, but no vocabularies, and the texts that weight files carry in their headers."""
    for path, header in checkpoint.headers.items():
        if header.metadata:
            yield path, "\n".join(f"{key}: {value}" for key, value in header.metadata.items())
    folder = checkpoint.folder
    for entry in folder.files():
        if entry.path in checkpoint.headers or _VOCABULARIES.search(entry.path) or entry.size > MAX_TEXT_BYTES:
            continue
        content = folder.head(entry.path, 4096)
        if b"\0" not in content:
            content = folder.head(entry.path, entry.size) if entry.size > len(content) else content
            yield entry.path, content.decode("utf-8", "replace")
