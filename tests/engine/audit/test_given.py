"""From paths to a checkpoint: what is found beside it, and where nothing is looked for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.audit.checkpoint import Checkpoint
from engine.audit.folder import UnreadableError
from engine.audit.given import NothingToAuditError, OutsideError, WrittenIntent, checkpoint_of
from engine.audit.intent import IntentError


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with one file, and others beside it."""
    for name in ("model", "base", "evals", "declared"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps({"name": name}))
    return tmp_path / "model"


def declared(model: Path, **intent: Any) -> Path:
    file = model.parent / "declared" / "intent.yaml"
    file.write_text(json.dumps(intent))
    return file


def name_of(checkpoint: Checkpoint | None) -> Any:
    return checkpoint and checkpoint.config and checkpoint.config.mapping["name"]


def test_without_an_intent_nothing_is_declared(model: Path) -> None:
    checkpoint = checkpoint_of(model)
    assert (name_of(checkpoint), checkpoint.base, checkpoint.beside, dict(checkpoint.evidence)) == (
        "model",
        None,
        None,
        {},
    )


def test_the_base_is_relative_to_the_file_of_the_intent(model: Path) -> None:
    assert name_of(checkpoint_of(model, declared(model, base_reference="../base")).base) == "base"


@pytest.mark.parametrize("reference", ["../nowhere", "org/name", "../base/config.json", "a\0b", "x" * 5_000])
def test_a_base_that_is_not_at_hand_is_none(model: Path, reference: str) -> None:
    assert checkpoint_of(model, declared(model, base_reference=reference)).base is None


def test_a_base_that_is_given_wins(model: Path) -> None:
    intent = declared(model, base_reference="../base")
    assert name_of(checkpoint_of(model, intent, model.parent / "evals").base) == "evals"


def test_a_written_intent_has_its_own_place(model: Path) -> None:
    written = WrittenIntent(b"base_reference: base", model.parent)
    checkpoint = checkpoint_of(model, written)
    assert (name_of(checkpoint.base), checkpoint.beside) == ("base", model.parent)


def test_evidence_is_a_file_or_a_folder_that_exists(model: Path) -> None:
    evals, baseline = model.parent / "evals", model.parent / "base" / "config.json"
    assert checkpoint_of(model, evals=evals, baseline=baseline).evidence == {"evals": evals, "baseline": baseline}
    with pytest.raises(UnreadableError, match="nowhere is not there"):
        checkpoint_of(model, evals=model.parent / "nowhere")


def test_progress_counts_every_byte(model: Path) -> None:
    (model / "weights.bin").write_bytes(bytes(100_000))
    counts: list[int] = []
    checkpoint = checkpoint_of(model, progress=counts.append)
    assert set(checkpoint.hashes) == {"config.json", "weights.bin"}
    assert sum(counts) == sum(entry.size for entry in checkpoint.folder.files())


def test_an_empty_folder_is_nothing_to_audit(tmp_path: Path) -> None:
    with pytest.raises(NothingToAuditError):
        checkpoint_of(tmp_path)


@pytest.mark.parametrize("content", [b"targets: 3", b"- a", b"a: [", b"\xff", b"a: &x 1\nb: *x", b"a: 1\n" * 300_000])
def test_a_bad_intent_is_an_error(model: Path, content: bytes) -> None:
    file = declared(model)
    file.write_bytes(content)
    with pytest.raises(IntentError, match=r"intent\.yaml"):
        checkpoint_of(model, file)


def test_an_intent_is_a_regular_file(model: Path) -> None:
    os.mkfifo(model.parent / "pipe")
    for name in ("pipe", "base", "nowhere"):
        with pytest.raises(UnreadableError, match=name):
            checkpoint_of(model, model.parent / name)


class TestWithin:
    """Everything lies in the allowed folders, with links followed."""

    def test_inside_is_fine(self, model: Path) -> None:
        root = model.parent
        intent = declared(model, base_reference="../base")
        checkpoint = checkpoint_of(model, intent, evals=root / "evals", within=(root / "nowhere", root))
        assert name_of(checkpoint.base) == "base"

    @pytest.mark.parametrize("name", ["base", "evals", "baseline", "intent"])
    def test_outside_is_refused(self, model: Path, name: str) -> None:
        path = model.parent / "declared" / "intent.yaml" if name == "intent" else model.parent / "evals"
        declared(model)
        with pytest.raises(OutsideError):
            checkpoint_of(model, **{name: path}, within=(model,))

    @pytest.mark.parametrize("name", ["model/../base", "link", "/etc", "loop"])
    def test_no_way_leads_out(self, model: Path, name: str) -> None:
        (model / "link").symlink_to(model.parent / "base")
        (model / "loop").symlink_to(model / "loop")
        with pytest.raises(UnreadableError):
            checkpoint_of(model / name if "/" not in name else model.parent / name, within=(model,))

    def test_the_base_of_an_intent_is_not_looked_for_outside(self, model: Path) -> None:
        written = WrittenIntent(b"base_reference: ../base", model)
        assert checkpoint_of(model, written).base is not None
        assert checkpoint_of(model, written, within=(model,)).base is None
