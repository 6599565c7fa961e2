"""Hashes of the chat template that training and evaluation wrote down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.audit.documents import MAX_CONFIG_BYTES, parse_json
from engine.audit.folder import UnreadableError

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint


MAX_RESULTS = 100


@dataclass(frozen=True, slots=True)
class Recorded:
    """SHA-256 of a template's text in UTF-8, and who says so."""

    sha256: str
    where: str
    expected_from: Literal["intent", "evaluation"]


def recorded_templates(checkpoint: Checkpoint) -> list[Recorded]:
    """What the intent declares, and what the harness wrote beside the scores (``chat_template_sha`` of lm-eval)."""
    chat = checkpoint.intent.chat
    found = []
    if chat is not None and chat.training_template_sha256:
        declared = chat.training_template_sha256.strip().lower()
        found.append(Recorded(declared, "chat.training_template_sha256", "intent"))
    for where, content in _results(checkpoint):
        sha = parse_json(where, content).mapping.get("chat_template_sha")
        if isinstance(sha, str) and sha:
            found.append(Recorded(sha.lower(), where, "evaluation"))
    return found


def _results(checkpoint: Checkpoint) -> Iterator[tuple[str, bytes]]:
    """The result files of the candidate; what is wrong with them is for the group that judges evaluations."""
    from engine.audit.evaluation.files import NoEvidenceError, declared

    try:
        named = checkpoint.intent.evidence.candidate
        bundle = declared(checkpoint, named, "evidence.candidate", checkpoint.evidence.get("evals"))
    except NoEvidenceError:
        return
    for path in [path for path in bundle.paths if path.endswith(".json")][:MAX_RESULTS]:
        try:
            yield bundle.label(path), bundle.read(path, MAX_CONFIG_BYTES)
        except UnreadableError:
            continue
