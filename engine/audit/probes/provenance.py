"""Where a checkpoint comes from: its card, its hash manifest, and the record of the run that made it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from engine.audit.ledger import Place
from engine.audit.manifest import Manifest, may_be_unlisted, read_manifest
from engine.audit.probes.card import CARD, card_text, front_matter

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger

# What a card must say to be of use to whoever takes the model over; intended use is in the text.
_FIELDS = ("license", "base_model", "datasets")
_USES = ("intended use", "intended uses", "uses", "use case", "how to use", "usage", "用途", "适用", "使用")
# The parts of a run's record: keys of the intent's `run`, and words that name the part in a card.
_RECORD = {
    "code": ("code", "code_revision", "commit", "git_sha", "git_commit", "revision"),
    "data": ("data", "datasets", "dataset", "data_ids", "data_revision", "data_sha256"),
    "seed": ("seed", "seeds", "data_seed"),
    "hyper-parameters": ("hyperparameters", "hyper_parameters", "hyper-parameters", "learning_rate", "learning rate"),
    "environment": ("environment", "environment_lock", "lock", "requirements", "container", "docker", "framework"),
}
_COPYLEFT = ("gpl", "agpl", "cc-by-nc", "cc-by-sa", "llama", "gemma", "other")
_OPEN = ("apache-2.0", "mit", "bsd", "unlicense", "cc0")


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what card, manifest and run record say."""
    _card(checkpoint, ledger)
    _manifest(checkpoint, ledger)
    _record(checkpoint, ledger)


def _card(checkpoint: Checkpoint, ledger: Ledger) -> None:
    text = card_text(checkpoint)
    head = front_matter(checkpoint)
    if text is None:
        for fact in ("audit.provenance.card_gaps", "audit.provenance.card_disagrees"):
            ledger.unknown(fact, "There is no README.md with a model card.", "没有包含模型卡的 README.md。")
        return
    ledger.count("audit.provenance.card_gaps", _gaps(checkpoint, head, text))
    ledger.count("audit.provenance.card_disagrees", _disagreements(checkpoint, head))


def _gaps(checkpoint: Checkpoint, head: dict[str, Any], text: str) -> Iterator[Place]:
    scratch = checkpoint.intent.base_model is None and checkpoint.intent.paradigm == "pretrain"
    for field in _FIELDS:
        if not head.get(field) and not (field == "base_model" and scratch):
            yield Place(CARD, field, "not stated", "stated in the front matter", "policy")
    body = text.casefold()
    if not any(use in body for use in _USES):
        yield Place(CARD, "text", "no section on intended use", "what it is for, and what not", "policy")


def _disagreements(checkpoint: Checkpoint, head: dict[str, Any]) -> Iterator[Place]:
    intent = checkpoint.intent
    named = _texts(head.get("base_model"))
    if intent.base_model and named and intent.base_model.casefold() not in (name.casefold() for name in named):
        yield Place(CARD, "base_model", ", ".join(named)[:120], intent.base_model, "intent")
    licence = str(head.get("license") or "").casefold()
    if intent.license and licence and licence != intent.license.casefold():
        yield Place(CARD, "license", licence[:60], intent.license, "intent")
    base = str(front_matter(checkpoint.base).get("license") or "").casefold() if checkpoint.base else ""
    if licence.startswith(_OPEN) and base.startswith(_COPYLEFT):
        yield Place(CARD, "license", licence[:60], f"not broader than {base[:60]}", "base")


def _manifest(checkpoint: Checkpoint, ledger: Ledger) -> None:
    manifest = read_manifest(checkpoint.folder)
    ledger.fact("release.manifest_present", manifest is not None)
    if manifest is None:
        ledger.unknown(
            "release.manifest_matches",
            "There is no hash manifest (SHA256SUMS) in the folder.",
            "目录中没有哈希清单（SHA256SUMS）。",
        )
        return
    if manifest.problem is not None:
        ledger.unknown("release.manifest_matches", f"{manifest.problem}.", f"无法读取 {manifest.path}。")
        return
    unread = [path for path in sorted(manifest.digests) if path in checkpoint.scanned.problems]
    wrong = list(_mismatches(checkpoint, manifest))
    if unread and not wrong:
        why = checkpoint.scanned.problems[unread[0]]
        ledger.unknown(
            "release.manifest_matches",
            f"Not every file of {manifest.path} can be read: {why}.",
            f"{manifest.path} 所列文件无法全部读取：{unread[0]}。",
        )
        return
    ledger.fact("release.manifest_matches", not wrong, wrong)


def _mismatches(checkpoint: Checkpoint, manifest: Manifest) -> Iterator[Place]:
    """Files that differ from the manifest or that it leaves out; where it lists nothing, its own lines alone."""
    listed, hashes = f"a line in {manifest.path}", checkpoint.hashes
    for number in manifest.malformed:
        yield Place(manifest.path, f"line {number}", "no hash and name", "as sha256sum writes it", "format")
    if not manifest.digests:
        if not manifest.malformed:
            yield Place(manifest.path, "", "lists no file", "a line for every file", "format")
        return
    for path, digest in sorted(manifest.digests.items()):
        if hashes.get(path) != digest and path not in checkpoint.scanned.problems:
            yield Place(path, "sha256", hashes.get(path) or _absent(checkpoint, path), digest, "manifest")
    for entry in checkpoint.folder.files():
        if entry.path not in manifest.digests and not may_be_unlisted(entry.path, manifest.path):
            yield Place(entry.path, "", "not in the manifest", listed, "manifest")


def _absent(checkpoint: Checkpoint, path: str) -> str:
    entry = checkpoint.folder.entries.get(path)
    return "no such file" if entry is None else "no regular file of the folder"


def _record(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Which parts of the run's record are declared in the intent or named in the card."""
    text = (card_text(checkpoint) or "").casefold()
    known = {key.casefold() for key in checkpoint.intent.run}
    if not checkpoint.intent.run and not text:
        ledger.unknown(
            "audit.provenance.record_gaps",
            "Neither the intent's `run` nor a model card says how the run was made.",
            "意图文件的 `run` 与模型卡都没有说明训练是如何进行的。",
        )
        return
    ledger.count(
        "audit.provenance.record_gaps",
        (Place("intent", f"run.{names[0]}", "not stated", f"the run's {part}", "policy")
         for part, names in _RECORD.items() if not (known & set(names) or any(name in text for name in names))),
    )  # fmt: skip


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, str) and item]
