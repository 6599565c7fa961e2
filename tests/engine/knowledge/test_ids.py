"""An id that was published never disappears without a word, and never comes back as something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.knowledge.ids import LOCK, write_lock
from engine.knowledge.lint import Issue, lint
from engine.knowledge.load import load_knowledge
from engine.knowledge.pages import explain
from engine.knowledge.problems import KbError

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import SmallKb

NEWS = "- {id: late.news, title: {en: News, zh: 新闻}}\n"
FINDINGS = "findings/core.yaml"


def _ids(kb: SmallKb) -> list[Issue]:
    return [issue for issue in lint(kb.root) if issue.code.startswith("KB7")]


def _retire(kb: SmallKb, id_: str, kind: str, instead: str = "[]") -> None:
    because = "{en: It said what another says., zh: 与另一项重复。}"
    kb.write(
        f"retired/{kind}.yaml",
        f'- {{id: {id_}, kind: {kind}, since: "0.2.0", because: {because}, instead: {instead}}}\n',
    )


@pytest.fixture
def locked(kb: SmallKb) -> SmallKb:
    """The golden knowledge with a finding that nothing needs, and all ids locked."""
    kb.append(FINDINGS, NEWS)
    assert ("findings", "late.news") in write_lock(kb.root)
    return kb


def test_what_is_locked_has_no_issue_and_is_locked_once(locked: SmallKb) -> None:
    assert _ids(locked) == []
    assert write_lock(locked.root) == []
    lines = (locked.root / LOCK).read_text(encoding="utf-8").splitlines()[1:]
    assert lines == sorted(set(lines))
    assert {"findings contrast(precision)", "families fp16_range", "causes numerics/fp16-overflow"} <= set(lines)


def test_an_id_that_vanishes_is_an_error_at_its_line_of_the_lock(locked: SmallKb) -> None:
    locked.replace(FINDINGS, NEWS, "")
    (issue,) = _ids(locked)
    assert (issue.code, issue.severity) == ("KB701", "error")
    line = (locked.root / LOCK).read_text(encoding="utf-8").splitlines()[issue.line - 1]
    assert line == "findings late.news"
    assert "retired/findings.yaml" in issue.hint
    assert write_lock(locked.root) == [], "the lock forgets nothing"
    assert len(_ids(locked)) == 1


@pytest.mark.parametrize(
    ("relative", "old", "kind", "id_"),
    [
        ("families.yaml", "lr_too_high", "families", "lr_too_high"),
        (FINDINGS, "      version:", "findings", "contrast(version)"),
    ],
)
def test_families_and_values_of_parameters_are_ids_too(
    locked: SmallKb, relative: str, old: str, kind: str, id_: str
) -> None:
    locked.replace(relative, old, old.replace("lr_too_high", "lr_other").replace("version", "release"))
    assert f"'{id_}' of {kind} is gone" in {issue.message for issue in _ids(locked)}


def test_a_retired_id_may_go_and_is_still_explained(locked: SmallKb) -> None:
    locked.replace(FINDINGS, NEWS, "")
    _retire(locked, "late.news", "findings", "[loss.became-nan]")
    assert _ids(locked) == []
    page = explain(load_knowledge(locked.root), "late.news")
    assert "It said what another says." in page
    assert "`loss.became-nan`" in page


def test_a_retired_id_is_never_used_again(locked: SmallKb) -> None:
    _retire(locked, "late.news", "findings")
    (issue,) = _ids(locked)
    assert (issue.code, issue.file) == ("KB702", str(locked.root / FINDINGS))


def test_what_took_its_place_exists(locked: SmallKb) -> None:
    locked.replace(FINDINGS, NEWS, "")
    _retire(locked, "late.news", "findings", "[late.weather]")
    assert [issue.code for issue in _ids(locked)] == ["KB704"]


def test_a_new_id_is_locked_with_the_change_that_adds_it(locked: SmallKb) -> None:
    locked.append(FINDINGS, NEWS.replace("late", "early"))
    (issue,) = _ids(locked)
    assert (issue.code, issue.severity) == ("KB703", "warning")
    assert "traintriage kb lock" in issue.hint


def test_an_overlay_needs_no_lock(locked: SmallKb, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "findings").mkdir(parents=True)
    (site / "findings" / "own.yaml").write_text(NEWS.replace("late", "own"), encoding="utf-8")
    assert [issue for issue in lint(locked.root, overlay=site) if issue.code.startswith("KB7")] == []


def test_a_file_that_cannot_be_read_has_not_lost_its_ids(locked: SmallKb) -> None:
    locked.replace(FINDINGS, "- id: loss.became-nan\n  title", "- id: loss.became-nan\n  tilte")
    assert _ids(locked) == []
    with pytest.raises(KbError):
        write_lock(locked.root)
