# ruff: noqa: E501 - one change a line
from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from engine.knowledge.diff import Change, GitError, diff
from engine.knowledge.load import OwnedCase, load_knowledge

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import SmallKb

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

CAUSE = "causes/optimization/lr-too-high.yaml"


@pytest.fixture
def committed(kb: SmallKb) -> SmallKb:
    """The golden knowledge base, one folder below the top of a repository."""
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "-m", "first"],
    ):
        subprocess.run(["git", "-C", str(kb.root.parent), *command], check=True)
    return kb


def test_nothing_changed(committed: SmallKb) -> None:
    found = diff(committed.root, "HEAD")
    assert (found.changes, found.impact, found.problems) == ((), "none", ())


@pytest.mark.parametrize(
    ("relative", "old", "new", "change"),
    [
        (CAUSE, "The run diverges.", "It diverges.", Change("causes", "optimization/lr-too-high", "changed", "patch", ("impact",))),
        (CAUSE, "how: usually", "how: always", Change("causes", "optimization/lr-too-high", "changed", "minor", ("shows",))),
        (CAUSE, "status: trial", "status: retired", Change("causes", "optimization/lr-too-high", "changed", "major", ("status",))),
        (CAUSE, "It diverges at", "It goes off at", Change("causes", "optimization/lr-too-high", "changed", "minor", ("presentation",))),
        ("findings/core.yaml", "at_most: 1", "at_most: 2", Change("findings", "amp.scale-collapsed", "changed", "minor", ("when",))),
        ("lexicon.yaml", "[loss]", "[loss, cost]", Change("lexicon", "LOSS", "changed", "minor", ("en",))),
        ("families.yaml", "too high", "much too high", Change("families", "lr_too_high", "changed", "patch", ("meaning",))),
        ("calibration.yaml", "known_share: 0.8", "known_share: 0.7", Change("calibration", "calibration.yaml", "changed", "minor", ("known_share",))),
        ("facts/run.yaml", "- id: loss.nan", "- {id: loss.zero, type: bool, title: {en: Zero, zh: 零}}\n- id: loss.nan", Change("facts", "loss.zero", "added", "minor")),
    ],
)  # fmt: skip
def test_a_change_has_its_impact(committed: SmallKb, relative: str, old: str, new: str, change: Change) -> None:
    committed.replace(relative, old, new)
    found = diff(committed.root, "HEAD")
    assert found.changes == (change,)
    assert found.impact == change.impact


def test_a_renamed_object_is_removed_and_added(committed: SmallKb) -> None:
    committed.replace("checks/core.yaml", "id: compare-learning-rate", "id: compare-rate")
    found = diff(committed.root, "HEAD")
    assert [(change.id, change.what) for change in found.changes] == [
        ("compare-learning-rate", "removed"),
        ("compare-rate", "added"),
    ]
    assert found.impact == "major"


def test_examples_that_move_are_named(committed: SmallKb) -> None:
    committed.replace(CAUSE, "prior: common", "prior: rare")

    def rank(root: Path, case: OwnedCase) -> int | None:
        common = load_knowledge(root).causes["optimization/lr-too-high"].prior == "common"
        return 2 if common and case.case.name == "first bad module" else 1

    (move,) = diff(committed.root, "HEAD", rank).moves
    assert (move.case.case.name, move.before, move.after) == ("first bad module", 2, 1)


def test_what_could_not_be_read_is_told(committed: SmallKb) -> None:
    committed.replace(CAUSE, "prior: common", "prior: oftn")
    found = diff(committed.root, "HEAD")
    assert [problem.line for problem in found.problems] == [8]


@pytest.mark.parametrize("revision", ["no-such-branch", "--output=/tmp/x", ""])
def test_a_revision_that_is_none(committed: SmallKb, revision: str) -> None:
    with pytest.raises(GitError):
        diff(committed.root, revision)


def test_a_folder_outside_of_git(kb: SmallKb) -> None:
    with pytest.raises(GitError, match="git rev-parse"):
        diff(kb.root, "HEAD")
