"""What an operator is told when the service cannot start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from api import cli, serve

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_broken_knowledge_base_is_said_with_its_place_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workers: str
) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "run.yaml").write_text("- id: run.precision\n  type: nonsense\n")
    monkeypatch.setattr(serve, "run", None)
    monkeypatch.setenv("TRAINTRIAGE_KNOWLEDGE", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        cli.main(["serve", "--workers", workers])
    assert ended.value.code == cli.USAGE
    said = capsys.readouterr().err
    assert "the knowledge base does not load" in said
    assert "facts/run.yaml:2:" in said
    assert "Traceback" not in said
