"""A threshold that no example holds in place is named, with the example that would."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.evaluate.pinned import unpinned

GOLDEN = Path(__file__).parents[1] / "knowledge" / "golden"
SCALE = "{fact: amp.loss_scale, at_most: 1}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The small knowledge base of the lint tests, whose examples say 1 and 65536 of the loss scale."""
    shutil.copytree(GOLDEN, tmp_path / "kb")
    return tmp_path / "kb"


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def messages(root: Path) -> list[str]:
    return [issue.message for issue in unpinned(root)]


def healthy(root: Path, value: float) -> None:
    """One more example, with this loss scale."""
    path = root / "healthy" / "runs.yaml"
    case = f"{{facts: {{amp.loss_scale: {value}}}}}"
    example = f"{{name: scale {value}, kind: healthy, case: {case}, expect: {{silent: true}}}}"
    path.write_text(f"{path.read_text(encoding='utf-8')}- {example}\n", encoding="utf-8")


def test_a_threshold_needs_an_example_on_either_side(root: Path) -> None:
    healthy(root, 1)
    healthy(root, 65536)
    assert not any("amp.loss_scale" in message for message in messages(root))
    replace(root / "findings" / "core.yaml", SCALE, "{fact: amp.loss_scale, at_most: 0.125}")
    (issue,) = [issue for issue in unpinned(root) if "amp.loss_scale" in issue.message]
    assert issue.message == "no example meets 'amp.loss_scale' at most 0.125"
    assert (Path(issue.file).name, issue.line, issue.code) == ("core.yaml", 11, "KB506")
    assert "{amp.loss_scale: …}' of 0.1125" in issue.hint
    replace(root / "findings" / "core.yaml", "at_most: 0.125", "at_most: 100000")
    assert "no example fails 'amp.loss_scale' at most 100000" in messages(root)


def test_the_two_ends_of_between_count_as_one_threshold(root: Path) -> None:
    replace(root / "findings" / "core.yaml", SCALE, "{fact: amp.loss_scale, between: [2, 4]}")
    healthy(root, 3)
    assert not any("amp.loss_scale" in message and "meets" in message for message in messages(root))


def test_a_fact_of_no_example_is_named_once(root: Path) -> None:
    (message,) = [message for message in messages(root) if "lr.ratio" in message]
    assert message == "no example stands on either side of 'lr.ratio' at least 10"
