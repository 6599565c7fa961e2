"""What changed in the knowledge base since a git revision, and how much a user of it must care."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.knowledge.load import OwnedCase, existing, load_cases
from engine.knowledge.sources import Sources, read_sources, read_trees

if TYPE_CHECKING:
    from engine.knowledge.problems import Problem

Impact = Literal["none", "patch", "minor", "major"]
_ORDER: tuple[Impact, ...] = ("none", "patch", "minor", "major")
RankOf = Callable[[Path, OwnedCase], int | None]
"""Rank of the expected cause of a case under the knowledge base of a folder; None if it is not ranked."""


@dataclass(frozen=True, order=True)
class Change:
    """One object that was added, removed or changed; ``keys`` are the keys that differ."""

    kind: str
    id: str
    what: Literal["added", "removed", "changed"]
    impact: Impact
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Move:
    """An example whose expected cause is ranked otherwise than before."""

    case: OwnedCase
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Difference:
    """All changes, their common impact, the examples that move, and what could not be read on either side."""

    changes: tuple[Change, ...]
    moves: tuple[Move, ...]
    problems: tuple[Problem, ...]

    @property
    def impact(self) -> Impact:
        """The greatest impact of all changes: the part of the version to raise."""
        return max((change.impact for change in self.changes), key=_ORDER.index, default="none")


class GitError(Exception):
    """Git does not know the revision, or the folder is in no repository."""


def diff(root: Path, git_rev: str, rank: RankOf | None = None) -> Difference:
    """Compare the knowledge base in ``root`` with the same folder at a git revision.

    New objects and changed weights or rules are minor, removed or retired ones major, changed texts a patch.
    With ``rank``, today's examples are ranked by both and those that move are named.

    Raises:
        GitError: if the revision cannot be read.
        KbError: if there is no such folder, or (with ``rank``) an example cannot be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        before_root = Path(folder, root.resolve().name)
        before_root.mkdir()
        _extract(existing(root), git_rev, before_root)
        before = read_sources(read_trees(before_root, None))
        after = read_sources(read_trees(root, None))
        moves = [] if rank is None else _moves(before_root, root, rank)
    return Difference(tuple(compare(before, after)), tuple(moves), (*before.problems, *after.problems))


def compare(before: Sources, after: Sources) -> list[Change]:
    """Every object that differs between two knowledge bases, by kind and id."""
    old, new = _flat(before), _flat(after)
    changes = []
    for kind, id_ in sorted(old.keys() | new.keys()):
        was, is_ = old.get((kind, id_)), new.get((kind, id_))
        if was is None:
            changes.append(Change(kind, id_, "added", "minor"))
        elif is_ is None:
            changes.append(Change(kind, id_, "removed", "major"))
        elif was != is_:
            keys = tuple(key for key in {**was, **is_} if was.get(key) != is_.get(key))
            changes.append(Change(kind, id_, "changed", _impact(was, is_), keys))
    return changes


def _flat(sources: Sources) -> dict[tuple[str, str], dict[str, Any]]:
    """Every object as plain data by kind and id; concepts and families count one by one."""
    flat: dict[tuple[str, str], dict[str, Any]] = {
        (kind, id_): placed.value.model_dump(mode="json", by_alias=True)
        for kind, objects in sources.objects.items()
        for id_, placed in objects.items()
    }
    for name, placed in sources.singles.items():
        if name == "lexicon.yaml":
            flat |= {("lexicon", id_): concept.model_dump(mode="json") for id_, concept in placed.value.items()}
        elif name == "families.yaml":
            areas = placed.value.items()
            flat |= {
                ("families", id_): {"area": area, "meaning": said} for area, of in areas for id_, said in of.items()
            }
        elif name == "calibration.yaml":
            flat["calibration", name] = placed.value.model_dump(mode="json")
    return flat


def _impact(was: dict[str, Any], is_: dict[str, Any]) -> Impact:
    if is_.get("status") == "retired":
        return "major"
    return "patch" if _without_texts(was) == _without_texts(is_) else "minor"


def _without_texts(value: Any) -> Any:
    """The data without what is only read by people: texts in two languages, meanings and references."""
    if isinstance(value, dict):
        if value.keys() == {"en", "zh"} and all(isinstance(text, str) for text in value.values()):
            return None
        return {
            key: _without_texts(part)
            for key, part in value.items()
            if key not in ("references", "reference", "meaning")
        }
    return [_without_texts(part) for part in value] if isinstance(value, list) else value


def _moves(before: Path, after: Path, rank: RankOf) -> list[Move]:
    ranked = ((case, rank(before, case), rank(after, case)) for case in load_cases(after))
    return [Move(case, was, is_) for case, was, is_ in ranked if was != is_]


def _extract(root: Path, git_rev: str, target: Path) -> None:
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{git_rev}^{{commit}}")
    # Run inside the folder, git archives that folder alone, with paths relative to it.
    content = _git(root, "archive", "--format=tar", commit.decode().strip())
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(target, filter="data")


def _git(folder: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - no shell, fixed verbs
    except FileNotFoundError:
        raise GitError("git is not installed") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip() or f"no such revision ({' '.join(arguments[-1:])})"
        raise GitError(f"git {arguments[0]}: {said}") from None
    return done.stdout
