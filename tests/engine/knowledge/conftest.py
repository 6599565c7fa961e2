from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class SmallKb:
    """A copy of the golden knowledge base that a test may damage."""

    root: Path

    def write(self, relative: str, text: str) -> Path:
        path = self.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def replace(self, relative: str, old: str, new: str) -> None:
        path = self.root / relative
        before = path.read_text(encoding="utf-8")
        assert old in before, f"{old!r} is not in {relative}"
        path.write_text(before.replace(old, new), encoding="utf-8")

    def append(self, relative: str, text: str) -> None:
        path = self.root / relative
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


@pytest.fixture
def kb(tmp_path: Path) -> SmallKb:
    root = tmp_path / "kb"
    shutil.copytree(GOLDEN, root)
    return SmallKb(root)


@pytest.fixture(autouse=True)
def cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test touches the real cache."""
    home = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    return home
